/* SPDX-License-Identifier: BSD-3-Clause */

#include <netinet/in.h>

#include "burst.h"

#define L3 14u          /* of an untagged frame */
#define L4 (L3 + 20u)   /* behind an IPv4 header without options */
#define BUFFERS_AHEAD 4 /* receive buffers fetched before a frame needs them */

/* ---- status ---- */

/* Ones' complement sums with the carry kept in: eight bytes at a time. */
static inline uint64_t
add(uint64_t sum, uint64_t word)
{
	sum += word;
	return sum + (sum < word);
}

static inline uint64_t
word64(const uint8_t *p)
{
	uint64_t w;

	memcpy(&w, p, 8);
	return w;
}

static inline uint32_t
word32(const uint8_t *p)
{
	uint32_t w;

	memcpy(&w, p, 4);
	return w;
}

static inline uint16_t
word16(const uint8_t *p)
{
	uint16_t w;

	memcpy(&w, p, 2);
	return w;
}

/* Each half plus the other one, and the carry of the lower half comes in: the upper one. */
static inline uint16_t
fold(uint64_t sum)
{
	uint32_t half = (uint32_t)((sum + (sum >> 32 | sum << 32)) >> 32);

	return (uint16_t)((half + (half >> 16 | half << 16)) >> 16);
}

/* Of the L4 packet: at least the 8 bytes of a UDP header. */
static inline uint64_t
sum_packet(const uint8_t *p, size_t length, uint64_t sum)
{
	const uint8_t *whole = p + (length & ~(size_t)7);
	size_t rest = length & 7;

	do {
		sum = add(sum, word64(p));
		p += 8;
	} while (p != whole);
	/* The last bytes again, without those that are counted already. */
	if (rest != 0)
		sum = add(sum, le64toh(word64(p - 8 + rest)) >> (64 - 8 * rest));
	return sum;
}

static inline __attribute__((always_inline)) bool
plain_status(const uint8_t *frame, size_t length, uint32_t *status, uint16_t *checksum)
{
	const uint8_t *ip = frame + L3;
	uint64_t addresses;
	uint32_t total, flags;
	bool tcp;

	/* Ethertype and the first byte of IPv4 in one; then neither offset nor more to come. */
	if (unlikely(length < L4 + 8 ||
	    (word32(frame + 12) & htobe32(0xffffff00)) != htobe32(0x08004500) ||
	    (word16(ip + 6) & htobe16(0x3fff)) != 0))
		return false;
	total = vmlx4_be16(ip + 2);
	tcp = ip[9] == IPPROTO_TCP;
	if (unlikely((!tcp && ip[9] != IPPROTO_UDP) || L3 + total > length ||
	    total < (tcp ? 40u : 28u)))
		return false;
	addresses = word64(ip + 12);
	/* It is not 0, as the first byte is not: a multiple of 0xffff folds to 0xffff. */
	if (unlikely(add(add(word64(ip), word32(ip + 8)), addresses) % 0xffff != 0))
		return false;
	total -= 20;
	*checksum = fold(sum_packet(frame + L4, total, add(addresses,
		(uint64_t)htobe16(tcp ? IPPROTO_TCP : IPPROTO_UDP) + htobe16((uint16_t)total))));
	flags = VMLX4_HW_ST_IPV4 | VMLX4_HW_ST_IPOK | (tcp ? VMLX4_HW_ST_TCP : VMLX4_HW_ST_UDP);
	/* A UDP checksum of zero says that the sender made none: nothing to verify. */
	if (*checksum == 0xffff && (tcp || word16(frame + L4 + 6) != 0))
		flags |= VMLX4_HW_ST_L4OK;
	*status = flags;
	return true;
}

bool
vmlx4_rx_plain_status(const uint8_t *frame, size_t length, uint32_t *status,
	uint16_t *checksum)
{
	return plain_status(frame, length, status, checksum);
}

/* ---- a run of frames for one queue ---- */

/* What stays the same from frame to frame. */
struct receiver {
	struct vmlx4_port *port;
	struct vmlx4_adapter *adapter;
	struct vmlx4_mr_cache mr;
	/* Frames to this address, as destination() has it, are for this QP. */
	uint64_t address;           /* NOBODY: there is none */
	struct vmlx4_qp *qp;
	struct vmlx4_rq *only;      /* its queue; NULL: the hash finds it */
	uint64_t mac_index;         /* where the second word of a CQE has it */
	bool group;                 /* the address */
	/* The queue that has the floor, or NULL. */
	struct vmlx4_rq *rq;
	const uint8_t *ring;        /* its WQEs from index on, in one piece… */
	uint32_t index, room, shift; /* …and as many are used as CQEs */
	size_t ahead;               /* bytes from a WQE to the one whose buffer is fetched */
	struct vmlx4_cq_writer cq;
	uint32_t qpn, no_hash;      /* as a CQE has them */
	uint32_t longest;           /* frame */
	uint32_t vxlan_port;        /* tunnels are not plain; as in a frame, or VMLX4_NO_VXLAN */
	bool strict;
};

/* Give back what was used. The general way does not know of the run. */
static void
queue_close(struct receiver *rx)
{
	struct vmlx4_rq *rq = rx->rq;

	if (rq == NULL)
		return;
	rx->rq = NULL;
	rq->ci = (uint16_t)(rx->index + rx->cq.count);
	vmlx4_cq_writer_close(&rx->cq);
}

static inline uint32_t
least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* False: there is something that the general way has to look into. */
static bool
queue_open(struct receiver *rx, struct vmlx4_rq *rq)
{
	struct vmlx4_cq *cq = rq->cq;
	uint32_t n, at;

	queue_close(rx);
	if (!rq->live || rq->scatter_fcs || rq->inline_size != 0 || cq->error ||
	    cq->timestamps || cq->room == 0)
		return false;
	n = (uint16_t)(rq->posted - rq->ci);
	if (n == 0)
		n = vmlx4_rq_refresh(rq);
	if (n == 0)
		return false;
	if (unlikely(rx->strict))
		vmlx4_cq_check_owner(cq);
	rx->adapter->rx_active = rq; /* for unmapped.c */
	at = rq->ci & (rq->wqe_cnt - 1);
	rx->ring = rq->buf + ((size_t)at << rq->stride_shift);
	rx->shift = rq->stride_shift;
	rx->ahead = (size_t)BUFFERS_AHEAD << rx->shift;
	rx->index = rq->ci;
	rx->room = least(least(n, rq->wqe_cnt - at),
		least(cq->room, vmlx4_cq_writer_open(&rx->cq, cq,
		VMLX4_HW_CQE_OP_RECV)));
	rx->qpn = htobe32(rq->qpn);
	if (rx->mr.pd != rq->pd)
		rx->mr = (struct vmlx4_mr_cache){ .pd = rq->pd };
	rx->rq = rq;
	return true;
}

/* Room in the first segment of a WQE, or NULL: not the plain case. */
static inline uint8_t *
queue_buffer(struct receiver *rx, const struct vmlx4_hw_data *seg, uint32_t length)
{
	uint32_t size = be32toh(seg->byte_count), lkey = be32toh(seg->lkey);

	/* What is negative as a signed number is inline data. */
	if (unlikely((int32_t)size < (int32_t)length || lkey == VMLX4_HW_LKEY_INVALID))
		return NULL;
	return vmlx4_mr_cached(&rx->mr, rx->adapter, lkey, be64toh(seg->addr),
		rx->strict ? size : length, IBV_ACCESS_LOCAL_WRITE);
}

static inline void
prefetch_buffer(const uint8_t *wqe)
{
	const struct vmlx4_hw_data *seg = (const void *)wqe;

	/* A wrong address costs nothing here: a prefetch does not fault. */
	vmlx4_prefetch_write((const void *)(uintptr_t)be64toh(seg->addr));
}

static inline void
copy_frame(uint8_t *to, const uint8_t *frame, size_t length)
{
	typedef uint64_t half_line __attribute__((vector_size(16)));
	half_line a, b, c, d;

	/* A program may send what it receives to: all is read before it is written. */
	if (likely(length - 32 <= 32)) {
		memcpy(&a, frame, 16);
		memcpy(&b, frame + 16, 16);
		memcpy(&c, frame + length - 32, 16);
		memcpy(&d, frame + length - 16, 16);
		memcpy(to, &a, 16);
		memcpy(to + 16, &b, 16);
		memcpy(to + length - 32, &c, 16);
		memcpy(to + length - 16, &d, 16);
	} else {
		memmove(to, frame, length);
	}
}

/* Copy and CQE. False: nothing has happened. The words are in memory order. */
static inline bool
queue_put(struct receiver *rx, const uint8_t *frame, uint32_t length, uint32_t status,
	uint16_t checksum, uint32_t hash)
{
	uint32_t i = rx->cq.count;
	const uint8_t *wqe = rx->ring + ((size_t)i << rx->shift);
	uint8_t *to = queue_buffer(rx, (const void *)wqe, length);

	if (unlikely(to == NULL))
		return false;
	if (likely(i + BUFFERS_AHEAD < rx->room))
		prefetch_buffer(wqe + rx->ahead);
	if (unlikely(rx->strict) && rx->rq->check != NULL)
		vmlx4_rq_check_take(rx->rq, (uint16_t)(rx->index + i), length);
	copy_frame(to, frame, length);
	vmlx4_cq_writer_put(&rx->cq, vmlx4_memory_pair(rx->qpn, hash),
		rx->mac_index | htole64((uint64_t)le16toh(word16(frame + 6)) << 48),
		vmlx4_memory_pair(htobe32(status), htobe32(length)),
		vmlx4_cqe_index(rx->index + i, checksum));
	return true;
}

/* ---- frames ---- */

#define NOBODY 1u /* what destination() never says */

/* In the upper bits, below which there is nothing. */
static inline uint64_t
destination(const uint8_t *frame)
{
	return le64toh(word64(frame)) << 16;
}

/* Whoever got the last frame that went the general way, unless all have to. */
static void
target_last(struct receiver *rx)
{
	const struct vmlx4_port *port = rx->port;
	const struct vmlx4_destination *last = &port->steering.last;
	uint64_t mac = htobe64(last->mac << 16);

	rx->address = NOBODY;
	if (last->flow == NULL || !port->active || port->infiniband ||
	    port->steering.copies != 0 || !vmlx4_adapter_bursts(port->adapter))
		return;
	rx->address = le64toh(mac) << 16;
	rx->qp = last->flow->qp;
	rx->only = rx->qp->table == NULL ? &rx->qp->rq : NULL;
	rx->mac_index = vmlx4_memory_pair(htobe32((uint32_t)last->mac_index << 24), 0);
	rx->group = (last->mac >> 40 & 1) != 0;
}

/* Another address: is it known? */
static bool
target_find(struct receiver *rx, const uint8_t *frame)
{
	if (rx->address == NOBODY || !vmlx4_destination_find(rx->port, vmlx4_mac_word(frame)))
		return false;
	target_last(rx);
	return true;
}

/* What the hash wants to know of a frame with a plain status. */
static const struct vmlx4_parsed plain_parsed[2] = {
	{ .l3 = VMLX4_L3_IPV4, .l3_offset = L3, .l4 = VMLX4_L4_UDP, .l4_offset = L4 },
	{ .l3 = VMLX4_L3_IPV4, .l3_offset = L3, .l4 = VMLX4_L4_TCP, .l4_offset = L4 },
};

/* The queue for a frame of an RSS QP, or NULL. */
static struct vmlx4_rq *
rss_queue(const struct vmlx4_qp *qp, const uint8_t *frame, uint32_t status, uint32_t *hash)
{
	uint32_t value;

	if (qp->state != IBV_QPS_RTR && qp->state != IBV_QPS_RTS)
		return NULL;
	if (qp->rss == NULL || !vmlx4_rss_hash(qp, frame,
	    &plain_parsed[(status & VMLX4_HW_ST_TCP) != 0], &value))
		return &qp->table->wq[0]->rq;
	*hash = htobe32(value);
	return &qp->table->wq[value & (qp->table->size - 1)]->rq;
}

static inline __attribute__((always_inline)) bool
receive_plain(struct receiver *rx, const uint8_t *frame, uint32_t length)
{
	uint32_t status, hash = rx->no_hash;
	struct vmlx4_rq *rq;
	uint16_t checksum;

	if (unlikely(length > rx->longest || !plain_status(frame, length, &status, &checksum) ||
	    (destination(frame) != rx->address && !target_find(rx, frame)) ||
	    (word16(frame + L4 + 2) == rx->vxlan_port && (status & VMLX4_HW_ST_UDP) != 0)))
		return false;
	rq = likely(rx->only != NULL) ? rx->only : rss_queue(rx->qp, frame, status, &hash);
	if (unlikely(rq == NULL) || (unlikely(rq != rx->rq || rx->cq.count == rx->room) &&
	    !queue_open(rx, rq)))
		return false;
	return queue_put(rx, frame, length, status, checksum, hash);
}

/*
 * A burst on its way. A fault (guard.h) leaves the loop in the middle, so that
 * all of it is kept outside of the loop's function.
 */
struct vmlx4_arriving {
	struct receiver rx;
	const struct vmlx4_burst *burst;
	unsigned int first, end;   /* of the run of the loop */
	bool plain_only;           /* it ends where the general way begins */
	volatile unsigned int at;  /* the frame at hand */
	volatile uint32_t elsewhere; /* bit i: the i-th frame went the general way */
	volatile uint32_t groups;  /* bit i: the i-th did not, and is to many */
};

static void
receive_run(void *arg)
{
	struct vmlx4_arriving *arriving = arg;
	struct receiver *rx = &arriving->rx;
	const struct vmlx4_burst *burst = arriving->burst;
	unsigned int i;

	target_last(rx);
	for (i = arriving->first; i < arriving->end; i++) {
		arriving->at = i;
		if (likely(receive_plain(rx, burst->frame[i], burst->length[i]))) {
			if (unlikely(rx->group))
				arriving->groups |= 1u << i;
			continue;
		}
		queue_close(rx);
		if (arriving->plain_only)
			return;
		arriving->elsewhere |= 1u << i;
		vmlx4_port_receive(rx->port, burst->frame[i], burst->length[i]);
		target_last(rx);
	}
	arriving->at = i;
	queue_close(rx);
}

/* What one run of the loop received by itself. */
static void
count_arrived(const struct vmlx4_arriving *arriving)
{
	struct vmlx4_port_stats *stats = &arriving->rx.port->stats;
	const struct vmlx4_burst *burst = arriving->burst;
	uint32_t elsewhere = arriving->elsewhere, groups = arriving->groups, bytes = 0;
	unsigned int at = arriving->at, frames = at - arriving->first, i;

	for (i = arriving->first; i < at; i++)
		bytes += burst->length[i];
	for (; unlikely(elsewhere != 0); elsewhere &= elsewhere - 1) {
		i = (unsigned int)__builtin_ctz(elsewhere);
		if (i < at) {
			bytes -= burst->length[i];
			frames--;
		}
	}
	stats->rx_frames += frames;
	stats->rx_bytes += bytes;
	for (; unlikely(groups != 0); groups &= groups - 1) {
		i = (unsigned int)__builtin_ctz(groups);
		stats->rx_multicast++;
		stats->rx_broadcast += vmlx4_mac_word(burst->frame[i]) == VMLX4_MAC_BROADCAST;
	}
}

void
vmlx4_rx_burst_settle(struct vmlx4_arriving *arriving)
{
	queue_close(&arriving->rx);
}

static void
receive_all(struct vmlx4_port *port, struct vmlx4_arriving *arriving)
{
	struct vmlx4_adapter *adapter = port->adapter;
	unsigned int vxlan_port = vmlx4_vxlan_port(adapter);

	arriving->rx.port = port;
	arriving->rx.adapter = adapter;
	arriving->rx.mr = (struct vmlx4_mr_cache){ 0 };
	arriving->rx.rq = NULL;
	arriving->rx.no_hash = htobe32(vmlx4_unknowns(adapter)->rx_hash_when_none);
	arriving->rx.longest = (uint32_t)vmlx4_port_max_frame(port);
	arriving->rx.vxlan_port = vxlan_port == VMLX4_NO_VXLAN ? vxlan_port :
		htobe16((uint16_t)vxlan_port);
	arriving->rx.strict = vmlx4_strict(adapter);
	arriving->elsewhere = 0;
	arriving->groups = 0;
	adapter->rx_burst = arriving;
	while (unlikely(!vmlx4_guarded(adapter, receive_run, arriving))) {
		count_arrived(arriving);
		/* Of a buffer: that frame is lost. Of a queue: it finds it dead now. */
		arriving->first = arriving->at + adapter->rx_lost;
		arriving->elsewhere = 0;
		arriving->groups = 0;
		adapter->rx_lost = false;
	}
	adapter->rx_burst = NULL;
	count_arrived(arriving);
}

void
vmlx4_port_receive_burst(struct vmlx4_port *port, const struct vmlx4_burst *burst)
{
	struct vmlx4_arriving arriving; /* not zeroed: most of it is room for CQE words */

	arriving.burst = burst;
	arriving.first = 0;
	arriving.end = burst->count;
	arriving.plain_only = false;
	receive_all(port, &arriving);
}

unsigned int
vmlx4_port_receive_plain(struct vmlx4_port *port, const struct vmlx4_burst *burst,
	unsigned int first, unsigned int count)
{
	struct vmlx4_arriving arriving;

	arriving.burst = burst;
	arriving.first = first;
	arriving.end = first + count;
	arriving.plain_only = true;
	receive_all(port, &arriving);
	return arriving.at - first;
}

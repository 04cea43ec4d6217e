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

static inline uint64_t
word32(const uint8_t *p)
{
	uint32_t w;

	memcpy(&w, p, 4);
	return w;
}

static inline uint16_t
fold(uint64_t sum)
{
	uint32_t half = (uint32_t)sum, high = (uint32_t)(sum >> 32);
	uint16_t quarter, rest;

	half += high;
	half += half < high;
	quarter = (uint16_t)half;
	rest = (uint16_t)(half >> 16);
	quarter = (uint16_t)(quarter + rest);
	return (uint16_t)(quarter + (quarter < rest));
}

/* Of the L4 packet: at least the 8 bytes of a UDP header. */
static inline uint64_t
sum_packet(const uint8_t *p, size_t length, uint64_t sum)
{
	size_t rest;

	if (length >= 256)
		return add(vmlx4_sum(p, length, 0), sum);
	for (rest = length; rest >= 8; rest -= 8, p += 8)
		sum = add(sum, word64(p));
	/* The last bytes again, without those that are counted already. */
	if (rest != 0)
		sum = add(sum, le64toh(word64(p - 8 + rest)) >> (64 - 8 * rest));
	return sum;
}

static inline bool
plain_status(const uint8_t *frame, size_t length, uint32_t *status, uint16_t *checksum)
{
	const uint8_t *ip = frame + L3;
	uint64_t sum, addresses;
	uint32_t total, flags;
	bool tcp;

	/* Ethertype and the first byte of IPv4 in one: big endian 0x0800, 0x45. */
	if (length < L4 + 8 || (vmlx4_be32(frame + 12) & 0xffffff00) != 0x08004500 ||
	    (vmlx4_be16(ip + 6) & 0x3fff) != 0)
		return false;
	total = vmlx4_be16(ip + 2);
	tcp = ip[9] == IPPROTO_TCP;
	if ((!tcp && ip[9] != IPPROTO_UDP) || L3 + total > length ||
	    total < (tcp ? 40u : 28u))
		return false;
	addresses = word64(ip + 12);
	sum = add(add(word64(ip), word32(ip + 8)), addresses);
	if (fold(sum) != 0xffff)
		return false;
	total -= 20;
	*checksum = fold(sum_packet(frame + L4, total,
		add(addresses, (uint64_t)htobe16(tcp ? IPPROTO_TCP : IPPROTO_UDP) +
		htobe16((uint16_t)total))));
	flags = VMLX4_HW_ST_IPV4 | VMLX4_HW_ST_IPOK | (tcp ? VMLX4_HW_ST_TCP : VMLX4_HW_ST_UDP);
	/* A UDP checksum of zero says that the sender made none: nothing to verify. */
	if (*checksum == 0xffff && (tcp || vmlx4_be16(frame + L4 + 6) != 0))
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
	/* The queue that has the floor, or NULL. */
	struct vmlx4_rq *rq;
	const uint8_t *ring;
	uint32_t mask, shift;
	uint32_t index, room;       /* its WQEs from index on; as many are used as CQEs */
	struct vmlx4_cq_writer cq;
	bool strict;
	unsigned int vxlan_port;    /* tunnels are not plain */
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

/* False: there is something that the general way has to look into. */
static bool
queue_open(struct receiver *rx, struct vmlx4_rq *rq)
{
	struct vmlx4_cq *cq = rq->cq;
	uint32_t n;

	queue_close(rx);
	n = (uint16_t)(rq->posted - rq->ci);
	if (!rq->live || n == 0 || rq->scatter_fcs || rq->inline_size != 0 || cq->error ||
	    cq->timestamps || cq->room == 0)
		return false;
	if (unlikely(rx->strict))
		vmlx4_cq_check_owner(cq);
	rx->adapter->rx_active = rq; /* for unmapped.c */
	rx->ring = rq->buf;
	rx->mask = rq->wqe_cnt - 1;
	rx->shift = rq->stride_shift;
	rx->index = rq->ci;
	rx->room = n < cq->room ? n : cq->room;
	vmlx4_cq_writer_open(&rx->cq, cq);
	rx->rq = rq;
	return true;
}

static inline const struct vmlx4_hw_data *
queue_segment(const struct receiver *rx, uint32_t index)
{
	return (const void *)(rx->ring + ((size_t)(index & rx->mask) << rx->shift));
}

/* Room in the first segment of the next WQE, or NULL: not the plain case. */
static inline uint8_t *
queue_buffer(struct receiver *rx, uint32_t index, uint32_t length)
{
	const struct vmlx4_hw_data *seg = queue_segment(rx, index);
	uint32_t size = be32toh(seg->byte_count), lkey = be32toh(seg->lkey);

	/* What is negative as a signed number is inline data. */
	if (unlikely((int32_t)size < (int32_t)length || lkey == VMLX4_HW_LKEY_INVALID))
		return NULL;
	return vmlx4_mr_cached(&rx->mr, rx->adapter, rx->rq->pd, lkey, be64toh(seg->addr),
		rx->strict ? size : length, IBV_ACCESS_LOCAL_WRITE);
}

static inline void
copy_frame(uint8_t *to, const uint8_t *frame, size_t length)
{
	struct { uint64_t word[8]; } line;

	/* A program may send what it receives to: all is read before it is written. */
	if (likely(length == sizeof(line))) {
		memcpy(&line, frame, sizeof(line));
		memcpy(to, &line, sizeof(line));
	} else {
		memmove(to, frame, length);
	}
}

/* Copy and CQE. False: nothing has happened. */
static inline bool
queue_put(struct receiver *rx, const uint8_t *frame, uint32_t length, uint32_t status,
	uint16_t checksum, uint32_t hash)
{
	uint32_t index = rx->index + rx->cq.count;
	uint8_t *to = queue_buffer(rx, index, length);

	if (unlikely(to == NULL))
		return false;
	if (likely(rx->cq.count + BUFFERS_AHEAD < rx->room))
		vmlx4_prefetch_write((const void *)(uintptr_t)
			be64toh(queue_segment(rx, index + BUFFERS_AHEAD)->addr));
	if (unlikely(rx->strict) && rx->rq->check != NULL)
		vmlx4_rq_check_take(rx->rq, (uint16_t)index, length);
	copy_frame(to, frame, length);
	/* The checksum is in memory order; beside the index it is two bytes more. */
	vmlx4_cq_writer_put(&rx->cq, vmlx4_cqe_pair(rx->rq->qpn, hash),
		vmlx4_cqe_pair((uint32_t)rx->port->steering.mac_index << 24,
			vmlx4_be16(frame + 6)), vmlx4_cqe_pair(status, length),
		vmlx4_cqe_pair(index << 16 | be16toh(checksum), VMLX4_HW_CQE_OP_RECV));
	return true;
}

/* ---- frames ---- */

/* What the hash wants to know of a frame with a plain status. */
static const struct vmlx4_parsed plain_parsed[2] = {
	{ .l3 = VMLX4_L3_IPV4, .l3_offset = L3, .l4 = VMLX4_L4_UDP, .l4_offset = L4 },
	{ .l3 = VMLX4_L3_IPV4, .l3_offset = L3, .l4 = VMLX4_L4_TCP, .l4_offset = L4 },
};

/* The queue for a frame of an RSS QP, or NULL. */
static struct vmlx4_rq *
rss_queue(const struct vmlx4_qp *qp, const uint8_t *frame, uint32_t status, uint32_t *hash)
{
	bool hashed;

	if (qp->state != IBV_QPS_RTR && qp->state != IBV_QPS_RTS)
		return NULL;
	hashed = qp->rss != NULL && vmlx4_rss_hash(qp, frame,
		&plain_parsed[(status & VMLX4_HW_ST_TCP) != 0], hash);
	return &qp->table->wq[hashed ? *hash & (qp->table->size - 1) : 0]->rq;
}

static inline bool
receive_plain(struct receiver *rx, const uint8_t *frame, uint32_t length)
{
	struct vmlx4_port *port = rx->port;
	struct vmlx4_flow *flow = port->steering.flow;
	uint32_t status, hash = vmlx4_unknowns(rx->adapter)->rx_hash_when_none;
	struct vmlx4_rq *rq;
	uint16_t checksum;

	if (unlikely(flow == NULL || port->steering.mac != vmlx4_mac_word(frame) ||
	    length > vmlx4_port_max_frame(port)) ||
	    !plain_status(frame, length, &status, &checksum) ||
	    ((status & VMLX4_HW_ST_UDP) != 0 && vmlx4_be16(frame + L4 + 2) == rx->vxlan_port))
		return false;
	rq = flow->qp->table == NULL ? &flow->qp->rq :
		rss_queue(flow->qp, frame, status, &hash);
	if (unlikely(rq != rx->rq || rx->cq.count == rx->room) &&
	    (rq == NULL || !queue_open(rx, rq)))
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
	unsigned int first;        /* of the run of the loop */
	volatile unsigned int at;  /* the frame at hand */
	uint32_t elsewhere;        /* bit i: the i-th frame went the general way */
};

static void
receive_run(void *arg)
{
	struct vmlx4_arriving *arriving = arg;
	struct receiver *rx = &arriving->rx;
	struct vmlx4_port *port = rx->port;
	const struct vmlx4_burst *burst = arriving->burst;
	bool plain = port->active && !port->infiniband && port->steering.copies == 0 &&
		vmlx4_adapter_bursts(port->adapter);
	unsigned int i;

	for (i = arriving->first; i < burst->count; i++) {
		arriving->at = i;
		if (likely(plain && receive_plain(rx, burst->frame[i], burst->length[i])))
			continue;
		queue_close(rx);
		arriving->elsewhere |= 1u << i;
		vmlx4_port_receive(port, burst->frame[i], burst->length[i]);
	}
	arriving->at = i;
	queue_close(rx);
}

/* What one run of the loop received. */
static void
count_arrived(const struct vmlx4_arriving *arriving)
{
	struct vmlx4_port_stats *stats = &arriving->rx.port->stats;
	uint64_t frames = 0, bytes = 0;
	unsigned int i;

	for (i = arriving->first; i < arriving->at; i++) {
		if (unlikely((arriving->elsewhere & 1u << i) != 0))
			continue;
		frames++;
		bytes += arriving->burst->length[i];
	}
	stats->rx_frames += frames;
	stats->rx_bytes += bytes;
}

void
vmlx4_rx_burst_settle(struct vmlx4_arriving *arriving)
{
	queue_close(&arriving->rx);
}

void
vmlx4_port_receive_burst(struct vmlx4_port *port, const struct vmlx4_burst *burst)
{
	struct vmlx4_adapter *adapter = port->adapter;
	struct vmlx4_arriving arriving; /* not zeroed: most of it is room for CQE words */

	arriving.rx.port = port;
	arriving.rx.adapter = adapter;
	arriving.rx.mr = (struct vmlx4_mr_cache){ 0 };
	arriving.rx.rq = NULL;
	arriving.rx.strict = vmlx4_strict(adapter);
	arriving.rx.vxlan_port = vmlx4_vxlan_port(adapter);
	arriving.burst = burst;
	arriving.first = 0;
	arriving.elsewhere = 0;
	adapter->rx_burst = &arriving;
	while (unlikely(!vmlx4_guarded(adapter, receive_run, &arriving))) {
		count_arrived(&arriving);
		/* Of a buffer: that frame is lost. Of a queue: it finds it dead now. */
		arriving.first = arriving.at + adapter->rx_lost;
		adapter->rx_lost = false;
	}
	adapter->rx_burst = NULL;
	count_arrived(&arriving);
}

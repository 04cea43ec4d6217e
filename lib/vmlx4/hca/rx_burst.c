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
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
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

/* Part of the loop over a burst, and too long for the compiler to see that. */
static inline bool __attribute__((always_inline))
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
		add(addresses, (uint64_t)htobe16(ip[9]) + htobe16((uint16_t)total))));
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

/* ---- one frame ---- */

/* What stays the same from frame to frame. */
struct receiver {
	struct vmlx4_port *port;
	struct vmlx4_adapter *adapter;
	const struct vmlx4_pd *pd;  /* of the cached MR */
	struct vmlx4_mr_cache mr;
	bool strict;
};

static inline const struct vmlx4_hw_data *
rq_segment(const struct vmlx4_rq *rq, uint32_t index)
{
	return (const void *)(rq->buf +
		((size_t)(index & (rq->wqe_cnt - 1)) << rq->stride_shift));
}

/* Room in the first segment of the next WQE, or NULL: not the plain case. */
static inline uint8_t *
plain_buffer(struct receiver *rx, const struct vmlx4_rq *rq, size_t length)
{
	const struct vmlx4_hw_data *seg = rq_segment(rq, rq->ci);
	uint32_t size = be32toh(seg->byte_count), lkey = be32toh(seg->lkey);

	if (unlikely(size < length || (size & VMLX4_HW_INLINE) != 0 ||
	    lkey == VMLX4_HW_LKEY_INVALID))
		return NULL;
	if (unlikely(rx->pd != rq->pd)) {
		rx->pd = rq->pd;
		rx->mr.lkey = 0;
	}
	return vmlx4_mr_cached(&rx->mr, rx->adapter, rq->pd, lkey, be64toh(seg->addr),
		rx->strict ? size : length, IBV_ACCESS_LOCAL_WRITE);
}

/* Nothing about queue and CQ that the general way would have to look into. */
static inline bool
plain_queue(const struct vmlx4_rq *rq)
{
	const struct vmlx4_cq *cq = rq->cq;

	return rq->live && rq->posted != rq->ci && !rq->scatter_fcs && !cq->error &&
		!cq->timestamps && cq->room != 0;
}

static inline void
copy_frame(uint8_t *to, const uint8_t *frame, size_t length)
{
	if (likely(length == 64))
		memcpy(to, frame, 64);
	else
		memcpy(to, frame, length);
}

/* Copy and CQE. False: the general way, nothing has happened. */
static inline bool __attribute__((always_inline))
put_frame(struct receiver *rx, struct vmlx4_rq *rq, const uint8_t *frame, size_t length,
	uint32_t status, uint16_t checksum, uint32_t hash)
{
	struct vmlx4_cq *cq = rq->cq;
	uint16_t smac;
	uint8_t *to;

	if (unlikely(!plain_queue(rq)))
		return false;
	to = plain_buffer(rx, rq, length);
	if (unlikely(to == NULL))
		return false;
	if (likely((uint16_t)(rq->posted - rq->ci) > BUFFERS_AHEAD))
		vmlx4_prefetch_write((const void *)(uintptr_t)
			be64toh(rq_segment(rq, rq->ci + BUFFERS_AHEAD)->addr));
	rx->adapter->rx_active = rq; /* for unmapped.c */
	copy_frame(to, frame, length);
	smac = vmlx4_be16(frame + 6);
	vmlx4_cq_put(cq, &(struct vmlx4_cqe_words){ .word = {
		htobe64((uint64_t)rq->qpn << 32 | hash),
		htobe64(smac),
		htobe64((uint64_t)status << 32 | (uint32_t)length),
		vmlx4_cqe_last(cq, rq->ci, checksum, VMLX4_HW_CQE_OP_RECV),
	} });
	rq->ci++;
	if (unlikely(cq->channel != NULL))
		vmlx4_cq_check_arm(cq);
	return true;
}

static inline uint64_t
mac_word(const uint8_t *frame)
{
	return (uint64_t)vmlx4_be32(frame) << 16 | vmlx4_be16(frame + 4);
}

/* What the hash wants to know of a frame with a plain status. */
static const struct vmlx4_parsed plain_parsed[2] = {
	{ .l3 = VMLX4_L3_IPV4, .l3_offset = L3, .l4 = VMLX4_L4_UDP, .l4_offset = L4 },
	{ .l3 = VMLX4_L3_IPV4, .l3_offset = L3, .l4 = VMLX4_L4_TCP, .l4_offset = L4 },
};

static inline bool __attribute__((always_inline))
receive_plain(struct receiver *rx, const uint8_t *frame, size_t length)
{
	struct vmlx4_port *port = rx->port;
	struct vmlx4_flow *flow = port->steering.flow;
	struct vmlx4_qp *qp;
	struct vmlx4_rq *rq;
	uint32_t status, hash;
	uint16_t checksum;

	if (unlikely(flow == NULL || port->steering.mac != mac_word(frame) ||
	    length > vmlx4_port_max_frame(port)) ||
	    !plain_status(frame, length, &status, &checksum))
		return false;
	qp = flow->qp;
	rq = &qp->rq;
	hash = vmlx4_unknowns(rx->adapter)->rx_hash_when_none;
	if (qp->table != NULL) {
		bool hashed;

		if (unlikely(qp->state != IBV_QPS_RTR && qp->state != IBV_QPS_RTS))
			return false;
		hashed = qp->rss != NULL && vmlx4_rss_hash(qp, frame,
			&plain_parsed[(status & VMLX4_HW_ST_TCP) != 0], &hash);
		rq = &qp->table->wq[hashed ? hash & (qp->table->size - 1) : 0]->rq;
	}
	return put_frame(rx, rq, frame, length, status, checksum, hash);
}

/* A burst on its way; a fault leaves the loop, so what counts is not on its stack. */
struct arriving {
	struct vmlx4_port *port;
	const struct vmlx4_burst *burst;
	volatile unsigned int at;  /* the frame at hand */
	uint32_t elsewhere;        /* bit i: the i-th frame did not go the short way */
};

static void
receive_run(void *arg)
{
	struct arriving *arriving = arg;
	struct vmlx4_port *port = arriving->port;
	const struct vmlx4_burst *burst = arriving->burst;
	struct receiver rx = {
		.port = port, .adapter = port->adapter, .strict = vmlx4_strict(port->adapter),
	};
	bool plain = port->active && !port->infiniband && port->steering.sniffers == 0 &&
		port->fail[VMLX4_FAULT_RX].count == 0 && vmlx4_adapter_bursts(port->adapter);
	unsigned int i;

	for (i = arriving->at; i < burst->count; i++) {
		arriving->at = i;
		if (likely(plain && receive_plain(&rx, burst->frame[i], burst->length[i])))
			continue;
		arriving->elsewhere |= 1u << i;
		vmlx4_port_receive(port, burst->frame[i], burst->length[i]);
	}
}

/* Those of the burst that went the short way. */
static void
count_plain(const struct arriving *arriving)
{
	uint32_t frames = (uint32_t)((1ull << arriving->burst->count) - 1);
	struct vmlx4_port_stats *stats = &arriving->port->stats;

	for (frames &= ~arriving->elsewhere; frames != 0; frames &= frames - 1) {
		stats->rx_frames++;
		stats->rx_bytes += arriving->burst->length[__builtin_ctz(frames)];
	}
}

void
vmlx4_port_receive_burst(struct vmlx4_port *port, const struct vmlx4_burst *burst)
{
	struct arriving arriving = { .port = port, .burst = burst };
	struct vmlx4_adapter *adapter = port->adapter;

	adapter->rx_burst = true;
	while (!vmlx4_guarded(adapter, receive_run, &arriving)) {
		/* Of a buffer: that frame is lost. Of a queue: it finds it dead now. */
		if (!adapter->rx_lost)
			continue;
		adapter->rx_lost = false;
		arriving.elsewhere |= 1u << arriving.at;
		arriving.at++;
	}
	adapter->rx_burst = false;
	count_plain(&arriving);
}

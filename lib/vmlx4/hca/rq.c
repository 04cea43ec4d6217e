/* SPDX-License-Identifier: BSD-3-Clause */

#include "internal.h"

/* Receive buffers are fetched this many WQEs before a frame needs them. */
#define RQ_LOOKAHEAD 6
#define RQ_WQE_AHEAD 256 /* bytes from there to the WQEs fetched meanwhile */
#define FATAL 0x100u     /* beside a syndrome of 8 bits: the queue ends with it */

static struct vmlx4_adapter *
rq_adapter(const struct vmlx4_rq *rq)
{
	return rq->cq->obj.ctx->adapter;
}

static const struct vmlx4_hw_data *
rq_wqe(const struct vmlx4_rq *rq, uint32_t index)
{
	return (const struct vmlx4_hw_data *)(const void *)(rq->buf +
		((size_t)(index & (rq->wqe_cnt - 1)) << rq->stride_shift));
}

void
vmlx4_rq_reset(struct vmlx4_rq *rq)
{
	vmlx4_rq_check_end(rq);
	rq->ci = 0;
	rq->posted = 0;
	rq->live = false;
	rq->error = false;
}

void
vmlx4_rq_ready(struct vmlx4_rq *rq)
{
	if (rq->db == NULL || rq->cq == NULL)
		return; /* a queue that never takes frames, e.g. of a send-only QP */
	rq->live = true;
	rq->error = false;
	vmlx4_rq_check_ready(rq);
}

uint32_t
vmlx4_rq_refresh(struct vmlx4_rq *rq)
{
	uint16_t before = rq->posted;

	rq->posted = (uint16_t)vmlx4_load_be32(rq->db);
	if (unlikely(rq->check != NULL) && rq->posted != before)
		vmlx4_rq_check_record(rq, before);
	return (uint16_t)(rq->posted - rq->ci);
}

void
vmlx4_rq_error(struct vmlx4_rq *rq)
{
	uint32_t n;

	if (rq->db == NULL || rq->cq == NULL)
		return;
	rq->live = false;
	rq->error = true;
	for (n = vmlx4_rq_refresh(rq); n != 0 && !rq->cq->error; n--)
		vmlx4_cq_write_error(rq->cq, rq->qpn, false, rq->ci++, VMLX4_HW_SYN_FLUSH);
}

static void
rq_fault(struct vmlx4_port *port, struct vmlx4_rq *rq, uint8_t syndrome, bool fatal)
{
	port->stats.rx_errors++;
	vmlx4_cq_write_error(rq->cq, rq->qpn, false, rq->ci, syndrome);
	rq->ci++;
	if (fatal)
		vmlx4_rq_error(rq);
}

/* The memory of one segment, as much of it as is wanted. */
static uint8_t *
seg_map(struct vmlx4_rq *rq, const struct vmlx4_hw_data *seg, uint32_t size,
	uint32_t want)
{
	struct vmlx4_adapter *adapter = rq_adapter(rq);
	uint32_t lkey = be32toh(seg->lkey);
	uint64_t addr = be64toh(seg->addr);
	uint32_t check = want;
	void *to;

	/* The card faults on what it touches; the contract covers all of it. */
	if (unlikely(vmlx4_strict(adapter)))
		check = size;
	to = vmlx4_mr_lookup(adapter, rq->pd, lkey, addr, check, IBV_ACCESS_LOCAL_WRITE);
	if (likely(to != NULL))
		return to;
	vmlx4_violation(adapter, VMLX4_RULE_LKEY, "RQ", rq->qpn, rq->ci,
		"lkey %#x for %u bytes at %#llx: %s", lkey, check, (unsigned long long)addr,
		vmlx4_mr_reason(adapter, rq->pd, lkey, addr, check, IBV_ACCESS_LOCAL_WRITE));
	return vmlx4_mr_lookup(adapter, rq->pd, lkey, addr, want, IBV_ACCESS_LOCAL_WRITE);
}

static uint32_t
seg_size(struct vmlx4_rq *rq, const struct vmlx4_hw_data *seg)
{
	uint32_t size = be32toh(seg->byte_count);

	if (unlikely(size == 0 || (size & VMLX4_HW_INLINE) != 0)) {
		vmlx4_violation(rq_adapter(rq), VMLX4_RULE_RQ_WQE, "RQ", rq->qpn, rq->ci,
			"byte count %#x", size);
		size = 0x80000000u;
	}
	return size;
}

/* Spread the frame over the list; a syndrome, with FATAL when it ends the queue. */
static unsigned int
rq_scatter(struct vmlx4_rq *rq, const struct vmlx4_hw_data *seg,
	const uint8_t *frame, size_t length)
{
	const struct vmlx4_unknowns *unknowns;
	uint32_t i;

	for (i = 0; i < rq->max_sge && length != 0; i++, seg++) {
		uint32_t size, n;
		uint8_t *to;

		if (be32toh(seg->lkey) == VMLX4_HW_LKEY_INVALID)
			break;
		size = seg_size(rq, seg);
		n = length < size ? (uint32_t)length : size;
		to = seg_map(rq, seg, size, n);
		if (unlikely(to == NULL)) {
			unknowns = vmlx4_unknowns(rq_adapter(rq));
			return unknowns->rx_prot_syndrome |
				(unknowns->rx_prot_fatal != 0 ? FATAL : 0);
		}
		memmove(to, frame, n); /* a program may send what it receives to */
		frame += n;
		length -= n;
	}
	if (likely(length == 0))
		return 0;
	unknowns = vmlx4_unknowns(rq_adapter(rq));
	return unknowns->rx_oversize_syndrome |
		(unknowns->rx_oversize_fatal != 0 ? FATAL : 0);
}

/* With the FCS behind it the frame is no longer where the sender has it. */
static unsigned int
rq_scatter_fcs(struct vmlx4_rq *rq, const struct vmlx4_hw_data *wqe,
	const uint8_t *frame, size_t length)
{
	static uint8_t whole[VMLX4_MAX_FRAME + 4]; /* the adapter is locked */
	uint32_t fcs = vmlx4_fcs(frame, length);

	memcpy(whole, frame, length);
	memcpy(whole + length, &fcs, 4);
	return rq_scatter(rq, wqe, whole, length + 4);
}

static void
rq_prefetch(const struct vmlx4_rq *rq)
{
	const struct vmlx4_hw_data *seg;

	if ((uint16_t)(rq->posted - rq->ci) <= RQ_LOOKAHEAD)
		return;
	seg = rq_wqe(rq, rq->ci + RQ_LOOKAHEAD);
	/* A wrong address costs nothing here: a prefetch does not fault. */
	vmlx4_prefetch_write((const void *)(uintptr_t)be64toh(seg->addr));
	__builtin_prefetch((const uint8_t *)seg + RQ_WQE_AHEAD);
}

static void
rq_complete(struct vmlx4_port *port, struct vmlx4_rq *rq, const uint8_t *frame,
	size_t length, const struct vmlx4_parsed *parsed, uint32_t hash, bool in_wqe)
{
	struct vmlx4_hw_cqe *cqe = vmlx4_cq_claim(rq->cq);
	struct vmlx4_rx_status st;

	if (unlikely(cqe == NULL)) {
		port->stats.rx_cq_overrun++;
		return;
	}
	vmlx4_rx_status(vmlx4_unknowns(port->adapter), frame, parsed, &st);
	cqe->vlan_qpn = htobe32(st.vlan | rq->qpn);
	cqe->rss_hash = htobe32(hash);
	cqe->mlpath = htobe32((uint32_t)parsed->mac_index << 24);
	cqe->sl_vid = htobe16(st.sl_vid);
	memcpy(&cqe->smac_hi, frame + 6, 2);
	cqe->status = htobe32(st.status);
	cqe->byte_cnt = htobe32((uint32_t)length + (rq->scatter_fcs ? 4 : 0));
	cqe->wqe_index = htobe16(rq->ci);
	cqe->checksum = st.checksum;
	rq->ci++;
	vmlx4_cq_commit(rq->cq, cqe, VMLX4_HW_CQE_OP_RECV | (in_wqe ? VMLX4_HW_CQE_INLINE : 0));
	port->stats.rx_frames++;
	port->stats.rx_bytes += length;
	port->stats.rx_multicast += frame[0] & 1;
	if (unlikely((frame[0] & 1) != 0) && vmlx4_mac_word(frame) == VMLX4_MAC_BROADCAST)
		port->stats.rx_broadcast++;
}

/* How much of the list a message takes is not known yet: as if it were all. */
bool
vmlx4_rq_take(struct vmlx4_rq *rq, struct vmlx4_rwqe *rwqe)
{
	if (!rq->live || (rq->posted == rq->ci && vmlx4_rq_refresh(rq) == 0))
		return false;
	if (unlikely(rq->check != NULL))
		vmlx4_rq_check_take(rq, rq->ci, UINT32_MAX);
	rwqe->seg = rq_wqe(rq, rq->ci);
	rwqe->max_sge = rq->max_sge;
	rwqe->index = rq->ci++;
	rwqe->pd = rq->pd;
	return true;
}

/* A fault that was asked for; it ends the queue as the true one would. */
static bool
rq_injected(struct vmlx4_port *port, struct vmlx4_rq *rq)
{
	const struct vmlx4_unknowns *unknowns = vmlx4_unknowns(port->adapter);
	uint8_t syndrome = vmlx4_fault_wqe(port, rq->qpn, false);

	if (syndrome != 0)
		rq_fault(port, rq, syndrome, syndrome == unknowns->rx_oversize_syndrome ?
			unknowns->rx_oversize_fatal : unknowns->rx_prot_fatal);
	return syndrome != 0;
}

void
vmlx4_rq_lost_buffer(struct vmlx4_port *port, struct vmlx4_rq *rq)
{
	const struct vmlx4_unknowns *unknowns = vmlx4_unknowns(port->adapter);

	rq_fault(port, rq, (uint8_t)unknowns->rx_prot_syndrome, unknowns->rx_prot_fatal != 0);
}

void
vmlx4_rq_receive(struct vmlx4_port *port, struct vmlx4_rq *rq,
	const uint8_t *frame, size_t length, const struct vmlx4_parsed *parsed,
	uint32_t hash)
{
	const struct vmlx4_hw_data *wqe;
	unsigned int syndrome = 0;
	bool in_wqe = unlikely(rq->inline_size != 0) && length <= rq->inline_size;

	if (unlikely(!rq->live)) {
		port->stats.rx_dropped_by_rule++;
		return;
	}
	if (unlikely(rq->posted == rq->ci) && vmlx4_rq_refresh(rq) == 0) {
		port->stats.rx_no_wqe++;
		if (vmlx4_unknowns(port->adapter)->tx_pause_when_starved != 0)
			vmlx4_pause_starved(port);
		return;
	}
	if (unlikely(rq->cq->error)) {
		port->stats.rx_cq_overrun++;
		return;
	}
	if (unlikely(port->adapter->faults != NULL) && rq_injected(port, rq))
		return;
	rq_prefetch(rq);
	port->adapter->rx_active = rq; /* for unmapped.c */
	wqe = rq_wqe(rq, rq->ci);
	if (unlikely(rq->check != NULL))
		vmlx4_rq_check_take(rq, rq->ci, (uint32_t)length);
	vmlx4_trace_rqe(port, rq, wqe, length);
	if (unlikely(in_wqe)) /* the list that stood there is gone */
		memcpy((void *)(uintptr_t)wqe, frame, length);
	else
		syndrome = unlikely(rq->scatter_fcs) ?
			rq_scatter_fcs(rq, wqe, frame, length) :
			rq_scatter(rq, wqe, frame, length);
	if (likely(syndrome == 0))
		rq_complete(port, rq, frame, length, parsed, hash, in_wqe);
	else
		rq_fault(port, rq, (uint8_t)syndrome, (syndrome & FATAL) != 0);
}

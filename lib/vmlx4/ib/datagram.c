/* SPDX-License-Identifier: BSD-3-Clause */

#include "transport.h"

/* UD: each message is a packet, and says where it goes. */

#define GRH_SIZE 40u
#define HEADERS 96u         /* that mlx4 leaves room for in the interface's MTU [K] */
#define AV_VLAN 0x20000000u /* of the first word: there is a tag [rc] */

/* The address vector, the peer's numbers and its MAC: 48 bytes [rc]. */
static void
read_path(const uint8_t *av, struct vmlx4_path *path)
{
	uint32_t label = vmlx4_be32(av + 12);

	memset(path, 0, sizeof(*path));
	path->tagged = (vmlx4_be32(av) & AV_VLAN) != 0;
	path->sgid_index = av[9];
	path->hop_limit = av[11];
	path->sl = (uint8_t)(label >> 29);
	path->traffic_class = (uint8_t)(label >> 20);
	path->flow_label = label & 0xfffff;
	memcpy(path->dgid, av + 16, VMLX4_GID_SIZE);
	path->vlan = vmlx4_be16(av + 40);
	memcpy(path->dmac, av + 42, 6);
}

/* The longest payload: the largest MTU of InfiniBand whose packets the port passes. */
static uint32_t
port_mtu(const struct vmlx4_port *port)
{
	uint32_t mtu = VMLX4_IB_MTU_MAX;

	while (mtu > 256 && mtu + HEADERS > port->netdev.mtu)
		mtu /= 2;
	return mtu;
}

uint8_t
vmlx4_ib_datagram_send(struct vmlx4_qp *qp, const struct vmlx4_ib_wqe *wqe)
{
	static struct vmlx4_gather g; /* the adapter is locked */
	uint8_t *frame = vmlx4_ib_frame_buffer(), *payload;
	struct vmlx4_ib *ib = qp->ib;
	struct vmlx4_ib_packet packet;
	struct vmlx4_path path;
	bool imm = wqe->opcode == VMLX4_HW_OP_SEND_IMM;

	vmlx4_gather(qp, wqe->bytes, wqe->data, wqe->size, &g);
	if (g.syndrome != 0)
		return g.syndrome;
	if (g.length > port_mtu(qp->port))
		return VMLX4_HW_SYN_LOC_LEN;
	read_path(wqe->datagram, &path);
	vmlx4_ib_address(qp, &path, &packet);
	packet.opcode = VMLX4_BTH_UD | (imm ? VMLX4_OP_SEND_ONLY_IMM : VMLX4_OP_SEND_ONLY);
	packet.dest_qpn = vmlx4_be32(wqe->datagram + 32) & 0xffffff;
	packet.qkey = vmlx4_be32(wqe->datagram + 36);
	/* One with the highest bit stands for the QP's own. */
	if ((packet.qkey & 0x80000000u) != 0)
		packet.qkey = ib->attr.qkey;
	packet.src_qpn = qp->qpn;
	packet.imm = wqe->imm;
	packet.solicited = wqe->solicited;
	packet.psn = ib->tx.psn;
	ib->tx.psn = (ib->tx.psn + 1) & VMLX4_PSN_MASK;
	payload = vmlx4_ib_packet_head(&packet, frame);
	vmlx4_gather_copy(&g, payload);
	vmlx4_ib_emit(qp, frame, vmlx4_ib_packet_seal(&packet, frame, g.length));
	return 0;
}

/* Before the payload: the GRH, or in its last 20 bytes the IPv4 header. */
static uint8_t
receive_data(struct vmlx4_qp *qp, const struct vmlx4_ib_packet *packet)
{
	uint8_t grh[GRH_SIZE] = { 0 };
	uint8_t syndrome;

	if (packet->ipv4)
		memcpy(grh + 20, packet->network, 20);
	else
		memcpy(grh, packet->network, GRH_SIZE);
	syndrome = vmlx4_ib_recv_data(qp, grh, GRH_SIZE);
	return syndrome != 0 ? syndrome :
		vmlx4_ib_recv_data(qp, packet->payload, packet->size);
}

void
vmlx4_ib_datagram_received(struct vmlx4_qp *qp, const struct vmlx4_ib_packet *packet)
{
	bool imm = VMLX4_BTH_OP(packet->opcode) == VMLX4_OP_SEND_ONLY_IMM;
	uint8_t syndrome;

	if (packet->qkey != qp->ib->attr.qkey) {
		qp->port->stats.rx_roce_qkey++;
		return;
	}
	if (!vmlx4_ib_recv_begin(qp, packet)) {
		qp->port->stats.rx_roce_no_wqe++;
		return;
	}
	syndrome = receive_data(qp, packet);
	if (syndrome != 0) {
		vmlx4_ib_recv_error(qp, syndrome);
		if (vmlx4_unknowns(qp->obj.ctx->adapter)->ud_error_fatal != 0)
			vmlx4_ib_fatal(qp, vmlx4_ib_recv_untold(qp));
		return;
	}
	if (!vmlx4_ib_recv_complete(qp, packet, imm ? VMLX4_HW_CQE_OP_RECV_IMM :
	    VMLX4_HW_CQE_OP_RECV, packet->size + GRH_SIZE))
		vmlx4_ib_fatal(qp, vmlx4_ib_recv_untold(qp));
}

/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The parts of a receive burst that most packets do not come to: checksums that
 * are not simply right, VLAN tags, timestamps, errors, queues of several rings.
 */

#include <errno.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>
#include <rte_udp.h>

#include "mlx4dv.h"
#include "mlx4dv_rx.h"

/* ---- checksums ---- */

/*
 * True unless the packet shows a UDP checksum: then a verification that failed
 * means that it is wrong. Zero means that the sender computed none, which the
 * CQE does not tell from a wrong one. Only asked about packets that failed.
 */
static bool
rx_udp_without_cksum(const struct rte_mbuf *m, uint32_t status)
{
	const uint8_t *data = rte_pktmbuf_mtod(m, const uint8_t *);
	uint32_t offset = 2 * RTE_ETHER_ADDR_LEN;
	unsigned int tags = 0;
	uint16_t type;

	for (;;) {
		if (offset + sizeof(type) > m->data_len)
			return true;
		type = (uint16_t)(data[offset] << 8 | data[offset + 1]);
		offset += sizeof(type);
		if (type != RTE_ETHER_TYPE_VLAN && type != RTE_ETHER_TYPE_QINQ)
			break;
		if (++tags > 2)
			return true;
		offset += sizeof(struct rte_vlan_hdr) - sizeof(type);
	}
	if (type == RTE_ETHER_TYPE_IPV4 && (status & DVQ_CQE_ST_IPV4) != 0)
		offset += sizeof(struct rte_ipv4_hdr);
	else if (type == RTE_ETHER_TYPE_IPV6 && (status & DVQ_CQE_ST_IPV6) != 0)
		offset += sizeof(struct rte_ipv6_hdr);
	else
		return true;
	if (offset + sizeof(struct rte_udp_hdr) > m->data_len)
		return true;
	offset += offsetof(struct rte_udp_hdr, dgram_cksum);
	return data[offset] == 0 && data[offset + 1] == 0;
}

/*
 * BAD only where the CQE proves it; what the adapter may not have looked at (fragments,
 * options, extension headers, tunnels) stays UNKNOWN.
 */
uint64_t
mdv_rx_csum_failed(const struct mdv_rxq *rxq, const struct dvq_cqe *cqe, const struct rte_mbuf *m,
	       uint32_t status)
{
	const uint32_t untested = DVQ_CQE_ST_IPV4F | DVQ_CQE_ST_IPV4OPT | 0xff00u;
	uint64_t flags = (status & DVQ_CQE_ST_IPV4) != 0 ? RTE_MBUF_F_RX_IP_CKSUM_GOOD : 0;

	/* Either sign of success will do: sources differ on which is set for IPv6. */
	if (dvq_cqe_checksum(cqe) == UINT16_MAX)
		return flags | RTE_MBUF_F_RX_L4_CKSUM_GOOD;
	if ((status & untested) != 0)
		return flags;
	if (rxq->csum_l2tun && (dvq_cqe_vlan_bits(cqe) & DVQ_CQE_TUNNEL) != 0)
		return flags;
	if ((status & DVQ_CQE_ST_UDP) != 0 && rx_udp_without_cksum(m, status))
		return flags;
	return flags | RTE_MBUF_F_RX_L4_CKSUM_BAD;
}

/* ---- VLAN tags ---- */

static uint16_t
tag_type(const uint8_t *data, uint32_t offset)
{
	return (uint16_t)(data[offset] << 8 | data[offset + 1]);
}

/* Close the gap over @n bytes of tags: the addresses move up. */
static void
strip(struct rte_mbuf *m, uint8_t *data, uint16_t n)
{
	memmove(data + n, data, 2 * RTE_ETHER_ADDR_LEN);
	m->data_off += n;
	m->data_len -= n;
	m->pkt_len -= n;
}

/*
 * By software, as rules with a VLAN id would leave untagged frames to the kernel.
 * The buffer of such a frame stays where it is.
 */
bool
mdv_rx_filtered(struct mdv_rxq *rxq, const struct dvq_cqe *cqe, const uint8_t *data)
{
	if (rxq->vlan_ids == NULL || !rx_is_tagged(cqe) || rx_may_pass(rxq, data))
		return false;
	rxq->stats.filtered++;
	return true;
}

/*
 * The adapter leaves tags in the data, and says that one is there. A CQE with a
 * timestamp has no room for the tag, so it is read from the data in any case.
 */
static uint64_t
rx_vlan(const struct mdv_rxq *rxq, struct rte_mbuf *m)
{
	const uint32_t at = 2 * RTE_ETHER_ADDR_LEN;
	uint8_t *data = rte_pktmbuf_mtod(m, uint8_t *);
	uint16_t type, outer;

	if (m->data_len < at + 2 * RTE_VLAN_HLEN + sizeof(type))
		return 0;
	type = tag_type(data, at);
	outer = tag_type(data, at + 2);
	if (type == RTE_ETHER_TYPE_QINQ &&
	    tag_type(data, at + RTE_VLAN_HLEN) == RTE_ETHER_TYPE_VLAN) {
		m->vlan_tci_outer = outer;
		m->vlan_tci = tag_type(data, at + RTE_VLAN_HLEN + 2);
		if (!rxq->qinq_strip)
			return RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_QINQ;
		strip(m, data, 2 * RTE_VLAN_HLEN);
		return RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED | RTE_MBUF_F_RX_QINQ |
			RTE_MBUF_F_RX_QINQ_STRIPPED;
	}
	if (type != RTE_ETHER_TYPE_VLAN && type != RTE_ETHER_TYPE_QINQ)
		return 0;
	m->vlan_tci = outer;
	if (!rxq->vlan_strip || type != RTE_ETHER_TYPE_VLAN)
		return RTE_MBUF_F_RX_VLAN;
	strip(m, data, RTE_VLAN_HLEN);
	return RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
}

uint64_t
mdv_rx_extras(struct mdv_rxq *rxq, const struct dvq_cqe *cqe, struct rte_mbuf *m)
{
	uint64_t flags = rxq->timestamp_flag;

	if (flags != 0)
		*RTE_MBUF_DYNFIELD(m, rxq->timestamp_offset, rte_mbuf_timestamp_t *) =
			rx_timestamp(&rxq->timestamp, cqe);
	if (rx_is_tagged(cqe))
		flags |= rx_vlan(rxq, m);
	return flags;
}

/* ---- several rings, errors ---- */

uint32_t
mdv_rx_switch_ring(struct mdv_rxq *rxq, uint32_t max)
{
	uint32_t wqn = dvq_cqe_qpn(dvq_cq_entry(&rxq->cq, rxq->cq.ci));
	unsigned int i;
	uint32_t run;

	if (rxq->ring->wqn != wqn) {
		for (i = 0; i < rxq->nb_rings; i++)
			if (rxq->rings[i].wqn == wqn)
				break;
		if (i == rxq->nb_rings) {
			rxq->stats.errors++;
			return 0;
		}
		/* One record per run of completions of a ring. */
		dvq_rq_publish(&rxq->ring->rq);
		rxq->ring = &rxq->rings[i];
	}
	for (run = 1; run < max; run++)
		if (dvq_cqe_qpn(dvq_cq_entry(&rxq->cq, rxq->cq.ci + run)) != wqn)
			break;
	return run;
}

void
mdv_rx_count_error(struct mdv_rxq *rxq, const struct dvq_cqe *cqe)
{
	uint8_t syndrome;
	bool ends;

	if (!dvq_cqe_is_error(cqe)) {
		rxq->stats.errors++;
		return;
	}
	syndrome = dvq_cqe_syndrome(cqe);
	ends = dvq_syndrome_kills_rq(syndrome);
	if (syndrome != DVQ_SYNDROME_WR_FLUSH || !rxq->last_error.ended)
		rxq->last_error = (struct mdv_last_error){
			.syndrome = syndrome, .vendor = dvq_cqe_vendor_err(cqe), .ended = ends,
		};
	if (syndrome == DVQ_SYNDROME_WR_FLUSH)
		rxq->stats.flushed++;
	else
		rxq->stats.errors++;
	rxq->dead |= ends;
}

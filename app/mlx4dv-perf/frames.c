/* SPDX-License-Identifier: BSD-3-Clause */

#include <string.h>

#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_udp.h>

#include "perf.h"

void
perf_frame(uint8_t *frame, unsigned int size, const uint8_t to[6], unsigned int number,
	uint16_t tci)
{
	unsigned int l2 = RTE_ETHER_HDR_LEN + (tci != 0 ? RTE_VLAN_HLEN : 0);
	struct rte_ether_hdr *eth = (struct rte_ether_hdr *)frame;
	struct rte_ipv4_hdr ip = {
		.version_ihl = RTE_IPV4_VHL_DEF, .time_to_live = 64,
		.next_proto_id = IPPROTO_UDP, .src_addr = RTE_BE32(RTE_IPV4(198, 18, 0, 1)),
		.dst_addr = RTE_BE32(RTE_IPV4(198, 18, 0, 2)),
		.total_length = rte_cpu_to_be_16((uint16_t)(size - l2)),
	};
	struct rte_udp_hdr udp = {
		.src_port = rte_cpu_to_be_16((uint16_t)(1024 + number)),
		.dst_port = RTE_BE16(9),
		.dgram_len = rte_cpu_to_be_16((uint16_t)(size - l2 - sizeof(ip))),
	};

	memset(frame, 0, size);
	memcpy(&eth->dst_addr, to, RTE_ETHER_ADDR_LEN);
	eth->src_addr.addr_bytes[0] = 2;
	eth->ether_type = tci != 0 ? RTE_BE16(RTE_ETHER_TYPE_VLAN) : RTE_BE16(RTE_ETHER_TYPE_IPV4);
	if (tci != 0) {
		struct rte_vlan_hdr tag = {
			.vlan_tci = rte_cpu_to_be_16(tci),
			.eth_proto = RTE_BE16(RTE_ETHER_TYPE_IPV4),
		};

		memcpy(frame + RTE_ETHER_HDR_LEN, &tag, sizeof(tag));
	}
	ip.hdr_checksum = rte_ipv4_cksum(&ip);
	memcpy(frame + l2, &ip, sizeof(ip));
	memcpy(frame + l2 + sizeof(ip), &udp, sizeof(udp));
	udp.dgram_cksum = rte_ipv4_udptcp_cksum((struct rte_ipv4_hdr *)(frame + l2),
		frame + l2 + sizeof(ip));
	memcpy(frame + l2 + sizeof(ip), &udp, sizeof(udp));
}

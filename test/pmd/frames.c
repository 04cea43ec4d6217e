/* SPDX-License-Identifier: BSD-3-Clause */

#include <string.h>

#include <netinet/in.h>

#include <rte_byteorder.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_tcp.h>
#include <rte_thash.h>
#include <rte_udp.h>

#include "frames.h"

const uint8_t mac_broadcast[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
const uint8_t mac_foreign[6] = { 0x02, 0xfe, 0xed, 0x00, 0x00, 0x99 };
const uint8_t mac_sender[6] = { 0x02, 0x5e, 0x4d, 0x00, 0x00, 0x01 };

uint32_t
rng_next(struct rng *rng)
{
	rng->state ^= rng->state >> 12;
	rng->state ^= rng->state << 25;
	rng->state ^= rng->state >> 27;
	return (rng->state * 0x2545f4914f6cdd1dull) >> 32;
}

uint32_t
rng_below(struct rng *rng, uint32_t below)
{
	return (uint64_t)rng_next(rng) * below >> 32;
}

void
frame_make(uint8_t *frame, size_t length, const uint8_t dst[6], uint64_t seed)
{
	uint8_t header[14];
	struct rng rng = { seed * 0x9e3779b97f4a7c15ull + 1 };
	size_t at = sizeof(header);

	memcpy(header, dst, 6);
	memcpy(header + 6, mac_sender, 6);
	header[12] = 0x88;
	header[13] = 0xb5;
	memcpy(frame, header, length < at ? length : at);
	while (at < length) {
		uint32_t word = rng_next(&rng);
		size_t part = length - at < 4 ? length - at : 4;

		memcpy(frame + at, &word, part);
		at += part;
	}
}

struct frame_flow
flow_make(bool ipv6, uint8_t proto, uint32_t seed)
{
	struct rng rng = { seed * 0x9e3779b97f4a7c15ull + 7 };
	struct frame_flow flow = { .ipv6 = ipv6, .proto = proto };
	unsigned int i;

	rng_next(&rng);
	flow.src4 = 0x0a000000 | rng_below(&rng, 1 << 24);
	flow.dst4 = 0xc0a80000 | rng_below(&rng, 1 << 16);
	for (i = 0; i < 16; i++) {
		flow.src6[i] = rng_next(&rng);
		flow.dst6[i] = rng_next(&rng);
	}
	flow.src6[0] = flow.dst6[0] = 0xfd;
	flow.src_port = 1024 + rng_below(&rng, 60000);
	flow.dst_port = 1024 + rng_below(&rng, 60000);
	return flow;
}

static uint16_t
l4_checksum(const void *ip, const void *l4, bool ipv6)
{
	return ipv6 ? rte_ipv6_udptcp_cksum(ip, l4) : rte_ipv4_udptcp_cksum(ip, l4);
}

static void
frame_l4(uint8_t *l4, size_t length, const struct frame_flow *flow, const void *ip)
{
	if (flow->proto == IPPROTO_UDP) {
		struct rte_udp_hdr *udp = (void *)l4;

		udp->src_port = rte_cpu_to_be_16(flow->src_port);
		udp->dst_port = rte_cpu_to_be_16(flow->dst_port);
		udp->dgram_len = rte_cpu_to_be_16(length);
		udp->dgram_cksum = 0;
		udp->dgram_cksum = l4_checksum(ip, l4, flow->ipv6);
	} else if (flow->proto == IPPROTO_TCP) {
		struct rte_tcp_hdr *tcp = (void *)l4;

		memset(tcp, 0, sizeof(*tcp));
		tcp->src_port = rte_cpu_to_be_16(flow->src_port);
		tcp->dst_port = rte_cpu_to_be_16(flow->dst_port);
		tcp->data_off = 5 << 4;
		tcp->tcp_flags = RTE_TCP_ACK_FLAG;
		tcp->cksum = l4_checksum(ip, l4, flow->ipv6);
	}
}

void
frame_flow(uint8_t *frame, size_t length, const uint8_t dst[6], const struct frame_flow *flow)
{
	uint8_t *ip = frame + 14;

	frame_make(frame, length, dst, flow->src4 ^ flow->dst4);
	frame[12] = flow->ipv6 ? 0x86 : 0x08;
	frame[13] = flow->ipv6 ? 0xdd : 0x00;
	if (flow->ipv6) {
		struct rte_ipv6_hdr *ip6 = (void *)ip;

		memset(ip6, 0, sizeof(*ip6));
		ip6->vtc_flow = rte_cpu_to_be_32(6u << 28);
		ip6->payload_len = rte_cpu_to_be_16(length - 14 - sizeof(*ip6));
		ip6->proto = flow->proto;
		ip6->hop_limits = 64;
		memcpy(&ip6->src_addr, flow->src6, 16);
		memcpy(&ip6->dst_addr, flow->dst6, 16);
		frame_l4(ip + sizeof(*ip6), length - 14 - sizeof(*ip6), flow, ip6);
	} else {
		struct rte_ipv4_hdr *ip4 = (void *)ip;

		memset(ip4, 0, sizeof(*ip4));
		ip4->version_ihl = 0x45;
		ip4->total_length = rte_cpu_to_be_16(length - 14);
		ip4->time_to_live = 64;
		ip4->next_proto_id = flow->proto;
		ip4->src_addr = rte_cpu_to_be_32(flow->src4);
		ip4->dst_addr = rte_cpu_to_be_32(flow->dst4);
		ip4->hdr_checksum = rte_ipv4_cksum(ip4);
		frame_l4(ip + sizeof(*ip4), length - 14 - sizeof(*ip4), flow, ip4);
	}
}

uint32_t
flow_hash(const struct frame_flow *flow, const uint8_t *key, bool ports)
{
	uint32_t tuple[9];
	uint32_t words = 0;
	unsigned int i;

	if (flow->ipv6) {
		for (i = 0; i < 4; i++) {
			uint32_t word;

			memcpy(&word, flow->src6 + 4 * i, 4);
			tuple[i] = rte_be_to_cpu_32(word);
			memcpy(&word, flow->dst6 + 4 * i, 4);
			tuple[4 + i] = rte_be_to_cpu_32(word);
		}
		words = 8;
	} else {
		tuple[words++] = flow->src4;
		tuple[words++] = flow->dst4;
	}
	if (ports)
		tuple[words++] = (uint32_t)flow->src_port << 16 | flow->dst_port;
	return rte_softrss(tuple, words, key);
}

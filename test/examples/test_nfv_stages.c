/* SPDX-License-Identifier: BSD-3-Clause */

/* ACL, NAT and route of nfv_chain, each alone: packets in, packets out. */

#include <netinet/ip_icmp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <rte_icmp.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#include "chain.h"
#include "nfv_eal.h"

#define INSIDE 0
#define OUTSIDE 1
#define OTHER 2   /* inside, too */

#define HOST RTE_IPV4(10u, 0, 0, 2)
#define SERVER RTE_IPV4(203u, 0, 113, 9)
#define NAT_ADDRESS RTE_IPV4(192u, 0, 2, 1)
#define FIRST_PORT 20000

static const char text[] =
	"port 0 inside 10.0.0.1/24\n"
	"port 1 outside 192.0.2.1/24\n"
	"port 2 inside 10.2.0.1/16\n"
	"neighbour 10.0.0.2 02:00:00:00:00:02\n"
	"neighbour 10.2.0.2 02:00:00:00:02:02\n"
	"neighbour 192.0.2.253 02:00:00:00:00:fd\n"
	"neighbour 192.0.2.254 02:00:00:00:00:fe\n"
	"route 203.0.113.0/24 via 192.0.2.254\n"
	"route 203.0.113.128/25 via 192.0.2.253\n"
	"route 203.0.113.200/32 via 10.2.0.2\n"
	"deny tcp any:1024-2047 203.0.113.9:22-23\n"
	"permit tcp 10.0.0.0/24 203.0.113.0/24\n"
	"deny udp 10.0.0.2 any\n"
	"permit udp any any:53\n"
	"nat 192.0.2.1 20000-20003\n";

static struct chain *chain;

static int
set_up(void **state)
{
	static struct config config;
	char file[] = "nfv-stages-XXXXXX", error[256];
	FILE *stream = fdopen(mkstemp(file), "w");
	unsigned int i;
	int ret;

	(void)state;
	fputs(text, stream);
	fclose(stream);
	ret = config_load(file, &config, error, sizeof(error));
	unlink(file);
	if (ret != 0)
		fail_msg("%s", error);
	chain = chain_create(&config, 1024);
	if (chain == NULL)
		return -1;
	for (i = 0; i < 3; i++) {
		chain->mac[i].addr_bytes[5] = (uint8_t)(0xa0 + i);
		chain->mtu[i] = 1500;
	}
	for (i = STAGE_ACL; i <= STAGE_ROUTE; i++)
		if (stage_ops[i]->open(chain, &chain->stages[i]) != 0)
			return -1;
	return 0;
}

static int
tear_down(void **state)
{
	unsigned int i;

	(void)state;
	for (i = STAGE_ACL; i <= STAGE_ROUTE; i++)
		if (stage_ops[i]->close != NULL)
			stage_ops[i]->close();
	assert_int_equal(chain_free(chain), 0);
	return 0;
}

struct packet {
	uint16_t port;
	uint8_t proto;
	uint32_t src, dst;
	uint16_t sport, dport; /* of ICMP: type and identifier */
	uint8_t ttl;
	uint16_t data;
};

static void
fill_l4(struct rte_mbuf *m, const struct packet *p)
{
	struct rte_ipv4_hdr *ip = packet_ip(m);
	struct rte_tcp_hdr *tcp = packet_l4(m);
	struct rte_udp_hdr *udp = packet_l4(m);
	struct rte_icmp_hdr *icmp = packet_l4(m);
	unsigned int length = rte_be_to_cpu_16(ip->total_length) - sizeof(*ip);

	if (p->proto == IPPROTO_ICMP) {
		icmp->icmp_type = (uint8_t)p->sport;
		icmp->icmp_ident = rte_cpu_to_be_16(p->dport);
		icmp->icmp_cksum = 0;
		icmp->icmp_cksum = (uint16_t)~rte_raw_cksum(icmp, length);
		return;
	}
	tcp->src_port = rte_cpu_to_be_16(p->sport);
	tcp->dst_port = rte_cpu_to_be_16(p->dport);
	if (p->proto == IPPROTO_TCP) {
		tcp->data_off = 0x50;
		tcp->cksum = 0;
		tcp->cksum = rte_ipv4_udptcp_cksum(ip, tcp);
	} else if (p->proto == IPPROTO_UDP) {
		udp->dgram_cksum = 0;
		udp->dgram_len = rte_cpu_to_be_16((uint16_t)length);
		udp->dgram_cksum = rte_ipv4_udptcp_cksum(ip, udp);
	}
}

/* As rx.c would have let it through. */
static struct rte_mbuf *
make(struct packet p)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(chain->pool);
	uint16_t length = (uint16_t)(sizeof(struct rte_ipv4_hdr) +
		sizeof(struct rte_tcp_hdr) + p.data);
	struct rte_ipv4_hdr *ip;

	assert_non_null(m);
	memset(rte_pktmbuf_append(m, RTE_ETHER_HDR_LEN + length), 0x5a,
		RTE_ETHER_HDR_LEN + length);
	m->port = p.port;
	m->l2_len = RTE_ETHER_HDR_LEN;
	m->l3_len = sizeof(*ip);
	ip = packet_ip(m);
	*ip = (struct rte_ipv4_hdr){
		.version_ihl = RTE_IPV4_VHL_DEF, .total_length = rte_cpu_to_be_16(length),
		.time_to_live = p.ttl != 0 ? p.ttl : 64, .next_proto_id = p.proto,
		.src_addr = rte_cpu_to_be_32(p.src), .dst_addr = rte_cpu_to_be_32(p.dst),
	};
	fill_l4(m, &p);
	ip->hdr_checksum = rte_ipv4_cksum(ip);
	return m;
}

static uint64_t
drops_of(enum stage_id id, enum drop cause)
{
	return counted(&chain->stages[id].drops[cause]);
}

static bool
passes(enum stage_id id, struct rte_mbuf *m)
{
	return stage_ops[id]->filter(&chain->stages[id], &m, 1) == 1;
}

/* Dropped under this name and no other. */
static void
dropped(enum stage_id id, enum drop cause, struct packet p)
{
	uint64_t before = drops_of(id, cause);

	assert_false(passes(id, make(p)));
	assert_int_equal(drops_of(id, cause), before + 1);
}

static bool
sum_right(struct rte_mbuf *m)
{
	struct rte_ipv4_hdr *ip = packet_ip(m);
	unsigned int length = rte_be_to_cpu_16(ip->total_length) - sizeof(*ip);

	uint32_t sum = rte_raw_cksum(packet_l4(m), length);

	if (ip->next_proto_id != IPPROTO_ICMP)
		sum += rte_ipv4_phdr_cksum(ip, 0);
	return sum % 0xffff == 0;
}

/* ---- ACL ---- */

#define TCP(from, sp, to, dp) (struct packet){ .proto = IPPROTO_TCP, .src = from, .dst = to, \
	.sport = sp, .dport = dp }
#define UDP(from, sp, to, dp) (struct packet){ .proto = IPPROTO_UDP, .src = from, .dst = to, \
	.sport = sp, .dport = dp }

static void
permitted(struct packet p)
{
	struct rte_mbuf *m = make(p);

	assert_true(passes(STAGE_ACL, m));
	rte_pktmbuf_free(m);
}

static void
acl_first_rule_decides(void **state)
{
	(void)state;
	dropped(STAGE_ACL, DROP_DENIED, TCP(HOST, 1024, SERVER, 22));
	dropped(STAGE_ACL, DROP_DENIED, TCP(HOST, 2047, SERVER, 23));
	permitted(TCP(HOST, 2048, SERVER, 23));
	permitted(TCP(HOST, 1023, SERVER, 22));
	permitted(TCP(HOST, 1024, SERVER, 24));
	permitted(TCP(HOST, 1024, SERVER + 1, 22));
	dropped(STAGE_ACL, DROP_NO_RULE, TCP(HOST + 256, 1023, SERVER, 22));
	dropped(STAGE_ACL, DROP_NO_RULE, TCP(HOST, 1, SERVER + 256, 80));
	dropped(STAGE_ACL, DROP_DENIED, UDP(HOST, 1, SERVER, 53));
	permitted(UDP(HOST + 1, 1, SERVER, 53));
	dropped(STAGE_ACL, DROP_NO_RULE, UDP(HOST + 1, 1, SERVER, 54));
	dropped(STAGE_ACL, DROP_NO_RULE, (struct packet){ .proto = 47, .src = HOST,
		.dst = SERVER });
}

/* A burst keeps its order, and loses only what is denied. */
static void
acl_burst(void **state)
{
	struct rte_mbuf *pkts[BURST], *kept[BURST];
	unsigned int i, n = 0;

	(void)state;
	for (i = 0; i < BURST; i++) {
		pkts[i] = make(TCP(HOST, 1024, SERVER, i % 3 == 0 ? 22 : 80));
		if (i % 3 != 0)
			kept[n++] = pkts[i];
	}
	assert_int_equal(acl_ops.filter(&chain->stages[STAGE_ACL], pkts, BURST), n);
	assert_memory_equal(pkts, kept, n * sizeof(pkts[0]));
	assert_int_equal(drops_of(STAGE_ACL, DROP_DENIED), BURST - n);
	rte_pktmbuf_free_bulk(pkts, n);
}

/* ---- NAT ---- */

/* Out and back again: what is left is the packet that the host would expect. */
static void
there_and_back(uint8_t proto, uint16_t sport, uint16_t dport)
{
	bool echo = proto == IPPROTO_ICMP;
	struct rte_mbuf *m = make((struct packet){ INSIDE, proto, HOST, SERVER,
		echo ? ICMP_ECHO : sport, echo ? sport : dport, 0, 33 });
	struct rte_ipv4_hdr *ip = packet_ip(m);
	uint16_t *l4 = packet_l4(m);

	assert_true(passes(STAGE_NAT, m));
	assert_int_equal(rte_be_to_cpu_32(ip->src_addr), NAT_ADDRESS);
	assert_int_equal(rte_be_to_cpu_32(ip->dst_addr), SERVER);
	assert_int_equal(rte_be_to_cpu_16(l4[echo ? 2 : 0]), FIRST_PORT);
	if (!echo)
		assert_int_equal(rte_be_to_cpu_16(l4[1]), dport);
	assert_true(sum_right(m));
	rte_pktmbuf_free(m);

	m = make((struct packet){ OUTSIDE, proto, SERVER, NAT_ADDRESS,
		echo ? ICMP_ECHOREPLY : dport, FIRST_PORT, 0, 7 });
	ip = packet_ip(m);
	l4 = packet_l4(m);
	assert_true(passes(STAGE_NAT, m));
	assert_int_equal(rte_be_to_cpu_32(ip->src_addr), SERVER);
	assert_int_equal(rte_be_to_cpu_32(ip->dst_addr), HOST);
	assert_int_equal(rte_be_to_cpu_16(l4[echo ? 2 : 1]), sport);
	assert_true(sum_right(m));
	assert_int_equal(m->ol_flags, 0);
	rte_pktmbuf_free(m);
}

static void
nat_there_and_back(void **state)
{
	unsigned int i;

	(void)state;
	there_and_back(IPPROTO_TCP, 40000, 80);
	there_and_back(IPPROTO_UDP, 53, 53);
	there_and_back(IPPROTO_ICMP, 0x1234, 0);
	/* Sums that come out as 0 and 0xffff on the way are among so many. */
	for (i = 0; i < 4; i++)
		there_and_back(IPPROTO_UDP, 53, (uint16_t)(i * 16000));
}

/* Every sum there is: in UDP 0 stands for none and must not come out. */
static void
nat_no_sum_becomes_none(void **state)
{
	unsigned int i, ones = 0;

	(void)state;
	for (i = 0; i < 65536; i++) {
		struct rte_mbuf *m = make((struct packet){ INSIDE, IPPROTO_UDP, HOST, SERVER, 1,
			(uint16_t)i, 0, 0 });
		struct rte_udp_hdr *udp = packet_l4(m);

		assert_true(passes(STAGE_NAT, m));
		assert_int_not_equal(udp->dgram_cksum, 0);
		assert_true(sum_right(m));
		ones += udp->dgram_cksum == 0xffff;
		rte_pktmbuf_free(m);
	}
	assert_true(ones > 0);
}

static void
nat_leaves_sums_that_are_wrong_or_absent(void **state)
{
	struct rte_mbuf *m = make((struct packet){ INSIDE, IPPROTO_TCP, HOST, SERVER, 1, 2, 0, 9 });
	struct rte_tcp_hdr *tcp = packet_l4(m);
	struct rte_udp_hdr *udp;

	(void)state;
	tcp->cksum ^= RTE_BE16(0x0100);
	chain->tx_l4_cksum = true; /* the port did not say that it was right */
	assert_true(passes(STAGE_NAT, m));
	assert_false(sum_right(m));
	assert_int_equal(m->ol_flags, 0);
	tcp->cksum ^= RTE_BE16(0x0100);
	rte_pktmbuf_free(m);

	m = make((struct packet){ INSIDE, IPPROTO_UDP, HOST, SERVER, 1, 2, 0, 9 });
	udp = packet_l4(m);
	udp->dgram_cksum = 0;
	m->ol_flags = RTE_MBUF_F_RX_L4_CKSUM_GOOD;
	assert_true(passes(STAGE_NAT, m));
	assert_int_equal(udp->dgram_cksum, 0);
	assert_int_equal(m->ol_flags, RTE_MBUF_F_RX_L4_CKSUM_GOOD);
	rte_pktmbuf_free(m);
}

static void
nat_by_the_port(void **state)
{
	struct rte_mbuf *m = make((struct packet){ INSIDE, IPPROTO_TCP, HOST, SERVER, 1, 2, 0, 9 });
	struct rte_ipv4_hdr *ip = packet_ip(m);
	struct rte_tcp_hdr *tcp = packet_l4(m);

	(void)state;
	chain->tx_l4_cksum = true;
	m->ol_flags = RTE_MBUF_F_RX_L4_CKSUM_GOOD;
	assert_true(passes(STAGE_NAT, m));
	assert_int_equal(m->ol_flags, RTE_MBUF_F_RX_L4_CKSUM_GOOD | RTE_MBUF_F_TX_IPV4 |
		RTE_MBUF_F_TX_TCP_CKSUM);
	assert_int_equal(tcp->cksum, rte_ipv4_phdr_cksum(ip, m->ol_flags));
	rte_pktmbuf_free(m);
}

/* Between inside ports, and to nowhere: not NAT's matter. */
static void
nat_lets_alone(void **state)
{
	static const uint32_t others[] = { RTE_IPV4(10u, 2, 0, 2), RTE_IPV4(203u, 0, 113, 200),
		RTE_IPV4(8u, 8, 8, 8), RTE_IPV4(10u, 0, 0, 1), NAT_ADDRESS };
	unsigned int i;

	(void)state;
	for (i = 0; i < RTE_DIM(others); i++) {
		struct rte_mbuf *m = make((struct packet){ INSIDE, IPPROTO_TCP, HOST, others[i],
			1, 2, 0, 9 });

		assert_true(passes(STAGE_NAT, m));
		assert_int_equal(rte_be_to_cpu_32(packet_ip(m)->src_addr), HOST);
		assert_true(sum_right(m));
		rte_pktmbuf_free(m);
	}
}

static void
nat_drops(void **state)
{
	unsigned int i;

	(void)state;
	dropped(STAGE_NAT, DROP_NO_TRANSLATION, (struct packet){ OUTSIDE, IPPROTO_TCP, SERVER,
		NAT_ADDRESS, 80, FIRST_PORT, 0, 0 });
	dropped(STAGE_NAT, DROP_NOT_TRANSLATED, (struct packet){ OUTSIDE, IPPROTO_TCP, SERVER,
		HOST, 80, 1, 0, 0 });
	dropped(STAGE_NAT, DROP_NAT_PROTOCOL, (struct packet){ INSIDE, 47, HOST, SERVER, 0, 0, 0,
		0 });
	dropped(STAGE_NAT, DROP_NAT_PROTOCOL, (struct packet){ OUTSIDE, 47, SERVER, NAT_ADDRESS,
		0, 0, 0, 0 });
	dropped(STAGE_NAT, DROP_NAT_ICMP, (struct packet){ INSIDE, IPPROTO_ICMP, HOST, SERVER, 0,
		1, 0, 0 });
	dropped(STAGE_NAT, DROP_NAT_ICMP, (struct packet){ OUTSIDE, IPPROTO_ICMP, SERVER,
		NAT_ADDRESS, 8, 1, 0, 0 });
	for (i = 0; i < 4; i++) {
		struct rte_mbuf *m = make((struct packet){ INSIDE, IPPROTO_TCP, HOST, SERVER,
			(uint16_t)i, 2, 0, 0 });

		assert_true(passes(STAGE_NAT, m));
		rte_pktmbuf_free(m);
	}
	dropped(STAGE_NAT, DROP_NO_PORT, (struct packet){ INSIDE, IPPROTO_TCP, HOST, SERVER, 9, 2,
		0, 0 });
}

/* ---- route ---- */

static void
leads(uint32_t to, uint16_t port, uint8_t mac)
{
	struct rte_mbuf *m = make((struct packet){ INSIDE, IPPROTO_TCP, HOST, to, 1, 2, 9, 0 });
	const struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, const struct rte_ether_hdr *);
	const struct rte_ipv4_hdr *ip = packet_ip(m);

	assert_true(passes(STAGE_ROUTE, m));
	assert_int_equal(m->port, port);
	assert_int_equal(eth->dst_addr.addr_bytes[0], 0x02);
	assert_int_equal(eth->dst_addr.addr_bytes[5], mac);
	assert_memory_equal(&eth->src_addr, &chain->mac[port], sizeof(eth->src_addr));
	assert_int_equal(ip->time_to_live, 8);
	assert_int_equal(rte_raw_cksum(ip, sizeof(*ip)), 0xffff);
	rte_pktmbuf_free(m);
}

static void
route_longest_prefix(void **state)
{
	(void)state;
	leads(RTE_IPV4(203u, 0, 113, 1), OUTSIDE, 0xfe);
	leads(RTE_IPV4(203u, 0, 113, 127), OUTSIDE, 0xfe);
	leads(RTE_IPV4(203u, 0, 113, 128), OUTSIDE, 0xfd);
	leads(RTE_IPV4(203u, 0, 113, 199), OUTSIDE, 0xfd);
	leads(RTE_IPV4(203u, 0, 113, 200), OTHER, 0x02);
	leads(RTE_IPV4(203u, 0, 113, 201), OUTSIDE, 0xfd);
	leads(HOST, INSIDE, 0x02);
}

static void
route_drops(void **state)
{
	struct packet p = { INSIDE, IPPROTO_TCP, HOST, SERVER, 1, 2, 1, 0 };

	(void)state;
	dropped(STAGE_ROUTE, DROP_TTL, p);
	p.ttl = 2;
	p.data = 1500 - sizeof(struct rte_ipv4_hdr) - sizeof(struct rte_tcp_hdr) + 1;
	dropped(STAGE_ROUTE, DROP_TOO_BIG, p);
	p.data = 0;
	p.dst = RTE_IPV4(203u, 0, 114, 1);
	dropped(STAGE_ROUTE, DROP_NO_ROUTE, p);
	p.dst = RTE_IPV4(10u, 2, 255, 254);
	dropped(STAGE_ROUTE, DROP_NO_NEIGHBOUR, p);
	p.dst = RTE_IPV4(10u, 2, 0, 1);
	p.ttl = 1; /* it has arrived: no hop is left to go */
	dropped(STAGE_ROUTE, DROP_TO_ROUTER, p);
	p.dst = NAT_ADDRESS;
	dropped(STAGE_ROUTE, DROP_TO_ROUTER, p);
}

static void
route_just_fits(void **state)
{
	struct rte_mbuf *m = make((struct packet){ INSIDE, IPPROTO_TCP, HOST, SERVER, 1, 2, 2,
		1500 - sizeof(struct rte_ipv4_hdr) - sizeof(struct rte_tcp_hdr) });

	(void)state;
	chain->tx_ip_cksum = true;
	assert_true(passes(STAGE_ROUTE, m));
	assert_int_equal(packet_ip(m)->time_to_live, 1);
	assert_int_equal(packet_ip(m)->hdr_checksum, 0);
	assert_int_equal(m->ol_flags, RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM);
	rte_pktmbuf_free(m);
}

int
main(void)
{
#define STAGE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		STAGE_TEST(acl_first_rule_decides),
		STAGE_TEST(acl_burst),
		STAGE_TEST(nat_there_and_back),
		STAGE_TEST(nat_no_sum_becomes_none),
		STAGE_TEST(nat_leaves_sums_that_are_wrong_or_absent),
		STAGE_TEST(nat_by_the_port),
		STAGE_TEST(nat_lets_alone),
		STAGE_TEST(nat_drops),
		STAGE_TEST(route_longest_prefix),
		STAGE_TEST(route_drops),
		STAGE_TEST(route_just_fits),
	};

	return cmocka_run_group_tests(tests, start_eal, NULL);
}

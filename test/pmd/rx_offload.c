/* SPDX-License-Identifier: BSD-3-Clause */

/* What the driver tells of packets beyond types, hashes and checksums. */

#include <rte_mbuf_dyn.h>

#include "harness.h"

#define CLOCK_KHZ 427000

/* ---- VLAN and QinQ ---- */

struct tags {
	unsigned int n;        /* 0, 1, 2 */
	uint16_t type[2];
	uint16_t tci[2];
};

static const struct tags untagged;
static const struct tags one = { 1, { 0x8100 }, { 0x6123 } };
static const struct tags provider = { 1, { 0x88a8 }, { 0x2fff } };
static const struct tags two = { 2, { 0x88a8, 0x8100 }, { 0x0123, 0xe456 } };

static size_t
tagged_frame(uint8_t *tagged, const uint8_t *frame, size_t length, const struct tags *tags)
{
	size_t at = 12;
	unsigned int i;

	memcpy(tagged, frame, 12);
	for (i = 0; i < tags->n; i++) {
		tagged[at++] = tags->type[i] >> 8;
		tagged[at++] = (uint8_t)tags->type[i];
		tagged[at++] = tags->tci[i] >> 8;
		tagged[at++] = (uint8_t)tags->tci[i];
	}
	memcpy(tagged + at, frame + 12, length - 12);
	return at + length - 12;
}

#define VLAN_FLAGS (RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED | RTE_MBUF_F_RX_QINQ | \
	RTE_MBUF_F_RX_QINQ_STRIPPED)
#define VLAN RTE_MBUF_F_RX_VLAN
#define STRIPPED (RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED)
#define QINQ (RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_QINQ)
#define BOTH_STRIPPED (QINQ | RTE_MBUF_F_RX_VLAN_STRIPPED | RTE_MBUF_F_RX_QINQ_STRIPPED)

/* One frame with these tags in; its flags and what is left of it. */
static struct rte_mbuf *
check_tagged(uint16_t port, const struct tags *tags, size_t length, uint64_t flags)
{
	static uint64_t seed;
	uint8_t frame[4096], tagged[4096];
	struct rte_mbuf *m;
	size_t whole;

	frame_make(frame, length, mac_foreign, seed++);
	whole = tagged_frame(tagged, frame, length, tags);
	wire_inject(port, tagged, whole);
	CHECK_EQ(rx_all(port, 0, &m, 1), 1);
	CHECK_MSG((m->ol_flags & VLAN_FLAGS) == flags, "flags 0x%llx, not 0x%llx",
		(unsigned long long)(m->ol_flags & VLAN_FLAGS), (unsigned long long)flags);
	if ((flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0)
		check_mbuf(m, frame, length);
	else
		check_mbuf(m, tagged, whole);
	if ((flags & RTE_MBUF_F_RX_QINQ) != 0) {
		CHECK_EQ(m->vlan_tci_outer, tags->tci[0]);
		CHECK_EQ(m->vlan_tci, tags->tci[1]);
	} else if ((flags & VLAN) != 0) {
		CHECK_EQ(m->vlan_tci, tags->tci[0]);
	}
	rte_pktmbuf_free(m);
	return m;
}

static uint16_t
strip_port(uint16_t data_room, uint64_t offloads, uint16_t mtu)
{
	struct port_conf conf = port_conf(pool_create(2048, data_room));

	conf.rxd = 64;
	conf.eth.rxmode.offloads = offloads;
	conf.eth.rxmode.mtu = mtu;
	return port_up(0, &conf);
}

static void
check_strip(uint16_t port, size_t length)
{
	unsigned int i;

	/* More than a round of the ring. */
	for (i = 0; i < 30; i++) {
		check_tagged(port, &untagged, length, 0);
		check_tagged(port, &one, length, STRIPPED);
		/* The tag of a provider is not this offload's. */
		check_tagged(port, &provider, length, VLAN);
	}
}

TEST(rx_vlan_strip)
{
	check_strip(strip_port(2048, RTE_ETH_RX_OFFLOAD_VLAN_STRIP, 1500), 60);
}

TEST(rx_vlan_strip_with_all_other_offloads)
{
	check_strip(strip_port(2048, RTE_ETH_RX_OFFLOAD_VLAN_STRIP | RTE_ETH_RX_OFFLOAD_CHECKSUM |
		RTE_ETH_RX_OFFLOAD_TIMESTAMP | RTE_ETH_RX_OFFLOAD_KEEP_CRC, 1500), 200);
}

TEST(rx_vlan_strip_of_scattered_frames)
{
	check_strip(strip_port(600, RTE_ETH_RX_OFFLOAD_VLAN_STRIP | RTE_ETH_RX_OFFLOAD_SCATTER,
		3000), 2900);
}

TEST(rx_qinq_strip)
{
	uint16_t port = strip_port(2048, RTE_ETH_RX_OFFLOAD_VLAN_STRIP |
		RTE_ETH_RX_OFFLOAD_QINQ_STRIP, 1500);
	unsigned int i;

	for (i = 0; i < 30; i++) {
		check_tagged(port, &two, 100, BOTH_STRIPPED);
		check_tagged(port, &one, 100, STRIPPED);
		check_tagged(port, &untagged, 100, 0);
	}
}

/* Each port and queue setting, changed under way. */
TEST(rx_vlan_strip_can_be_switched_while_running)
{
	uint16_t port = strip_port(2048, 0, 1500);
	unsigned int i;

	for (i = 0; i < 5; i++) {
		check_tagged(port, &one, 100, 0);
		CHECK_OK(rte_eth_dev_set_vlan_offload(port, RTE_ETH_VLAN_STRIP_OFFLOAD));
		CHECK_EQ(rte_eth_dev_get_vlan_offload(port), RTE_ETH_VLAN_STRIP_OFFLOAD);
		check_tagged(port, &one, 100, STRIPPED);
		check_tagged(port, &two, 100, QINQ);
		CHECK_OK(rte_eth_dev_set_vlan_offload(port, RTE_ETH_QINQ_STRIP_OFFLOAD));
		check_tagged(port, &two, 100, BOTH_STRIPPED);
		check_tagged(port, &one, 100, VLAN);
		CHECK_OK(rte_eth_dev_set_vlan_offload(port, 0));
		check_tagged(port, &one, 100, 0);
		CHECK_OK(rte_eth_dev_set_vlan_strip_on_queue(port, 0, 1));
		check_tagged(port, &one, 100, STRIPPED);
		CHECK_OK(rte_eth_dev_set_vlan_strip_on_queue(port, 0, 0));
	}
}

static void
check_gone(uint16_t port, const struct tags *tags)
{
	uint8_t frame[100], tagged[108];
	struct rte_mbuf *m;

	frame_make(frame, sizeof(frame), mac_foreign, 3);
	wire_inject(port, tagged, tagged_frame(tagged, frame, sizeof(frame), tags));
	CHECK_EQ(rx_all(port, 0, &m, 1), 0);
}

static void
check_filter(uint16_t port, size_t length)
{
	static const struct tags hundred = { 1, { 0x8100 }, { 0xe064 } };
	unsigned int i;

	for (i = 0; i < 30; i++) {
		/* No id is named: tagged frames go, others are not concerned. */
		check_tagged(port, &untagged, length, 0);
		check_gone(port, &one);
		CHECK_OK(rte_eth_dev_vlan_filter(port, 0x123, 1));
		check_tagged(port, &one, length, VLAN);
		check_gone(port, &hundred);
		CHECK_OK(rte_eth_dev_vlan_filter(port, 100, 1));
		check_tagged(port, &hundred, length, VLAN);
		CHECK_OK(rte_eth_dev_vlan_filter(port, 0x123, 0));
		check_gone(port, &one);
		check_tagged(port, &hundred, length, VLAN);
		CHECK_OK(rte_eth_dev_vlan_filter(port, 100, 0));
	}
	CHECK_EQ(xstat_of(port, "rx_vlan_filtered_packets"), 30 * 3);
	CHECK_EQ(stats_of(port).ierrors, 0);
}

TEST(rx_vlan_filter)
{
	check_filter(strip_port(2048, RTE_ETH_RX_OFFLOAD_VLAN_FILTER, 1500), 100);
}

TEST(rx_vlan_filter_of_scattered_frames)
{
	check_filter(strip_port(600, RTE_ETH_RX_OFFLOAD_VLAN_FILTER | RTE_ETH_RX_OFFLOAD_SCATTER,
		3000), 2900);
}

/* A burst with frames of both kinds: those left are whole and in order. */
TEST(rx_vlan_filter_in_the_middle_of_a_burst)
{
	uint16_t port = strip_port(2048, RTE_ETH_RX_OFFLOAD_VLAN_FILTER, 1500);
	uint8_t frame[100], tagged[108];
	struct rte_mbuf *pkts[64];
	unsigned int i, n, round;

	for (round = 0; round < 20; round++) {
		for (i = 0; i < 40; i++) {
			frame_make(frame, sizeof(frame), mac_foreign, i);
			wire_inject(port, tagged, tagged_frame(tagged, frame, sizeof(frame),
				i % 3 == 0 ? &untagged : &one));
		}
		n = rx_all(port, 0, pkts, 64);
		CHECK_EQ(n, 14);
		for (i = 0; i < n; i++) {
			frame_make(frame, sizeof(frame), mac_foreign, 3 * i);
			check_mbuf(pkts[i], frame, sizeof(frame));
		}
		free_mbufs(pkts, n);
	}
}

/* ---- timestamps ---- */

static uint64_t
stamp_of(uint16_t port, int offset, uint64_t flag)
{
	uint8_t frame[60];
	struct rte_mbuf *m;
	uint64_t stamp;

	frame_make(frame, sizeof(frame), mac_foreign, 1);
	wire_inject(port, frame, sizeof(frame));
	CHECK_EQ(rx_all(port, 0, &m, 1), 1);
	CHECK((m->ol_flags & flag) != 0);
	stamp = *RTE_MBUF_DYNFIELD(m, offset, rte_mbuf_timestamp_t *);
	rte_pktmbuf_free(m);
	return stamp;
}

TEST(rx_timestamps_are_on_the_clock_that_can_be_read)
{
	uint16_t port = strip_port(2048, RTE_ETH_RX_OFFLOAD_TIMESTAMP, 1500);
	uint64_t flag, first, second, before, after;
	int offset;

	CHECK_OK(rte_mbuf_dyn_rx_timestamp_register(&offset, &flag));
	CHECK_OK(rte_eth_read_clock(port, &before));
	first = stamp_of(port, offset, flag);
	CHECK_OK(rte_eth_read_clock(port, &after));
	CHECK(first > before && first <= after);
	CHECK_OK(vmlx4_clock_advance(1000000));
	second = stamp_of(port, offset, flag);
	/* A step is a microsecond as well; how many there were is the harness's matter. */
	CHECK(second - first >= CLOCK_KHZ && second - first < CLOCK_KHZ + CLOCK_KHZ / 100);
	/* Past the 48 bits of a completion, in two parts: half of them must not pass unseen. */
	CHECK_OK(vmlx4_clock_advance(UINT64_C(1) << 48));
	stamp_of(port, offset, flag);
	CHECK_OK(vmlx4_clock_advance(UINT64_C(1) << 48));
	stamp_of(port, offset, flag);
	CHECK_OK(vmlx4_clock_advance(UINT64_C(1) << 48));
	CHECK_OK(rte_eth_read_clock(port, &before));
	second = stamp_of(port, offset, flag);
	CHECK_OK(rte_eth_read_clock(port, &after));
	CHECK(before > UINT64_C(1) << 48);
	CHECK(second > before && second <= after);
}

TEST(rx_timestamps_are_not_offered_without_a_clock)
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	struct rte_eth_dev_info info;
	uint16_t port = port_open(0);
	uint64_t clock;

	CHECK_OK(rte_eth_dev_info_get(port, &info));
	CHECK_EQ(info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_TIMESTAMP, 0);
	CHECK_EQ(rte_eth_read_clock(port, &clock), -ENOTSUP);
	conf.eth.rxmode.offloads = RTE_ETH_RX_OFFLOAD_TIMESTAMP;
	CHECK_EQ(rte_eth_dev_configure(port, 1, 1, &conf.eth), -EINVAL);
}

/* Configured for something else, a port has queues of before do it, or do it no more. */
TEST(rx_offloads_of_the_port_reach_queues_that_were_set_up_before)
{
	static const uint8_t tag[] = { 0x81, 0x00, 0x00, 0x2a };
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	uint16_t port = port_up(0, &conf);
	struct rte_eth_rxq_info info;
	struct rte_mbuf *m;
	uint8_t frame[100];
	unsigned int i;

	frame_make(frame, sizeof(frame), mac_foreign, 1);
	memcpy(frame + 12, tag, sizeof(tag));
	for (i = 0; i < 4; i++) {
		bool strip = i % 2 != 0;

		CHECK_OK(rte_eth_dev_stop(port));
		conf.eth.rxmode.offloads = strip ? RTE_ETH_RX_OFFLOAD_VLAN_STRIP : 0;
		CHECK_OK(rte_eth_dev_configure(port, 1, 1, &conf.eth));
		CHECK_OK(rte_eth_rx_queue_info_get(port, 0, &info));
		CHECK_EQ(info.conf.offloads, conf.eth.rxmode.offloads);
		CHECK_OK(rte_eth_dev_start(port));
		wire_inject(port, frame, sizeof(frame));
		CHECK_EQ(rx_all(port, 0, &m, 1), 1);
		CHECK_EQ(m->pkt_len, sizeof(frame) - (strip ? sizeof(tag) : 0));
		CHECK_EQ((m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0, strip);
		rte_pktmbuf_free(m);
	}
}

/* SPDX-License-Identifier: BSD-3-Clause */

/* RX_OFFLOAD_BUFFER_SPLIT: frames over segments of given lengths, offsets, pools. */

#include <stdlib.h>

#include "harness.h"

#define MAX_SEGS 16
#define LOCAL_LENGTH 0x01
#define LOCAL_PROTECTION 0x04
#define ALIVE_MS 30000

struct split {
	unsigned int n;
	struct rte_eth_rxseg_split segs[MAX_SEGS + 1];
};

static int
setup_split(uint16_t port, uint16_t queue, uint16_t rxd, uint64_t offloads,
	const struct split *split)
{
	union rte_eth_rxseg segs[MAX_SEGS + 1];
	struct rte_eth_rxconf rx = {
		.offloads = RTE_ETH_RX_OFFLOAD_BUFFER_SPLIT | offloads,
		.rx_nseg = split->n,
		.rx_seg = segs,
	};
	unsigned int i;
	int ret;

	memset(segs, 0, sizeof(segs));
	for (i = 0; i < split->n; i++)
		segs[i].split = split->segs[i];
	ret = rte_eth_rx_queue_setup(port, queue, rxd, SOCKET_ID_ANY, &rx, NULL);
	/* The list was the call's: the driver keeps none of it. */
	memset(segs, 0xff, sizeof(segs));
	return ret;
}

static uint16_t
split_port(const struct split *split, uint16_t rxd, uint64_t offloads, uint16_t mtu)
{
	struct port_conf conf = port_conf(NULL);
	uint16_t port = port_open(0);

	conf.eth.rxmode.offloads = offloads;
	conf.eth.rxmode.mtu = mtu;
	CHECK_OK(rte_eth_dev_configure(port, 1, 1, &conf.eth));
	CHECK_OK(setup_split(port, 0, rxd, 0, split));
	CHECK_OK(rte_eth_tx_queue_setup(port, 0, 64, SOCKET_ID_ANY, NULL));
	port_start(port, &conf);
	return port;
}

/* Each segment has the pool, the offset and no more than the length of its description. */
static void
check_split(const struct rte_mbuf *m, const struct split *split)
{
	const struct rte_eth_rxseg_split *last = &split->segs[split->n - 1];
	const struct rte_mbuf *seg;
	unsigned int i = 0;

	for (seg = m; seg != NULL; seg = seg->next, i++) {
		const struct rte_eth_rxseg_split *d = i < split->n ? &split->segs[i] : last;
		uint32_t offset = i < split->n ? d->offset : 0;
		uint32_t room = i < split->n && d->length != 0 ? d->length :
			rte_pktmbuf_data_room_size(d->mp) - offset;

		if (i == 0)
			offset += RTE_PKTMBUF_HEADROOM;
		CHECK_MSG(seg->pool == d->mp, "segment %u is of pool %s", i, seg->pool->name);
		CHECK_EQ(seg->data_off, offset);
		CHECK(seg->data_len > 0 && seg->data_len <= room);
		/* A segment is left only when it is full. */
		CHECK(seg->next == NULL || seg->data_len == room);
	}
}

static void
check_one(uint16_t port, const struct split *split, unsigned int length)
{
	uint8_t frame[FRAME_MAX];
	struct rte_mbuf *m;

	frame_make(frame, length, mac_foreign, length);
	wire_inject(port, frame, length);
	CHECK_EQ(rx_all(port, 0, &m, 1), 1);
	check_mbuf(m, frame, length);
	check_split(m, split);
	CHECK_EQ(m->port, port);
	CHECK_EQ(m->ol_flags & RTE_MBUF_F_TX_OFFLOAD_MASK, 0);
	rte_pktmbuf_free(m);
}

TEST(split_header_and_data_pools)
{
	struct split split = { 2, {
		{ .mp = pool_create(128, 256), .length = 128 },
		{ .mp = pool_create(128, 2048) },
	} };
	uint16_t port = split_port(&split, 64, 0, 1500);
	struct rte_eth_burst_mode mode;
	unsigned int length;

	for (length = 60; length <= 1514; length++)
		check_one(port, &split, length);
	CHECK_EQ(stats_of(port).ipackets, 1514 - 59);
	CHECK_EQ(stats_of(port).ierrors, 0);
	CHECK_OK(rte_eth_rx_burst_mode_get(port, 0, &mode));
	CHECK(strcmp(mode.info, "Scalar Split") == 0);
}

/* A list whose number is no power of two: the rest of the WQE is no buffer. */
TEST(split_lengths_and_offsets)
{
	struct split split = { 3, {
		{ .mp = pool_create(80, 512), .length = 1, .offset = 300 },
		{ .mp = pool_create(80, 256), .length = 77, .offset = 179 },
		{ .mp = pool_create(80, 2048), .length = 2000, .offset = 3 },
	} };
	uint16_t port = split_port(&split, 64, 0, 1500);
	struct rte_eth_rxq_info info;
	unsigned int length, i;

	for (length = 60; length <= 1514; length += 7)
		check_one(port, &split, length);
	/* No buffer beyond those listed. */
	for (i = 0; i < 3; i++)
		CHECK_EQ(rte_mempool_avail_count(split.segs[i].mp), 80 - 64);
	CHECK_OK(rte_eth_rx_queue_info_get(port, 0, &info));
	CHECK_EQ(info.conf.rx_nseg, 3);
	CHECK_EQ(info.conf.rx_seg[1].split.length, 77);
	CHECK(info.mp == split.segs[0].mp);
	CHECK_EQ(info.scattered_rx, 1);
}

/* The last description stands for all that follow: whole buffers, no offset. */
TEST(split_last_segment_is_repeated)
{
	struct rte_mempool *pool = pool_create(1024, 1024);
	struct split split = { 2, {
		{ .mp = pool_create(128, 256), .length = 14 },
		{ .mp = pool, .length = 100, .offset = 50 },
	} };
	uint16_t port = split_port(&split, 64, 0, 9000);
	unsigned int length, i;

	for (length = 60; length < 9014; length += 61)
		check_one(port, &split, length);
	for (i = 0; i < 200; i++)
		check_one(port, &split, 9014);
	CHECK_EQ(stats_of(port).ierrors, 0);
}

TEST(split_in_sixteen)
{
	struct rte_mempool *pool = pool_create(2048, 512);
	struct split split = { .n = MAX_SEGS };
	unsigned int i;
	uint16_t port;

	for (i = 0; i < MAX_SEGS; i++)
		split.segs[i] = (struct rte_eth_rxseg_split){
			.mp = pool, .length = 50 + 7 * i, .offset = i,
		};
	port = split_port(&split, 64, 0, 1500);
	for (i = 60; i <= 1514; i += 5)
		check_one(port, &split, i);
}

TEST(split_in_one)
{
	struct split split = { 1, { { .mp = pool_create(256, 2048), .length = 1800 } } };
	uint16_t port = split_port(&split, 64, 0, 1500);
	unsigned int length;

	for (length = 60; length <= 1514; length += 5)
		check_one(port, &split, length);
}

/* The FCS lies behind the data, wherever that ends: in a segment of its own, if need be. */
TEST(split_with_kept_crc)
{
	struct split split = { 2, {
		{ .mp = pool_create(128, 256), .length = 100 },
		{ .mp = pool_create(128, 2048) },
	} };
	uint16_t port = split_port(&split, 64, RTE_ETH_RX_OFFLOAD_KEEP_CRC, 1500);
	unsigned int length, i;

	for (i = 0; i < 30; i++)
		for (length = 90; length <= 110; length++)
			check_one(port, &split, length);
	check_one(port, &split, 1514);
}

TEST(split_with_vlan_strip)
{
	struct split split = { 2, {
		{ .mp = pool_create(128, 256), .length = 22 },
		{ .mp = pool_create(128, 2048) },
	} };
	uint16_t port = split_port(&split, 64, RTE_ETH_RX_OFFLOAD_VLAN_STRIP, 1500);
	static const uint8_t tag[] = { 0x81, 0x00, 0x61, 0x23 };
	uint8_t frame[1514], tagged[1518];
	struct rte_mbuf *m;
	unsigned int i;

	for (i = 0; i < 200; i++) {
		unsigned int length = 60 + i * 7;

		frame_make(frame, length, mac_foreign, i);
		memcpy(tagged, frame, 12);
		memcpy(tagged + 12, tag, sizeof(tag));
		memcpy(tagged + 16, frame + 12, length - 12);
		wire_inject(port, tagged, length + 4);
		CHECK_EQ(rx_all(port, 0, &m, 1), 1);
		CHECK((m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0);
		CHECK_EQ(m->vlan_tci, 0x6123);
		check_mbuf(m, frame, length);
		CHECK_EQ(m->data_len, 18);
		rte_pktmbuf_free(m);
	}
}

/* Tags are looked for in the first segment. */
TEST(split_first_segment_is_long_enough_for_vlan)
{
	struct split split = { 2, {
		{ .mp = pool_create(128, 256), .length = 21 },
		{ .mp = pool_create(128, 2048) },
	} };
	struct port_conf conf = port_conf(NULL);
	uint16_t port = port_open(0);

	CHECK_OK(rte_eth_dev_configure(port, 1, 1, &conf.eth));
	CHECK_EQ(setup_split(port, 0, 64, RTE_ETH_RX_OFFLOAD_VLAN_STRIP, &split), -EINVAL);
	CHECK_EQ(setup_split(port, 0, 64, RTE_ETH_RX_OFFLOAD_QINQ_STRIP, &split), -EINVAL);
	CHECK_OK(setup_split(port, 0, 64, 0, &split));
	CHECK_OK(rte_eth_tx_queue_setup(port, 0, 64, SOCKET_ID_ANY, NULL));
	port_start(port, &conf);
	CHECK_EQ(rte_eth_dev_set_vlan_offload(port, RTE_ETH_VLAN_STRIP_OFFLOAD), -EINVAL);
	CHECK_EQ(rte_eth_dev_get_vlan_offload(port), 0);
	CHECK_OK(rte_eth_dev_set_vlan_strip_on_queue(port, 0, 1));
	check_one(port, &split, 100);
	check_one(port, &split, 1514);
}

/*
 * One pool runs dry, the other does not: whole frames are given up, and those that
 * follow are whole again. No mbuf of the frames given up is lost.
 */
static void
starve(struct split *split, unsigned int mbufs_left)
{
	uint16_t port = split_port(split, 16, 0, 1500);
	struct rte_mbuf *held[256];
	uint8_t frame[1514];
	unsigned int count = 0, i, round;

	for (round = 0; round < 5; round++) {
		uint64_t nombuf = stats_of(port).rx_nombuf;

		for (i = 0; i < 128; i++) {
			/* Now and then one that the first pool alone would do for. */
			unsigned int length = i % 5 == 4 ? 60 : 1514;

			frame_make(frame, length, mac_foreign, i);
			wire_inject(port, frame, length);
			settle();
			if (rte_eth_rx_burst(port, 0, held + count, 1) == 0)
				continue;
			check_mbuf(held[count], frame, length);
			check_split(held[count], split);
			count++;
		}
		CHECK(count >= mbufs_left && count < 128);
		CHECK_EQ(stats_of(port).rx_nombuf - nombuf, 128 - count);
		free_mbufs(held, count);
		count = 0;
		for (i = 0; i < 50; i++)
			check_one(port, split, 60 + i * 29);
	}
	CHECK_EQ(stats_of(port).ierrors, 0);
	port_close(port);
}

TEST(split_starved_pools_resume)
{
	struct rte_mempool *large = pool_create(512, 256), *small = pool_create(16 + 6, 256);
	struct rte_mempool *data = pool_create(16 * 3 + 8, 600), *much = pool_create(1024, 600);
	struct split first = { 2, { { .mp = small, .length = 64 }, { .mp = much } } };
	struct split second = { 2, { { .mp = large, .length = 64 }, { .mp = data } } };

	starve(&first, 6);
	starve(&second, 2);
}

/* Beside queues of the ordinary kind, and with several rings each. */
TEST(split_in_some_of_three_queues)
{
	struct rte_mempool *plain = pool_create(1024, 2048);
	struct split split = { 2, {
		{ .mp = pool_create(1024, 256), .length = 60 },
		{ .mp = pool_create(1024, 2048) },
	} };
	struct port_conf conf = port_conf(NULL);
	struct rte_mbuf *pkts[600];
	uint16_t port = port_open(0), queue;
	unsigned int i, got, total = 0;
	uint8_t frame[200];

	conf.eth.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
	conf.eth.rx_adv_conf.rss_conf.rss_hf = RTE_ETH_RSS_IPV4;
	CHECK_OK(rte_eth_dev_configure(port, 3, 1, &conf.eth));
	CHECK_OK(setup_split(port, 0, 256, 0, &split));
	CHECK_OK(rte_eth_rx_queue_setup(port, 1, 256, SOCKET_ID_ANY, NULL, plain));
	CHECK_OK(setup_split(port, 2, 256, 0, &split));
	CHECK_OK(rte_eth_tx_queue_setup(port, 0, 64, SOCKET_ID_ANY, NULL));
	port_start(port, &conf);
	for (i = 0; i < 300; i++) {
		struct frame_flow flow = flow_make(false, 17, i);

		frame_flow(frame, sizeof(frame), mac_foreign, &flow);
		wire_inject(port, frame, sizeof(frame));
	}
	settle();
	for (queue = 0; queue < 3; queue++) {
		got = rx_all(port, queue, pkts, RTE_DIM(pkts));
		CHECK(got > 30);
		for (i = 0; i < got; i++) {
			CHECK_EQ(pkts[i]->nb_segs, queue == 1 ? 1 : 2);
			CHECK_EQ(pkts[i]->pkt_len, sizeof(frame));
			if (queue != 1)
				check_split(pkts[i], &split);
		}
		free_mbufs(pkts, got);
		total += got;
	}
	CHECK_EQ(total, 300);
}

TEST(split_queue_lives_on_after_an_error)
{
	struct split split = { 2, {
		{ .mp = pool_create(70, 256), .length = 64 },
		{ .mp = pool_create(70, 2048) },
	} };
	uint16_t port = split_port(&split, 64, 0, 1500);
	uint8_t frame[100];
	unsigned int round;

	frame_make(frame, sizeof(frame), mac_foreign, 1);
	for (round = 1; round <= 5; round++) {
		CHECK_OK(vmlx4_fail_next(VMLX4_FAULT_RX, port_verbs(port), 1, LOCAL_LENGTH));
		wire_inject(port, frame, sizeof(frame));
		settle();
		CHECK_EQ(rx_discard(port), 0);
		CHECK_EQ(xstat_of(port, "rx_error_completions"), 2 * round - 1);
		CHECK_OK(rte_eth_dev_rx_queue_stop(port, 0));
		CHECK_EQ(rte_mempool_avail_count(split.segs[0].mp), 70);
		CHECK_EQ(rte_mempool_avail_count(split.segs[1].mp), 70);
		CHECK_OK(rte_eth_dev_rx_queue_start(port, 0));
		check_one(port, &split, 1514);
		/* One that ends the queue: the watchdog brings it back with its buffers. */
		CHECK_OK(vmlx4_fail_next(VMLX4_FAULT_RX, port_verbs(port), 1, LOCAL_PROTECTION));
		wire_inject(port, frame, sizeof(frame));
		settle();
		rx_discard(port);
		WAIT_FOR(xstat_of(port, "rx_queue_recoveries") == round, ALIVE_MS);
		check_one(port, &split, 1514);
	}
}

/* What a list posts at start is what there is until the next start. */
TEST(split_mtu_grows_only_as_far_as_the_segments)
{
	struct split split = { 3, {
		{ .mp = pool_create(200, 256), .length = 64 },
		{ .mp = pool_create(200, 256), .length = 64 },
		{ .mp = pool_create(500, 2048) },
	} };
	uint16_t port = split_port(&split, 64, 0, 1500);

	CHECK_OK(rte_eth_dev_set_mtu(port, 2000));
	check_one(port, &split, 2014);
	CHECK_EQ(rte_eth_dev_set_mtu(port, 4000), -EBUSY);
	check_one(port, &split, 2014);
	CHECK_OK(rte_eth_dev_stop(port));
	CHECK_OK(rte_eth_dev_set_mtu(port, 4000));
	CHECK_OK(rte_eth_dev_start(port));
	check_one(port, &split, 4014);
}

/* Each is refused, and nothing of it stays. */
TEST(split_bad_lists_are_refused)
{
	struct rte_mempool *small = pool_create(128, 128), *large = pool_create(128, 2048);
	const struct {
		int ret;
		struct split split;
	} bad[] = {
		{ -EINVAL, { 1, { { .mp = NULL } } } },
		{ -EINVAL, { 2, { { .mp = small, .length = 64 }, { .mp = NULL } } } },
		/* Longer than the buffer, or not fitting behind the offset. */
		{ -EINVAL, { 2, { { .mp = small, .length = 129 }, { .mp = large } } } },
		{ -EINVAL, { 2, { { .mp = small, .length = 100, .offset = 29 },
				  { .mp = large } } } },
		{ -EINVAL, { 2, { { .mp = small, .length = 64 },
				  { .mp = large, .length = 2000, .offset = 200 } } } },
		/* More than a WQE holds. */
		{ -EINVAL, { .n = MAX_SEGS + 1 } },
		/* Not enough for a frame. */
		{ -EINVAL, { 2, { { .mp = small, .length = 64 }, { .mp = small } } } },
		/* By protocol. */
		{ -ENOTSUP, { 2, { { .mp = small, .proto_hdr = RTE_PTYPE_L2_ETHER },
				   { .mp = large } } } },
	};
	struct port_conf conf = port_conf(NULL);
	uint16_t port = port_open(0);
	struct split split;
	unsigned int i, s;
	int ret;

	conf.eth.rxmode.mtu = 9000;
	CHECK_OK(rte_eth_dev_configure(port, 1, 1, &conf.eth));
	CHECK_OK(rte_eth_tx_queue_setup(port, 0, 64, SOCKET_ID_ANY, NULL));
	for (i = 0; i < RTE_DIM(bad); i++) {
		split = bad[i].split;
		for (s = 0; split.n > MAX_SEGS && s < split.n; s++)
			split.segs[s].mp = large;
		ret = setup_split(port, 0, 64, 0, &split);
		CHECK_MSG(ret == bad[i].ret, "list %u: %d, not %d", i, ret, bad[i].ret);
		/* The queue that was refused is no queue. */
		CHECK_EQ(rte_eth_dev_start(port), -EINVAL);
	}
	split = (struct split){ 2, { { .mp = small, .length = 64 }, { .mp = large } } };
	CHECK_EQ(setup_split(port, 0, 64, 0, &split), 0);
	/* Too few buffers: a start that fails gives back those it took. */
	CHECK_EQ(rte_eth_dev_start(port), -ENOMEM);
	CHECK_EQ(rte_mempool_avail_count(small), 128);
	CHECK_EQ(rte_mempool_avail_count(large), 128);
}

/* A list without the offload, a pool beside a list. */
TEST(split_list_and_offload_go_together)
{
	struct rte_mempool *pool = pool_create(256, 2048);
	union rte_eth_rxseg segs[1] = { { .split = { .mp = pool, .length = 2048 } } };
	struct rte_eth_rxconf rx = { .rx_nseg = 1, .rx_seg = segs };
	struct port_conf conf = port_conf(NULL);
	uint16_t port = port_open(0);

	CHECK_OK(rte_eth_dev_configure(port, 1, 1, &conf.eth));
	CHECK_EQ(rte_eth_rx_queue_setup(port, 0, 64, SOCKET_ID_ANY, &rx, NULL), -EINVAL);
	rx.offloads = RTE_ETH_RX_OFFLOAD_BUFFER_SPLIT;
	CHECK_EQ(rte_eth_rx_queue_setup(port, 0, 64, SOCKET_ID_ANY, &rx, pool), -EINVAL);
	/* The offload without a list is a queue as any other. */
	rx.rx_nseg = 0;
	rx.rx_seg = NULL;
	CHECK_OK(rte_eth_rx_queue_setup(port, 0, 64, SOCKET_ID_ANY, &rx, pool));
	CHECK_OK(rte_eth_tx_queue_setup(port, 0, 64, SOCKET_ID_ANY, NULL));
	port_start(port, &conf);
	check_traffic(port);
}

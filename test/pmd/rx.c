/* SPDX-License-Identifier: BSD-3-Clause */

/* Receiving: content, scatter, starved pools, what the mbuf says. */

#include <stdlib.h>

#include "harness.h"

#define MANY 512
#define MAX_SEGMENTS 16

TEST(rx_frames_of_every_size_are_exact)
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	uint16_t port = port_up(0, &conf);
	struct rte_mbuf *m;
	uint8_t frame[1514];
	unsigned int length;

	for (length = 60; length <= 1514; length++) {
		frame_make(frame, length, mac_foreign, length);
		wire_inject(port, frame, length);
		CHECK_EQ(rx_all(port, 0, &m, 1), 1);
		check_mbuf(m, frame, length);
		CHECK_EQ(m->nb_segs, 1);
		CHECK_EQ(m->port, port);
		rte_pktmbuf_free(m);
	}
	CHECK_EQ(stats_of(port).ipackets, 1514 - 59);
}

TEST(rx_bursts_of_every_size_over_ring_wraps)
{
	struct port_conf conf = port_conf(pool_create(2048, 2048));
	uint16_t port = port_up(0, &conf);
	unsigned int burst, seen = 0, sent = 0, i;
	struct rte_mbuf *pkts[MANY];
	uint8_t frame[80];

	CHECK_EQ(rte_eth_rx_burst(port, 0, pkts, 0), 0);
	for (burst = 1; burst <= 200; burst++) {
		for (i = 0; i < burst; i++) {
			frame_make(frame, sizeof(frame), mac_foreign, sent++);
			wire_inject(port, frame, sizeof(frame));
		}
		settle();
		CHECK_EQ(rte_eth_rx_burst(port, 0, pkts, burst), burst);
		for (i = 0; i < burst; i++) {
			frame_make(frame, sizeof(frame), mac_foreign, seen++);
			check_mbuf(pkts[i], frame, sizeof(frame));
		}
		free_mbufs(pkts, burst);
		CHECK_EQ(rte_eth_rx_burst(port, 0, pkts, 1), 0);
	}
	CHECK_EQ(stats_of(port).ipackets, sent);
	CHECK_EQ(stats_of(port).ibytes, (uint64_t)sent * sizeof(frame));
}

/* A burst smaller than what waits must leave the rest for the next call. */
TEST(rx_takes_no_more_than_asked_for)
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	uint16_t port = port_up(0, &conf);
	struct rte_mbuf *pkts[8];
	uint8_t frame[80];
	unsigned int i, seen = 0, got;

	for (i = 0; i < 200; i++) {
		frame_make(frame, sizeof(frame), mac_foreign, i);
		wire_inject(port, frame, sizeof(frame));
	}
	settle();
	while ((got = rte_eth_rx_burst(port, 0, pkts, 1 + seen % 7)) > 0)
		for (i = 0; i < got; i++) {
			frame_make(frame, sizeof(frame), mac_foreign, seen++);
			check_mbuf(pkts[i], frame, sizeof(frame));
			rte_pktmbuf_free(pkts[i]);
		}
	CHECK_EQ(seen, 200);
}

/*
 * The application holds every mbuf until nothing comes any more; when it gives
 * them back reception goes on at once, nothing comes twice, and every frame is
 * accounted for.
 */
static void
starve(uint16_t port, unsigned int room)
{
	struct rte_mbuf *held[MANY];
	uint64_t last = 0, nombuf = stats_of(port).rx_nombuf, number;
	unsigned int count = 0, i, got;
	uint8_t frame[100];
	static uint64_t serial;

	for (i = 0; i < MANY; i++) {
		frame_make(frame, sizeof(frame), mac_foreign, ++serial);
		memcpy(frame + 14, &serial, sizeof(serial));
		wire_inject(port, frame, sizeof(frame));
		settle();
		got = rte_eth_rx_burst(port, 0, held + count, 4);
		count += got;
		CHECK(count <= room);
	}
	CHECK(stats_of(port).rx_nombuf > nombuf);
	for (i = 0; i < count; i++) {
		memcpy(&number, rte_pktmbuf_mtod_offset(held[i], uint8_t *, 14), sizeof(number));
		CHECK_MSG(number > last, "frame %llu after frame %llu",
			(unsigned long long)number, (unsigned long long)last);
		last = number;
	}
	free_mbufs(held, count);
	rx_discard(port);
	for (i = 0; i < 100; i++)
		check_traffic(port);
	capture_clear(port);
}

TEST(rx_starved_pool_resumes)
{
	struct port_conf conf = port_conf(pool_create(64 + 4, 2048));
	struct rte_eth_stats stats;
	uint16_t port;
	unsigned int i;

	conf.rxd = 64;
	port = port_up(0, &conf);
	for (i = 0; i < 10; i++)
		starve(port, 64 + 4);
	stats = stats_of(port);
	CHECK_EQ(stats.ipackets + stats.rx_nombuf + stats.imissed, 10 * (MANY + 100));
	CHECK_EQ(stats.ierrors, 0);
	/* The ring is full again: the pool holds what is beyond it. */
	rte_eth_tx_done_cleanup(port, 0, 0);
	CHECK_EQ(rte_mempool_avail_count(conf.pool), 4);
}

TEST(rx_starved_pool_resumes_scattered)
{
	struct port_conf conf = port_conf(pool_create(16 * 4 + 6, 512));
	struct rte_mbuf *held[128];
	uint8_t frame[1514];
	unsigned int count = 0, i;
	uint16_t port;

	conf.rxd = 16;
	conf.eth.rxmode.offloads = RTE_ETH_RX_OFFLOAD_SCATTER;
	port = port_up(0, &conf);
	for (i = 0; i < 128; i++) {
		frame_make(frame, sizeof(frame), mac_foreign, i);
		wire_inject(port, frame, sizeof(frame));
		settle();
		count += rte_eth_rx_burst(port, 0, held + count, 1);
	}
	CHECK(count > 0 && count < 128);
	CHECK(stats_of(port).rx_nombuf > 0);
	free_mbufs(held, count);
	rx_discard(port);
	for (i = 0; i < 100; i++) {
		frame_make(frame, sizeof(frame), mac_foreign, 1000 + i);
		wire_inject(port, frame, sizeof(frame));
		CHECK_EQ(rx_all(port, 0, held, 1), 1);
		check_mbuf(held[0], frame, sizeof(frame));
		rte_pktmbuf_free(held[0]);
	}
}

/* Frame sizes around every segment boundary. */
static void
check_scatter(uint16_t mtu, uint16_t room, unsigned int rxd)
{
	struct port_conf conf = port_conf(pool_create(rxd * 16 + 512, room));
	unsigned int max = mtu + 14, k, side, length, i;
	uint8_t frame[FRAME_MAX];
	struct rte_mbuf *m;
	uint16_t port;

	conf.rxd = rxd;
	conf.eth.rxmode.mtu = mtu;
	conf.eth.rxmode.offloads = RTE_ETH_RX_OFFLOAD_SCATTER;
	port = port_up(0, &conf);
	/* Whether segments behind the first use their headroom or not. */
	for (k = 0; k < 2 * MAX_SEGMENTS; k++)
		for (side = 0; side < 3; side++) {
			length = room + k / 2 * (room + k % 2 * RTE_PKTMBUF_HEADROOM) + side - 1;
			if (length > max)
				continue;
			frame_make(frame, length, mac_foreign, length);
			wire_inject(port, frame, length);
			CHECK_EQ(rx_all(port, 0, &m, 1), 1);
			check_mbuf(m, frame, length);
			CHECK(m->nb_segs <= (length + room - 1) / room);
			CHECK(rte_pktmbuf_lastseg(m)->data_len > 0);
			rte_pktmbuf_free(m);
		}
	/* The largest, more often than the ring is long. */
	for (i = 0; i < 3 * rxd; i++) {
		frame_make(frame, max, mac_foreign, i);
		wire_inject(port, frame, max);
		CHECK_EQ(rx_all(port, 0, &m, 1), 1);
		check_mbuf(m, frame, max);
		rte_pktmbuf_free(m);
	}
	CHECK_EQ(stats_of(port).ierrors, 0);
	port_close(port);
}

TEST(rx_scatter_9000_in_2k_buffers)
{
	check_scatter(9000, 2048, 64);
}

TEST(rx_scatter_9000_in_1k_buffers)
{
	check_scatter(9000, 1024, 64);
}

TEST(rx_scatter_9000_in_16_segments)
{
	check_scatter(9000, 576, 32);
}

TEST(rx_scatter_1500_in_small_buffers)
{
	check_scatter(1500, 256, 128);
	check_scatter(1500, 512, 128);
	check_scatter(1500, 1000, 33);
}

TEST(rx_9000_in_one_buffer)
{
	check_scatter(9000, 9216, 64);
}

/* Frames larger than a buffer without scatter: refused at set-up or start. */
/* An MTU beyond the buffers says enough: such frames come, and come whole. */
TEST(rx_buffer_too_small_scatters_though_not_asked)
{
	struct port_conf conf = port_conf(pool_create(1024, 1024));
	struct rte_eth_rxq_info info;
	uint8_t frame[9000];
	struct rte_mbuf *m;
	uint16_t port;

	conf.rxd = 64;
	conf.eth.rxmode.mtu = 9000;
	port = port_up(0, &conf);
	CHECK_OK(rte_eth_rx_queue_info_get(port, 0, &info));
	CHECK(info.scattered_rx);
	frame_make(frame, sizeof(frame), mac_foreign, 1);
	wire_inject(port, frame, sizeof(frame));
	CHECK_EQ(rx_all(port, 0, &m, 1), 1);
	check_mbuf(m, frame, sizeof(frame));
	rte_pktmbuf_free(m);
}

TEST(rx_more_segments_than_a_wqe_holds_is_refused)
{
	struct rte_mempool *pool = pool_create(4096, 128);
	struct rte_eth_conf eth = {
		.rxmode.mtu = 9000,
		.rxmode.offloads = RTE_ETH_RX_OFFLOAD_SCATTER,
	};
	uint16_t port = port_open(0);
	int ret;

	ret = rte_eth_dev_configure(port, 1, 1, &eth);
	if (ret == 0)
		ret = rte_eth_rx_queue_setup(port, 0, 64, SOCKET_ID_ANY, NULL, pool);
	if (ret == 0)
		ret = rte_eth_tx_queue_setup(port, 0, 64, SOCKET_ID_ANY, NULL);
	if (ret == 0)
		ret = rte_eth_dev_start(port);
	CHECK_EQ(ret, -EINVAL);
}

/* Nothing of the mbuf's last life, and nothing that a TX path would act on. */
TEST(rx_mbufs_are_clean)
{
	struct port_conf conf = port_conf(pool_create(300, 2048));
	struct rte_mbuf *pkts[300], *m;
	uint8_t frame[200];
	unsigned int i, got;
	uint16_t port;

	for (i = 0; i < 300; i++) {
		pkts[i] = rte_pktmbuf_alloc(conf.pool);
		pkts[i]->ol_flags = RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_IPV4 |
			RTE_MBUF_F_RX_L4_CKSUM_BAD | RTE_MBUF_F_RX_VLAN;
		pkts[i]->tx_offload = UINT64_MAX;
		pkts[i]->vlan_tci = 0x1234;
		pkts[i]->packet_type = UINT32_MAX;
		pkts[i]->hash.rss = 0xdeadbeef;
	}
	free_mbufs(pkts, 300);
	port = port_up(0, &conf);
	for (i = 0; i < 1000; i++) {
		frame_make(frame, sizeof(frame), mac_foreign, i);
		wire_inject(port, frame, sizeof(frame));
		got = rx_all(port, 0, &m, 1);
		CHECK_EQ(got, 1);
		check_mbuf(m, frame, sizeof(frame));
		CHECK_EQ(m->ol_flags & RTE_MBUF_F_TX_OFFLOAD_MASK, 0);
		CHECK_EQ(m->ol_flags & (RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_L4_CKSUM_BAD), 0);
		CHECK_EQ(m->data_off, RTE_PKTMBUF_HEADROOM);
		CHECK_EQ(m->port, port);
		CHECK(m->next == NULL);
		m->ol_flags = RTE_MBUF_F_TX_TCP_SEG;
		m->data_off = 7;
		m->data_len = 0;
		m->port = 99;
		rte_pktmbuf_free(m);
	}
}

/* The same of every segment of a chain, whatever the application did to it. */
TEST(rx_segments_are_clean)
{
	struct port_conf conf = port_conf(pool_create(160, 256));
	struct rte_mbuf *m, *seg;
	uint8_t frame[1514];
	uint16_t port;
	unsigned int i;

	conf.rxd = 16;
	conf.eth.rxmode.offloads = RTE_ETH_RX_OFFLOAD_SCATTER;
	port = port_up(0, &conf);
	for (i = 0; i < 1000; i++) {
		frame_make(frame, sizeof(frame), mac_foreign, i);
		wire_inject(port, frame, sizeof(frame));
		CHECK_EQ(rx_all(port, 0, &m, 1), 1);
		check_mbuf(m, frame, sizeof(frame));
		CHECK_EQ(m->ol_flags & RTE_MBUF_F_TX_OFFLOAD_MASK, 0);
		for (seg = m; seg != NULL; seg = seg->next) {
			CHECK_EQ(seg->port, port);
			CHECK_EQ(seg->ol_flags & (RTE_MBUF_F_EXTERNAL | RTE_MBUF_F_INDIRECT), 0);
			seg->port = 99;
			seg->data_off = 7 + i % 100;
			seg->data_len = 3;
			seg->ol_flags |= RTE_MBUF_F_TX_TCP_SEG;
			seg->pkt_len = 1;
		}
		rte_pktmbuf_free(m);
	}
}

/* What was received goes out again, as forwarding applications do. */
TEST(rx_received_mbufs_can_be_sent)
{
	struct port_conf conf = port_conf(pool_create(1024, 512));
	struct rte_mbuf *m;
	uint8_t frame[1514];
	struct rng rng = { 5 };
	uint16_t port;
	unsigned int i;

	conf.rxd = conf.txd = 64;
	conf.eth.rxmode.offloads = RTE_ETH_RX_OFFLOAD_SCATTER;
	conf.eth.txmode.offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
	port = port_up(0, &conf);
	capture_start(port);
	for (i = 0; i < 3000; i++) {
		unsigned int length = 60 + rng_below(&rng, 1455);

		frame_make(frame, length, mac_foreign, i);
		wire_inject(port, frame, length);
		CHECK_EQ(rx_all(port, 0, &m, 1), 1);
		tx_all(port, 0, &m, 1);
		check_capture(port, i, frame, length);
	}
}

TEST(rx_each_queue_has_its_own_pool)
{
	struct port_conf conf = port_conf(NULL);
	struct rte_mempool *pools[4];
	struct rte_mbuf *pkts[MANY];
	unsigned int i, got, total = 0;
	uint16_t port = port_open(0), queue;
	uint8_t frame[200];

	conf.eth.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
	conf.eth.rx_adv_conf.rss_conf.rss_hf = RTE_ETH_RSS_IPV4;
	CHECK_OK(rte_eth_dev_configure(port, 4, 1, &conf.eth));
	for (queue = 0; queue < 4; queue++) {
		pools[queue] = pool_create(1024, 1600 + 300 * queue);
		CHECK_OK(rte_eth_rx_queue_setup(port, queue, 512, SOCKET_ID_ANY, NULL,
			pools[queue]));
	}
	CHECK_OK(rte_eth_tx_queue_setup(port, 0, 64, SOCKET_ID_ANY, NULL));
	port_start(port, &conf);
	for (i = 0; i < 400; i++) {
		struct frame_flow flow = flow_make(false, 17, i);

		frame_flow(frame, sizeof(frame), mac_foreign, &flow);
		wire_inject(port, frame, sizeof(frame));
	}
	settle();
	for (queue = 0; queue < 4; queue++) {
		got = rx_all(port, queue, pkts, MANY);
		CHECK(got > 0);
		for (i = 0; i < got; i++)
			CHECK(pkts[i]->pool == pools[queue]);
		free_mbufs(pkts, got);
		total += got;
	}
	CHECK_EQ(total, 400);
}

TEST(rx_runs_on_ring_of_ten_thousand_frames)
{
	struct port_conf conf = port_conf(pool_create(512, 2048));
	struct rng rng = { 77 };
	struct rte_mbuf *pkts[64];
	uint8_t frame[1514];
	unsigned int sent = 0, seen = 0, got, i, n;
	uint16_t port;

	conf.rxd = 128;
	port = port_up(0, &conf);
	while (seen < 10000) {
		n = rng_below(&rng, 40);
		for (i = 0; i < n; i++, sent++) {
			frame_make(frame, 60 + sent % 1455, mac_foreign, sent);
			wire_inject(port, frame, 60 + sent % 1455);
		}
		settle();
		do {
			got = rte_eth_rx_burst(port, 0, pkts, 1 + rng_below(&rng, 64));
			for (i = 0; i < got; i++, seen++) {
				frame_make(frame, 60 + seen % 1455, mac_foreign, seen);
				check_mbuf(pkts[i], frame, 60 + seen % 1455);
			}
			free_mbufs(pkts, got);
		} while (got > 0 && sent - seen > 30);
	}
	rx_discard(port);
	CHECK_EQ(stats_of(port).ipackets, sent);
	CHECK_EQ(stats_of(port).imissed, 0);
}

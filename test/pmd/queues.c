/* SPDX-License-Identifier: BSD-3-Clause */

/* Queue counts, sizes and set-up orders. */

#include "harness.h"

#define MAX_RING 32768

/* Fill the ring to the last descriptor, then use it for two more rounds. */
static void
check_rx_ring(uint16_t port, unsigned int descriptors)
{
	static struct rte_mbuf *pkts[MAX_RING];
	uint8_t frame[60];
	unsigned int round, i, got;

	for (round = 0; round < 3; round++) {
		for (i = 0; i < descriptors; i++) {
			frame_make(frame, sizeof(frame), mac_foreign, i);
			wire_inject(port, frame, sizeof(frame));
			if (i % 64 == 63)
				settle();
		}
		settle();
		got = rx_all(port, 0, pkts, MAX_RING);
		CHECK_EQ(got, descriptors);
		for (i = 0; i < got; i++) {
			frame_make(frame, sizeof(frame), mac_foreign, i);
			check_mbuf(pkts[i], frame, sizeof(frame));
		}
		free_mbufs(pkts, got);
	}
}

/* As many packets as descriptors are taken without any progress of the adapter. */
static void
check_tx_ring(uint16_t port, struct rte_mempool *pool, unsigned int descriptors)
{
	static struct rte_mbuf *pkts[MAX_RING];
	uint8_t frame[60];
	unsigned int round, i, sent;

	for (round = 0; round < 3; round++) {
		capture_clear(port);
		for (i = 0; i < descriptors; i++) {
			frame_make(frame, sizeof(frame), mac_foreign, i);
			pkts[i] = mbuf_frame(pool, frame, sizeof(frame));
		}
		for (sent = 0, i = 1; sent < descriptors && i > 0; sent += i)
			i = rte_eth_tx_burst(port, 0, pkts + sent, descriptors - sent);
		CHECK_EQ(sent, descriptors);
		settle();
		CHECK_EQ(capture_count(port), descriptors);
		for (i = 0; i < descriptors; i++) {
			frame_make(frame, sizeof(frame), mac_foreign, i);
			check_capture(port, i, frame, sizeof(frame));
		}
		CHECK(rte_eth_tx_done_cleanup(port, 0, 0) >= 0);
	}
}

static bool
within(const struct rte_eth_desc_lim *limits, unsigned int descriptors)
{
	return descriptors >= limits->nb_min && descriptors <= limits->nb_max &&
		descriptors % limits->nb_align == 0;
}

static unsigned int
sizes_to_try(const struct rte_eth_desc_lim *limits, unsigned int sizes[16])
{
	unsigned int n = 0, max = limits->nb_max;

	CHECK(limits->nb_max <= MAX_RING);
	CHECK(limits->nb_align > 0);
	CHECK(limits->nb_min > 0);
	CHECK(limits->nb_min < limits->nb_max);
	sizes[n++] = 1;
	sizes[n++] = 2;
	sizes[n++] = 3;
	sizes[n++] = limits->nb_min - 1;
	sizes[n++] = limits->nb_min;
	sizes[n++] = limits->nb_min + limits->nb_align;
	sizes[n++] = 33;
	sizes[n++] = 100;
	sizes[n++] = 127;
	sizes[n++] = 128;
	sizes[n++] = 1025;
	sizes[n++] = max / 2 + limits->nb_align;
	sizes[n++] = max - limits->nb_align;
	sizes[n++] = max;
	sizes[n++] = max + 1;
	sizes[n++] = 65535;
	return n;
}

TEST(queues_rx_descriptor_limits_are_true)
{
	struct port_conf conf = port_conf(pool_create(40000, 1536));
	struct rte_eth_dev_info info;
	unsigned int sizes[16], n, i;
	uint16_t port = port_open(0);

	CHECK_OK(rte_eth_dev_info_get(port, &info));
	n = sizes_to_try(&info.rx_desc_lim, sizes);
	CHECK_OK(rte_eth_dev_configure(port, 1, 1, &conf.eth));
	CHECK_OK(rte_eth_tx_queue_setup(port, 0, 64, SOCKET_ID_ANY, NULL));
	CHECK_OK(rte_eth_promiscuous_enable(port));
	for (i = 0; i < n; i++) {
		if (sizes[i] == 0)
			continue;
		if (!within(&info.rx_desc_lim, sizes[i])) {
			CHECK_EQ(rte_eth_rx_queue_setup(port, 0, sizes[i], SOCKET_ID_ANY,
				NULL, conf.pool), -EINVAL);
			continue;
		}
		CHECK_OK(rte_eth_rx_queue_setup(port, 0, sizes[i], SOCKET_ID_ANY, NULL,
			conf.pool));
		CHECK_OK(rte_eth_dev_start(port));
		check_rx_ring(port, sizes[i]);
		CHECK_OK(rte_eth_dev_stop(port));
	}
}

TEST(queues_tx_descriptor_limits_are_true)
{
	struct port_conf conf = port_conf(pool_create(40000, 1536));
	struct rte_eth_dev_info info;
	unsigned int sizes[16], n, i;
	uint16_t port = port_open(0);

	CHECK_OK(rte_eth_dev_info_get(port, &info));
	n = sizes_to_try(&info.tx_desc_lim, sizes);
	CHECK_OK(rte_eth_dev_configure(port, 1, 1, &conf.eth));
	CHECK_OK(rte_eth_rx_queue_setup(port, 0, 64, SOCKET_ID_ANY, NULL, conf.pool));
	capture_start(port);
	for (i = 0; i < n; i++) {
		if (sizes[i] == 0)
			continue;
		if (!within(&info.tx_desc_lim, sizes[i])) {
			CHECK_EQ(rte_eth_tx_queue_setup(port, 0, sizes[i], SOCKET_ID_ANY,
				NULL), -EINVAL);
			continue;
		}
		CHECK_OK(rte_eth_tx_queue_setup(port, 0, sizes[i], SOCKET_ID_ANY, NULL));
		CHECK_OK(rte_eth_dev_start(port));
		check_tx_ring(port, conf.pool, sizes[i]);
		CHECK_OK(rte_eth_dev_stop(port));
	}
}

/* Zero asks ethdev for the driver's recommendation. */
TEST(queues_zero_descriptors_mean_the_default)
{
	struct port_conf conf = port_conf(pool_create(16384, 2048));
	struct rte_eth_dev_info info;
	struct rte_eth_rxq_info rx;
	struct rte_eth_txq_info tx;
	uint16_t port = port_open(0);

	conf.rxd = conf.txd = 0;
	port_configure(port, &conf);
	port_start(port, &conf);
	CHECK_OK(rte_eth_dev_info_get(port, &info));
	CHECK_OK(rte_eth_rx_queue_info_get(port, 0, &rx));
	CHECK_OK(rte_eth_tx_queue_info_get(port, 0, &tx));
	CHECK(within(&info.rx_desc_lim, rx.nb_desc));
	CHECK(within(&info.tx_desc_lim, tx.nb_desc));
	check_traffic(port);
}

/* As examples size their pools: a ring holds no more buffers than it has descriptors. */
TEST(queues_of_scattered_frames_fit_a_pool_of_their_descriptors)
{
	struct port_conf conf = port_conf(pool_create(1024 + 64, 2048 + RTE_PKTMBUF_HEADROOM));
	struct rte_mbuf *got[1];
	uint8_t frame[9000];
	uint16_t port;

	conf.rxd = 1024;
	conf.eth.rxmode.mtu = 9600;
	conf.eth.rxmode.offloads = RTE_ETH_RX_OFFLOAD_SCATTER;
	port = port_up(0, &conf);
	frame_make(frame, sizeof(frame), mac_foreign, 1);
	wire_inject(port, frame, sizeof(frame));
	CHECK_EQ(rx_all(port, 0, got, 1), 1);
	check_mbuf(got[0], frame, sizeof(frame));
	free_mbufs(got, 1);
}

TEST(queues_info_tells_what_was_set_up)
{
	struct rte_mempool *pools[2];
	struct rte_eth_conf eth = { 0 };
	struct rte_eth_rxq_info rx;
	struct rte_eth_txq_info tx;
	uint16_t port = port_open(0), queue;

	pools[0] = pool_create(1024, 2048);
	pools[1] = pool_create(1024, 4096);
	CHECK_OK(rte_eth_dev_configure(port, 2, 2, &eth));
	for (queue = 0; queue < 2; queue++) {
		CHECK_OK(rte_eth_rx_queue_setup(port, queue, 64 << queue, SOCKET_ID_ANY,
			NULL, pools[queue]));
		CHECK_OK(rte_eth_tx_queue_setup(port, queue, 128 << queue, SOCKET_ID_ANY,
			NULL));
	}
	CHECK_OK(rte_eth_dev_start(port));
	for (queue = 0; queue < 2; queue++) {
		CHECK_OK(rte_eth_rx_queue_info_get(port, queue, &rx));
		CHECK_OK(rte_eth_tx_queue_info_get(port, queue, &tx));
		CHECK(rx.mp == pools[queue]);
		CHECK_EQ(rx.nb_desc, 64 << queue);
		CHECK_EQ(tx.nb_desc, 128 << queue);
		CHECK_EQ(rx.conf.rx_deferred_start, 0);
	}
	CHECK(rte_eth_rx_queue_info_get(port, 2, &rx) < 0);
}

TEST(queues_set_up_in_reverse_order)
{
	struct port_conf conf = port_conf(pool_create(4096, 2048));
	uint16_t port = port_open(0);
	int queue;

	CHECK_OK(rte_eth_dev_configure(port, 4, 4, &conf.eth));
	for (queue = 3; queue >= 0; queue--) {
		CHECK_OK(rte_eth_tx_queue_setup(port, queue, 64, SOCKET_ID_ANY, NULL));
		CHECK_OK(rte_eth_rx_queue_setup(port, queue, 64, SOCKET_ID_ANY, NULL,
			conf.pool));
	}
	port_start(port, &conf);
	check_traffic(port);
}

TEST(queues_set_up_again_with_another_size)
{
	struct port_conf conf = port_conf(pool_create(8192, 2048));
	uint16_t port = port_open(0);
	unsigned int i;

	for (i = 0; i < 8; i++) {
		conf.rxd = 32 << i % 5;
		conf.txd = 512 >> i % 4;
		port_configure(port, &conf);
		/* Once more without a start in between. */
		CHECK_OK(rte_eth_rx_queue_setup(port, 0, conf.rxd * 2, SOCKET_ID_ANY, NULL,
			conf.pool));
		CHECK_OK(rte_eth_tx_queue_setup(port, 0, conf.txd * 2, SOCKET_ID_ANY, NULL));
		port_start(port, &conf);
		check_traffic(port);
		CHECK_OK(rte_eth_dev_stop(port));
	}
}

TEST(queues_tx_only)
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	uint16_t port;
	uint8_t frame[128];
	struct rte_mbuf *m;
	unsigned int i;

	conf.rxq = 0;
	port = port_up(0, &conf);
	capture_start(port);
	for (i = 0; i < 1000; i++) {
		frame_make(frame, sizeof(frame), mac_foreign, i);
		m = mbuf_frame(conf.pool, frame, sizeof(frame));
		tx_all(port, 0, &m, 1);
		check_capture(port, i, frame, sizeof(frame));
	}
	wire_inject(port, frame, sizeof(frame));
	settle();
	CHECK_EQ(stats_of(port).opackets, 1000);
	CHECK_EQ(stats_of(port).ipackets, 0);
}

TEST(queues_rx_only)
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	uint16_t port;
	unsigned int i;

	conf.txq = 0;
	port = port_up(0, &conf);
	for (i = 0; i < 1000; i++)
		check_traffic(port);
	CHECK_EQ(stats_of(port).ipackets, 1000);
}

TEST(queues_unequal_numbers)
{
	static const uint16_t counts[][2] = { { 1, 16 }, { 16, 1 }, { 3, 5 }, { 5, 2 } };
	struct port_conf conf = port_conf(pool_create(8192, 2048));
	struct rte_mbuf *m;
	uint8_t frame[60];
	unsigned int i;
	uint16_t port = port_open(0), queue;

	conf.rxd = conf.txd = 64;
	for (i = 0; i < RTE_DIM(counts); i++) {
		conf.rxq = counts[i][0];
		conf.txq = counts[i][1];
		port_configure(port, &conf);
		port_start(port, &conf);
		capture_start(port);
		capture_clear(port);
		for (queue = 0; queue < conf.txq; queue++) {
			frame_make(frame, sizeof(frame), mac_foreign, queue);
			m = mbuf_frame(conf.pool, frame, sizeof(frame));
			tx_all(port, queue, &m, 1);
			check_capture(port, queue, frame, sizeof(frame));
		}
		CHECK_OK(rte_eth_dev_stop(port));
	}
}

TEST(queues_sixteen_do_not_interfere)
{
	struct port_conf conf = port_conf(pool_create(8192, 2048));
	struct rng rng = { 16 };
	unsigned int sent[16] = { 0 }, seen[16] = { 0 }, i, total;
	uint16_t port;
	const uint8_t *bytes;
	struct rte_mbuf *m;
	uint8_t frame[90];
	size_t length;

	conf.rxq = conf.txq = 16;
	conf.rxd = conf.txd = 32;
	port = port_up(0, &conf);
	capture_start(port);
	for (total = 0; total < 4000; total++) {
		uint16_t queue = rng_below(&rng, 16);

		frame_make(frame, sizeof(frame), mac_foreign, queue);
		frame[14] = queue;
		memcpy(frame + 15, &sent[queue], sizeof(sent[queue]));
		m = mbuf_frame(conf.pool, frame, sizeof(frame));
		while (rte_eth_tx_burst(port, queue, &m, 1) == 0)
			settle();
		sent[queue]++;
		if (rng_below(&rng, 8) == 0)
			CHECK(vmlx4_step(1 + rng_below(&rng, 10)) >= 0);
	}
	settle();
	CHECK_EQ(capture_count(port), total);
	for (i = 0; i < total; i++) {
		unsigned int number;

		bytes = capture_frame(port, i, &length);
		CHECK_EQ(length, sizeof(frame));
		CHECK(bytes[14] < 16);
		memcpy(&number, bytes + 15, sizeof(number));
		CHECK_EQ(number, seen[bytes[14]]);
		seen[bytes[14]]++;
	}
	CHECK(memcmp(sent, seen, sizeof(sent)) == 0);
}

TEST(queues_setup_refuses_what_cannot_be)
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	struct rte_eth_dev_info info;
	struct rte_eth_rxconf rxconf;
	uint16_t port = port_open(0);

	CHECK_OK(rte_eth_dev_info_get(port, &info));
	CHECK(info.max_rx_queues >= 16 && info.max_tx_queues >= 16);
	CHECK_EQ(rte_eth_dev_configure(port, info.max_rx_queues + 1, 1, &conf.eth), -EINVAL);
	CHECK_EQ(rte_eth_dev_configure(port, 1, info.max_tx_queues + 1, &conf.eth), -EINVAL);
	CHECK_OK(rte_eth_dev_configure(port, 1, 1, &conf.eth));
	CHECK_EQ(rte_eth_rx_queue_setup(port, 1, 64, SOCKET_ID_ANY, NULL, conf.pool), -EINVAL);
	CHECK_EQ(rte_eth_tx_queue_setup(port, 1, 64, SOCKET_ID_ANY, NULL), -EINVAL);
	/* An offload that the driver does not have. */
	rxconf = info.default_rxconf;
	rxconf.offloads = RTE_ETH_RX_OFFLOAD_SECURITY;
	CHECK_EQ(rte_eth_rx_queue_setup(port, 0, 64, SOCKET_ID_ANY, &rxconf, conf.pool),
		-EINVAL);
	port_configure(port, &conf);
	port_start(port, &conf);
	check_traffic(port);
}

/* SPDX-License-Identifier: BSD-3-Clause */

/* What the port says of itself. */

#include "harness.h"

static struct rte_eth_dev_info
info_of(uint16_t port)
{
	struct rte_eth_dev_info info;

	memset(&info, 0, sizeof(info));
	CHECK_OK(rte_eth_dev_info_get(port, &info));
	/* What configure changes by definition. */
	info.nb_rx_queues = info.nb_tx_queues = 0;
	return info;
}

TEST(info_is_not_changed_by_configure_start_stop)
{
	struct port_conf conf = port_conf(pool_create(4096, 2048));
	uint16_t port = port_open(0);
	struct rte_eth_dev_info first = info_of(port), now;
	unsigned int i;

	conf.eth.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
	conf.eth.rx_adv_conf.rss_conf.rss_hf = RTE_ETH_RSS_IPV4;
	for (i = 0; i < 4; i++) {
		conf.rxq = 1 + i;
		conf.txq = 4 - i;
		port_configure(port, &conf);
		now = info_of(port);
		/* The table is as large as the number of queues makes it. */
		CHECK(now.reta_size >= conf.rxq);
		first.reta_size = now.reta_size;
		CHECK(memcmp(&first, &now, sizeof(now)) == 0);
		port_start(port, &conf);
		now = info_of(port);
		CHECK(memcmp(&first, &now, sizeof(now)) == 0);
		CHECK_OK(rte_eth_dev_stop(port));
		now = info_of(port);
		CHECK(memcmp(&first, &now, sizeof(now)) == 0);
	}
}

TEST(info_names_the_driver_and_its_limits)
{
	uint16_t first = port_open(0), second = port_open(1);
	struct rte_eth_dev_info info = info_of(first);
	char version[64] = "";

	CHECK_MSG(strstr(info.driver_name, "net_mlx4dv") != NULL, "driver '%s'",
		info.driver_name);
	CHECK(info.device != NULL);
	CHECK(info.if_index > 0);
	CHECK(info.if_index != info_of(second).if_index);
	CHECK(info.max_rx_queues >= 16 && info.max_tx_queues >= 16);
	CHECK(info.max_mac_addrs > 1);
	CHECK(info.min_rx_bufsize > 0);
	CHECK(info.max_rx_pktlen >= 9018);
	CHECK(info.speed_capa != 0);
	CHECK_EQ(info.hash_key_size, 40);
	CHECK((info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_SCATTER) != 0);
	CHECK((info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS) != 0);
	/* Offered here, the application would take it for working. */
	CHECK_EQ(info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_TCP_LRO, 0);
	CHECK_OK(rte_eth_dev_fw_version_get(first, version, sizeof(version)));
	CHECK_MSG(version[0] >= '0' && version[0] <= '9', "firmware '%s'", version);
	CHECK(rte_eth_dev_fw_version_get(first, version, 1) > 1);
}

TEST(info_queue_configuration_default_works)
{
	struct rte_mempool *pool = pool_create(8192, 2048);
	uint16_t port = port_open(0);
	struct rte_eth_dev_info info = info_of(port);
	struct rte_eth_conf eth = { 0 };

	CHECK_OK(rte_eth_dev_configure(port, 1, 1, &eth));
	CHECK_OK(rte_eth_rx_queue_setup(port, 0, 0, SOCKET_ID_ANY, &info.default_rxconf, pool));
	CHECK_OK(rte_eth_tx_queue_setup(port, 0, 0, SOCKET_ID_ANY, &info.default_txconf));
	CHECK_OK(rte_eth_dev_start(port));
	check_traffic(port);
}

/* Offloads that were offered can be had, all at once. */
TEST(info_all_offered_offloads_can_be_enabled)
{
	struct port_conf conf = port_conf(pool_create(4096, 2048));
	uint16_t port = port_open(0);
	struct rte_eth_dev_info info = info_of(port);

	conf.eth.rxmode.offloads = info.rx_offload_capa & ~RTE_ETH_RX_OFFLOAD_KEEP_CRC;
	conf.eth.txmode.offloads = info.tx_offload_capa & ~RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
	conf.eth.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
	conf.eth.rx_adv_conf.rss_conf.rss_hf = info.flow_type_rss_offloads;
	port_configure(port, &conf);
	port_start(port, &conf);
	check_traffic(port);
}

/* As it lies in memory after the frame: CRC-32, least significant byte first. */
static uint32_t
fcs_of(const uint8_t *frame, size_t length)
{
	uint32_t crc = UINT32_MAX;
	unsigned int bit;

	while (length-- > 0) {
		crc ^= *frame++;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
	}
	return rte_cpu_to_le_32(~crc);
}

TEST(info_keep_crc_if_offered_keeps_it)
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	uint16_t port = port_open(0);
	struct rte_mbuf *m;
	uint8_t frame[64];
	unsigned int length;
	uint32_t fcs;

	if ((info_of(port).rx_offload_capa & RTE_ETH_RX_OFFLOAD_KEEP_CRC) == 0)
		test_skip("KEEP_CRC is not offered");
	for (length = 60; length <= 64; length++) {
		conf.eth.rxmode.offloads = length % 2 == 0 ? RTE_ETH_RX_OFFLOAD_KEEP_CRC : 0;
		port_configure(port, &conf);
		port_start(port, &conf);
		frame_make(frame, length, mac_foreign, length);
		wire_inject(port, frame, length);
		CHECK_EQ(rx_all(port, 0, &m, 1), 1);
		/* The length is the frame's; the FCS lies behind the data. */
		CHECK_EQ(m->pkt_len, length);
		CHECK(memcmp(rte_pktmbuf_mtod(m, void *), frame, length) == 0);
		fcs = fcs_of(frame, length);
		if (length % 2 == 0)
			CHECK(memcmp(rte_pktmbuf_mtod_offset(m, void *, length), &fcs, 4) == 0);
		rte_pktmbuf_free(m);
		CHECK_OK(rte_eth_dev_stop(port));
	}
}

static bool
dump_says(uint16_t port, const char *what)
{
	FILE *file = tmpfile();
	bool found = false;
	char line[256];

	CHECK(file != NULL);
	CHECK_OK(rte_eth_dev_priv_dump(port, file));
	rewind(file);
	while (fgets(line, sizeof(line), file) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		found |= strcmp(line, what) == 0;
	}
	fclose(file);
	return found;
}

TEST(info_private_dump_shows_device_queues_memory_and_the_last_error)
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	struct rte_mbuf *m;
	uint8_t frame[60];
	uint16_t port;

	port = port_open(0);
	CHECK(dump_says(port, "\tstarted: 0"));
	port_configure(port, &conf);
	port_start(port, &conf);
	CHECK(dump_says(port, "\tstarted: 1"));
	CHECK(dump_says(port, "\tdevice: mlx4_0"));
	CHECK(dump_says(port, "rx queue 0"));
	CHECK(dump_says(port, "tx queue 0"));
	CHECK(dump_says(port, "\tlast_syndrome: 0"));
	CHECK(!dump_says(port, "\tlast_syndrome: 4"));
	CHECK(dump_says(port, "\town_rules: 3")); /* address, broadcast, promiscuous */
	frame_make(frame, sizeof(frame), mac_foreign, 1);
	m = mbuf_frame(conf.pool, frame, sizeof(frame));
	CHECK_OK(vmlx4_fail_next(VMLX4_FAULT_TX, port_verbs(port), 1, 0x04));
	CHECK_EQ(rte_eth_tx_burst(port, 0, &m, 1), 1);
	settle();
	CHECK_EQ(rte_eth_tx_burst(port, 0, NULL, 0), 0);
	CHECK(dump_says(port, "\tlast_syndrome: 4"));
	CHECK(dump_says(port, "\tlast_vendor_error: 87")); /* 0x57, as seen on silicon */
}

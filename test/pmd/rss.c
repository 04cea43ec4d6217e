/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Spreading over queues. The judge is rte_softrss(), fed with the application's
 * own key; neither the driver nor the adapter has a part in it.
 */

#include <netinet/in.h>

#include "harness.h"

#define FLOWS 64
#define MAX_QUEUES 16
#define ALL_TYPES (RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_TCP | \
	RTE_ETH_RSS_NONFRAG_IPV4_UDP | RTE_ETH_RSS_IPV6 | \
	RTE_ETH_RSS_NONFRAG_IPV6_TCP | RTE_ETH_RSS_NONFRAG_IPV6_UDP)

static uint8_t symmetric_key[40];
static uint8_t odd_key[40];

__attribute__((constructor)) static void
fill_keys(void)
{
	struct rng rng = { 0x55aa };
	unsigned int i;

	for (i = 0; i < sizeof(symmetric_key); i++) {
		symmetric_key[i] = i % 2 == 0 ? 0x6d : 0x5a;
		odd_key[i] = rng_next(&rng);
	}
}

static struct port_conf
rss_conf(struct rte_mempool *pool, uint16_t queues, uint8_t *key, uint64_t types)
{
	struct port_conf conf = port_conf(pool);

	conf.rxq = queues;
	conf.rxd = 64;
	conf.promiscuous = false;
	conf.eth.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
	conf.eth.rxmode.offloads = RTE_ETH_RX_OFFLOAD_RSS_HASH;
	conf.eth.rx_adv_conf.rss_conf.rss_key = key;
	conf.eth.rx_adv_conf.rss_conf.rss_key_len = key != NULL ? 40 : 0;
	conf.eth.rx_adv_conf.rss_conf.rss_hf = types;
	return conf;
}

/* The table as the application can read it. */
struct reta {
	unsigned int size;
	uint16_t queue[RTE_ETH_RSS_RETA_SIZE_512];
};

static struct reta
read_reta(uint16_t port)
{
	struct rte_eth_rss_reta_entry64 groups[RTE_ETH_RSS_RETA_SIZE_512 / 64] = { 0 };
	struct rte_eth_dev_info info;
	struct reta reta = { 0 };
	unsigned int i;

	CHECK_OK(rte_eth_dev_info_get(port, &info));
	CHECK(info.reta_size > 0 && info.reta_size <= RTE_DIM(reta.queue));
	memset(groups, 0xff, sizeof(groups));
	CHECK_OK(rte_eth_dev_rss_reta_query(port, groups, info.reta_size));
	reta.size = info.reta_size;
	for (i = 0; i < reta.size; i++)
		reta.queue[i] = groups[i / 64].reta[i % 64];
	return reta;
}

/* Every queue has its fair share of the table. */
static void
check_reta(const struct reta *reta, unsigned int queues)
{
	unsigned int share[MAX_QUEUES] = { 0 }, i;

	for (i = 0; i < reta->size; i++) {
		CHECK(reta->queue[i] < queues);
		share[reta->queue[i]]++;
	}
	for (i = 0; i < queues; i++)
		CHECK_MSG(share[i] >= reta->size / queues && share[i] <= reta->size / queues + 1,
			"queue %u of %u has %u of %u table entries", i, queues, share[i],
			reta->size);
}

/* Put a frame of the flow in; exactly one queue gives it out. */
static struct rte_mbuf *
receive_flow(uint16_t port, unsigned int queues, const struct frame_flow *flow,
	unsigned int *queue)
{
	struct rte_mbuf *found = NULL, *pkts[4];
	struct rte_ether_addr mac;
	uint8_t frame[128];
	unsigned int q, got;

	*queue = queues;
	CHECK_OK(rte_eth_macaddr_get(port, &mac));
	frame_flow(frame, sizeof(frame), mac.addr_bytes, flow);
	wire_inject(port, frame, sizeof(frame));
	settle();
	for (q = 0; q < queues; q++) {
		got = rte_eth_rx_burst(port, q, pkts, 4);
		CHECK(got <= 1 && (got == 0 || found == NULL));
		if (got == 1) {
			found = pkts[0];
			*queue = q;
		}
	}
	CHECK_MSG(found != NULL, "no queue received the frame");
	check_mbuf(found, frame, sizeof(frame));
	return found;
}

static void
check_hashed(uint16_t port, unsigned int queues, const struct reta *reta,
	const struct frame_flow *flow, const uint8_t *key, bool ports)
{
	uint32_t hash = flow_hash(flow, key, ports);
	unsigned int queue;
	struct rte_mbuf *m = receive_flow(port, queues, flow, &queue);

	CHECK_EQ(queue, reta->queue[hash & (reta->size - 1)]);
	if ((queues & (queues - 1)) == 0)
		CHECK_EQ(queue, hash & (queues - 1));
	CHECK((m->ol_flags & RTE_MBUF_F_RX_RSS_HASH) != 0);
	CHECK_MSG(m->hash.rss == hash, "the mbuf says hash 0x%08x, it is 0x%08x", m->hash.rss,
		hash);
	rte_pktmbuf_free(m);
}

/*
 * Not of a type that is to be spread: one queue for all. The adapter may have
 * computed a hash all the same; what the mbuf then says must be one.
 */
static void
check_unhashed(uint16_t port, unsigned int queues, const struct frame_flow *flow)
{
	unsigned int queue;
	struct rte_mbuf *m = receive_flow(port, queues, flow, &queue);

	CHECK_EQ(queue, 0);
	if ((m->ol_flags & RTE_MBUF_F_RX_RSS_HASH) != 0)
		CHECK_EQ(m->hash.rss, flow_hash(flow, odd_key, false));
	rte_pktmbuf_free(m);
}

static void
check_all_flows(uint16_t port, unsigned int queues, const uint8_t *key)
{
	static const uint8_t protocols[] = { IPPROTO_TCP, IPPROTO_UDP, IPPROTO_ICMP };
	struct reta reta = read_reta(port);
	unsigned int i, p;

	check_reta(&reta, queues);
	for (i = 0; i < FLOWS; i++)
		for (p = 0; p < 2 * RTE_DIM(protocols); p++) {
			struct frame_flow flow = flow_make(p % 2, protocols[p / 2], 100 * i + p);

			check_hashed(port, queues, &reta, &flow, key,
				flow.proto == IPPROTO_TCP || flow.proto == IPPROTO_UDP);
		}
}

static void
check_queues(unsigned int queues, uint8_t *key)
{
	struct port_conf conf = rss_conf(pool_create(4096, 2048), queues, key, ALL_TYPES);
	uint16_t port = port_up(0, &conf);

	check_all_flows(port, queues, key);
	port_close(port);
}

TEST(rss_power_of_two_queues)
{
	check_queues(1, odd_key);
	check_queues(2, odd_key);
	check_queues(4, odd_key);
	check_queues(8, odd_key);
	check_queues(16, odd_key);
}

TEST(rss_other_numbers_of_queues)
{
	check_queues(3, odd_key);
	check_queues(5, odd_key);
	check_queues(6, odd_key);
	check_queues(7, odd_key);
	check_queues(13, odd_key);
}

TEST(rss_key_of_the_application)
{
	struct frame_flow flow = flow_make(false, IPPROTO_TCP, 1), back = flow;
	struct port_conf conf;
	struct reta reta;
	uint16_t port;

	check_queues(4, symmetric_key);
	conf = rss_conf(pool_create(4096, 2048), 8, symmetric_key, ALL_TYPES);
	port = port_up(0, &conf);
	reta = read_reta(port);
	/* With this key both directions of a connection meet. */
	back.src4 = flow.dst4;
	back.dst4 = flow.src4;
	back.src_port = flow.dst_port;
	back.dst_port = flow.src_port;
	CHECK_EQ(flow_hash(&flow, symmetric_key, true), flow_hash(&back, symmetric_key, true));
	check_hashed(port, 8, &reta, &flow, symmetric_key, true);
	check_hashed(port, 8, &reta, &back, symmetric_key, true);
}

TEST(rss_configuration_reads_back)
{
	struct port_conf conf = rss_conf(pool_create(4096, 2048), 4, odd_key, ALL_TYPES);
	uint8_t key[40] = { 0 };
	struct rte_eth_rss_conf got = { .rss_key = key, .rss_key_len = sizeof(key) };
	struct rte_eth_dev_info info;
	uint16_t port = port_open(0);

	CHECK_OK(rte_eth_dev_info_get(port, &info));
	CHECK_EQ(info.hash_key_size, 40);
	CHECK((info.flow_type_rss_offloads & ALL_TYPES) == ALL_TYPES);
	port_configure(port, &conf);
	port_start(port, &conf);
	CHECK_OK(rte_eth_dev_rss_hash_conf_get(port, &got));
	CHECK(memcmp(key, odd_key, sizeof(key)) == 0);
	CHECK_EQ(got.rss_hf & ALL_TYPES, ALL_TYPES);
	CHECK_EQ(got.rss_hf & ~info.flow_type_rss_offloads, 0);
	got.rss_key = NULL;
	CHECK_OK(rte_eth_dev_rss_hash_conf_get(port, &got));
	/* Types that the hardware does not have are ethdev's to refuse. */
	CHECK_OK(rte_eth_dev_stop(port));
	conf.eth.rx_adv_conf.rss_conf.rss_hf = RTE_ETH_RSS_L2TPV3;
	CHECK_EQ(rte_eth_dev_configure(port, 4, 1, &conf.eth), -EINVAL);
	conf.eth.rx_adv_conf.rss_conf.rss_hf = ALL_TYPES;
	conf.eth.rx_adv_conf.rss_conf.rss_key_len = 39;
	CHECK(rte_eth_dev_configure(port, 4, 1, &conf.eth) < 0);
}

/* As applications ask for them: some of the types in these are for IPv6 extensions. */
TEST(rss_groups_of_types_are_taken)
{
	static const uint64_t groups[] = { RTE_ETH_RSS_IP, RTE_ETH_RSS_TCP, RTE_ETH_RSS_UDP,
		RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP };
	struct rte_mempool *pool = pool_create(4096, 2048);
	struct rte_eth_rss_conf got = { 0 };
	uint16_t port = port_open(0);
	unsigned int i;

	for (i = 0; i < RTE_DIM(groups); i++) {
		struct port_conf conf = rss_conf(pool, 4, odd_key, groups[i]);

		port_configure(port, &conf);
		port_start(port, &conf);
		CHECK_OK(rte_eth_dev_rss_hash_conf_get(port, &got));
		CHECK_EQ(got.rss_hf & groups[i], groups[i]);
		check_traffic(port);
		CHECK_OK(rte_eth_dev_stop(port));
	}
}

TEST(rss_default_key_is_the_one_told)
{
	struct port_conf conf = rss_conf(pool_create(4096, 2048), 4, NULL, ALL_TYPES);
	uint8_t key[40] = { 0 };
	struct rte_eth_rss_conf got = { .rss_key = key, .rss_key_len = sizeof(key) };
	uint16_t port = port_up(0, &conf);

	CHECK_OK(rte_eth_dev_rss_hash_conf_get(port, &got));
	check_all_flows(port, 4, key);
}

/* Which of the types are hashed, and with which fields. */
static void
check_types(uint64_t types, bool with_ports_tcp, bool with_ports_udp, bool hash_ip)
{
	struct port_conf conf = rss_conf(pool_create(4096, 2048), 8, odd_key, types);
	uint16_t port = port_up(0, &conf);
	struct reta reta = read_reta(port);
	unsigned int i;

	for (i = 0; i < FLOWS; i++) {
		struct frame_flow tcp = flow_make(false, IPPROTO_TCP, i);
		struct frame_flow udp = flow_make(false, IPPROTO_UDP, i);
		struct frame_flow icmp = flow_make(false, IPPROTO_ICMP, i);
		struct frame_flow other = flow_make(true, IPPROTO_TCP, i);

		if (with_ports_tcp || hash_ip)
			check_hashed(port, 8, &reta, &tcp, odd_key, with_ports_tcp);
		else
			check_unhashed(port, 8, &tcp);
		if (with_ports_udp || hash_ip)
			check_hashed(port, 8, &reta, &udp, odd_key, with_ports_udp);
		else
			check_unhashed(port, 8, &udp);
		if (hash_ip)
			check_hashed(port, 8, &reta, &icmp, odd_key, false);
		else
			check_unhashed(port, 8, &icmp);
		check_unhashed(port, 8, &other);
	}
	port_close(port);
}

TEST(rss_types_ipv4_addresses_only)
{
	check_types(RTE_ETH_RSS_IPV4, false, false, true);
}

TEST(rss_types_ipv4_and_tcp)
{
	check_types(RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_TCP, true, false, true);
}

TEST(rss_types_ipv4_tcp_and_udp)
{
	check_types(RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_TCP |
		RTE_ETH_RSS_NONFRAG_IPV4_UDP, true, true, true);
}

TEST(rss_types_tcp_only)
{
	check_types(RTE_ETH_RSS_NONFRAG_IPV4_TCP, true, false, false);
}

TEST(rss_types_udp_only)
{
	check_types(RTE_ETH_RSS_NONFRAG_IPV4_UDP, false, true, false);
}

static void
update(uint16_t port, uint8_t *key, uint64_t types)
{
	struct rte_eth_rss_conf conf = { .rss_key = key, .rss_key_len = key != NULL ? 40 : 0,
		.rss_hf = types };

	CHECK_OK(rte_eth_dev_rss_hash_update(port, &conf));
}

TEST(rss_update_while_running_takes_effect_at_once)
{
	struct port_conf conf = rss_conf(pool_create(4096, 2048), 6, odd_key, ALL_TYPES);
	uint8_t key[40] = { 0 };
	struct rte_eth_rss_conf got = { .rss_key = key, .rss_key_len = sizeof(key) };
	struct vmlx4_object_counts before, after;
	uint16_t port = port_up(0, &conf);
	unsigned int i;

	before = object_counts();
	check_all_flows(port, 6, odd_key);
	for (i = 0; i < 3; i++) {
		update(port, symmetric_key, ALL_TYPES);
		check_all_flows(port, 6, symmetric_key);
		update(port, odd_key, ALL_TYPES);
		check_all_flows(port, 6, odd_key);
	}
	/* Types alone: the key stays. */
	update(port, NULL, RTE_ETH_RSS_IPV4);
	CHECK_OK(rte_eth_dev_rss_hash_conf_get(port, &got));
	CHECK(memcmp(key, odd_key, sizeof(key)) == 0);
	CHECK_EQ(got.rss_hf & ALL_TYPES, RTE_ETH_RSS_IPV4);
	update(port, symmetric_key, ALL_TYPES);
	check_all_flows(port, 6, symmetric_key);
	after = object_counts();
	CHECK(memcmp(&before, &after, sizeof(before)) == 0);
	/* A restart keeps what was set last. */
	CHECK_OK(rte_eth_dev_stop(port));
	CHECK_OK(rte_eth_dev_start(port));
	check_all_flows(port, 6, symmetric_key);
}

/*
 * Without a hash one queue takes all. The others must be where they were when
 * the hash comes back, or their rings would be out of step with the adapter's.
 */
TEST(rss_update_to_no_types_and_back)
{
	struct port_conf conf = rss_conf(pool_create(4096, 2048), 4, odd_key, ALL_TYPES);
	uint16_t port = port_up(0, &conf);
	unsigned int round, i;

	for (round = 0; round < 5; round++) {
		check_all_flows(port, 4, odd_key);
		update(port, odd_key, 0);
		for (i = 0; i < FLOWS; i++) {
			struct frame_flow flow = flow_make(i % 2, IPPROTO_UDP, i);

			check_unhashed(port, 4, &flow);
		}
		update(port, odd_key, RTE_ETH_RSS_NONFRAG_IPV4_TCP);
		update(port, odd_key, 0);
		update(port, odd_key, ALL_TYPES);
	}
	check_all_flows(port, 4, odd_key);
}

TEST(rss_update_before_start_and_bad_input)
{
	struct port_conf conf = rss_conf(pool_create(4096, 2048), 4, odd_key, ALL_TYPES);
	struct rte_eth_rss_conf bad = { .rss_key = symmetric_key, .rss_key_len = 39,
		.rss_hf = ALL_TYPES };
	uint16_t port = port_open(0);

	port_configure(port, &conf);
	update(port, symmetric_key, ALL_TYPES);
	port_start(port, &conf);
	check_all_flows(port, 4, symmetric_key);
	CHECK_EQ(rte_eth_dev_rss_hash_update(port, &bad), -EINVAL);
	bad.rss_key_len = 40;
	bad.rss_hf = RTE_ETH_RSS_L2TPV3;
	CHECK_EQ(rte_eth_dev_rss_hash_update(port, &bad), -EINVAL);
	check_all_flows(port, 4, symmetric_key);
}

TEST(rss_unhashable_frames_go_to_the_first_queue)
{
	struct port_conf conf = rss_conf(pool_create(4096, 2048), 4, odd_key, ALL_TYPES);
	uint16_t port = port_up(0, &conf);
	struct rte_ether_addr mac;
	struct rte_mbuf *m;
	uint8_t frame[100];
	unsigned int i;

	CHECK_OK(rte_eth_macaddr_get(port, &mac));
	for (i = 0; i < 100; i++) {
		frame_make(frame, sizeof(frame), i % 2 ? mac_broadcast : mac.addr_bytes, i);
		wire_inject(port, frame, sizeof(frame));
		CHECK_EQ(rx_all(port, 0, &m, 1), 1);
		check_mbuf(m, frame, sizeof(frame));
		CHECK_EQ(m->ol_flags & RTE_MBUF_F_RX_RSS_HASH, 0);
		rte_pktmbuf_free(m);
	}
}

TEST(rss_off_keeps_all_on_the_first_queue)
{
	struct port_conf conf = port_conf(pool_create(4096, 2048));
	uint16_t port;
	unsigned int i;

	conf.rxq = 4;
	conf.rxd = 64;
	conf.promiscuous = false;
	conf.eth.rxmode.mq_mode = RTE_ETH_MQ_RX_NONE;
	port = port_up(0, &conf);
	for (i = 0; i < FLOWS; i++) {
		struct frame_flow flow = flow_make(i % 2, IPPROTO_UDP, i);

		check_unhashed(port, 4, &flow);
	}
}

/* All fragments of a datagram reach one queue: its ports are in the first only. */
TEST(rss_fragments_stay_together)
{
	struct port_conf conf = rss_conf(pool_create(4096, 2048), 8, odd_key, ALL_TYPES);
	uint16_t port = port_up(0, &conf);
	struct rte_ether_addr mac;
	unsigned int i, j, q, used = 0;
	uint8_t frame[128];
	struct rte_mbuf *m;

	CHECK_OK(rte_eth_macaddr_get(port, &mac));
	for (i = 0; i < FLOWS; i++) {
		struct frame_flow flow = flow_make(false, IPPROTO_UDP, i);
		unsigned int queue[3] = { 99, 99, 99 };

		for (j = 0; j < 3; j++) {
			frame_flow(frame, sizeof(frame), mac.addr_bytes, &flow);
			/* More fragments, or the last; at offset 0, 104, 208. */
			frame[20] = j < 2 ? 0x20 : 0;
			frame[21] = 13 * j;
			wire_inject(port, frame, sizeof(frame));
			settle();
			for (q = 0; q < 8; q++)
				if (rte_eth_rx_burst(port, q, &m, 1) == 1) {
					queue[j] = q;
					rte_pktmbuf_free(m);
				}
		}
		CHECK(queue[0] < 8);
		CHECK_EQ(queue[1], queue[0]);
		CHECK_EQ(queue[2], queue[0]);
		used |= 1u << queue[0];
	}
	CHECK_EQ(used, 0xff);
}

TEST(rss_number_of_queues_changes)
{
	static const uint16_t counts[] = { 4, 2, 8, 1, 3, 16, 5, 4 };
	struct rte_mempool *pool = pool_create(8192, 2048);
	uint16_t port = port_open(0);
	unsigned int i;

	for (i = 0; i < RTE_DIM(counts); i++) {
		struct port_conf conf = rss_conf(pool, counts[i], odd_key, ALL_TYPES);

		port_configure(port, &conf);
		port_start(port, &conf);
		check_all_flows(port, counts[i], odd_key);
		CHECK_OK(rte_eth_dev_stop(port));
		CHECK_OK(rte_eth_dev_start(port));
		check_all_flows(port, counts[i], odd_key);
		CHECK_OK(rte_eth_dev_stop(port));
	}
}

TEST(rss_in_promiscuous_mode_is_the_same)
{
	struct port_conf conf = rss_conf(pool_create(4096, 2048), 4, odd_key, ALL_TYPES);
	uint16_t port;

	conf.promiscuous = true;
	port = port_up(0, &conf);
	check_all_flows(port, 4, odd_key);
	CHECK_OK(rte_eth_allmulticast_enable(port));
	check_all_flows(port, 4, odd_key);
}

/* The flag comes with the offload, and stays beside the checksum flags. */
TEST(rss_hash_flag_with_each_set_of_offloads)
{
	static const uint64_t sets[] = {
		0, RTE_ETH_RX_OFFLOAD_RSS_HASH, RTE_ETH_RX_OFFLOAD_CHECKSUM,
		RTE_ETH_RX_OFFLOAD_RSS_HASH | RTE_ETH_RX_OFFLOAD_CHECKSUM,
	};
	struct rte_mempool *pool = pool_create(4096, 2048);
	struct frame_flow flow = flow_make(false, IPPROTO_UDP, 3);
	uint16_t port = port_open(0);
	struct rte_mbuf *m;
	unsigned int i, queue;

	for (i = 0; i < RTE_DIM(sets); i++) {
		struct port_conf conf = rss_conf(pool, 4, odd_key, ALL_TYPES);
		bool hash = sets[i] & RTE_ETH_RX_OFFLOAD_RSS_HASH;
		bool csum = sets[i] & RTE_ETH_RX_OFFLOAD_CHECKSUM;

		conf.eth.rxmode.offloads = sets[i];
		port_configure(port, &conf);
		port_start(port, &conf);
		m = receive_flow(port, 4, &flow, &queue);
		CHECK_EQ((m->ol_flags & RTE_MBUF_F_RX_RSS_HASH) != 0, hash);
		if (hash)
			CHECK_EQ(m->hash.rss, flow_hash(&flow, odd_key, true));
		CHECK_EQ(m->ol_flags & RTE_MBUF_F_RX_IP_CKSUM_MASK,
			csum ? RTE_MBUF_F_RX_IP_CKSUM_GOOD : 0);
		CHECK_EQ(m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK,
			csum ? RTE_MBUF_F_RX_L4_CKSUM_GOOD : 0);
		rte_pktmbuf_free(m);
		CHECK_OK(rte_eth_dev_stop(port));
	}
}

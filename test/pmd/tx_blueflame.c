/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Ports with tx_blueflame=1, on an adapter that compares each copy with the ring. That
 * frames do go by BlueFlame is in the traces of test/drivers/test_blueflame.py; which ones
 * do, to the byte, in test/tx/test_tx_blueflame.c.
 */

#include <pthread.h>
#include <stdio.h>

#include "harness.h"

#define NAME "net_mlx4dv5"
#define MIN_LEN 14
#define LONGEST 224

static uint16_t
port_up_blueflame(const char *mode, const struct port_conf *conf)
{
	uint16_t port = port_up_with(NAME, ",tx_inline=224,tx_blueflame=1", conf);
	struct rte_eth_burst_mode found;

	capture_start(port);
	capture_clear(port);
	CHECK_OK(rte_eth_tx_burst_mode_get(port, 0, &found));
	CHECK_MSG(strcmp(found.info, mode) == 0, "it sends in the mode %s", found.info);
	return port;
}

/* Each length alone, those too short and too long as well, many times round a small ring. */
static void
send_each_length(uint16_t port, struct rte_mempool *pool)
{
	unsigned int round, length, index = 0;
	uint8_t frame[LONGEST + 10];
	struct rte_mbuf *m;

	for (round = 0; round < 5; round++)
		for (length = MIN_LEN; length <= sizeof(frame); length++) {
			frame_make(frame, length, mac_foreign, index);
			m = mbuf_frame(pool, frame, length);
			tx_all(port, 0, &m, 1);
			check_capture(port, index++, frame, length);
		}
	CHECK_EQ(stats_of(port).opackets, index);
	CHECK_EQ(stats_of(port).oerrors, 0);
}

TEST(tx_blueflame_frames_of_each_length)
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));

	conf.txd = 16;
	send_each_length(port_up_blueflame("Scalar Inline BlueFlame", &conf), conf.pool);
}

/* Run on a virtual function, which has no page: all goes on by the doorbell. */
TEST(tx_blueflame_on_a_virtual_function)
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));

	conf.txd = 16;
	send_each_length(port_up_blueflame("Scalar Inline", &conf), conf.pool);
}

/* Pages of the adapter that are mapped, by whomever. */
static unsigned int
device_pages(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned int n = 0;
	char line[512];

	CHECK(maps != NULL);
	while (fgets(line, sizeof(line), maps) != NULL)
		n += strstr(line, "vmlx4-uverbs") != NULL;
	fclose(maps);
	return n;
}

/* The page comes and goes with the port. */
TEST(tx_blueflame_ports_that_come_back)
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	unsigned int round, pages = device_pages();
	uint16_t port;

	CHECK(pages != 0);
	for (round = 0; round < 5; round++) {
		port = port_up_blueflame("Scalar Inline BlueFlame", &conf);
		check_traffic(port);
		CHECK_OK(rte_eth_dev_stop(port));
		CHECK_OK(rte_eth_dev_start(port));
		check_traffic(port);
		CHECK_OK(rte_eth_dev_stop(port));
		CHECK_OK(rte_eth_dev_reset(port));
		port_configure(port, &conf);
		port_start(port, &conf);
		check_traffic(port);
		port_close(port);
		CHECK_EQ(device_pages(), pages);
	}
}

#define BATCH 60u

/* What the frame becomes, and its length then. */
static size_t
ask_for_tag(struct rte_mbuf *m, uint8_t *frame)
{
	m->ol_flags |= RTE_MBUF_F_TX_VLAN;
	m->vlan_tci = 0x2345;
	memmove(frame + 16, frame + 12, m->pkt_len - 12);
	memcpy(frame + 12, "\x81\x00\x23\x45", 4);
	return m->pkt_len + 4;
}

/* Alone and in bursts, short, long and with a tag, before the adapter looks at any. */
static void
send_batch(uint16_t port, struct rte_mempool *pool, struct rng *rng)
{
	static uint8_t frames[BATCH][LONGEST + 100];
	struct rte_mbuf *pkts[BATCH];
	size_t lengths[BATCH];
	unsigned int i, n;

	for (i = 0; i < BATCH; i++) {
		n = MIN_LEN + rng_below(rng, rng_below(rng, 4) != 0 ? 100 : LONGEST + 80);
		frame_make(frames[i], n, mac_foreign, rng_next(rng));
		pkts[i] = mbuf_frame(pool, frames[i], n);
		lengths[i] = rng_below(rng, 8) != 0 ? n : ask_for_tag(pkts[i], frames[i]);
	}
	for (i = 0; i < BATCH; i += n) {
		n = rng_below(rng, 3) != 0 ? 1 : 1 + rng_below(rng, RTE_MIN(BATCH - i, 5u));
		CHECK_EQ(rte_eth_tx_burst(port, 0, &pkts[i], (uint16_t)n), n);
		if (rng_below(rng, 8) == 0)
			settle();
	}
	settle();
	CHECK_EQ(capture_count(port), BATCH);
	for (i = 0; i < BATCH; i++)
		check_capture(port, i, frames[i], lengths[i]);
}

TEST(tx_blueflame_among_others)
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	struct rng rng = { 5 };
	unsigned int round;
	uint16_t port;

	conf.txd = 64;
	conf.eth.txmode.offloads = RTE_ETH_TX_OFFLOAD_VLAN_INSERT;
	port = port_up_blueflame("Scalar Inline BlueFlame", &conf);
	for (round = 0; round < 300; round++) {
		capture_clear(port);
		send_batch(port, conf.pool, &rng);
		CHECK(rte_eth_tx_done_cleanup(port, 0, 0) >= 0);
		settle();
	}
	CHECK_EQ(stats_of(port).opackets, 300 * BATCH);
	CHECK_EQ(stats_of(port).oerrors, 0);
}

#define QUEUES 2u
#define EACH 200u

struct sender {
	uint16_t port, queue;
	struct rte_mbuf *pkts[EACH];
	unsigned int sent;
};

static void *
send_alone(void *arg)
{
	struct sender *sender = arg;

	while (sender->sent < EACH &&
	       rte_eth_tx_burst(sender->port, sender->queue, &sender->pkts[sender->sent], 1) == 1)
		sender->sent++;
	return NULL;
}

/* The first byte behind the addresses says whose a frame is. */
static void
check_senders(uint16_t port, unsigned int round)
{
	unsigned int seen[QUEUES] = { 0 }, i, q;
	const uint8_t *got;
	uint8_t frame[100];
	size_t length;

	CHECK_EQ(capture_count(port), QUEUES * EACH);
	for (i = 0; i < QUEUES * EACH; i++) {
		got = capture_frame(port, i, &length);
		q = got[12];
		CHECK(q < QUEUES);
		frame_make(frame, sizeof(frame), mac_foreign, round * EACH + seen[q]++);
		frame[12] = (uint8_t)q;
		check_capture(port, i, frame, sizeof(frame));
	}
}

/* Two queues of a port share the buffers. The adapter looks once both have sent. */
TEST(tx_blueflame_of_two_threads)
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	static struct sender senders[QUEUES];
	pthread_t threads[QUEUES];
	unsigned int round, q, i;
	uint8_t frame[100];
	uint16_t port;

	conf.txq = QUEUES;
	port = port_up_blueflame("Scalar Inline BlueFlame", &conf);
	for (round = 0; round < 100; round++) {
		capture_clear(port);
		for (q = 0; q < QUEUES; q++) {
			senders[q] = (struct sender){ .port = port, .queue = (uint16_t)q };
			for (i = 0; i < EACH; i++) {
				frame_make(frame, sizeof(frame), mac_foreign, round * EACH + i);
				frame[12] = (uint8_t)q;
				senders[q].pkts[i] = mbuf_frame(conf.pool, frame, sizeof(frame));
			}
		}
		for (q = 0; q < QUEUES; q++)
			CHECK(pthread_create(&threads[q], NULL, send_alone, &senders[q]) == 0);
		for (q = 0; q < QUEUES; q++) {
			CHECK(pthread_join(threads[q], NULL) == 0);
			CHECK_EQ(senders[q].sent, EACH);
		}
		settle();
		check_senders(port, round);
		for (q = 0; q < QUEUES; q++)
			CHECK(rte_eth_tx_done_cleanup(port, (uint16_t)q, 0) >= 0);
		settle();
	}
}

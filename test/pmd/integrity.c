/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Many generated frames from port 1 to port 2: of random size, cut into random
 * segments from several pools, over several queues each way. Every frame must
 * come out once, byte for byte, in the order of its flow, on the flow's queue.
 *
 * Both ends compute a frame from the seed, its flow and its sequence number, so
 * nothing is remembered of what was sent.
 */

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "harness.h"
#include "internal.h"

#define FLOWS 64
#define PLAIN_FLOWS 16      /* not IP: the sizes that hold no IP header too */
#define MAX_SEGMENTS 31
#define QUEUES 4
#define POOLS 5
#define WINDOW 192          /* frames under way; fewer than a ring holds */
#define MTU 9000
#define BURST 32
#define STALL_SECONDS 20

struct run {
	uint64_t seed, frames;
	bool stepped;
	uint16_t tx, rx;
	struct rte_mempool *pools[POOLS];
	uint64_t sent, received;
	uint32_t next_tx[FLOWS], next_rx[FLOWS];
	uint16_t queue_of[FLOWS];  /* 0: not seen yet, else queue + 1 */
	struct rng rng;            /* of what only the sender decides */
};

static bool
is_ipv6(unsigned int flow)
{
	return flow >= PLAIN_FLOWS && flow % 3 == 0;
}

static unsigned int
frame_length(struct rng *rng, unsigned int flow)
{
	unsigned int shape = rng_below(rng, 20), least = is_ipv6(flow) ? 74 : 54;

	if (flow < PLAIN_FLOWS)
		return 14 + rng_below(rng, shape < 15 ? 100 : 1501);
	if (shape == 0)
		return 1515 + rng_below(rng, MTU + 14 - 1514);
	if (shape < 8)
		return least + rng_below(rng, 80);
	return least + rng_below(rng, 1515 - least);
}

/* The frame with this number of this flow. */
static unsigned int
generate(const struct run *run, unsigned int flow, uint32_t sequence, uint8_t *frame)
{
	uint64_t seed = run->seed ^ (uint64_t)flow << 40 ^ sequence;
	struct rng rng = { seed * 0x9e3779b97f4a7c15ull + 3 };
	struct frame_flow ip;
	unsigned int length;

	rng_next(&rng);
	length = frame_length(&rng, flow);
	if (flow < PLAIN_FLOWS) {
		frame_make(frame, length, mac_foreign, seed);
	} else {
		ip = flow_make(is_ipv6(flow), flow % 2 ? IPPROTO_UDP : IPPROTO_TCP, flow);
		frame_flow(frame, length, mac_foreign, &ip);
	}
	/* The receiver knows a frame by its source address. */
	frame[6] = 0x02;
	frame[7] = flow;
	memcpy(frame + 8, &sequence, sizeof(sequence));
	return length;
}

/* Cut it at random, with empty segments here and there. */
static struct rte_mbuf *
segment(struct run *run, const uint8_t *frame, unsigned int length)
{
	unsigned int n = rng_below(&run->rng, 2) ? 1 : 1 + rng_below(&run->rng, MAX_SEGMENTS);
	struct rte_mbuf *head = NULL, **tail = &head, *m;
	unsigned int i, left = length;

	if (n < length / 1000 + 1)
		n = length / 1000 + 1;
	for (i = 0; i < n; i++) {
		unsigned int part = left;

		m = rte_pktmbuf_alloc(run->pools[rng_below(&run->rng, POOLS)]);
		CHECK(m != NULL);
		if (i + 1 < n) {
			/* Leave no more than the rest can hold. */
			unsigned int rest = 1000 * (n - 1 - i), least;

			least = left > rest ? left - rest : 0;
			part = left / (n - i) * 2;
			part = rng_below(&run->rng, 6) == 0 ? 0 : rng_below(&run->rng, part + 1);
			part = part < least ? least : part;
		}
		if (part > 1000 && n > 1)
			part = 1000;
		m->data_off = rng_below(&run->rng, RTE_PKTMBUF_HEADROOM + 1);
		m->data_len = part;
		CHECK(m->data_off + part <= m->buf_len);
		memcpy(rte_pktmbuf_mtod(m, void *), frame + (length - left), part);
		left -= part;
		*tail = m;
		tail = &m->next;
	}
	CHECK_EQ(left, 0);
	head->nb_segs = n;
	head->pkt_len = length;
	return head;
}

static void
send_burst(struct run *run)
{
	static uint8_t frame[FRAME_MAX];
	struct rte_mbuf *pkts[BURST];
	unsigned int n = 1 + rng_below(&run->rng, BURST), i, taken = 0;
	uint16_t queue = rng_below(&run->rng, QUEUES);
	time_t start = time(NULL);

	if (n > run->frames - run->sent)
		n = run->frames - run->sent;
	for (i = 0; i < n; i++) {
		/* A flow keeps to one queue, or its order would be nobody's. */
		unsigned int flow = rng_below(&run->rng, FLOWS / QUEUES) * QUEUES + queue;

		pkts[i] = segment(run, frame,
			generate(run, flow, run->next_tx[flow]++, frame));
	}
	while (taken < n) {
		taken += rte_eth_tx_burst(run->tx, queue, pkts + taken, n - taken);
		if (run->stepped && taken < n)
			settle();
		CHECK_MSG(time(NULL) < start + STALL_SECONDS, "TX queue %u is stuck", queue);
	}
	run->sent += n;
}

static void
check_frame(struct run *run, const struct rte_mbuf *m, uint16_t queue)
{
	static uint8_t frame[FRAME_MAX];
	const uint8_t *got = rte_pktmbuf_mtod(m, const uint8_t *);
	unsigned int flow, length;
	uint32_t sequence;

	CHECK(m->data_len >= 14);
	flow = got[7];
	CHECK(flow < FLOWS);
	memcpy(&sequence, got + 8, sizeof(sequence));
	CHECK_MSG(sequence == run->next_rx[flow],
		"flow %u on queue %u: frame %u came, frame %u was next",
		flow, queue, sequence, run->next_rx[flow]);
	run->next_rx[flow]++;
	length = generate(run, flow, sequence, frame);
	if (m->pkt_len == 60 && length < 60) {
		memset(frame + length, 0, 60 - length);
		length = 60;
	}
	check_mbuf(m, frame, length);
	if (run->queue_of[flow] == 0)
		run->queue_of[flow] = queue + 1;
	CHECK_EQ(run->queue_of[flow], queue + 1);
}

static void
receive(struct run *run)
{
	struct rte_mbuf *pkts[BURST];
	unsigned int i, got;
	uint16_t queue;

	for (queue = 0; queue < QUEUES; queue++) {
		got = rte_eth_rx_burst(run->rx, queue, pkts, BURST);
		for (i = 0; i < got; i++)
			check_frame(run, pkts[i], queue);
		free_mbufs(pkts, got);
		run->received += got;
	}
}

static void
pump(struct run *run)
{
	uint64_t last = 0;
	time_t moved = time(NULL);

	while (run->received < run->frames) {
		while (run->sent < run->frames && run->sent - run->received < WINDOW - BURST)
			send_burst(run);
		if (run->stepped)
			settle();
		receive(run);
		if (run->received != last) {
			last = run->received;
			moved = time(NULL);
		}
		CHECK_MSG(time(NULL) < moved + STALL_SECONDS,
			"%llu frames were sent, %llu came; then nothing for %u s",
			(unsigned long long)run->sent, (unsigned long long)run->received,
			STALL_SECONDS);
	}
}

static void
check_totals(struct run *run)
{
	struct rte_eth_stats tx = stats_of(run->tx), rx = stats_of(run->rx);
	unsigned int used = 0, flow, i;

	CHECK_EQ(tx.opackets, run->frames);
	CHECK_EQ(rx.ipackets, run->frames);
	CHECK_EQ(tx.oerrors + rx.ierrors + rx.imissed + rx.rx_nombuf, 0);
	CHECK_EQ(wire_stats(run->rx).rx_frames, run->frames);
	for (flow = 0; flow < FLOWS; flow++) {
		CHECK_EQ(run->next_rx[flow], run->next_tx[flow]);
		if (run->queue_of[flow] > 0)
			used |= 1u << (run->queue_of[flow] - 1);
	}
	CHECK_EQ(used, (1u << QUEUES) - 1);
	for (i = 0; i < QUEUES; i++) {
		CHECK(queue_xstat_of(run->tx, "tx", i, "packets") > 0);
		CHECK(queue_xstat_of(run->rx, "rx", i, "packets") > 0);
	}
}

static void
bring_up(struct run *run)
{
	static const uint16_t rooms[POOLS] = { 1000, 1024, 2048, 4096, 9216 };
	/* 256 frames each: a descriptor is a buffer, and a frame takes 16, 8, 4, 1. */
	static const uint16_t descriptors[QUEUES] = { 4096, 2048, 1024, 256 };
	struct port_conf conf = port_conf(NULL);
	unsigned int i;

	for (i = 0; i < POOLS; i++)
		run->pools[i] = pool_create(12000, rooms[i]);
	conf.txq = conf.rxq = QUEUES;
	conf.rxd = 256;
	conf.txd = 512;
	conf.eth.rxmode.mtu = MTU;
	conf.eth.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
	conf.eth.rxmode.offloads = RTE_ETH_RX_OFFLOAD_SCATTER | RTE_ETH_RX_OFFLOAD_CHECKSUM;
	conf.eth.rx_adv_conf.rss_conf.rss_hf = RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_IPV6 |
		RTE_ETH_RSS_NONFRAG_IPV4_TCP | RTE_ETH_RSS_NONFRAG_IPV4_UDP |
		RTE_ETH_RSS_NONFRAG_IPV6_TCP | RTE_ETH_RSS_NONFRAG_IPV6_UDP;
	conf.eth.txmode.offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
	run->tx = port_open(0);
	run->rx = port_open(1);
	conf.pool = run->pools[2];
	port_configure(run->tx, &conf);
	port_configure(run->rx, &conf);
	/* Each receive queue of its own buffer size. */
	for (i = 0; i < QUEUES; i++)
		CHECK_OK(rte_eth_rx_queue_setup(run->rx, i, descriptors[i], SOCKET_ID_ANY, NULL,
			run->pools[1 + i]));
	port_start(run->tx, &conf);
	port_start(run->rx, &conf);
}

static uint64_t
number(const char *text)
{
	char *end;
	uint64_t value = strtoull(text, &end, 0);

	if (*text == '\0' || *end != '\0') {
		fprintf(stderr, "mdv-integrity: '%s' is no number\n", text);
		exit(2);
	}
	return value;
}

int
main(int argc, char **argv)
{
	static struct run run = { .seed = 1, .frames = 1000000, .stepped = true };
	struct timespec start, end;
	int i;

	for (i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--threaded") == 0) {
			run.stepped = false;
		} else if (strcmp(argv[i], "--frames") == 0 && i + 1 < argc) {
			run.frames = number(argv[++i]);
		} else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc) {
			run.seed = number(argv[++i]);
		} else {
			fprintf(stderr, "usage: mdv-integrity [--threaded] [--frames N] "
				"[--seed N]\n"
				"under vmlx4 exec --strict, with --step unless --threaded\n");
			return 2;
		}
	}
	eal_start("1024");
	test_running("integrity");
	run.rng.state = run.seed * 0x2545f4914f6cdd1dull + 9;
	bring_up(&run);
	clock_gettime(CLOCK_MONOTONIC, &start);
	pump(&run);
	clock_gettime(CLOCK_MONOTONIC, &end);
	check_totals(&run);
	CHECK_EQ(vmlx4_violations(), 0);
	ports_close_all();
	pools_release_all();
	eal_stop();
	printf("%llu frames, none lost, all as sent, in %.1f s\n",
		(unsigned long long)run.frames, (double)(end.tv_sec - start.tv_sec) +
		(double)(end.tv_nsec - start.tv_nsec) * 1e-9);
	return EXIT_SUCCESS;
}

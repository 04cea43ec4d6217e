/* SPDX-License-Identifier: BSD-3-Clause */

/* Packets in and out, what the wire saw, and the counters. */

#include <pthread.h>
#include <stdlib.h>

#include "harness.h"
#include "internal.h"

#define BURST 32
#define PORTS 2

/* What one port sent. The tap runs in the thread that steps, with the adapter locked. */
static struct capture {
	pthread_mutex_t lock;
	bool on;
	unsigned int count, room;
	struct {
		uint8_t *bytes;
		size_t length;
	} *frames;
} captures[PORTS] = {
	{ .lock = PTHREAD_MUTEX_INITIALIZER },
	{ .lock = PTHREAD_MUTEX_INITIALIZER },
};

void
settle(void)
{
	int done;

	do {
		done = vmlx4_step(0);
		CHECK_MSG(done >= 0, "vmlx4_step: %s", strerror(-done));
	} while (done > 0);
}

void
wire_inject(uint16_t port, const void *frame, size_t length)
{
	CHECK_OK(vmlx4_inject(port_verbs(port), frame, length));
}

unsigned int
rx_all(uint16_t port, uint16_t queue, struct rte_mbuf **pkts, unsigned int max)
{
	unsigned int count = 0, idle = 0;

	while (count < max && idle < 2) {
		uint16_t room = max - count < BURST ? max - count : BURST;
		uint16_t got = rte_eth_rx_burst(port, queue, pkts + count, room);

		CHECK(got <= room);
		count += got;
		if (got > 0) {
			idle = 0;
			continue;
		}
		settle();
		idle++;
	}
	return count;
}

unsigned int
rx_discard(uint16_t port)
{
	struct rte_mbuf *pkts[BURST];
	struct rte_eth_dev_info info;
	unsigned int total = 0, got;
	uint16_t queue;

	CHECK_OK(rte_eth_dev_info_get(port, &info));
	for (queue = 0; queue < info.nb_rx_queues; queue++)
		while ((got = rx_all(port, queue, pkts, BURST)) > 0) {
			free_mbufs(pkts, got);
			total += got;
		}
	return total;
}

void
tx_all(uint16_t port, uint16_t queue, struct rte_mbuf **pkts, unsigned int n)
{
	unsigned int sent = 0, stuck = 0;

	while (sent < n) {
		uint16_t part = n - sent < BURST ? n - sent : BURST;
		uint16_t got = rte_eth_tx_burst(port, queue, pkts + sent, part);

		CHECK(got <= part);
		sent += got;
		stuck = got > 0 ? 0 : stuck + 1;
		CHECK_MSG(stuck < 100, "port %u TX queue %u is stuck at packet %u of %u",
			port, queue, sent, n);
		if (got < part)
			settle();
	}
	settle();
}

struct rte_mbuf *
mbuf_chain(struct rte_mempool *pool, const uint16_t *lengths, unsigned int segments,
	const uint8_t *bytes)
{
	struct rte_mbuf *head = NULL, **tail = &head;
	unsigned int i;

	for (i = 0; i < segments; i++) {
		struct rte_mbuf *m = rte_pktmbuf_alloc(pool);

		CHECK_MSG(m != NULL, "pool %s is empty", pool->name);
		CHECK(lengths[i] <= rte_pktmbuf_tailroom(m));
		memcpy(rte_pktmbuf_mtod(m, void *), bytes, lengths[i]);
		bytes += lengths[i];
		m->data_len = lengths[i];
		*tail = m;
		tail = &m->next;
		head->pkt_len += lengths[i];
	}
	head->nb_segs = segments;
	return head;
}

struct rte_mbuf *
mbuf_frame(struct rte_mempool *pool, const uint8_t *bytes, size_t length)
{
	uint16_t size = length;

	return mbuf_chain(pool, &size, 1, bytes);
}

void
check_mbuf(const struct rte_mbuf *m, const uint8_t *bytes, size_t length)
{
	const struct rte_mbuf *seg;
	const char *reason;
	unsigned int segments = 0;
	size_t at = 0;

	CHECK_MSG(rte_mbuf_check(m, 1, &reason) == 0, "bad mbuf: %s", reason);
	CHECK_EQ(m->pkt_len, length);
	for (seg = m; seg != NULL; seg = seg->next, segments++) {
		CHECK_EQ(rte_mbuf_refcnt_read(seg), 1);
		CHECK(at + seg->data_len <= length);
		CHECK_MSG(memcmp(rte_pktmbuf_mtod(seg, const void *), bytes + at,
			seg->data_len) == 0, "%zu B frame differs in segment %u, bytes %zu-%zu",
			length, segments, at, at + seg->data_len);
		at += seg->data_len;
	}
	CHECK_EQ(at, length);
	CHECK_EQ(m->nb_segs, segments);
}

void
free_mbufs(struct rte_mbuf **pkts, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		rte_pktmbuf_free(pkts[i]);
}

void
check_traffic(uint16_t port)
{
	static uint64_t seed = 1000;
	uint8_t frame[FRAME_MAX];
	struct rte_mbuf *m;
	struct rte_ether_addr mac;
	struct rte_eth_dev_info info;
	unsigned int before;

	CHECK_OK(rte_eth_macaddr_get(port, &mac));
	CHECK_OK(rte_eth_dev_info_get(port, &info));
	frame_make(frame, 100, mac.addr_bytes, seed++);
	if (info.nb_rx_queues > 0) {
		wire_inject(port, frame, 100);
		CHECK_EQ(rx_all(port, 0, &m, 1), 1);
		check_mbuf(m, frame, 100);
		if (info.nb_tx_queues == 0)
			rte_pktmbuf_free(m);
	}
	if (info.nb_tx_queues > 0 && info.nb_rx_queues > 0) {
		capture_start(port);
		before = capture_count(port);
		tx_all(port, 0, &m, 1);
		CHECK_EQ(capture_count(port), before + 1);
		check_capture(port, before, frame, 100);
	}
}

/* ---- captures ---- */

static struct capture *
capture_of(uint16_t port)
{
	return &captures[port_verbs(port) - 1];
}

static void
capture_tap(void *arg, const void *frame, size_t length)
{
	struct capture *cap = arg;
	uint8_t *copy = malloc(length);

	pthread_mutex_lock(&cap->lock);
	if (cap->count == cap->room) {
		cap->room = cap->room == 0 ? 1024 : cap->room * 2;
		cap->frames = realloc(cap->frames, cap->room * sizeof(cap->frames[0]));
	}
	if (copy == NULL || cap->frames == NULL)
		abort();
	memcpy(copy, frame, length);
	cap->frames[cap->count].bytes = copy;
	cap->frames[cap->count].length = length;
	cap->count++;
	pthread_mutex_unlock(&cap->lock);
}

static void
capture_empty(struct capture *cap)
{
	unsigned int i;

	pthread_mutex_lock(&cap->lock);
	for (i = 0; i < cap->count; i++)
		free(cap->frames[i].bytes);
	cap->count = 0;
	pthread_mutex_unlock(&cap->lock);
}

void
capture_start(uint16_t port)
{
	struct capture *cap = capture_of(port);

	CHECK_OK(vmlx4_set_tx_tap(port_verbs(port), capture_tap, cap));
	cap->on = true;
}

void
captures_stop(void)
{
	unsigned int i;

	for (i = 0; i < PORTS; i++) {
		if (captures[i].on)
			CHECK_OK(vmlx4_set_tx_tap(i + 1, NULL, NULL));
		captures[i].on = false;
		capture_empty(&captures[i]);
		free(captures[i].frames);
		captures[i].frames = NULL;
		captures[i].room = 0;
	}
}

unsigned int
capture_count(uint16_t port)
{
	return capture_of(port)->count;
}

void
capture_clear(uint16_t port)
{
	capture_empty(capture_of(port));
}

const uint8_t *
capture_frame(uint16_t port, unsigned int index, size_t *length)
{
	struct capture *cap = capture_of(port);

	CHECK_MSG(index < cap->count, "frame %u was not sent, only %u were", index, cap->count);
	*length = cap->frames[index].length;
	return cap->frames[index].bytes;
}

void
check_capture(uint16_t port, unsigned int index, const uint8_t *bytes, size_t length)
{
	size_t got, i;
	const uint8_t *frame = capture_frame(port, index, &got);

	CHECK_MSG(got == length || (length < 60 && got == 60),
		"frame %u has %zu B on the wire, not %zu", index, got, length);
	for (i = 0; i < length; i++)
		CHECK_MSG(frame[i] == bytes[i],
			"frame %u of %zu B differs at byte %zu: 0x%02x, not 0x%02x",
			index, length, i, frame[i], bytes[i]);
	for (; i < got; i++)
		CHECK_MSG(frame[i] == 0, "frame %u is padded with 0x%02x", index, frame[i]);
}

/* ---- counters ---- */

struct rte_eth_stats
stats_of(uint16_t port)
{
	struct rte_eth_stats stats;

	CHECK_OK(rte_eth_stats_get(port, &stats));
	return stats;
}

/* The adapter counts for ever: what it had counted when the test began. */
static struct vmlx4_port_stats wire_base[PORTS];

void
wire_stats_begin(void)
{
	unsigned int i;

	/* An adapter may have one port only. */
	for (i = 0; i < PORTS; i++)
		if (vmlx4_port_stats(i + 1, &wire_base[i]) != 0)
			memset(&wire_base[i], 0, sizeof(wire_base[i]));
}

struct vmlx4_port_stats
wire_stats(uint16_t port)
{
	uint64_t now[sizeof(struct vmlx4_port_stats) / sizeof(uint64_t)];
	uint64_t base[RTE_DIM(now)];
	struct vmlx4_port_stats stats;
	unsigned int i;

	CHECK_OK(vmlx4_port_stats(port_verbs(port), &stats));
	memcpy(now, &stats, sizeof(stats));
	memcpy(base, &wire_base[port_verbs(port) - 1], sizeof(stats));
	for (i = 0; i < RTE_DIM(now); i++)
		now[i] -= base[i];
	memcpy(&stats, now, sizeof(stats));
	return stats;
}

struct vmlx4_object_counts
object_counts(void)
{
	struct vmlx4_object_counts counts;

	CHECK_OK(vmlx4_object_counts(&counts));
	return counts;
}

uint64_t
xstat_of(uint16_t port, const char *name)
{
	uint64_t id, value;

	CHECK_MSG(rte_eth_xstats_get_id_by_name(port, name, &id) == 0,
		"port %u has no xstat %s", port, name);
	CHECK_EQ(rte_eth_xstats_get_by_id(port, &id, &value, 1), 1);
	return value;
}

uint64_t
queue_xstat_of(uint16_t port, const char *direction, unsigned int queue, const char *what)
{
	char name[RTE_ETH_XSTATS_NAME_SIZE];

	snprintf(name, sizeof(name), "%s_q%u_%s", direction, queue, what);
	return xstat_of(port, name);
}

/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The receive bursts on plain memory, with completions that no adapter here sends: what
 * each instruction set makes of them must be what the scalar code does. Needs neither
 * EAL nor verbs, so that it also runs under an emulator of another processor
 * (devtools/check-arm.sh).
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <rte_mbuf_dyn.h>

#include "mlx4dv_rx.h"
#include "mlx4dv_rx_ways.h"

#define MBUFS 512u
#define ROOM 512u          /* of a buffer, headroom included */
#define MBUF_SIZE (sizeof(struct rte_mbuf) + ROOM)
#define RING 64u
#define RINGS_MAX 3u
#define CQES 256u
#define CACHE 64u
#define ROUNDS 400u
#define BURST_MAX 70u
#define LKEY RTE_BE32(0x12345678)
#define FIRST_WQN 0x40u

struct conf {
	uint64_t rss, csum, stamp;
	bool tunnels, strip, qinq, filter, far, hungry;
	uint8_t cqe_shift, crc_len, sges_n;
	uint16_t rings;
};

static struct {
	struct conf conf;
	uint64_t random;
	struct mdv_rxq q;
	struct mdv_rx_ring rings[RINGS_MAX];
	struct rte_mempool *pool;
	void *stack[MBUFS];               /* what the pool has beside its cache */
	unsigned int in_stack;
	uint32_t posted[RINGS_MAX];       /* completions written, by ring */
	uint32_t written;
	uint64_t clock;
	uint32_t cq_record, rq_record[RINGS_MAX];
	uint64_t ids[64];                 /* of the VLAN filter */
	char *text;                       /* what came of it */
	size_t length, size;
} t;

static _Alignas(64) uint8_t mbufs[MBUFS][MBUF_SIZE];
static _Alignas(64) uint8_t cqes[CQES << 6];
static _Alignas(64) uint8_t wqes[RINGS_MAX][RING * 4 * 16];
static struct rte_mbuf *elts[RINGS_MAX][RING * 4 + MDV_RX_AHEAD];

static uint32_t
below(uint32_t n)
{
	t.random = t.random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)((t.random >> 33) % n);
}

__attribute__((format(printf, 1, 2))) static void
say(const char *format, ...)
{
	va_list arguments;

	if (t.size - t.length < 1000) {
		t.size = t.size * 2 + 4096;
		t.text = realloc(t.text, t.size);
		assert_non_null(t.text);
	}
	va_start(arguments, format);
	t.length += (size_t)vsnprintf(t.text + t.length, t.size - t.length, format, arguments);
	va_end(arguments);
}

/* ---- a mempool ---- */

static int
put(struct rte_mempool *mp, void *const *objs, unsigned int n)
{
	(void)mp;
	memcpy(&t.stack[t.in_stack], objs, n * sizeof(*objs));
	t.in_stack += n;
	return 0;
}

static int
get(struct rte_mempool *mp, void **objs, unsigned int n)
{
	(void)mp;
	if (n > t.in_stack)
		return -ENOBUFS;
	t.in_stack -= n;
	memcpy(objs, &t.stack[t.in_stack], n * sizeof(*objs));
	return 0;
}

static void
make_pool(void)
{
	size_t caches = sizeof(struct rte_mempool_cache) * RTE_MAX_LCORE;
	struct rte_pktmbuf_pool_private *private;
	unsigned int i;

	RTE_PER_LCORE(_lcore_id) = 0;
	rte_mempool_ops_table.num_ops = RTE_MAX(rte_mempool_ops_table.num_ops, 1u);
	rte_mempool_ops_table.ops[0].enqueue = put;
	rte_mempool_ops_table.ops[0].dequeue = get;
	t.pool = calloc(1, sizeof(*t.pool) + caches + sizeof(*private));
	assert_non_null(t.pool);
	t.pool->cache_size = CACHE;
	t.pool->nb_mem_chunks = 1;
	t.pool->local_cache = (struct rte_mempool_cache *)(t.pool + 1);
	t.pool->local_cache[0].size = CACHE;
	t.pool->local_cache[0].flushthresh = CACHE + CACHE / 2;
	private = rte_mempool_get_priv(t.pool);
	private->mbuf_data_room_size = ROOM;
	for (i = 0; i < MBUFS; i++) {
		struct rte_mbuf *m = (struct rte_mbuf *)mbufs[i];

		memset(m, 0, sizeof(*m));
		m->buf_addr = m + 1;
		m->buf_len = ROOM;
		t.stack[i] = m;
	}
	t.in_stack = MBUFS;
}

/* ---- a queue ---- */

static void
make_ring(uint16_t i)
{
	struct mdv_rx_ring *ring = &t.rings[i];
	uint32_t segs = 1u << t.conf.sges_n, s;

	ring->rq = (struct dvq_rq){ .buf = wqes[i], .wqe_cnt = RING, .db = &t.rq_record[i],
		.stride_shift = (uint8_t)(4 + t.conf.sges_n), .max_sge = (uint16_t)segs,
		.pi = RING };
	ring->elts = elts[i];
	ring->wqn = FIRST_WQN + i;
	t.q.ring_at[ring->wqn % MDV_RX_RING_SLOTS] = (uint8_t)i;
	assert_int_equal(get(t.pool, (void **)elts[i], RING * segs), 0);
	for (s = 0; s < RING * segs; s++)
		dvq_rq_set_seg((struct dvq_data_seg *)wqes[i] + s,
			(uintptr_t)elts[i][s]->buf_addr +
			(s % segs == 0 ? RTE_PKTMBUF_HEADROOM : 0), LKEY,
			ROOM - (s % segs == 0 ? RTE_PKTMBUF_HEADROOM : 0));
}

static void
make_queue(void)
{
	struct mdv_rxq *q = &t.q;
	struct rte_mbuf first = { .data_off = RTE_PKTMBUF_HEADROOM, .nb_segs = 1, .port = 7 };
	uint16_t i;

	rte_mbuf_refcnt_set(&first, 1);
	memcpy(&q->rearm, &first.rearm_data, sizeof(q->rearm));
	q->cq = (struct dvq_cq){ .buf = cqes, .cqe_cnt = CQES, .cqe_shift = t.conf.cqe_shift,
		.valid_offset = t.conf.cqe_shift == 6 ? 32 : 0, .set_ci_db = &t.cq_record };
	memset(cqes, 0xff, sizeof(cqes));
	q->mp = t.pool;
	q->rings = t.rings;
	q->nb_rings = t.conf.rings;
	q->rss_flag = t.conf.rss;
	q->csum_flags = t.conf.csum;
	q->csum_l2tun = t.conf.tunnels;
	q->vlan_strip = t.conf.strip;
	q->qinq_strip = t.conf.qinq;
	q->vlan_ids = t.conf.filter ? t.ids : NULL;
	q->timestamp_flag = t.conf.stamp;
	q->timestamp_offset = offsetof(struct rte_mbuf, dynfield1);
	/* Soon beyond the bits that a CQE has of it. */
	q->timestamp = t.clock = (UINT64_C(5) << 48) - 1000000;
	q->crc_len = t.conf.crc_len;
	q->sges_n = t.conf.sges_n;
	q->room = ROOM - RTE_PKTMBUF_HEADROOM;
	q->near_offset = sizeof(struct rte_mbuf);
	q->near_lkey = LKEY;
	q->near_chunks = !t.conf.far;
	q->near_first = (uintptr_t)mbufs;
	/* With more than one region half of the mbufs are of each. */
	q->near_span = (t.conf.far ? MBUFS / 2 : MBUFS - 1) * MBUF_SIZE;
	q->mr[0] = (struct mdv_mr_entry){ (uintptr_t)mbufs, (uintptr_t)mbufs[MBUFS / 2 + 1],
		LKEY };
	q->mr[1] = (struct mdv_mr_entry){ (uintptr_t)mbufs[MBUFS / 2 + 1],
		(uintptr_t)mbufs[MBUFS], LKEY };
	for (i = 0; i < t.conf.rings; i++)
		make_ring(i);
	for (i = 0; i < RTE_DIM(t.ids); i++)
		t.ids[i] = UINT64_C(0xf0f0f0f0f0f0f0f0);
	mdv_rxq_set_state(q, MDV_QUEUE_RUNNING);
}

/* ---- an adapter ---- */

/* A frame that begins as @cqe says, or not quite, in the buffers of the next WQE. */
static void
write_frame(uint16_t ring, uint32_t tags)
{
	static const uint16_t types[] = { 0x8100, 0x88a8, 0x0800, 0x8100 };
	const uint32_t slot = t.posted[ring] % RING, segs = 1u << t.conf.sges_n;
	const struct dvq_data_seg *seg = (struct dvq_data_seg *)wqes[ring] + slot * segs;
	uint8_t frame[64];
	uint32_t i, at = 12;

	for (i = 0; i < sizeof(frame); i++)
		frame[i] = (uint8_t)below(256);
	while (tags-- != 0) {
		uint16_t type = below(8) == 0 ? types[below(4)] : types[tags & 1];

		frame[at] = (uint8_t)(type >> 8);
		frame[at + 1] = (uint8_t)type;
		at += 4;
	}
	frame[at] = 0x08;
	frame[at + 1] = 0x00;
	for (i = 0; i < segs; i++, seg++) {
		struct rte_mbuf *m = elts[ring][slot * segs + i];
		uint32_t front = i == 0 ? RTE_PKTMBUF_HEADROOM : 0;

		assert_int_equal(be64toh(seg->addr), (uintptr_t)m->buf_addr + front);
		assert_int_equal(seg->lkey, LKEY);
		/* Of a short one more than it has: what a buffer held before decides nothing. */
		memcpy((void *)(uintptr_t)be64toh(seg->addr), frame, sizeof(frame));
	}
}

static uint32_t
random_length(void)
{
	const uint32_t room = ROOM - RTE_PKTMBUF_HEADROOM;

	if (t.conf.sges_n != 0 && below(3) != 0)
		return 1 + below(room + 3 * ROOM + 8);
	switch (below(24)) {
	case 0:
		return below(t.conf.crc_len + 2u);
	case 1:
		return room + t.conf.crc_len + below(3) - 1;
	case 2:
		return below(24);
	default:
		return 60 + below(room - 60);
	}
}

/* A little later than the one before, seldom a little earlier. */
static void
write_time(struct dvq_cqe *cqe)
{
	uint64_t now = t.clock += below(10000);

	if (below(8) == 0)
		now -= below(30000);
	cqe->sl_vid = htobe16((uint16_t)(now >> 32));
	cqe->smac_hi = htobe16((uint16_t)(now >> 16));
	cqe->ts_15_8 = (uint8_t)(now >> 8);
	cqe->ts_7_0 = (uint8_t)now;
}

static void
write_cqe(void)
{
	uint16_t ring = (uint16_t)below(t.conf.rings);
	const uint32_t full = DVQ_CQE_ST_IPV4 | DVQ_CQE_ST_IPOK | DVQ_CQE_ST_L4OK;
	struct dvq_cqe *cqe = (struct dvq_cqe *)dvq_cq_entry(&t.q.cq, t.written);
	bool error = below(90) == 0;
	uint32_t tags = below(3) == 0 ? 1 + below(2) : 0, bits = 0, status, length;

	length = random_length();
	write_frame(ring, tags);
	if (tags != 0 && below(8) != 0)
		bits = below(4) == 0 ? DVQ_CQE_SVLAN : DVQ_CQE_CVLAN;
	if (below(6) == 0)
		bits |= DVQ_CQE_TUNNEL | (below(2) == 0 ? DVQ_CQE_TUNNEL_IPV4 : 0);
	status = below(4) != 0 ? full | DVQ_CQE_ST_UDP : (uint32_t)below(1u << 31);
	memset(cqe, 0, sizeof(*cqe));
	cqe->vlan_my_qpn = htobe32(bits | (FIRST_WQN + ring));
	cqe->rss_hash = below(4) == 0 ? 0 : below(UINT32_MAX);
	cqe->status = htobe32(status);
	cqe->byte_cnt = htobe32(length);
	cqe->checksum = below(4) == 0 ? UINT16_MAX : (uint16_t)below(UINT16_MAX);
	write_time(cqe);
	if (error) {
		((struct dvq_err_cqe *)cqe)->syndrome = DVQ_SYNDROME_LOCAL_LENGTH;
		cqe->byte_cnt = below(2) == 0 ? htobe32(60) : 0;
	}
	cqe->owner_sr_opcode = (error ? DVQ_CQE_OP_ERROR : DVQ_CQE_OP_RECV_SEND) |
		dvq_cq_owner(&t.q.cq, t.written);
	t.posted[ring]++;
	t.written++;
}

/* ---- an application ---- */

static uint64_t
digest(const struct rte_mbuf *m)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	const uint8_t *data = rte_pktmbuf_mtod(m, const uint8_t *);
	uint32_t i;

	for (i = 0; i < RTE_MIN(m->data_len, 60u); i++)
		hash = (hash ^ data[i]) * UINT64_C(0x100000001b3);
	return hash;
}

static void
take(struct rte_mbuf *m)
{
	uint64_t stamp = 0;

	if (t.conf.stamp != 0)
		stamp = *RTE_MBUF_DYNFIELD(m, t.q.timestamp_offset, rte_mbuf_timestamp_t *);
	/* Not left from the time before. */
	memset(m->dynfield1, 0xee, sizeof(m->dynfield1));
	say("at %lx len %u flags %lx type %x hash %x tci %x/%x\n", (unsigned long)stamp, m->pkt_len,
		(unsigned long)m->ol_flags, m->packet_type,
		(m->ol_flags & RTE_MBUF_F_RX_RSS_HASH) != 0 ? m->hash.rss : 0,
		(m->ol_flags & RTE_MBUF_F_RX_VLAN) != 0 ? m->vlan_tci : 0,
		(m->ol_flags & RTE_MBUF_F_RX_QINQ) != 0 ? m->vlan_tci_outer : 0);
	while (m != NULL) {
		struct rte_mbuf *next = m->next;

		say("  %u segs %u off %u port %u refcnt %u %lx\n", m->data_len, m->nb_segs,
			m->data_off, m->port, rte_mbuf_refcnt_read(m), (unsigned long)digest(m));
		m->next = NULL;
		m->nb_segs = 1;
		rte_mempool_put(t.pool, m);
		m = next;
	}
}

static void
round_of(mdv_rx_receive_t *receive)
{
	struct rte_mbuf *m[BURST_MAX], *kept[MBUFS];
	unsigned int n, i, nb_kept = 0;

	/* Leave the pool next to nothing. */
	if (t.conf.hungry && below(3) == 0)
		while (rte_mempool_get(t.pool, (void **)&kept[nb_kept]) == 0)
			nb_kept++;
	for (i = 0; i < below(5) && nb_kept != 0; i++)
		rte_mempool_put(t.pool, kept[--nb_kept]);
	for (i = below(RING); i != 0; i--)
		write_cqe();
	while (t.q.cq.ci != t.written) {
		n = receive(&t.q, m, (uint16_t)(1 + below(BURST_MAX)));
		say("%u\n", n);
		for (i = 0; i < n; i++)
			take(m[i]);
		for (i = 0; i < t.conf.rings; i++) {
			/* Each WQE was posted anew, and the adapter told. */
			assert_int_equal(t.rings[i].rq.pi - t.rings[i].rq.ci, RING);
			assert_int_equal(be32toh(t.rq_record[i]) & 0xffff,
				t.rings[i].rq.pi & 0xffff);
		}
		assert_int_equal(be32toh(t.cq_record), t.q.cq.ci & 0xffffff);
	}
	for (i = 0; i < nb_kept; i++)
		rte_mempool_put(t.pool, kept[i]);
}

static void
check_mbufs(void)
{
	const uint32_t in_rings = t.conf.rings * RING << t.conf.sges_n;

	assert_int_equal(t.in_stack + t.pool->local_cache[0].len + in_rings, MBUFS);
}

/* All that came of random completions; the caller frees it. */
static char *
run(const struct conf *conf, mdv_rx_receive_t *receive)
{
	const struct mdv_rxq_stats *s = &t.q.stats;
	unsigned int i;

	memset(&t, 0, sizeof(t));
	t.conf = *conf;
	t.random = 1;
	make_pool();
	make_queue();
	/* A record is written when the ring moves. */
	for (i = 0; i < conf->rings; i++)
		dvq_rq_publish(&t.rings[i].rq);
	for (i = 0; i < ROUNDS; i++)
		round_of(receive);
	say("packets %lu bytes %lu nombuf %lu errors %lu filtered %lu\n",
		(unsigned long)s->packets, (unsigned long)s->bytes, (unsigned long)s->nombuf,
		(unsigned long)s->errors, (unsigned long)s->filtered);
	assert_true(s->packets > ROUNDS * RING / 4 && s->errors != 0);
	assert_int_equal(s->nombuf != 0, conf->hungry);
	assert_int_equal(s->filtered != 0, conf->filter);
	check_mbufs();
	free(t.pool);
	return t.text;
}

/* ---- the tests ---- */

static bool
runs_here(const struct mdv_rx_ways *ways)
{
	(void)ways;
#ifdef MDV_HAVE_AVX2
	if (ways == &mdv_rx_avx2)
		return __builtin_cpu_supports("avx2");
#endif
#ifdef MDV_HAVE_AVX512
	if (ways == &mdv_rx_avx512)
		return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
			__builtin_cpu_supports("avx512vl");
#endif
	return true;
}

static mdv_rx_receive_t *
of_level(const struct mdv_rx_ways *ways, const struct conf *conf)
{
	if (conf->stamp != 0 || conf->filter)
		return ways->full;
	if (conf->strip || conf->qinq)
		return ways->tags;
	return (conf->rss | conf->csum) != 0 ? ways->offloads : ways->plain;
}

static void
compare(struct conf conf)
{
	static const struct mdv_rx_ways *const all[] = {
#ifdef MDV_HAVE_VEC128
		&mdv_rx_vec128,
#endif
#ifdef MDV_HAVE_AVX2
		&mdv_rx_avx2,
#endif
#ifdef MDV_HAVE_AVX512
		&mdv_rx_avx512,
#endif
	};
	char *expected, *found;
	size_t i;

	conf.rings = conf.rings != 0 ? conf.rings : 1;
	conf.cqe_shift = conf.cqe_shift != 0 ? conf.cqe_shift : 6;
	expected = run(&conf, of_level(&mdv_rx_scalar, &conf));
	for (i = 0; i < RTE_DIM(all); i++) {
		if (!runs_here(all[i]))
			continue;
		found = run(&conf, of_level(all[i], &conf));
		assert_string_equal(found, expected);
		free(found);
	}
	free(expected);
}

#define HASH RTE_MBUF_F_RX_RSS_HASH
#define STAMP RTE_BIT64(23)
#define SUMS (RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD)

#define CASE(name, ...) \
	static void \
	test_ ## name(void **state) \
	{ \
		(void)state; \
		compare((struct conf){ __VA_ARGS__ }); \
	}

CASE(plain, 0)
CASE(plain_of_small_cqes, .cqe_shift = 5)
CASE(plain_with_fcs, .crc_len = 4)
CASE(plain_of_three_rings, .rings = 3)
CASE(plain_of_two_regions, .far = true)
CASE(plain_of_an_empty_pool, .hungry = true)
CASE(offloads, .rss = HASH, .csum = SUMS)
CASE(offloads_of_small_cqes, .rss = HASH, .csum = SUMS, .cqe_shift = 5)
CASE(offloads_of_tunnels, .rss = HASH, .csum = SUMS, .tunnels = true)
CASE(offloads_of_three_rings, .rss = HASH, .csum = SUMS, .rings = 3)
CASE(offloads_of_three_hungry_rings, .rss = HASH, .csum = SUMS, .rings = 3, .hungry = true)
CASE(hash_alone, .rss = HASH)
CASE(checksums_alone, .csum = SUMS, .tunnels = true)
CASE(tags, .rss = HASH, .csum = SUMS, .tunnels = true, .strip = true)
CASE(tags_alone, .strip = true)
CASE(tags_with_fcs, .rss = HASH, .strip = true, .crc_len = 4)
CASE(tags_of_three_rings, .rss = HASH, .csum = SUMS, .strip = true, .rings = 3)
CASE(tags_of_two_regions, .rss = HASH, .strip = true, .far = true)
CASE(two_tags, .strip = true, .qinq = true)
CASE(outer_tags_alone, .qinq = true)
CASE(filtered_tags, .strip = true, .filter = true)
CASE(filtered_tags_of_three_rings, .csum = SUMS, .filter = true, .rings = 3)
CASE(filtered_tags_of_two_regions, .strip = true, .filter = true, .far = true)
CASE(filtered_tags_of_an_empty_pool, .filter = true, .hungry = true)
CASE(stamps, .rss = HASH, .csum = SUMS, .stamp = STAMP)
CASE(stamps_of_small_cqes, .stamp = STAMP, .cqe_shift = 5)
CASE(stamps_of_three_rings, .csum = SUMS, .stamp = STAMP, .rings = 3)
CASE(stamps_and_tags, .rss = HASH, .csum = SUMS, .stamp = STAMP, .strip = true, .qinq = true)
CASE(stamps_with_a_flag_far_up, .csum = SUMS, .strip = true, .stamp = RTE_BIT64(37))
CASE(stamps_and_a_filter, .csum = SUMS, .stamp = STAMP, .strip = true, .filter = true)

/* One code for all processors, with a way apart for what is usual: a pool of one region. */
static void
test_scattered(void **state)
{
	struct conf conf = { .rss = HASH, .csum = SUMS, .rings = 1, .cqe_shift = 6, .sges_n = 2 };
	char *expected, *found;

	(void)state;
	expected = run(&conf, mdv_rx_receive_scattered);
	conf.far = true;
	found = run(&conf, mdv_rx_receive_scattered);
	assert_string_equal(found, expected);
	free(found);
	free(expected);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_plain_of_small_cqes),
		cmocka_unit_test(test_plain_with_fcs),
		cmocka_unit_test(test_plain_of_three_rings),
		cmocka_unit_test(test_plain_of_two_regions),
		cmocka_unit_test(test_plain_of_an_empty_pool),
		cmocka_unit_test(test_offloads),
		cmocka_unit_test(test_offloads_of_small_cqes),
		cmocka_unit_test(test_offloads_of_tunnels),
		cmocka_unit_test(test_offloads_of_three_rings),
		cmocka_unit_test(test_offloads_of_three_hungry_rings),
		cmocka_unit_test(test_hash_alone),
		cmocka_unit_test(test_checksums_alone),
		cmocka_unit_test(test_tags),
		cmocka_unit_test(test_tags_alone),
		cmocka_unit_test(test_tags_with_fcs),
		cmocka_unit_test(test_tags_of_three_rings),
		cmocka_unit_test(test_tags_of_two_regions),
		cmocka_unit_test(test_two_tags),
		cmocka_unit_test(test_outer_tags_alone),
		cmocka_unit_test(test_filtered_tags),
		cmocka_unit_test(test_filtered_tags_of_three_rings),
		cmocka_unit_test(test_filtered_tags_of_two_regions),
		cmocka_unit_test(test_filtered_tags_of_an_empty_pool),
		cmocka_unit_test(test_stamps),
		cmocka_unit_test(test_stamps_of_small_cqes),
		cmocka_unit_test(test_stamps_of_three_rings),
		cmocka_unit_test(test_stamps_and_tags),
		cmocka_unit_test(test_stamps_with_a_flag_far_up),
		cmocka_unit_test(test_stamps_and_a_filter),
		cmocka_unit_test(test_scattered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

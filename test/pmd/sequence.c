/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The program: sequences by their seed, with a fault now and then. After each step the
 * port says what the model has, and what was refused has changed nothing; when a
 * sequence is over nothing of it is left.
 */

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_log.h>
#include <rte_malloc.h>
#include <rte_mbuf_dyn.h>
#include <rte_memzone.h>

#include "events.h"
#include "internal.h"
#include "sequence.h"

#define STEPS 150
#define SEQUENCE_MBUFS 24000
#define LINE_MAX_LENGTH 400

/*
 * libmlx4 forgets what it holds of an object that could not be destroyed: not for a leak
 * checker; objects, mbufs and EAL's memory are counted here.
 */
void __lsan_disable(void) __attribute__((weak));

struct seq seq;

/* Steps that are left out, to find the few that matter. */
static bool *dropped;
static unsigned int steps = STEPS;
static bool with_faults = true;

/*
 * In every fourth sequence commands that free fail as well. libmlx4 then forgets what it
 * has of the object, which is with the adapter until the close.
 */
static bool
any_command(void)
{
	return seq.seed % 4 == 0;
}

/* ---- calls and what they return ---- */

static char line[LINE_MAX_LENGTH];

void
seq_call(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (seq.quiet)
		return;
	printf("%4u %s%s", seq.step, line, seq.fault != 0 ? " [fault]" : "");
	fflush(stdout);
}

static uint64_t
injected(void)
{
	struct vmlx4_fault_stats stats;

	CHECK_OK(vmlx4_fault_stats(&stats));
	return stats.injected;
}

bool
seq_hit(void)
{
	return seq.fault != 0 && injected() != seq.injected;
}

void
seq_disarm(void)
{
	if (seq.fault == 0)
		return;
	CHECK_OK(vmlx4_fault_clear());
	seq.fault = 0;
}

/* The errno of the command, or what the driver makes of it where it knows more. */
static bool
is_of_fault(int ret)
{
	return ret == -seq.fault || (seq.fault == ENOMEM && ret == -ENOSPC);
}

bool
seq_either(int ret, int want, int other)
{
	bool hit = seq_hit();

	if (!seq.quiet)
		printf(" -> %d%s\n", ret, hit ? ", it happened" : "");
	if (hit && any_command())
		seq.leaky = seq.lost = true;
	if (ret == want || ret == other)
		return ret == 0;
	if (hit && is_of_fault(ret))
		return false;
	if (seq.gone && (ret == -EIO || ret == 0))
		return ret == 0;
	if (want == other)
		FAIL("%s: %d (%s), not %d (%s)", line, ret, strerror(-ret), want, strerror(-want));
	FAIL("%s: %d (%s), neither %d nor %d", line, ret, strerror(-ret), want, other);
}

/* ---- steps ---- */

static const struct kind {
	void (*run)(void);
	unsigned int weight;
	bool may_fail;            /* faults are for calls that can tell of them */
} kinds[] = {
	{ seq_open, 2, false }, { seq_bring_up, 14, false }, { seq_configure, 4, true },
	{ seq_rx_setup, 6, true }, { seq_tx_setup, 6, true }, { seq_start, 8, true },
	{ seq_stop, 6, true }, { seq_close, 1, false }, { seq_reset, 1, false },
	{ seq_remove, 1, false }, { seq_rx_queue_state, 8, true },
	{ seq_tx_queue_state, 8, true }, { seq_mtu, 6, true }, { seq_mac, 10, true },
	{ seq_mc_list, 4, true }, { seq_modes, 10, true }, { seq_vlan_filter, 4, true },
	{ seq_vlan_offload, 5, true }, { seq_rss, 6, true }, { seq_reta, 8, true },
	{ seq_link, 2, false }, { seq_rx_intr, 3, true }, { seq_ask, 6, false },
	{ seq_strip, 3, false },
	{ seq_flow_create, 10, true }, { seq_flow_destroy, 5, true },
	{ seq_flow_isolate, 3, true }, { seq_receive, 24, false }, { seq_send, 20, false },
	{ seq_fail_queue, 1, false },
};

static const struct kind *
draw_kind(void)
{
	unsigned int sum = 0, i, at;

	for (i = 0; i < RTE_DIM(kinds); i++)
		sum += kinds[i].weight;
	at = seq_below(sum);
	for (i = 0; at >= kinds[i].weight; i++)
		at -= kinds[i].weight;
	return &kinds[i];
}

/* For messages. */
static void
say_where(void)
{
	static char text[64];

	snprintf(text, sizeof(text), "sequence %" PRIu64 ", step %u", seq.seed, seq.step);
	test_running(text);
}

/* One of the next commands fails. EIO would be a device that is gone. */
static void
arm(void)
{
	static const char * const names[] = {
		"query_device", "query_port", "reg_mr", "create_comp_channel", "create_cq",
		"create_qp", "modify_qp", "create_wq", "modify_wq", "create_rwq_ind_tbl",
		"create_flow",
	};
	static const int errors[] = { ENOMEM, EPERM, EAGAIN, EBUSY };
	int error = errors[seq_below(RTE_DIM(errors))];
	const char *name = any_command() ? "" : names[seq_below(RTE_DIM(names))];
	unsigned int nth = 1 + seq_below(seq_chance(2) ? 3 : 30);
	char text[64];

	snprintf(text, sizeof(text), "command %s nth=%u errno=%d", name, nth, error);
	seq.injected = injected();
	fault_add(text);
	seq.fault = error;
}

static void
step(void)
{
	const struct kind *kind;
	struct seq_state *before;

	say_where();
	/* Far apart, as near states of this generator begin alike. */
	seq.rng.state = (seq.seed << 20 | (seq.step + 1)) * 0x9e3779b97f4a7c15ull + 1;
	rng_next(&seq.rng);
	kind = draw_kind();
	if (!seq.open && kind->run != seq_open)
		kind = &kinds[0];
	if (kind->may_fail && with_faults && seq_chance(5))
		arm();
	kind->run();
	seq_disarm();
	if (seq.open) {
		/* Asking changes nothing either. */
		seq_state_check();
		before = seq_state_take();
		seq_state_same(before, seq_state_take(), 0);
	}
	CHECK_EQ(vmlx4_violations(), 0);
}

/* ---- what may not be left ---- */

struct left {
	struct vmlx4_object_counts objects;
	unsigned int fds, memzones;
	size_t heap;
};

static void
count_memzone(const struct rte_memzone *mz, void *arg)
{
	(void)mz;
	++*(unsigned int *)arg;
}

static struct left
look(void)
{
	struct rte_malloc_socket_stats heap;
	struct left left = { .objects = object_counts(), .fds = fds_count(false) };

	rte_memzone_walk(count_memzone, &left.memzones);
	CHECK_OK(rte_malloc_get_socket_stats(0, &heap));
	left.heap = heap.heap_allocsz_bytes;
	return left;
}

static void
check_left(const struct left *before)
{
	struct left now = look();
	unsigned int i;

	now.objects.mrs_registered = before->objects.mrs_registered;
	CHECK_MSG(memcmp(&now.objects, &before->objects, sizeof(now.objects)) == 0,
		"objects of the adapter are left over");
	CHECK_EQ(now.memzones, before->memzones);
	/* Buffers and channels of what could not be destroyed are libmlx4's. */
	if (!seq.lost) {
		CHECK_EQ(now.fds, before->fds);
		CHECK_EQ(now.heap, before->heap);
	}
	for (i = 0; i < RTE_DIM(seq.pools); i++)
		CHECK_MSG(rte_mempool_avail_count(seq.pools[i].mp) == seq.pools[i].mp->size,
			"%u mbufs of pool %u are gone",
			seq.pools[i].mp->size - rte_mempool_avail_count(seq.pools[i].mp), i);
}

static void
sequence(uint64_t seed)
{
	struct seq fresh = { .seed = seed, .quiet = seq.quiet };
	struct left before = look();

	memcpy(fresh.pools, seq.pools, sizeof(fresh.pools));
	seq = fresh;
	for (seq.step = 0; seq.step < steps; seq.step++)
		if (!dropped[seq.step])
			step();
	if (seq.open)
		seq_close();
	check_left(&before);
	printf("ok %" PRIu64 "\n", seed);
	fflush(stdout);
}

/* ---- start-up ---- */

/* Made once: what EAL keeps of a pool that is freed is not what is counted here. */
static void
make_pools(void)
{
	static const struct {
		unsigned int mbufs;
		uint16_t room;
	} of[] = { { 16000, 2048 }, { 4000, 9216 }, { SEQUENCE_MBUFS, 256 }, { 700, 1664 } };
	unsigned int i;

	RTE_BUILD_BUG_ON(RTE_DIM(of) != RTE_DIM(seq.pools));
	for (i = 0; i < RTE_DIM(of); i++) {
		seq.pools[i].mp = pool_create(of[i].mbufs, of[i].room);
		seq.pools[i].room = of[i].room;
	}
}

static void
parse_drop(char *list)
{
	char *word;

	for (word = strtok(list, ","); word != NULL; word = strtok(NULL, ","))
		if (strtoul(word, NULL, 10) < steps)
			dropped[strtoul(word, NULL, 10)] = true;
}

static void
usage(void)
{
	fprintf(stderr, "usage: mdv-sequence [--steps=N] [--drop=STEP,...] [--no-faults] [--quiet] "
		"SEED [LAST]\n");
	exit(2);
}

int
main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "steps", required_argument, NULL, 's' }, { "drop", required_argument, NULL, 'd' },
		{ "no-faults", no_argument, NULL, 'n' }, { "quiet", no_argument, NULL, 'q' },
		{ NULL, 0, NULL, 0 },
	};
	char *drop = NULL;
	uint64_t seed, last;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1)
		switch (c) {
		case 's': steps = strtoul(optarg, NULL, 10); break;
		case 'd': drop = optarg; break;
		case 'n': with_faults = false; break;
		case 'q': seq.quiet = true; break;
		default: usage();
		}
	if (optind >= argc || argc - optind > 2)
		usage();
	seed = strtoull(argv[optind], NULL, 10);
	last = argc - optind == 2 ? strtoull(argv[optind + 1], NULL, 10) : seed;
	dropped = calloc(steps, sizeof(*dropped));
	CHECK(dropped != NULL);
	if (drop != NULL)
		parse_drop(drop);
	if (__lsan_disable != NULL)
		__lsan_disable();
	eal_start("512");
	/* What is refused is refused on purpose. */
	rte_log_set_level_pattern("lib.ethdev", RTE_LOG_CRIT);
	if (seq.quiet)
		rte_log_set_level_pattern("pmd.net.mlx4dv", RTE_LOG_CRIT);
	wire_stats_begin();
	make_pools();
	CHECK_OK(rte_mbuf_dyn_rx_timestamp_register(NULL, NULL));
	/* What is made once and kept is there before the first look. */
	seq.rng.state = 1;
	seq_open();
	seq_bring_up();
	seq_close();
	for (; seed <= last; seed++)
		sequence(seed);
	captures_stop();
	pools_release_all();
	eal_stop();
	free(dropped);
	return EXIT_SUCCESS;
}

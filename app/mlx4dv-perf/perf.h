/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef PERF_H_
#define PERF_H_

/*
 * What one burst costs the processor. A case prepares work, untimed; its bursts are
 * timed, or counted instruction by instruction; then it cleans up, untimed. Between
 * them the virtual adapter is stepped, so that it takes no time from the bursts.
 */

#include <stdbool.h>
#include <stdint.h>

#include <bench.h>

#define PERF_CALLS 4           /* bursts timed together: the TSC moves in steps of 20 and more */
#define PERF_EMPTY_CALLS 400   /* of no packets, which use nothing up */
#define PERF_FRAMES 512        /* on their way at once, at most: BATCH_MAX */
#define PERF_BURST_MAX 256
#define PERF_SEGS_MAX 16
#define PERF_POOLS_MAX 64
#define PERF_QUEUES_MAX 16
#define PERF_REGIONS_MAX 4096
#define PERF_FLOWS_MAX 10000

struct perf_options {
	unsigned int burst;
	unsigned int size;         /* bytes of a frame without FCS */
	unsigned int ring;         /* descriptors of each queue under test */
	unsigned int segs;         /* of a frame sent */
	unsigned int pools;        /* that frames to send come from, each memory of its own */
	unsigned int regions;      /* that frames to send lie in, outside of any pool; 0: pools */
	unsigned int queues;       /* that frames are received by */
	unsigned int flows;        /* flow rules in place */
	unsigned int samples;      /* in each repeat */
	unsigned int repeats;
	unsigned int counted;      /* samples whose instructions are counted */
	unsigned int calls;        /* bursts of a sample: PERF_CALLS, or what a ring has room for */
	bool cycles, instructions; /* which to measure */
};

struct perf_case {
	const char *name;
	/* Set up. NULL, or why there is nothing to measure: what the driver cannot do. */
	const char *(*open)(const struct perf_case *self, const struct perf_options *options);
	/* Make work for this many bursts. */
	void (*prepare)(unsigned int bursts);
	/* One burst; the packets it moved. An int for bench_instructions(). */
	int (*burst)(unsigned int index);
	/* The same without the driver: instructions that are not counted. May be NULL. */
	int (*idle)(unsigned int index);
	/* Let the adapter do its part, take back what was moved. */
	void (*finish)(void);
	void (*close)(void);
	/* A case of no packets: figures are per call. */
	bool empty;
	/* For the subject's own use. */
	unsigned int kind;
};

/* A family of cases that needs a process of its own. */
struct perf_subject {
	const char *name;
	const struct perf_case *cases;
	unsigned int nb_cases;
	/* The device is there: argv beyond the options is the subject's. */
	void (*start)(int argc, char **argv);
	void (*end)(void);
	const char *(*driver)(void);
};

extern const struct perf_subject perf_ethdev, perf_verbs, perf_floor, perf_rc_verbs, perf_rc_dvq;

/* ---- main.c ---- */

/* Step the adapter until it has nothing to do; with a real one, wait for it. */
void perf_step(void);

/* ---- measure.c ---- */

/* Prints a line of JSON. */
void perf_measure(const char *driver, const struct perf_case *one,
	const struct perf_options *options);

/* ---- frames.c ---- */

/*
 * Fill in a frame of UDP over IPv4 with good checksums, of a flow of its own for
 * each number, tagged with a VLAN when tci is not 0.
 */
void perf_frame(uint8_t *frame, unsigned int size, const uint8_t to[6], unsigned int number,
	uint16_t tci);

#endif /* PERF_H_ */

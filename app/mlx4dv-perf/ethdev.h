/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef PERF_ETHDEV_H_
#define PERF_ETHDEV_H_

/* Two ports back to back: the bursts of TESTED are measured, PEER has the other end. */

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "perf.h"

enum { TESTED, PEER };

struct ports_conf {
	uint64_t rx_offloads, tx_offloads, rss_hf; /* of the tested port */
	unsigned int rx_queues;
	unsigned int size;         /* longest frame, with a tag */
};

/* The driver's name. */
const char *ports_start(int argc, char **argv);
void ports_end(void);
/* Configure and start both ports. NULL, or what the driver lacks. */
const char *ports_open(const struct ports_conf *conf, const struct perf_options *options);
void ports_close(void);

/*
 * Pools of frames that TESTED sends, with this room for data in a buffer: memory of
 * their own for each if there are several.
 */
struct rte_mempool *const *pools_open(unsigned int count, unsigned int mbufs, unsigned int room);
void pools_close(void);

/* PEER sends this many frames, which have arrived when the call returns. */
void peer_send(unsigned int frames, unsigned int size, uint16_t tci);
/* Everything that arrived at PEER; must be this many. */
void peer_take(unsigned int frames);

/* ---- regions.c ---- */

void regions_open(unsigned int count, unsigned int room);
void regions_close(void);
/* The buffer of a fresh mbuf is the next region's from now on; none if count was 0. */
void regions_attach(struct rte_mbuf *m);

/* ---- flows.c ---- */

/* NULL, or what the driver cannot do. */
const char *flows_open(uint16_t port, unsigned int count);
void flows_close(uint16_t port);

#endif /* PERF_ETHDEV_H_ */

/* SPDX-License-Identifier: BSD-3-Clause */

#include <string.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>

#include "chain.h"

/*
 * TX: hand packets to their ports. What a port does not take waits here, and with it,
 * as the rings fill, the whole chain, until its own port in front misses packets. Only a
 * port that takes nothing at all for PATIENCE loses what waits for it.
 */

#define WAITING (2 * BURST)
#define PATIENCE_HZ 10u /* a tenth of a second */

struct waiting {
	struct rte_mbuf *pkts[WAITING];
	unsigned int n;
	uint64_t since;
};

static struct chain *chain;
static struct waiting waiting[PORTS_MAX];

static void
give_up(struct stage *stage, struct waiting *w)
{
	unsigned int i;

	for (i = 0; i < w->n; i++)
		stage_drop(stage, w->pkts[i], DROP_PORT_FULL);
	w->n = 0;
}

static void
forget(struct waiting *w, unsigned int n)
{
	w->n -= n;
	memmove(w->pkts, w->pkts + n, w->n * sizeof(w->pkts[0]));
	w->since = rte_rdtsc();
}

static unsigned int
flush(struct stage *stage, uint16_t port)
{
	struct waiting *w = &waiting[port];
	unsigned int ready, sent;

	if (w->n == 0)
		return 0;
	/* What the port asks of packets whose checksums it is to compute. */
	ready = rte_eth_tx_prepare(port, 0, w->pkts, (uint16_t)w->n);
	sent = rte_eth_tx_burst(port, 0, w->pkts, (uint16_t)ready);
	count(&stage->passed, sent);
	if (sent > 0)
		forget(w, sent);
	else if (ready == 0) {
		stage_drop(stage, w->pkts[0], DROP_PORT_REFUSED);
		forget(w, 1);
		return 1;
	} else if (rte_rdtsc() - w->since > rte_get_tsc_hz() / PATIENCE_HZ) {
		give_up(stage, w);
	}
	return sent;
}

static unsigned int
tx_poll(struct stage *stage)
{
	struct rte_mbuf *pkts[BURST];
	unsigned int room = BURST, n, i, moved = 0;

	for (i = 0; i < PORTS_MAX; i++) {
		moved += flush(stage, (uint16_t)i);
		room = RTE_MIN(room, WAITING - waiting[i].n);
	}
	/* All of a burst may be for one port. */
	n = rte_ring_sc_dequeue_burst(stage->in, (void **)pkts, room, NULL);
	if (n == 0)
		return moved;
	count(&stage->taken, n);
	for (i = 0; i < n; i++) {
		struct waiting *w = &waiting[pkts[i]->port];

		if (w->n == 0)
			w->since = rte_rdtsc();
		w->pkts[w->n++] = pkts[i];
	}
	for (i = 0; i < PORTS_MAX; i++)
		flush(stage, (uint16_t)i);
	return n;
}

static bool
tx_holds(void)
{
	unsigned int i;

	for (i = 0; i < PORTS_MAX && waiting[i].n == 0; i++)
		;
	return i < PORTS_MAX;
}

static int
tx_open(struct chain *shared, struct stage *stage)
{
	(void)stage;
	chain = shared;
	memset(waiting, 0, sizeof(waiting));
	return 0;
}

const struct stage_ops tx_ops = {
	.name = "tx", .open = tx_open, .poll = tx_poll, .holds = tx_holds,
};

/* SPDX-License-Identifier: BSD-3-Clause */

#include <string.h>
#include <time.h>

#include <rte_lcore.h>
#include <rte_pause.h>

#include "chain.h"

/* The rounds of an lcore over its stages: several may share one, and it may rest. */

#define IDLE_ROUNDS 64u  /* before it does */

const struct stage_ops *const stage_ops[STAGES] = {
	[STAGE_RX] = &rx_ops, [STAGE_ACL] = &acl_ops, [STAGE_NAT] = &nat_ops,
	[STAGE_ROUTE] = &route_ops, [STAGE_TX] = &tx_ops,
};

static struct place {
	unsigned int ids[STAGES], n;
	unsigned int idle;       /* rounds without a packet */
} places[RTE_MAX_LCORE];

static unsigned int rest_us;
static _Atomic bool abandoned;

void
stage_drop(struct stage *stage, struct rte_mbuf *m, enum drop cause)
{
	count(&stage->drops[cause], 1);
	rte_pktmbuf_free(m);
}

/* Neighbours in the chain on one lcore, and as even as it goes. */
void
stages_place(unsigned int mask, unsigned int idle_us)
{
	unsigned int lcores[RTE_MAX_LCORE], n = 0, stages, lcore, id, at = 0;

	rest_us = idle_us;
	lcores[n++] = rte_get_main_lcore();
	RTE_LCORE_FOREACH_WORKER(lcore)
		lcores[n++] = lcore;
	stages = (unsigned int)__builtin_popcount(mask);
	for (id = 0; id < STAGES; id++) {
		struct place *place;

		if ((mask & 1u << id) == 0)
			continue;
		place = &places[lcores[n >= stages ? at : at * n / stages]];
		place->ids[place->n++] = id;
		at++;
	}
}

bool
stages_on(unsigned int lcore)
{
	return places[lcore].n != 0;
}

void
stages_abandon(void)
{
	atomic_store(&abandoned, true);
}

bool
stage_fed(const struct chain *chain, unsigned int id)
{
	if (id == STAGE_RX)
		return !atomic_load(&chain->stop);
	return atomic_load_explicit(&chain->stages[id - 1].phase, memory_order_acquire) !=
		PHASE_DONE;
}

static unsigned int
filter_poll(struct stage *stage, const struct stage_ops *ops)
{
	struct rte_mbuf *pkts[BURST];
	/* Never more than there is room for behind: nothing is lost between stages. */
	unsigned int room = RTE_MIN(rte_ring_free_count(stage->out), BURST);
	unsigned int n = rte_ring_sc_dequeue_burst(stage->in, (void **)pkts, room, NULL);
	unsigned int left;

	if (n == 0)
		return 0;
	count(&stage->taken, n);
	left = ops->filter(stage, pkts, n);
	if (left > 0)
		rte_ring_sp_enqueue_bulk(stage->out, (void **)pkts, left, NULL);
	count(&stage->passed, left);
	return n;
}

/* One round of a stage. When nothing comes any more and all is passed on, it ends. */
static unsigned int
stage_round(struct chain *chain, unsigned int id)
{
	struct stage *stage = &chain->stages[id];
	const struct stage_ops *ops = stage_ops[id];
	bool fed = stage_fed(chain, id); /* before the poll, which then sees the last packet */
	unsigned int moved = 0;

	if (id != STAGE_RX || fed)
		moved = ops->poll != NULL ? ops->poll(stage) : filter_poll(stage, ops);
	if (ops->tick != NULL)
		ops->tick();
	if (fed || (stage->in != NULL && !rte_ring_empty(stage->in)) ||
	    (ops->holds != NULL && ops->holds()))
		return moved;
	if (ops->close != NULL)
		ops->close();
	atomic_store_explicit(&stage->phase, PHASE_DONE, memory_order_release);
	return moved;
}

static void
rest(struct place *place, unsigned int moved)
{
	struct timespec pause = { .tv_nsec = rest_us * 1000 };

	place->idle = moved > 0 ? 0 : place->idle + 1;
	if (place->idle < IDLE_ROUNDS || rest_us == 0)
		rte_pause();
	else
		nanosleep(&pause, NULL);
}

bool
stages_round(struct chain *chain, unsigned int lcore)
{
	struct place *place = &places[lcore];
	unsigned int moved = 0, i;
	bool alive = false;

	for (i = 0; i < place->n; i++) {
		struct stage *stage = &chain->stages[place->ids[i]];

		if (atomic_load_explicit(&stage->phase, memory_order_relaxed) == PHASE_DONE)
			continue;
		moved += stage_round(chain, place->ids[i]);
		alive = true;
	}
	if (alive)
		rest(place, moved);
	return alive && !atomic_load_explicit(&abandoned, memory_order_relaxed);
}

int
stages_run(void *arg)
{
	const struct timespec ms = { .tv_nsec = 1000000 };
	struct chain *chain = arg;
	unsigned int lcore = rte_lcore_id();

	while (!atomic_load(&chain->go) && !atomic_load(&chain->stop) &&
	       !atomic_load(&abandoned))
		nanosleep(&ms, NULL);
	while (stages_round(chain, lcore))
		;
	return 0;
}

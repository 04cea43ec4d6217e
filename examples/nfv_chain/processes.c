/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_ethdev.h>
#include <rte_lcore.h>

#include "chain.h"

/* Which process has which stage, and what becomes of those whose process dies. */

/* The packet caches of a pool belong to lcore ids, not to processes. */
static int
take_lcores(struct chain *chain)
{
	unsigned int lcore;

	RTE_LCORE_FOREACH(lcore) {
		pid_t nobody = 0;

		if (atomic_compare_exchange_strong(&chain->lcores[lcore], &nobody, getpid()) ||
		    (kill(nobody, 0) < 0 && errno == ESRCH)) {
			atomic_store(&chain->lcores[lcore], getpid());
			continue;
		}
		complain("lcore %u is one of process %d: give each process its own numbers; they "
			"may share a CPU, as in --lcores %u@0", lcore, (int)nobody, lcore + 1);
		return -1;
	}
	return 0;
}

static int
take_stage(struct chain *chain, unsigned int id)
{
	struct stage *stage = &chain->stages[id];
	int before = PHASE_FREE;

	if (atomic_load(&chain->stop)) {
		complain("the chain is stopping");
		return -1;
	}
	if (!atomic_compare_exchange_strong(&stage->phase, &before, PHASE_TAKEN)) {
		complain("stage %s is one of process %d: name others with --run",
			stage_ops[id]->name, (int)atomic_load(&stage->owner));
		return -1;
	}
	atomic_store(&stage->owner, getpid());
	if (stage_ops[id]->open(chain, stage) != 0) {
		atomic_store(&stage->owner, 0);
		atomic_store(&stage->phase, PHASE_FREE);
		return -1;
	}
	atomic_store(&stage->phase, PHASE_READY);
	return 0;
}

/* Ports are the primary's, but polled from here. */
static int
ports_known(const struct chain *chain)
{
	unsigned int i;

	for (i = 0; i < PORTS_MAX; i++) {
		if (chain->config.ports[i].line == 0 || rte_eth_dev_is_valid_port((uint16_t)i))
			continue;
		complain("port %u of the primary is not known here: give this process the same "
			"drivers (-d)", i);
		return -1;
	}
	return 0;
}

int
stages_take(struct chain *chain, unsigned int mask)
{
	unsigned int id;

	if (take_lcores(chain) != 0 || ports_known(chain) != 0) {
		stages_give_back(chain);
		return -1;
	}
	for (id = 0; id < STAGES; id++) {
		if ((mask & 1u << id) == 0 || take_stage(chain, id) == 0)
			continue;
		stages_give_back(chain);
		return -1;
	}
	return 0;
}

/* Of a process that does not start after all: another may. */
void
stages_give_back(struct chain *chain)
{
	unsigned int id, lcore;

	for (id = 0; id < STAGES; id++) {
		struct stage *stage = &chain->stages[id];

		if (atomic_load(&stage->owner) != getpid())
			continue;
		if (stage_ops[id]->close != NULL)
			stage_ops[id]->close();
		atomic_store(&stage->owner, 0);
		atomic_store(&stage->phase, PHASE_FREE);
	}
	RTE_LCORE_FOREACH(lcore) {
		pid_t self = getpid();

		atomic_compare_exchange_strong(&chain->lcores[lcore], &self, 0);
	}
}

bool
stages_done(const struct chain *chain, bool all)
{
	unsigned int id;

	for (id = 0; id < STAGES; id++)
		if ((all || atomic_load(&chain->stages[id].owner) == getpid()) &&
		    atomic_load_explicit(&chain->stages[id].phase, memory_order_acquire) !=
		    PHASE_DONE)
			return false;
	return true;
}

bool
stages_ready(const struct chain *chain, char *missing, size_t size)
{
	size_t used = 0;
	unsigned int id;

	missing[0] = '\0';
	for (id = 0; id < STAGES; id++)
		if (atomic_load(&chain->stages[id].phase) < PHASE_READY && used < size)
			used += (size_t)snprintf(missing + used, size - used, "%s%s",
				used > 0 ? ", " : "", stage_ops[id]->name);
	return used == 0;
}

/* What the lost stage would have taken. Its process held what it had taken already. */
static void
discard(struct chain *chain, unsigned int id)
{
	struct stage *stage = &chain->stages[id];
	bool fed = stage_fed(chain, id);
	void *m;

	while (stage->in != NULL && rte_ring_sc_dequeue(stage->in, &m) == 0) {
		count(&stage->taken, 1);
		stage_drop(stage, m, DROP_STAGE_LOST);
	}
	if (!fed)
		atomic_store_explicit(&stage->phase, PHASE_DONE, memory_order_release);
}

static bool
gone(const struct stage *stage)
{
	pid_t owner = atomic_load(&stage->owner);

	return owner != 0 && owner != getpid() && kill(owner, 0) < 0 && errno == ESRCH;
}

bool
stages_adopt(struct chain *chain)
{
	bool lost = false;
	unsigned int id;

	for (id = 0; id < STAGES; id++) {
		struct stage *stage = &chain->stages[id];
		int phase = atomic_load(&stage->phase);

		/* Nobody will take it any more, and the chain is to end. */
		if (phase == PHASE_FREE && atomic_load(&chain->stop))
			atomic_compare_exchange_strong(&stage->phase, &phase, PHASE_LOST);
		if ((phase == PHASE_TAKEN || phase == PHASE_READY) && gone(stage)) {
			complain("process %d is gone, and stage %s with it",
				(int)atomic_load(&stage->owner), stage_ops[id]->name);
			atomic_store(&stage->phase, PHASE_LOST);
			lost = true;
		}
		if (atomic_load(&stage->phase) == PHASE_LOST)
			discard(chain, id);
	}
	return lost;
}

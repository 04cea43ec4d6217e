/* SPDX-License-Identifier: BSD-3-Clause */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_launch.h>
#include <rte_lcore.h>

#include "chain.h"
#include "options.h"

/* RX → ACL → NAT → route → TX: see README.md. */

#define WATCH_HZ 50u /* how often the other processes are looked at */

static volatile sig_atomic_t signalled;

static void
on_signal(int number)
{
	signalled = number;
}

static void
handle_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

/* A signal to any process stops all. */
static void
watch_signals(struct chain *chain)
{
	if (signalled == 0 || atomic_exchange(&chain->stop, true))
		return;
	say("%s: what is on its way is sent, then the chain ends",
		signalled == SIGINT ? "SIGINT" : "SIGTERM");
}

/* Primary: start when all stages are there, report, and miss those that die. */
static bool
watch_chain(struct chain *chain, double period)
{
	static uint64_t reported;
	static char told[128];
	uint64_t now = rte_rdtsc();
	char missing[128];
	bool lost;

	if (!atomic_load(&chain->go)) {
		reported = now;
		if (atomic_load(&chain->stop))
			; /* nothing begins any more */
		else if (stages_ready(chain, missing, sizeof(missing))) {
			say("all stages are there");
			atomic_store(&chain->go, true);
		} else if (strcmp(told, missing) != 0) {
			say("waiting for %s", missing);
			strcpy(told, missing);
		}
	} else if (period > 0 && (double)(now - reported) >= period * rte_get_tsc_hz()) {
		counters_print(chain, (double)(now - reported) / rte_get_tsc_hz());
		reported = now;
	}
	lost = stages_adopt(chain);
	if (lost)
		atomic_store(&chain->stop, true);
	return !lost;
}

/* Until all stages are done, or in a secondary its own. */
static int
run(struct chain *chain, bool primary, double period)
{
	const struct timespec ms = { .tv_nsec = 1000000 };
	uint64_t looked = 0;
	int ret = 0;

	while (!stages_done(chain, primary)) {
		bool started = atomic_load(&chain->go) || atomic_load(&chain->stop);

		if (!started || !stages_round(chain, rte_lcore_id()))
			nanosleep(&ms, NULL);
		watch_signals(chain);
		if (rte_rdtsc() - looked < rte_get_tsc_hz() / WATCH_HZ &&
		    !atomic_load(&chain->stop))
			continue;
		looked = rte_rdtsc();
		if (primary && !watch_chain(chain, period))
			ret = 1;
		if (!primary && !rte_eal_primary_proc_alive(NULL)) {
			complain("the primary process is gone");
			stages_abandon();
			ret = 1;
			break;
		}
	}
	rte_eal_mp_wait_lcore();
	return ret;
}

static void
launch(struct chain *chain)
{
	unsigned int lcore;

	RTE_LCORE_FOREACH_WORKER(lcore)
		if (stages_on(lcore))
			rte_eal_remote_launch(stages_run, chain, lcore);
}

/* Enough for all places where a packet can be. */
static unsigned int
mbufs_for(const struct config *config, unsigned int descriptors)
{
	return config->n_ports * 2 * descriptors + (STAGES - 1) * RING_SIZE +
		STAGES * 4 * BURST + 8 * 384; /* the caches of some lcores */
}

static int
end(struct chain *chain, int ret)
{
	unsigned int missing;

	ports_drain(chain);
	counters_print(chain, 0);
	ports_stop(chain);
	missing = chain_free(chain);
	say("mbufs: %s", missing == 0 ? "all back" : "some are missing");
	if (missing == 0)
		return ret;
	complain("%u mbufs did not come back", missing);
	return 1;
}

static int
primary_main(const struct options *options)
{
	static struct config config;
	struct chain *chain;
	char error[512];
	int ret;

	if (config_load(options->config, &config, error, sizeof(error)) != 0) {
		complain("%s", error);
		return 1;
	}
	chain = chain_create(&config, mbufs_for(&config, options->descriptors));
	if (chain == NULL)
		return 1;
	if (ports_start(chain, options->descriptors) != 0 ||
	    stages_take(chain, options->run) != 0) {
		ports_stop(chain);
		chain_free(chain);
		return 1;
	}
	stages_place(options->run, options->idle_us);
	launch(chain);
	ret = run(chain, true, options->period);
	return end(chain, ret);
}

static int
secondary_main(const struct options *options)
{
	struct chain *chain = chain_attach();
	int ret;

	if (chain == NULL || stages_take(chain, options->run) != 0)
		return 1;
	stages_place(options->run, options->idle_us);
	launch(chain);
	say("stages taken");
	ret = run(chain, false, 0);
	say("stages done");
	return ret;
}

int
main(int argc, char **argv)
{
	int used = rte_eal_init(argc, argv), ret;
	struct options options;
	bool primary;

	if (used < 0)
		return EXIT_FAILURE; /* the EAL has told why */
	primary = rte_eal_process_type() == RTE_PROC_PRIMARY;
	handle_signals();
	ret = options_parse(argc - used, argv + used, primary, &options);
	if (ret == 0)
		ret = primary ? primary_main(&options) : secondary_main(&options);
	else
		ret = ret > 0 ? 0 : 2;
	rte_eal_cleanup();
	return ret;
}

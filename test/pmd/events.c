/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdatomic.h>

#include "events.h"
#include "harness.h"

#define QUIET_MS 150

static const enum rte_eth_event_type watched[] = {
	RTE_ETH_EVENT_INTR_LSC, RTE_ETH_EVENT_INTR_RESET, RTE_ETH_EVENT_INTR_RMV,
};

static struct {
	atomic_uint count[RTE_ETH_EVENT_MAX];
	void (*act[RTE_ETH_EVENT_MAX])(uint16_t port);
} events[RTE_MAX_ETHPORTS];

void
fault_add(const char *text)
{
	char error[256];

	CHECK_MSG(vmlx4_fault_add(text, error, sizeof(error)) == 0, "%s", error);
}

static int
on_event(uint16_t port, enum rte_eth_event_type type, void *arg, void *result)
{
	void (*act)(uint16_t port) = events[port].act[type];

	(void)arg;
	(void)result;
	events[port].act[type] = NULL;
	if (act != NULL)
		act(port);
	atomic_fetch_add(&events[port].count[type], 1);
	return 0;
}

void
events_watch(uint16_t port)
{
	unsigned int i;

	for (i = 0; i < RTE_DIM(watched); i++) {
		atomic_store(&events[port].count[watched[i]], 0);
		events[port].act[watched[i]] = NULL;
		CHECK_OK(rte_eth_dev_callback_register(port, watched[i], on_event, NULL));
	}
}

unsigned int
events_of(uint16_t port, enum rte_eth_event_type type)
{
	return atomic_load(&events[port].count[type]);
}

void
events_quiet(void)
{
	unsigned int i;

	for (i = 0; i < QUIET_MS / 10; i++) {
		settle();
		sleep_ms(10);
	}
}

void
events_act(uint16_t port, enum rte_eth_event_type type, void (*act)(uint16_t port))
{
	events[port].act[type] = act;
}

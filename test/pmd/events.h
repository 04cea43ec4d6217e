/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TEST_PMD_EVENTS_H_
#define TEST_PMD_EVENTS_H_

/* What a port tells its application, counted; and faults by their text. */

#include <rte_ethdev.h>

/* Add a fault; fails with what is wrong with it. */
void fault_add(const char *text);

/* Count LSC, RMV and RESET events of the port from now on. */
void events_watch(uint16_t port);
unsigned int events_of(uint16_t port, enum rte_eth_event_type type);
/* Longer than anything of the driver is put off: nothing more is to come. */
void events_quiet(void);

/*
 * What to do in the next event of the type, in EAL's interrupt thread; once. The
 * count goes up when it is done.
 */
void events_act(uint16_t port, enum rte_eth_event_type type, void (*act)(uint16_t port));

#endif /* TEST_PMD_EVENTS_H_ */

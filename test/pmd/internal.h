/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TEST_PMD_INTERNAL_H_
#define TEST_PMD_INTERNAL_H_

/* Between the files of the harness. */

#include <stdbool.h>

void eal_start(const char *megabytes);
void eal_stop(void);
void test_running(const char *name);
void pools_release_all(void);
void ports_close_all(void);
void captures_stop(void);
void wire_stats_begin(void);
/* Descriptors of the process; also listed. */
unsigned int fds_count(bool show);

#endif /* TEST_PMD_INTERNAL_H_ */

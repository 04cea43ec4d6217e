/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef EXAMPLES_MESSAGES_H_
#define EXAMPLES_MESSAGES_H_

/* Messages whose contents tell their number. */

#include <stdint.h>

void fill_message(uint8_t *bytes, unsigned long size, unsigned long number);
/* One of another length or content ends the program. */
void check_message(const uint8_t *bytes, uint32_t length, unsigned long size, unsigned long number);

#endif /* EXAMPLES_MESSAGES_H_ */

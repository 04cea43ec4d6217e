/* SPDX-License-Identifier: BSD-3-Clause */

#include <inttypes.h>
#include <string.h>

#include "messages.h"
#include "program.h"

void
fill_message(uint8_t *bytes, uint64_t size, uint64_t number)
{
	memset(bytes, (int)(number % 251), size);
}

void
check_message(const uint8_t *bytes, uint32_t length, uint64_t size, uint64_t number)
{
	uint32_t i;

	for (i = 0; i < size && bytes[i] == number % 251; i++)
		;
	if (length != size || i != size)
		die(1, "message %" PRIu64 " is of %u bytes, byte %u is wrong", number, length, i);
}

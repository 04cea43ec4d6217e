/* SPDX-License-Identifier: BSD-3-Clause */

#include <err.h>
#include <string.h>

#include "messages.h"

void
fill_message(uint8_t *bytes, unsigned long size, unsigned long number)
{
	memset(bytes, (int)(number % 251), size);
}

void
check_message(const uint8_t *bytes, uint32_t length, unsigned long size, unsigned long number)
{
	uint32_t i;

	for (i = 0; i < size && bytes[i] == number % 251; i++)
		;
	if (length != size || i != size)
		errx(1, "message %lu is of %u bytes, byte %u is wrong", number, length, i);
}

/* SPDX-License-Identifier: BSD-3-Clause */

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hw.h"
#include "unknowns.h"

const struct vmlx4_unknowns vmlx4_unknown_defaults = {
#define VMLX4_UNKNOWN_DEFAULT(name, value, least, most, text) .name = (value),
	VMLX4_UNKNOWNS(VMLX4_UNKNOWN_DEFAULT)
#undef VMLX4_UNKNOWN_DEFAULT
};

static const struct vmlx4_unknown table[] = {
#define VMLX4_UNKNOWN_ENTRY(name, value, least, most, text) \
	{ #name, (value), (least), (most), (text), offsetof(struct vmlx4_unknowns, name) },
	VMLX4_UNKNOWNS(VMLX4_UNKNOWN_ENTRY)
#undef VMLX4_UNKNOWN_ENTRY
};

const struct vmlx4_unknown *
vmlx4_unknown_get(unsigned int index)
{
	return index < sizeof(table) / sizeof(table[0]) ? &table[index] : NULL;
}

static const struct vmlx4_unknown *
find(const char *name, size_t length)
{
	const struct vmlx4_unknown *unknown;
	unsigned int i;

	for (i = 0; (unknown = vmlx4_unknown_get(i)) != NULL; i++)
		if (strlen(unknown->name) == length && memcmp(unknown->name, name, length) == 0)
			return unknown;
	return NULL;
}

int
vmlx4_unknown_set(struct vmlx4_unknowns *unknowns, const char *text, char *error,
	size_t error_size)
{
	const char *equals = strchr(text, '=');
	const struct vmlx4_unknown *unknown;
	unsigned long long number;
	unsigned int value;
	char *end;

	if (equals == NULL) {
		snprintf(error, error_size, "write NAME=VALUE (see \"vmlx4 unknowns\")");
		return -EINVAL;
	}
	unknown = find(text, (size_t)(equals - text));
	if (unknown == NULL) {
		snprintf(error, error_size, "there is no such name: see \"vmlx4 unknowns\"");
		return -EINVAL;
	}
	errno = 0;
	number = strtoull(equals + 1, &end, 0);
	/* strtoull() takes a sign and leading blanks too. */
	if (isdigit((unsigned char)equals[1]) == 0 || *end != '\0' || errno != 0 ||
			number < unknown->least || number > unknown->most) {
		snprintf(error, error_size, "give %s a number from %u to %u", unknown->name,
			unknown->least, unknown->most);
		return -EINVAL;
	}
	value = (unsigned int)number;
	memcpy((char *)unknowns + unknown->offset, &value, sizeof(value));
	return 0;
}

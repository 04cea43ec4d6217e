/* SPDX-License-Identifier: BSD-3-Clause */

/* The text of options that the launcher hands to the library. */

#include <stdlib.h>

#include "fuzz.h"
#include "options.h"

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct vmlx4_options options;
	char error[512] = "";
	char *text = malloc(size + 1);

	if (text == NULL)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	/* Refused means that the cure was told, in one line. */
	if (vmlx4_options_parse(text, &options, error, sizeof(error)) < 0 &&
			(error[0] == '\0' || strchr(error, '\n') != NULL))
		abort();
	free(text);
	return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */

/*
 *	replay FILE…
 *
 * Runs the inputs of a corpus, without libFuzzer: for the builds that have none.
 */

#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"

int
main(int argc, char **argv)
{
	uint8_t *data = malloc(1 << 20);
	int i;

	if (data == NULL || LLVMFuzzerInitialize(&argc, &argv) != 0)
		return 2;
	for (i = 1; i < argc; i++) {
		FILE *file = fopen(argv[i], "rb");
		uint8_t *exact;
		size_t size;

		if (file == NULL) {
			perror(argv[i]);
			return 2;
		}
		size = fread(data, 1, 1 << 20, file);
		fclose(file);
		/* Of its size, so that a sanitizer sees what reads behind it. */
		exact = malloc(size);
		if (exact == NULL)
			return 2;
		memcpy(exact, data, size);
		LLVMFuzzerTestOneInput(exact, size);
		free(exact);
	}
	free(data);
	printf("%d inputs\n", argc - 1);
	return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef FUZZ_H_
#define FUZZ_H_

/*
 * What the fuzz targets share. Each is a file with the two functions that
 * libFuzzer calls; replay.c calls them for the files of a corpus.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The input, taken from the front. */
struct input {
	const uint8_t *at;
	size_t left;
};

static inline uint8_t
take8(struct input *in)
{
	if (in->left == 0)
		return 0;
	in->left--;
	return *in->at++;
}

static inline uint16_t
take16(struct input *in)
{
	uint8_t low = take8(in);

	return (uint16_t)(low | take8(in) << 8);
}

/* At most size bytes; how many there were. */
static inline size_t
take(struct input *in, void *to, size_t size)
{
	if (size > in->left)
		size = in->left;
	memcpy(to, in->at, size);
	in->at += size;
	in->left -= size;
	return size;
}

/*
 * Addresses cannot stand in a corpus. A word whose upper half is this stands for
 * an address in the arena: the lower half says where.
 */
#define ARENA_MARK 0xa5a5a5a5u

#endif /* FUZZ_H_ */

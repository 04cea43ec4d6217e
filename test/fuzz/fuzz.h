/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef FUZZ_H_
#define FUZZ_H_

/*
 * What the fuzz targets share. Each is a file with the two functions that
 * libFuzzer calls; replay.c calls them for the files of a corpus.
 */

#include <endian.h>
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

/* Those words of a WQE, big endian, become addresses in an arena of so many bytes. */
static inline void
place_in_wqe(uint8_t *wqe, size_t bytes, const uint8_t *arena, uint32_t arena_bytes)
{
	size_t at;

	for (at = 0; at + 8 <= bytes; at += 8) {
		uint64_t word;

		memcpy(&word, wqe + at, 8);
		word = be64toh(word);
		if (word >> 32 != ARENA_MARK)
			continue;
		word = htobe64((uintptr_t)arena + (uint32_t)word % arena_bytes);
		memcpy(wqe + at, &word, 8);
	}
}

#endif /* FUZZ_H_ */

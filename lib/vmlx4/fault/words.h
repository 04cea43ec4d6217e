/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VMLX4_FAULT_WORDS_H_
#define VMLX4_FAULT_WORDS_H_

/* Between the two halves of the parser: lines (spec.c) and words (words.c). */

#include <string.h>

#include "spec.h"

struct vmlx4_fault_parser {
	struct vmlx4_fault_spec spec;  /* of the fault at hand */
	const char *place;
	unsigned int number;           /* of the line */
	const char *subject;           /* its name */
	uint64_t seen;                 /* one bit per entry of the table of words */
	uint64_t seed;
	char *error;
	size_t error_size;
};

/* "faults: line 3: "errno=EFOO": cure"; -EINVAL. */
int vmlx4_fault_bad(struct vmlx4_fault_parser *parser, const char *word, const char *cure, ...)
	__attribute__((format(printf, 3, 4)));

/* Take one word behind the subject; *when: it only says when the fault happens. */
int vmlx4_fault_word(struct vmlx4_fault_parser *parser, const char *word, bool *when);

/* -1: no such subject. */
int vmlx4_fault_subject_find(const char *name);

/* 0 to max, decimal or with 0x; false: none. */
bool vmlx4_fault_number(const char *text, uint64_t max, uint64_t *number);

/* 0: no such name. */
int vmlx4_fault_errno_find(const char *name);

#endif /* VMLX4_FAULT_WORDS_H_ */

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

enum vmlx4_fault_word_value { VMLX4_FAULT_NONE, VMLX4_FAULT_NEEDED, VMLX4_FAULT_OPTIONAL };

/* A word that may stand behind some subjects. */
struct vmlx4_fault_word {
	const char *name;
	enum vmlx4_fault_word_value value;
	unsigned int subjects;         /* one bit each */
	bool when;                     /* it only says when the fault happens */
	int (*parse)(struct vmlx4_fault_parser *parser, const char *word, const char *value);
};

extern const struct vmlx4_fault_word vmlx4_fault_words_which[], vmlx4_fault_words_what[];
extern const unsigned int vmlx4_fault_words_which_count, vmlx4_fault_words_what_count;

/* Take one word behind the subject; *when: it only says when the fault happens. */
int vmlx4_fault_take_word(struct vmlx4_fault_parser *parser, const char *word, bool *when);

/* -1: no such subject. */
int vmlx4_fault_subject_find(const char *name);

/* 0 to max, decimal or with 0x; false: none. */
bool vmlx4_fault_number(const char *text, uint64_t max, uint64_t *number);

/* With one of the units behind it (the last of names is NULL); false: none. */
bool vmlx4_fault_scaled(const char *text, const char *const names[], const uint64_t factors[],
	uint64_t *number);

/* Values of a word; -EINVAL when it is none. */
int vmlx4_fault_time_of(struct vmlx4_fault_parser *parser, const char *word, const char *value,
	uint64_t *ns);
int vmlx4_fault_number_of(struct vmlx4_fault_parser *parser, const char *word,
	const char *value, uint64_t min, uint64_t max, uint64_t *number);

/* 0: no such name. */
int vmlx4_fault_errno_find(const char *name);

#endif /* VMLX4_FAULT_WORDS_H_ */

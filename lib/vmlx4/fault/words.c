/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "words.h"

static const char * const subjects[VMLX4_FAULT_SUBJECTS] = {
	[VMLX4_FAULT_COMMAND] = "command",
	[VMLX4_FAULT_MEMORY] = "memory",
	[VMLX4_FAULT_WQE] = "wqe",
	[VMLX4_FAULT_CQE] = "cqe",
	[VMLX4_FAULT_FRAME] = "frame",
	[VMLX4_FAULT_SLOW] = "slow",
	[VMLX4_FAULT_LINK] = "link",
	[VMLX4_FAULT_DEVICE] = "device",
	[VMLX4_FAULT_QP] = "qp",
	[VMLX4_FAULT_CQ] = "cq",
	[VMLX4_FAULT_CLOCK] = "clock",
};

int
vmlx4_fault_subject_find(const char *name)
{
	int i;

	for (i = 0; i < VMLX4_FAULT_SUBJECTS; i++)
		if (strcmp(subjects[i], name) == 0)
			return i;
	return -1;
}

/* ---- values ---- */

bool
vmlx4_fault_number(const char *text, uint64_t max, uint64_t *number)
{
	char *end;

	*number = 0;
	if (text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	*number = strtoull(text, &end, text[0] == '0' && text[1] == 'x' ? 16 : 10);
	return errno == 0 && *end == '\0' && *number <= max;
}

/* A number with one of the units behind it. */
bool
vmlx4_fault_scaled(const char *text, const char *const names[], const uint64_t factors[],
	uint64_t *number)
{
	char digits[24];
	size_t length = strspn(text, "0123456789"), i;

	if (length == 0 || length >= sizeof(digits))
		return false;
	memcpy(digits, text, length);
	digits[length] = '\0';
	for (i = 0; names[i] != NULL && strcmp(names[i], text + length) != 0; i++)
		;
	if (names[i] == NULL || !vmlx4_fault_number(digits, INT64_MAX / factors[i], number))
		return false;
	*number *= factors[i];
	return true;
}

int
vmlx4_fault_time_of(struct vmlx4_fault_parser *parser, const char *word, const char *value,
	uint64_t *ns)
{
	static const char * const names[] = { "ns", "us", "ms", "s", NULL };
	static const uint64_t factors[] = { 1, 1000, 1000000, 1000000000 };

	if (!vmlx4_fault_scaled(value, names, factors, ns))
		return vmlx4_fault_bad(parser, word, "give a whole number and a unit: ns, us, ms "
			"or s");
	return 0;
}

int
vmlx4_fault_number_of(struct vmlx4_fault_parser *parser, const char *word, const char *value,
	uint64_t min, uint64_t max, uint64_t *number)
{
	if (!vmlx4_fault_number(value, max, number) || *number < min)
		return vmlx4_fault_bad(parser, word, "give a number from %llu to %llu",
			(unsigned long long)min, (unsigned long long)max);
	return 0;
}

/* ---- words ---- */

static const struct vmlx4_fault_word *
word_get(unsigned int index)
{
	if (index < vmlx4_fault_words_which_count)
		return &vmlx4_fault_words_which[index];
	index -= vmlx4_fault_words_which_count;
	return index < vmlx4_fault_words_what_count ? &vmlx4_fault_words_what[index] : NULL;
}

/* What the subject takes, for a word that it does not take. */
static int
not_taken(struct vmlx4_fault_parser *parser, const char *word)
{
	const struct vmlx4_fault_word *entry;
	char list[256];
	unsigned int i;
	size_t used = 0;

	list[0] = '\0';
	for (i = 0; (entry = word_get(i)) != NULL; i++)
		if ((entry->subjects & 1u << parser->spec.subject) != 0 && used < sizeof(list))
			used += snprintf(list + used, sizeof(list) - used, " %s%s", entry->name,
				entry->value == VMLX4_FAULT_NEEDED ? "=" : "");
	return vmlx4_fault_bad(parser, word, "%s takes%s%s", parser->subject,
		parser->spec.subject == VMLX4_FAULT_COMMAND ? " the name of a command and" : "",
		list);
}

/* "reg_mr" of a command. */
static bool
take_kind(struct vmlx4_fault_parser *parser, const char *word)
{
	const struct vmlx4_fault_command *command;
	unsigned int i;

	if (parser->spec.subject != VMLX4_FAULT_COMMAND || parser->spec.command != NULL)
		return false;
	for (i = 0; (command = vmlx4_fault_command_get(i)) != NULL; i++)
		if (strcmp(command->name, word) == 0)
			parser->spec.command = command;
	return parser->spec.command != NULL;
}

int
vmlx4_fault_take_word(struct vmlx4_fault_parser *parser, const char *word, bool *when)
{
	const struct vmlx4_fault_word *entry;
	size_t length = strcspn(word, "=");
	const char *value = word[length] == '=' ? word + length + 1 : NULL;
	unsigned int i;

	*when = false;
	if (take_kind(parser, word))
		return 0;
	for (i = 0; (entry = word_get(i)) != NULL; i++)
		if (strlen(entry->name) == length && memcmp(entry->name, word, length) == 0)
			break;
	if (entry == NULL || (entry->subjects & 1u << parser->spec.subject) == 0)
		return not_taken(parser, word);
	if (entry->value == VMLX4_FAULT_NONE && value != NULL)
		return vmlx4_fault_bad(parser, word, "write %s alone", entry->name);
	if (entry->value == VMLX4_FAULT_NEEDED && value == NULL)
		return vmlx4_fault_bad(parser, word, "the value is missing: write %s=VALUE",
			entry->name);
	if ((parser->seen & UINT64_C(1) << i) != 0)
		return vmlx4_fault_bad(parser, word, "give it once");
	parser->seen |= UINT64_C(1) << i;
	*when = entry->when;
	return entry->parse(parser, word, value);
}

/* SPDX-License-Identifier: BSD-3-Clause */

#include <argp.h>
#include <err.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"

#define TEXT_MAX 160

static const struct {
	char letter;
	const char *value, *help;
	size_t member;
} numbers[] = {
	{ 'p', "PORT", "of the device", offsetof(struct options, port) },
	{ 'n', "COUNT", "how many", offsetof(struct options, count) },
	{ 's', "BYTES", "how long each one is", offsetof(struct options, size) },
	{ 'q', "COUNT", "connections", offsetof(struct options, qps) },
};

#define NUMBERS (sizeof(numbers) / sizeof(numbers[0]))

static struct option_number *
member_of(struct options *options, size_t i)
{
	return (struct option_number *)(void *)((char *)options + numbers[i].member);
}

static void
take_number(struct option_number *number, char letter, const char *text)
{
	char *end;

	errno = 0;
	number->value = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end != '\0' || errno != 0 ||
	    number->value < number->min || number->value > number->max)
		errx(2, "-%c '%s': want a number, %lu to %lu", letter, text, number->min,
		     number->max);
}

/* ---- the words: a mode, and what goes with it ---- */

/* "both, server SOCKET" */
static void
list_modes(const struct options *options, const char *between, char list[TEXT_MAX])
{
	int i;

	list[0] = '\0';
	for (i = 0; i < MODES_MAX && options->modes[i] != NULL; i++)
		snprintf(list + strlen(list), TEXT_MAX - strlen(list), "%s%s",
			 i != 0 ? between : "", options->modes[i]);
}

static void
take_mode(struct options *options, const char *word, const struct argp_state *state)
{
	char list[TEXT_MAX];
	const char *mode;
	int i;

	for (i = 0; i < MODES_MAX && (mode = options->modes[i]) != NULL; i++)
		if (strlen(word) == strcspn(mode, " ") && strncmp(word, mode, strlen(word)) == 0)
			options->mode = i + 1;
	list_modes(options, ", ", list);
	if (options->mode == 0)
		argp_error(state, "'%s': want one of: %s", word, list);
}

/* "server SOCKET" does. */
static bool
wants_second(const struct options *options)
{
	return options->mode != 0 && strchr(options->modes[options->mode - 1], ' ') != NULL;
}

static void
take_word(struct options *options, const char *word, const struct argp_state *state)
{
	if (state->arg_num == 0 && options->modes[0] != NULL)
		take_mode(options, word, state);
	else if (state->arg_num == 1 && wants_second(options))
		options->second = word;
	else
		argp_error(state, "'%s' is one argument too many", word);
}

static void
check_words(const struct options *options, const struct argp_state *state)
{
	char list[TEXT_MAX];

	list_modes(options, ", ", list);
	if (options->modes[0] != NULL && options->mode == 0)
		argp_error(state, "want one of: %s", list);
	if (wants_second(options) && options->second == NULL)
		argp_error(state, "'%s' lacks its second word",
			   options->modes[options->mode - 1]);
}

static error_t
take(int key, char *text, struct argp_state *state)
{
	struct options *options = state->input;
	size_t i;

	switch (key) {
	case 'd':
		options->device = text;
		return 0;
	case ARGP_KEY_ARG:
		take_word(options, text, state);
		return 0;
	case ARGP_KEY_END:
		check_words(options, state);
		return 0;
	}
	for (i = 0; i < NUMBERS; i++) {
		if (numbers[i].letter == key) {
			take_number(member_of(options, i), numbers[i].letter, text);
			return 0;
		}
	}
	return ARGP_ERR_UNKNOWN;
}

void
parse_options(struct options *options, int argc, char **argv)
{
	char modes[TEXT_MAX], help[NUMBERS][TEXT_MAX];
	struct argp_option known[NUMBERS + 2] = {
		{ .key = 'd', .arg = "NAME", .doc = "the verbs device, the first one if not told" },
	};
	struct argp argp = { .options = known, .parser = take, .doc = options->about };
	const struct option_number *number;
	size_t i, n = 1;

	for (i = 0; i < NUMBERS; i++) {
		number = member_of(options, i);
		if (number->max == 0)
			continue;
		snprintf(help[i], TEXT_MAX, "%s: %lu to %lu, %lu if not told", numbers[i].help,
			 number->min, number->max, number->value);
		known[n++] = (struct argp_option){ .key = numbers[i].letter,
			.arg = numbers[i].value, .doc = help[i] };
	}
	list_modes(options, "\n", modes);
	if (options->modes[0] != NULL)
		argp.args_doc = modes;
	argp_err_exit_status = 2;
	if (strrchr(argv[0], '/') != NULL)
		argv[0] = strrchr(argv[0], '/') + 1; /* complaints begin with it */
	argp_parse(&argp, argc, argv, 0, NULL, options);
}

/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "words.h"

#define WITHIN_DEFAULT 1000000u /* ns: nothing is withheld for longer than that */
#define QUEUE_DEFAULT 64u
#define WORD_SHOWN 64
#define FILE_MAX (1 << 20)

int
vmlx4_fault_bad(struct vmlx4_fault_parser *parser, const char *word, const char *cure, ...)
{
	char text[400];
	va_list args;

	va_start(args, cure);
	vsnprintf(text, sizeof(text), cure, args);
	va_end(args);
	snprintf(parser->error, parser->error_size, "faults: %s %u: \"%.*s%s\": %s", parser->place,
		parser->number, WORD_SHOWN, word, strlen(word) > WORD_SHOWN ? "…" : "", text);
	return -EINVAL;
}

/* ---- what a whole fault must have ---- */

static int
complete_frame(struct vmlx4_fault_parser *parser)
{
	const struct vmlx4_fault_spec *spec = &parser->spec;
	bool damage = spec->action == VMLX4_FAULT_CORRUPT || spec->action == VMLX4_FAULT_TRUNCATE;

	if (spec->directions == 0)
		return vmlx4_fault_bad(parser, "frame", "say which: frame tx (leaves the port) or "
			"frame rx (arrives), or both");
	if (spec->action == VMLX4_FAULT_NOTHING)
		return vmlx4_fault_bad(parser, "frame", "say what happens to it: drop, corrupt, "
			"truncate=BYTES, reorder or duplicate");
	if (spec->bit >= 0 && spec->byte >= 0)
		return vmlx4_fault_bad(parser, "byte=", "give one of bit= and byte=");
	if ((spec->bit >= 0 || spec->byte >= 0) && spec->action != VMLX4_FAULT_CORRUPT)
		return vmlx4_fault_bad(parser, spec->bit >= 0 ? "bit=" : "byte=",
			"goes with corrupt only");
	if (spec->fcs_good && !damage)
		return vmlx4_fault_bad(parser, "fcs=good", "goes with corrupt and truncate only");
	return 0;
}

static int
complete_cqe(struct vmlx4_fault_parser *parser)
{
	if (parser->spec.action == VMLX4_FAULT_NOTHING)
		return vmlx4_fault_bad(parser, "cqe", "say what happens to it: late=TIME or "
			"coalesce=N");
	return 0;
}

static int
complete_link(struct vmlx4_fault_parser *parser)
{
	struct vmlx4_fault_spec *spec = &parser->spec;

	if (spec->action == VMLX4_FAULT_NOTHING)
		return vmlx4_fault_bad(parser, "link", "say what happens to it: down");
	if (spec->period == 0 && spec->count != UINT64_MAX)
		return vmlx4_fault_bad(parser, "count=", "give every=TIME with it");
	if (spec->period == 0)
		return 0;
	if (spec->trigger == VMLX4_FAULT_AT_COMMAND || spec->trigger == VMLX4_FAULT_AT_FRAME)
		return vmlx4_fault_bad(parser, "every=", "starts at a time: give at=TIME");
	if (spec->duration == 0 || spec->duration >= spec->period)
		return vmlx4_fault_bad(parser, "every=", "give for=TIME with it, less than every=");
	return 0;
}

static int
complete_slow(struct vmlx4_fault_parser *parser)
{
	struct vmlx4_fault_spec *spec = &parser->spec;

	if (spec->action == VMLX4_FAULT_NOTHING || spec->per == 0)
		return vmlx4_fault_bad(parser, "slow", "give frames=N and per=TIME: so many are "
			"received in that time");
	return 0;
}

static int
complete(struct vmlx4_fault_parser *parser)
{
	struct vmlx4_fault_spec *spec = &parser->spec;
	bool nothing = spec->action == VMLX4_FAULT_NOTHING;

	switch (spec->subject) {
	case VMLX4_FAULT_COMMAND:
		if (nothing)
			return vmlx4_fault_bad(parser, "command", "give errno=NAME");
		return 0;
	case VMLX4_FAULT_MEMORY:
		if (spec->above == UINT64_MAX)
			return vmlx4_fault_bad(parser, "memory", "give above=BYTES");
		if (nothing)
			spec->err = ENOMEM;
		spec->action = VMLX4_FAULT_ERRNO;
		/* How it is logged, to be hit again whatever is registered then. */
		snprintf(spec->text, sizeof(spec->text), "command reg_mr errno=%d", spec->err);
		return 0;
	case VMLX4_FAULT_WQE:
		if (spec->directions == 0)
			return vmlx4_fault_bad(parser, "wqe", "say which: wqe tx or wqe rx");
		if (nothing)
			return vmlx4_fault_bad(parser, "wqe", "give syndrome=NUMBER");
		return 0;
	case VMLX4_FAULT_CQE:
		return complete_cqe(parser);
	case VMLX4_FAULT_FRAME:
		return complete_frame(parser);
	case VMLX4_FAULT_SLOW:
		return complete_slow(parser);
	case VMLX4_FAULT_LINK:
		return complete_link(parser);
	default:
		if (nothing)
			return vmlx4_fault_bad(parser, parser->subject, "say what happens to it: "
				"%s", spec->subject == VMLX4_FAULT_DEVICE ? "fatal or remove" :
				spec->subject == VMLX4_FAULT_QP ?
				"fatal, request-error or access-error" :
				spec->subject == VMLX4_FAULT_CQ ? "error" : "missing or stuck");
		return 0;
	}
}

/* ---- a fault, word by word ---- */

static void
keep_word(struct vmlx4_fault_spec *spec, const char *word)
{
	size_t used = strlen(spec->text);

	/* It fits: the whole fault did. */
	snprintf(spec->text + used, sizeof(spec->text) - used, "%s%s", used > 0 ? " " : "", word);
}

static void
spec_init(struct vmlx4_fault_spec *spec, uint64_t seed)
{
	memset(spec, 0, sizeof(*spec));
	spec->seed = seed;
	spec->count = UINT64_MAX;
	spec->above = UINT64_MAX;
	spec->vendor = -1;
	spec->bit = -1;
	spec->byte = -1;
	spec->within = WITHIN_DEFAULT;
	spec->queue = QUEUE_DEFAULT;
}

static int
parse_seed(struct vmlx4_fault_parser *parser, const char *word, const char *rest)
{
	if (!vmlx4_fault_number(word + strlen("seed="), UINT64_MAX, &parser->seed))
		return vmlx4_fault_bad(parser, word, "give a number");
	if (rest != NULL)
		return vmlx4_fault_bad(parser, rest, "the seed stands alone, before the faults "
			"that it is for");
	return 0;
}

/* One line, taken to pieces. */
static int
parse_line(struct vmlx4_fault_parser *parser, char *line,
	int (*add)(void *arg, const struct vmlx4_fault_spec *spec), void *arg)
{
	char *rest = NULL, *word = strtok_r(line, " \t\r\v\f", &rest);
	struct vmlx4_fault_spec *spec = &parser->spec;
	int subject;

	if (word == NULL)
		return 0;
	if (strncmp(word, "seed=", 5) == 0)
		return parse_seed(parser, word, strtok_r(NULL, " \t\r\v\f", &rest));
	subject = vmlx4_fault_subject_find(word);
	if (subject < 0)
		return vmlx4_fault_bad(parser, word, "there is no such fault: start with command, "
			"memory, wqe, cqe, frame, slow, link, device, qp, cq, clock or seed=");
	spec_init(spec, parser->seed);
	spec->subject = subject;
	parser->subject = word;
	parser->seen = 0;
	keep_word(spec, word);
	while ((word = strtok_r(NULL, " \t\r\v\f", &rest)) != NULL) {
		bool when;

		if (vmlx4_fault_take_word(parser, word, &when) < 0)
			return -EINVAL;
		if (!when)
			keep_word(spec, word);
	}
	if (complete(parser) < 0)
		return -EINVAL;
	return add != NULL ? add(arg, spec) : 0;
}

int
vmlx4_fault_parse(const char *text, const char *place, uint64_t seed,
	int (*add)(void *arg, const struct vmlx4_fault_spec *spec), void *arg,
	char *error, size_t error_size)
{
	struct vmlx4_fault_parser parser = {
		.place = place,
		.number = 1,
		.seed = seed,
		.error = error,
		.error_size = error_size,
	};
	bool by_line = strcmp(place, "line") == 0;

	while (*text != '\0') {
		size_t length = strcspn(text, "#;\n");
		char line[VMLX4_FAULT_TEXT];
		int ret;

		snprintf(line, sizeof(line), "%.*s", (int)(length < sizeof(line) ? length :
			sizeof(line) - 1), text);
		if (length >= sizeof(line))
			return vmlx4_fault_bad(&parser, line, "longer than %d characters",
				VMLX4_FAULT_TEXT - 1);
		ret = parse_line(&parser, line, add, arg);
		if (ret < 0)
			return ret;
		text += length;
		if (*text == '#') /* to the end of the line */
			text += strcspn(text, "\n");
		if (*text == '\n' || (*text == ';' && !by_line))
			parser.number++;
		text += *text != '\0';
	}
	return 0;
}

/* ---- where the text comes from ---- */

static char *
file_text(FILE *file)
{
	char *text = malloc(FILE_MAX + 1);
	size_t length;

	if (text == NULL)
		return NULL;
	length = fread(text, 1, FILE_MAX + 1, file);
	if (length > FILE_MAX || ferror(file) != 0 || memchr(text, '\0', length) != NULL) {
		free(text);
		return NULL;
	}
	text[length] = '\0';
	return text;
}

char *
vmlx4_fault_text(const char *argument, const char **place, char *error, size_t error_size)
{
	FILE *file = fopen(argument, "re");
	char *text;

	*place = "line";
	if (file == NULL && strpbrk(argument, " =;") != NULL) {
		*place = "fault";
		text = strdup(argument);
		if (text == NULL)
			snprintf(error, error_size, "faults: out of memory");
		return text;
	}
	if (file == NULL) {
		snprintf(error, error_size, "faults: \"%.*s\": %s: give a file, or faults such as "
			"\"command reg_mr nth=3 errno=ENOMEM\"", 2 * WORD_SHOWN, argument,
			strerror(errno));
		return NULL;
	}
	text = file_text(file);
	fclose(file);
	if (text == NULL)
		snprintf(error, error_size, "faults: \"%.*s\": cannot be read as text of at most "
			"%d bytes: see \"vmlx4 faults\"", 2 * WORD_SHOWN, argument, FILE_MAX);
	return text;
}

const char vmlx4_fault_help[] =
"A fault is a line of a file, or stands between semicolons of an argument; # starts\n"
"a comment. It says to what it happens, to which of them, and what happens:\n"
"\n"
"  command [NAME] errno=E           the command, e.g. reg_mr, fails\n"
"  memory above=BYTES [errno=E]     reg_mr fails (ENOMEM) beyond so many bytes in all\n"
"  wqe tx|rx syndrome=S [vendor=V]  the work request completes with an error\n"
"  cqe [tx|rx] late=TIME            the completion shows later, those behind it too\n"
"  cqe [tx|rx] coalesce=N           N completions show at once\n"
"  frame tx|rx drop                 lost behind (tx) or before (rx) the port\n"
"  frame tx|rx corrupt [bit=N|byte=N] [fcs=good]\n"
"                                   lost as a bad FCS; with fcs=good it arrives so\n"
"  frame tx|rx truncate=BYTES [fcs=good]\n"
"  frame tx|rx reorder[=N]          overtaken by the N (1) behind it\n"
"  frame tx|rx duplicate[=N]        followed by N (1) copies\n"
"  slow frames=N per=TIME [queue=N] the port receives no faster; 64 frames wait\n"
"  link down [for=TIME]             and up again\n"
"  device fatal [for=TIME]          no command works any more, nor open()\n"
"  device remove [for=TIME]         and there is no device nor interface any more\n"
"  qp fatal|request-error|access-error\n"
"                                   the QP ends, with its asynchronous event\n"
"  cq error                         the CQ ends, with its asynchronous event\n"
"  clock missing|stuck              not offered, or it stands still\n"
"  seed=N                           for p= and corrupt of the lines below (default: --seed)\n"
"\n"
"Which ones: port=P (all but command, memory, cq, clock and device), qpn=N (wqe, cqe,\n"
"qp), cqn=N (cqe, cq), match=OFFSET:BYTES[/MASK] in hexadecimal (frame).\n"
"\n"
"When, counted from 1 among those: nth=K[,K…], every=N or p=PROBABILITY, and\n"
"count=N, no more than that; without any, each. What is withheld (coalesce, reorder)\n"
"is let go after within=TIME (1ms). slow and clock missing hold from the start; link,\n"
"device, qp, cq and clock take at=TIME, command=N or frame=N (the N-th of all; of\n"
"port=P if given), and link every=TIME and count=N. TIME is a number with ns, us, ms\n"
"or s.\n"
"\n"
"If two faults hit one event the first in the list happens. A log of --faults-log is\n"
"itself a list of faults, which hits the same events again.\n";

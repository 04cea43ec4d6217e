/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>

#include "words.h"

/* The words that say what happens. */

static int
action(struct vmlx4_fault_parser *parser, const char *word, enum vmlx4_fault_action which)
{
	if (parser->spec.action != VMLX4_FAULT_NOTHING)
		return vmlx4_fault_bad(parser, word, "one fault does one thing: write two");
	parser->spec.action = which;
	return 0;
}

static int
parse_errno(struct vmlx4_fault_parser *parser, const char *word, const char *value)
{
	uint64_t number = 0;

	if (action(parser, word, VMLX4_FAULT_ERRNO) < 0)
		return -EINVAL;
	parser->spec.err = vmlx4_fault_errno_find(value);
	if (parser->spec.err == 0 && vmlx4_fault_number(value, 4095, &number))
		parser->spec.err = number;
	if (parser->spec.err == 0)
		return vmlx4_fault_bad(parser, word, "give the name of an error, such as ENOMEM, "
			"or a number from 1 to 4095");
	return 0;
}

static int
parse_syndrome(struct vmlx4_fault_parser *parser, const char *word, const char *value)
{
	uint64_t number;

	if (action(parser, word, VMLX4_FAULT_SYNDROME) < 0 ||
	    vmlx4_fault_number_of(parser, word, value, 1, 255, &number) < 0)
		return -EINVAL;
	parser->spec.syndrome = number;
	return 0;
}

static int
parse_vendor(struct vmlx4_fault_parser *parser, const char *word, const char *value)
{
	uint64_t number;
	int ret = vmlx4_fault_number_of(parser, word, value, 0, 255, &number);

	parser->spec.vendor = number;
	return ret;
}

static int
parse_late(struct vmlx4_fault_parser *parser, const char *word, const char *value)
{
	if (action(parser, word, VMLX4_FAULT_LATE) < 0)
		return -EINVAL;
	return vmlx4_fault_time_of(parser, word, value, &parser->spec.late);
}

static int
parse_n(struct vmlx4_fault_parser *parser, const char *word, const char *value,
	enum vmlx4_fault_action which, uint32_t min, uint32_t max)
{
	uint64_t number = 1;

	if (action(parser, word, which) < 0 ||
	    (value != NULL && vmlx4_fault_number_of(parser, word, value, min, max, &number) < 0))
		return -EINVAL;
	parser->spec.n = number;
	return 0;
}

static int
parse_coalesce(struct vmlx4_fault_parser *parser, const char *word, const char *value)
{
	return parse_n(parser, word, value, VMLX4_FAULT_COALESCE, 2, 65535);
}

static int
parse_truncate(struct vmlx4_fault_parser *parser, const char *word, const char *value)
{
	return parse_n(parser, word, value, VMLX4_FAULT_TRUNCATE, 14, 65535);
}

static int
parse_reorder(struct vmlx4_fault_parser *parser, const char *word, const char *value)
{
	return parse_n(parser, word, value, VMLX4_FAULT_REORDER, 1, 1024);
}

static int
parse_duplicate(struct vmlx4_fault_parser *parser, const char *word, const char *value)
{
	return parse_n(parser, word, value, VMLX4_FAULT_DUPLICATE, 1, 1024);
}

static int
parse_within(struct vmlx4_fault_parser *parser, const char *word, const char *value)
{
	return vmlx4_fault_time_of(parser, word, value, &parser->spec.within);
}

static int
parse_bit(struct vmlx4_fault_parser *parser, const char *word, const char *value)
{
	uint64_t number;
	int ret = vmlx4_fault_number_of(parser, word, value, 0, 65535 * 8 + 7, &number);

	parser->spec.bit = number;
	return ret;
}

static int
parse_byte(struct vmlx4_fault_parser *parser, const char *word, const char *value)
{
	uint64_t number;
	int ret = vmlx4_fault_number_of(parser, word, value, 0, 65535, &number);

	parser->spec.byte = number;
	return ret;
}

static int
parse_fcs(struct vmlx4_fault_parser *parser, const char *word, const char *value)
{
	if (strcmp(value, "good") != 0 && strcmp(value, "bad") != 0)
		return vmlx4_fault_bad(parser, word, "use fcs=bad (the frame is lost, default) or "
			"fcs=good (it arrives so)");
	parser->spec.fcs_good = value[0] == 'g';
	return 0;
}

static int
parse_frames(struct vmlx4_fault_parser *parser, const char *word, const char *value)
{
	return parse_n(parser, word, value, VMLX4_FAULT_RATE, 1, 65535);
}

static int
parse_per(struct vmlx4_fault_parser *parser, const char *word, const char *value)
{
	return vmlx4_fault_time_of(parser, word, value, &parser->spec.per);
}

static int
parse_queue(struct vmlx4_fault_parser *parser, const char *word, const char *value)
{
	uint64_t number;
	int ret = vmlx4_fault_number_of(parser, word, value, 0, 65535, &number);

	parser->spec.queue = number;
	return ret;
}

#define PLAIN_ACTION(name, which) \
	static int \
	parse_##name(struct vmlx4_fault_parser *parser, const char *word, const char *value) \
	{ \
		(void)value; \
		return action(parser, word, which); \
	}

PLAIN_ACTION(drop, VMLX4_FAULT_DROP)
PLAIN_ACTION(corrupt, VMLX4_FAULT_CORRUPT)
PLAIN_ACTION(down, VMLX4_FAULT_DOWN)
PLAIN_ACTION(fatal, VMLX4_FAULT_FATAL)
PLAIN_ACTION(remove, VMLX4_FAULT_REMOVE)
PLAIN_ACTION(request_error, VMLX4_FAULT_REQUEST_ERROR)
PLAIN_ACTION(access_error, VMLX4_FAULT_ACCESS_ERROR)
PLAIN_ACTION(error, VMLX4_FAULT_ERROR)
PLAIN_ACTION(missing, VMLX4_FAULT_MISSING)
PLAIN_ACTION(stuck, VMLX4_FAULT_STUCK)

/* ---- the table ---- */

#define S(subject) (1u << VMLX4_FAULT_##subject)

const struct vmlx4_fault_word vmlx4_fault_words_what[] = {
	{ "errno", VMLX4_FAULT_NEEDED, S(COMMAND) | S(MEMORY), false, parse_errno },
	{ "syndrome", VMLX4_FAULT_NEEDED, S(WQE), false, parse_syndrome },
	{ "vendor", VMLX4_FAULT_NEEDED, S(WQE), false, parse_vendor },
	{ "late", VMLX4_FAULT_NEEDED, S(CQE), false, parse_late },
	{ "coalesce", VMLX4_FAULT_NEEDED, S(CQE), false, parse_coalesce },
	{ "within", VMLX4_FAULT_NEEDED, S(CQE) | S(FRAME), false, parse_within },
	{ "drop", VMLX4_FAULT_NONE, S(FRAME), false, parse_drop },
	{ "corrupt", VMLX4_FAULT_NONE, S(FRAME), false, parse_corrupt },
	{ "bit", VMLX4_FAULT_NEEDED, S(FRAME), false, parse_bit },
	{ "byte", VMLX4_FAULT_NEEDED, S(FRAME), false, parse_byte },
	{ "fcs", VMLX4_FAULT_NEEDED, S(FRAME), false, parse_fcs },
	{ "truncate", VMLX4_FAULT_NEEDED, S(FRAME), false, parse_truncate },
	{ "reorder", VMLX4_FAULT_OPTIONAL, S(FRAME), false, parse_reorder },
	{ "duplicate", VMLX4_FAULT_OPTIONAL, S(FRAME), false, parse_duplicate },
	{ "frames", VMLX4_FAULT_NEEDED, S(SLOW), false, parse_frames },
	{ "per", VMLX4_FAULT_NEEDED, S(SLOW), false, parse_per },
	{ "queue", VMLX4_FAULT_NEEDED, S(SLOW), false, parse_queue },
	{ "down", VMLX4_FAULT_NONE, S(LINK), false, parse_down },
	{ "fatal", VMLX4_FAULT_NONE, S(DEVICE) | S(QP), false, parse_fatal },
	{ "remove", VMLX4_FAULT_NONE, S(DEVICE), false, parse_remove },
	{ "request-error", VMLX4_FAULT_NONE, S(QP), false, parse_request_error },
	{ "access-error", VMLX4_FAULT_NONE, S(QP), false, parse_access_error },
	{ "error", VMLX4_FAULT_NONE, S(CQ), false, parse_error },
	{ "missing", VMLX4_FAULT_NONE, S(CLOCK), false, parse_missing },
	{ "stuck", VMLX4_FAULT_NONE, S(CLOCK), false, parse_stuck },
};
const unsigned int vmlx4_fault_words_what_count =
	sizeof(vmlx4_fault_words_what) / sizeof(vmlx4_fault_words_what[0]);

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
static bool
scaled(const char *text, const char *const names[], const uint64_t factors[], uint64_t *number)
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

/* ---- one function per kind of word ---- */

typedef int word_parse(struct vmlx4_fault_parser *parser, const char *word, const char *value);

static int
time_of(struct vmlx4_fault_parser *parser, const char *word, const char *value, uint64_t *ns)
{
	static const char * const names[] = { "ns", "us", "ms", "s", NULL };
	static const uint64_t factors[] = { 1, 1000, 1000000, 1000000000 };

	if (!scaled(value, names, factors, ns))
		return vmlx4_fault_bad(parser, word, "give a whole number and a unit: ns, us, ms "
			"or s");
	return 0;
}

static int
number_of(struct vmlx4_fault_parser *parser, const char *word, const char *value, uint64_t min,
	uint64_t max, uint64_t *number)
{
	if (!vmlx4_fault_number(value, max, number) || *number < min)
		return vmlx4_fault_bad(parser, word, "give a number from %llu to %llu",
			(unsigned long long)min, (unsigned long long)max);
	return 0;
}

static int
action(struct vmlx4_fault_parser *parser, const char *word, enum vmlx4_fault_action which)
{
	if (parser->spec.action != VMLX4_FAULT_NOTHING)
		return vmlx4_fault_bad(parser, word, "one fault does one thing: write two");
	parser->spec.action = which;
	return 0;
}

static int
parse_tx(struct vmlx4_fault_parser *parser, const char *word, const char *value)
{
	(void)word;
	(void)value;
	parser->spec.directions |= VMLX4_FAULT_DIR_TX;
	return 0;
}

static int
parse_rx(struct vmlx4_fault_parser *parser, const char *word, const char *value)
{
	(void)word;
	(void)value;
	parser->spec.directions |= VMLX4_FAULT_DIR_RX;
	return 0;
}

static int
parse_port(struct vmlx4_fault_parser *parser, const char *word, const char *value)
{
	uint64_t number;
	int ret = number_of(parser, word, value, 1, 2, &number);

	parser->spec.port = number;
	return ret;
}

static int
parse_qpn(struct vmlx4_fault_parser *parser, const char *word, const char *value)
{
	uint64_t number;
	int ret = number_of(parser, word, value, 1, 0xffffff, &number);

	parser->spec.qpn = number;
	return ret;
}

static int
parse_cqn(struct vmlx4_fault_parser *parser, const char *word, const char *value)
{
	uint64_t number;
	int ret = number_of(parser, word, value, 1, 0xffffff, &number);

	parser->spec.cqn = number;
	return ret;
}

static int
parse_above(struct vmlx4_fault_parser *parser, const char *word, const char *value)
{
	static const char * const names[] = { "", "K", "M", "G", NULL };
	static const uint64_t factors[] = { 1, 1 << 10, 1 << 20, 1 << 30 };

	if (!scaled(value, names, factors, &parser->spec.above))
		return vmlx4_fault_bad(parser, word, "give a number of bytes, perhaps with K, M or "
			"G behind it");
	return 0;
}

static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Bytes up to the end or a slash; how many, 0: that is none. */
static uint32_t
hex_bytes(const char **text, uint8_t *bytes)
{
	uint32_t n = 0;

	while (hex_digit((*text)[0]) >= 0 && hex_digit((*text)[1]) >= 0 &&
			n < VMLX4_FAULT_MATCH) {
		bytes[n++] = hex_digit((*text)[0]) << 4 | hex_digit((*text)[1]);
		*text += 2;
	}
	return n;
}

/* OFFSET:BYTES or OFFSET:BYTES/MASK */
static int
parse_match(struct vmlx4_fault_parser *parser, const char *word, const char *value)
{
	struct vmlx4_fault_spec *spec = &parser->spec;
	size_t length = strcspn(value, ":");
	char digits[8];
	uint64_t offset;

	snprintf(digits, sizeof(digits), "%.*s", (int)(length < 7 ? length : 7), value);
	if (value[length] != ':' || length > 5 || !vmlx4_fault_number(digits, 65535, &offset))
		goto bad;
	spec->match.offset = offset;
	value += length + 1;
	spec->match.length = hex_bytes(&value, spec->match.value);
	memset(spec->match.mask, 0xff, sizeof(spec->match.mask));
	if (*value == '/') {
		value++;
		if (hex_bytes(&value, spec->match.mask) != spec->match.length)
			goto bad;
	}
	if (spec->match.length != 0 && *value == '\0')
		return 0;
bad:
	return vmlx4_fault_bad(parser, word, "write OFFSET:BYTES or OFFSET:BYTES/MASK, both of at "
		"most %d bytes in hexadecimal, as in match=12:0800", VMLX4_FAULT_MATCH);
}

/* ---- when ---- */

static int
only_one_when(struct vmlx4_fault_parser *parser, const char *word)
{
	const struct vmlx4_fault_spec *spec = &parser->spec;

	if (spec->nths == 0 && spec->every == 0 && !spec->random)
		return 0;
	return vmlx4_fault_bad(parser, word, "give one of nth=, every= and p=");
}

static int
parse_nth(struct vmlx4_fault_parser *parser, const char *word, const char *value)
{
	struct vmlx4_fault_spec *spec = &parser->spec;
	char digits[24];

	if (only_one_when(parser, word) < 0)
		return -EINVAL;
	for (;;) {
		size_t length = strcspn(value, ",");

		if (spec->nths == VMLX4_FAULT_NTHS)
			return vmlx4_fault_bad(parser, word, "at most %d numbers: write several "
				"faults", VMLX4_FAULT_NTHS);
		snprintf(digits, sizeof(digits), "%.*s", (int)(length < 23 ? length : 23), value);
		if (number_of(parser, word, digits, 1, UINT32_MAX, &spec->nth[spec->nths++]) < 0)
			return -EINVAL;
		if (value[length] == '\0')
			return 0;
		value += length + 1;
	}
}

static int
parse_every(struct vmlx4_fault_parser *parser, const char *word, const char *value)
{
	if (parser->spec.subject == VMLX4_FAULT_LINK)
		return time_of(parser, word, value, &parser->spec.period);
	if (only_one_when(parser, word) < 0)
		return -EINVAL;
	return number_of(parser, word, value, 1, UINT32_MAX, &parser->spec.every);
}

/* Not strtod(): the program may have set a locale with decimal commas. */
static int
parse_p(struct vmlx4_fault_parser *parser, const char *word, const char *value)
{
	uint32_t ppb = 0, unit = 100000000;
	const char *at = value;

	if (only_one_when(parser, word) < 0)
		return -EINVAL;
	if (*at == '0' || *at == '1')
		ppb = (*at++ - '0') * 1000000000u;
	if (at > value && at[0] == '.' && at[1] != '\0')
		for (at++; *at >= '0' && *at <= '9' && unit > 0; at++, unit /= 10)
			ppb += (*at - '0') * unit;
	if (at == value || *at != '\0' || ppb > 1000000000)
		return vmlx4_fault_bad(parser, word, "give a probability from 0 to 1 with at most "
			"nine decimals, as in p=0.01");
	parser->spec.random = true;
	parser->spec.ppb = ppb;
	return 0;
}

static int
parse_count(struct vmlx4_fault_parser *parser, const char *word, const char *value)
{
	return number_of(parser, word, value, 1, UINT32_MAX, &parser->spec.count);
}

static int
trigger(struct vmlx4_fault_parser *parser, const char *word, enum vmlx4_fault_trigger which)
{
	if (parser->spec.trigger != VMLX4_FAULT_AT_ONCE)
		return vmlx4_fault_bad(parser, word, "give one of at=, command= and frame=");
	parser->spec.trigger = which;
	return 0;
}

static int
parse_at(struct vmlx4_fault_parser *parser, const char *word, const char *value)
{
	if (trigger(parser, word, VMLX4_FAULT_AT_TIME) < 0)
		return -EINVAL;
	return time_of(parser, word, value, &parser->spec.at);
}

static int
parse_command(struct vmlx4_fault_parser *parser, const char *word, const char *value)
{
	if (trigger(parser, word, VMLX4_FAULT_AT_COMMAND) < 0)
		return -EINVAL;
	return number_of(parser, word, value, 1, UINT32_MAX, &parser->spec.at);
}

static int
parse_frame(struct vmlx4_fault_parser *parser, const char *word, const char *value)
{
	if (trigger(parser, word, VMLX4_FAULT_AT_FRAME) < 0)
		return -EINVAL;
	return number_of(parser, word, value, 1, UINT32_MAX, &parser->spec.at);
}

static int
parse_for(struct vmlx4_fault_parser *parser, const char *word, const char *value)
{
	return time_of(parser, word, value, &parser->spec.duration);
}

/* ---- what ---- */

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
	    number_of(parser, word, value, 1, 255, &number) < 0)
		return -EINVAL;
	parser->spec.syndrome = number;
	return 0;
}

static int
parse_vendor(struct vmlx4_fault_parser *parser, const char *word, const char *value)
{
	uint64_t number;
	int ret = number_of(parser, word, value, 0, 255, &number);

	parser->spec.vendor = number;
	return ret;
}

static int
parse_late(struct vmlx4_fault_parser *parser, const char *word, const char *value)
{
	if (action(parser, word, VMLX4_FAULT_LATE) < 0)
		return -EINVAL;
	return time_of(parser, word, value, &parser->spec.late);
}

static int
parse_n(struct vmlx4_fault_parser *parser, const char *word, const char *value,
	enum vmlx4_fault_action which, uint32_t min, uint32_t max)
{
	uint64_t number = 1;

	if (action(parser, word, which) < 0 ||
	    (value != NULL && number_of(parser, word, value, min, max, &number) < 0))
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
	return time_of(parser, word, value, &parser->spec.within);
}

static int
parse_bit(struct vmlx4_fault_parser *parser, const char *word, const char *value)
{
	uint64_t number;
	int ret = number_of(parser, word, value, 0, 65535 * 8 + 7, &number);

	parser->spec.bit = number;
	return ret;
}

static int
parse_byte(struct vmlx4_fault_parser *parser, const char *word, const char *value)
{
	uint64_t number;
	int ret = number_of(parser, word, value, 0, 65535, &number);

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
	return time_of(parser, word, value, &parser->spec.per);
}

static int
parse_queue(struct vmlx4_fault_parser *parser, const char *word, const char *value)
{
	uint64_t number;
	int ret = number_of(parser, word, value, 0, 65535, &number);

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
PLAIN_ACTION(request_error, VMLX4_FAULT_REQUEST_ERROR)
PLAIN_ACTION(access_error, VMLX4_FAULT_ACCESS_ERROR)
PLAIN_ACTION(error, VMLX4_FAULT_ERROR)
PLAIN_ACTION(missing, VMLX4_FAULT_MISSING)
PLAIN_ACTION(stuck, VMLX4_FAULT_STUCK)

/* ---- the table ---- */

#define S(subject) (1u << VMLX4_FAULT_##subject)
#define EVENTS (S(COMMAND) | S(MEMORY) | S(WQE) | S(CQE) | S(FRAME))
#define STATES (S(LINK) | S(DEVICE) | S(QP) | S(CQ) | S(CLOCK))

enum word_value { NONE, NEEDED, OPTIONAL };

static const struct word {
	const char *name;
	enum word_value value;
	unsigned int subjects;
	bool when;
	word_parse *parse;
} words[] = {
	{ "tx", NONE, S(WQE) | S(CQE) | S(FRAME), false, parse_tx },
	{ "rx", NONE, S(WQE) | S(CQE) | S(FRAME), false, parse_rx },
	{ "port", NEEDED, S(WQE) | S(CQE) | S(FRAME) | S(SLOW) | S(LINK) | S(QP), false,
		parse_port },
	{ "qpn", NEEDED, S(WQE) | S(CQE) | S(QP), false, parse_qpn },
	{ "cqn", NEEDED, S(CQE) | S(CQ), false, parse_cqn },
	{ "match", NEEDED, S(FRAME), false, parse_match },
	{ "above", NEEDED, S(MEMORY), false, parse_above },
	{ "nth", NEEDED, EVENTS, true, parse_nth },
	{ "every", NEEDED, EVENTS | S(LINK), true, parse_every },
	{ "p", NEEDED, EVENTS, true, parse_p },
	{ "count", NEEDED, EVENTS | S(LINK), true, parse_count },
	{ "at", NEEDED, STATES, true, parse_at },
	{ "command", NEEDED, STATES, true, parse_command },
	{ "frame", NEEDED, STATES, true, parse_frame },
	{ "for", NEEDED, S(LINK), false, parse_for },
	{ "errno", NEEDED, S(COMMAND) | S(MEMORY), false, parse_errno },
	{ "syndrome", NEEDED, S(WQE), false, parse_syndrome },
	{ "vendor", NEEDED, S(WQE), false, parse_vendor },
	{ "late", NEEDED, S(CQE), false, parse_late },
	{ "coalesce", NEEDED, S(CQE), false, parse_coalesce },
	{ "within", NEEDED, S(CQE) | S(FRAME), false, parse_within },
	{ "drop", NONE, S(FRAME), false, parse_drop },
	{ "corrupt", NONE, S(FRAME), false, parse_corrupt },
	{ "bit", NEEDED, S(FRAME), false, parse_bit },
	{ "byte", NEEDED, S(FRAME), false, parse_byte },
	{ "fcs", NEEDED, S(FRAME), false, parse_fcs },
	{ "truncate", NEEDED, S(FRAME), false, parse_truncate },
	{ "reorder", OPTIONAL, S(FRAME), false, parse_reorder },
	{ "duplicate", OPTIONAL, S(FRAME), false, parse_duplicate },
	{ "frames", NEEDED, S(SLOW), false, parse_frames },
	{ "per", NEEDED, S(SLOW), false, parse_per },
	{ "queue", NEEDED, S(SLOW), false, parse_queue },
	{ "down", NONE, S(LINK), false, parse_down },
	{ "fatal", NONE, S(DEVICE) | S(QP), false, parse_fatal },
	{ "request-error", NONE, S(QP), false, parse_request_error },
	{ "access-error", NONE, S(QP), false, parse_access_error },
	{ "error", NONE, S(CQ), false, parse_error },
	{ "missing", NONE, S(CLOCK), false, parse_missing },
	{ "stuck", NONE, S(CLOCK), false, parse_stuck },
};
#define WORDS (sizeof(words) / sizeof(words[0]))
_Static_assert(WORDS <= 64, "a bit each");

/* What the subject takes, for a word that it does not take. */
static int
not_taken(struct vmlx4_fault_parser *parser, const char *word)
{
	char list[256];
	size_t used = 0, i;

	list[0] = '\0';
	for (i = 0; i < WORDS; i++)
		if ((words[i].subjects & 1u << parser->spec.subject) != 0 && used < sizeof(list))
			used += snprintf(list + used, sizeof(list) - used, " %s%s", words[i].name,
				words[i].value == NEEDED ? "=" : "");
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
vmlx4_fault_word(struct vmlx4_fault_parser *parser, const char *word, bool *when)
{
	size_t length = strcspn(word, "="), i;
	const char *value = word[length] == '=' ? word + length + 1 : NULL;
	const struct word *entry = NULL;

	*when = false;
	if (take_kind(parser, word))
		return 0;
	for (i = 0; i < WORDS && entry == NULL; i++)
		if (strlen(words[i].name) == length && memcmp(words[i].name, word, length) == 0)
			entry = &words[i];
	if (entry == NULL || (entry->subjects & 1u << parser->spec.subject) == 0)
		return not_taken(parser, word);
	if (entry->value == NONE && value != NULL)
		return vmlx4_fault_bad(parser, word, "write %s alone", entry->name);
	if (entry->value == NEEDED && value == NULL)
		return vmlx4_fault_bad(parser, word, "the value is missing: write %s=VALUE",
			entry->name);
	if ((parser->seen & UINT64_C(1) << (entry - words)) != 0)
		return vmlx4_fault_bad(parser, word, "give it once");
	parser->seen |= UINT64_C(1) << (entry - words);
	*when = entry->when;
	return entry->parse(parser, word, value);
}

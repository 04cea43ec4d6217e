/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdio.h>

#include "words.h"

/* The words that say to which events a fault happens, and when. */

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
	int ret = vmlx4_fault_number_of(parser, word, value, 1, 2, &number);

	parser->spec.port = number;
	return ret;
}

static int
parse_qpn(struct vmlx4_fault_parser *parser, const char *word, const char *value)
{
	uint64_t number;
	int ret = vmlx4_fault_number_of(parser, word, value, 1, 0xffffff, &number);

	parser->spec.qpn = number;
	return ret;
}

static int
parse_cqn(struct vmlx4_fault_parser *parser, const char *word, const char *value)
{
	uint64_t number;
	int ret = vmlx4_fault_number_of(parser, word, value, 1, 0xffffff, &number);

	parser->spec.cqn = number;
	return ret;
}

static int
parse_above(struct vmlx4_fault_parser *parser, const char *word, const char *value)
{
	static const char * const names[] = { "", "K", "M", "G", NULL };
	static const uint64_t factors[] = { 1, 1 << 10, 1 << 20, 1 << 30 };

	if (!vmlx4_fault_scaled(value, names, factors, &parser->spec.above))
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
		if (vmlx4_fault_number_of(parser, word, digits, 1, UINT32_MAX,
				&spec->nth[spec->nths++]) < 0)
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
		return vmlx4_fault_time_of(parser, word, value, &parser->spec.period);
	if (only_one_when(parser, word) < 0)
		return -EINVAL;
	return vmlx4_fault_number_of(parser, word, value, 1, UINT32_MAX, &parser->spec.every);
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
	return vmlx4_fault_number_of(parser, word, value, 1, UINT32_MAX, &parser->spec.count);
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
	return vmlx4_fault_time_of(parser, word, value, &parser->spec.at);
}

static int
parse_command(struct vmlx4_fault_parser *parser, const char *word, const char *value)
{
	if (trigger(parser, word, VMLX4_FAULT_AT_COMMAND) < 0)
		return -EINVAL;
	return vmlx4_fault_number_of(parser, word, value, 1, UINT32_MAX, &parser->spec.at);
}

static int
parse_frame(struct vmlx4_fault_parser *parser, const char *word, const char *value)
{
	if (trigger(parser, word, VMLX4_FAULT_AT_FRAME) < 0)
		return -EINVAL;
	return vmlx4_fault_number_of(parser, word, value, 1, UINT32_MAX, &parser->spec.at);
}

static int
parse_for(struct vmlx4_fault_parser *parser, const char *word, const char *value)
{
	return vmlx4_fault_time_of(parser, word, value, &parser->spec.duration);
}

/* ---- the table ---- */

#define S(subject) (1u << VMLX4_FAULT_##subject)
#define EVENTS (S(COMMAND) | S(MEMORY) | S(WQE) | S(CQE) | S(FRAME))
#define STATES (S(LINK) | S(DEVICE) | S(QP) | S(CQ) | S(CLOCK))

const struct vmlx4_fault_word vmlx4_fault_words_which[] = {
	{ "tx", VMLX4_FAULT_NONE, S(WQE) | S(CQE) | S(FRAME), false, parse_tx },
	{ "rx", VMLX4_FAULT_NONE, S(WQE) | S(CQE) | S(FRAME), false, parse_rx },
	{ "port", VMLX4_FAULT_NEEDED,
		S(WQE) | S(CQE) | S(FRAME) | S(SLOW) | S(LINK) | S(QP), false, parse_port },
	{ "qpn", VMLX4_FAULT_NEEDED, S(WQE) | S(CQE) | S(QP), false, parse_qpn },
	{ "cqn", VMLX4_FAULT_NEEDED, S(CQE) | S(CQ), false, parse_cqn },
	{ "match", VMLX4_FAULT_NEEDED, S(FRAME), false, parse_match },
	{ "above", VMLX4_FAULT_NEEDED, S(MEMORY), false, parse_above },
	{ "nth", VMLX4_FAULT_NEEDED, EVENTS, true, parse_nth },
	{ "every", VMLX4_FAULT_NEEDED, EVENTS | S(LINK), true, parse_every },
	{ "p", VMLX4_FAULT_NEEDED, EVENTS, true, parse_p },
	{ "count", VMLX4_FAULT_NEEDED, EVENTS | S(LINK), true, parse_count },
	{ "at", VMLX4_FAULT_NEEDED, STATES, true, parse_at },
	{ "command", VMLX4_FAULT_NEEDED, STATES, true, parse_command },
	{ "frame", VMLX4_FAULT_NEEDED, STATES, true, parse_frame },
	{ "for", VMLX4_FAULT_NEEDED, S(LINK) | S(DEVICE), false, parse_for },
};
const unsigned int vmlx4_fault_words_which_count =
	sizeof(vmlx4_fault_words_which) / sizeof(vmlx4_fault_words_which[0]);

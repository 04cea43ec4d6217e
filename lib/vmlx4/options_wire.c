/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "options_parser.h"

#define RATE_MIN 10000u
#define RATE_MAX 400000000000u
#define DELAY_MAX 10000000000u
#define LINK_DELAY_MAX_MS 60000
#define QUANTITY_MAX 1000000000000u

struct unit {
	const char *name;
	uint64_t factor;
};

static int
parse_ifname(struct option_parser *parser, const char *value, struct vmlx4_wire_spec *wire)
{
	const char *name = strchr(value, ':') + 1;

	if (name[0] == '\0' || strlen(name) >= IFNAMSIZ || strpbrk(name, "/ :") != NULL)
		return option_fail(parser, value, "give the name of a network interface (1 to %d "
			"characters) behind the colon", IFNAMSIZ - 1);
	strcpy(wire->ifname, name);
	return 0;
}

static int
parse_name(struct option_parser *parser, const char *value, struct vmlx4_wire_spec *wire)
{
	const char *name = strchr(value, ':') + 1;
	/* In front of a name that is no file: "vmlx4-unix/", and a byte of zero. */
	size_t most = VMLX4_WIRE_NAME_MAX - (strchr(name, '/') != NULL ? 1 : 12);

	if (name[0] == '\0' || strlen(name) > most)
		return option_fail(parser, value, "give a name of 1 to %zu characters behind the "
			"colon, the same at both ends", most);
	strcpy(wire->name, name);
	return 0;
}

/* "in=F", "out=F" or both; a comma in a file name is fine unless in=/out= follows. */
static int
parse_pcap(struct option_parser *parser, const char *value, struct vmlx4_wire_spec *wire)
{
	const char *at = value + strlen("pcap:");

	while (*at != '\0') {
		const char *in = strstr(at, ",in="), *out = strstr(at, ",out=");
		const char *end = at + strlen(at), *file;
		char *path;

		if (in != NULL && in < end)
			end = in;
		if (out != NULL && out < end)
			end = out;
		if (strncmp(at, "in=", 3) == 0) {
			path = wire->pcap_in;
			file = at + 3;
		} else if (strncmp(at, "out=", 4) == 0) {
			path = wire->pcap_out;
			file = at + 4;
		} else {
			return option_fail(parser, value,
				"write pcap:in=FILE,out=FILE (or one of them)");
		}
		if (path[0] != '\0')
			return option_fail(parser, value, "give in= and out= once each");
		if (file >= end || end - file >= PATH_MAX)
			return option_fail(parser, value,
				"give the name of a file behind in= and out=");
		memcpy(path, file, end - file);
		path[end - file] = '\0';
		at = *end == ',' ? end + 1 : end;
	}
	if (wire->pcap_in[0] == '\0' && wire->pcap_out[0] == '\0')
		return option_fail(parser, value, "write pcap:in=FILE,out=FILE (or one of them)");
	if (strcmp(wire->pcap_in, wire->pcap_out) == 0)
		return option_fail(parser, value, "in= and out= must not be the same file");
	return 0;
}

/* A whole number and a unit of the table; 0 or -EINVAL. */
static int
parse_quantity(const char *text, const struct unit *units, uint64_t *result)
{
	char *end;
	unsigned long long number;

	errno = 0;
	number = strtoull(text, &end, 10);
	if (errno != 0 || end == text || text[0] < '0' || text[0] > '9' || number > 1000000000000)
		return -EINVAL;
	for (; units->name != NULL; units++) {
		if (strcmp(end, units->name) != 0)
			continue;
		*result = number * units->factor;
		return number > QUANTITY_MAX / units->factor ? -EINVAL : 0;
	}
	return -EINVAL;
}

static int
parse_shape_word(const char *word, struct vmlx4_shape *shape)
{
	static const struct unit rates[] = { { "", 1 }, { "K", 1000 }, { "M", 1000000 },
		{ "G", 1000000000 }, { NULL, 0 } };
	static const struct unit times[] = { { "ns", 1 }, { "us", 1000 }, { "ms", 1000000 },
		{ "s", 1000000000 }, { NULL, 0 } };
	uint64_t *time = word[0] == 'd' ? &shape->delay : &shape->jitter;

	if (strcmp(word, "rate=profile") == 0) {
		shape->rate_of_port = true;
		return 0;
	}
	if (word[0] == 'r')
		return parse_quantity(word + strlen("rate="), rates, &shape->rate) < 0 ||
			shape->rate < RATE_MIN || shape->rate > RATE_MAX ? -EINVAL : 0;
	return parse_quantity(strchr(word, '=') + 1, times, time) < 0 ||
		*time > DELAY_MAX ? -EINVAL : 0;
}

/* Take ",rate=…", ",delay=…" and ",jitter=…" off the end of the text. */
static int
parse_shape(struct option_parser *parser, const char *value, char *text,
	struct vmlx4_shape *shape)
{
	static const char * const keys[] = { ",rate=", ",delay=", ",jitter=" };
	char *comma;
	size_t i;

	while ((comma = strrchr(text, ',')) != NULL) {
		for (i = 0; i < 3 && strncmp(comma, keys[i], strlen(keys[i])) != 0; i++)
			;
		if (i == 3)
			break;
		if (parse_shape_word(comma + 1, shape) < 0)
			return option_fail(parser, value, i == 0 ?
				"give a rate in bit/s from 10K to 400G, e.g. rate=10G, or "
				"rate=profile" :
				"give a time of up to 10s with its unit (ns, us, ms, s), e.g. "
				"delay=5us");
		*comma = '\0';
	}
	return 0;
}

static int
parse_wire_spec(struct option_parser *parser, const char *whole, struct vmlx4_wire_spec *wire)
{
	char value[2 * PATH_MAX + 64];

	memset(wire, 0, sizeof(*wire));
	if (strlen(whole) >= sizeof(value))
		return option_fail(parser, whole, "this is too long: use shorter file names");
	strcpy(value, whole);
	if (parse_shape(parser, whole, value, &wire->shape) < 0)
		return -EINVAL;
	if (strcmp(value, "loop") == 0) {
		wire->kind = VMLX4_WIRE_LOOP;
		return 0;
	}
	if (strcmp(value, "back-to-back") == 0) {
		wire->kind = VMLX4_WIRE_PEER;
		return 0;
	}
	if (strncmp(value, "pcap:", 5) == 0) {
		wire->kind = VMLX4_WIRE_PCAP;
		return parse_pcap(parser, value, wire);
	}
	if (strncmp(value, "tap:", 4) == 0) {
		wire->kind = VMLX4_WIRE_TAP;
		return parse_ifname(parser, value, wire);
	}
	if (strncmp(value, "packet:", 7) == 0) {
		wire->kind = VMLX4_WIRE_PACKET;
		return parse_ifname(parser, value, wire);
	}
	if (strncmp(value, "unix:", 5) == 0) {
		wire->kind = VMLX4_WIRE_UNIX;
		return parse_name(parser, value, wire);
	}
	if (strncmp(value, "shm:", 4) == 0) {
		wire->kind = VMLX4_WIRE_SHM;
		return parse_name(parser, value, wire);
	}
	return option_fail(parser, value, "use loop, back-to-back, pcap:in=FILE,out=FILE, "
		"tap:NAME, packet:INTERFACE, unix:PATH or shm:NAME");
}

int
option_wire(struct option_parser *parser, const char *value)
{
	parser->wire_both = true;
	return parse_wire_spec(parser, value, &parser->both);
}

int
option_wire1(struct option_parser *parser, const char *value)
{
	parser->wire_set[0] = true;
	return parse_wire_spec(parser, value, &parser->options->wire[0]);
}

int
option_wire2(struct option_parser *parser, const char *value)
{
	parser->wire_set[1] = true;
	return parse_wire_spec(parser, value, &parser->options->wire[1]);
}

static int
parse_ms(struct option_parser *parser, const char *value, unsigned int *ms)
{
	long number;
	int ret = option_number(parser, value, 0, LINK_DELAY_MAX_MS, &number);

	if (ret == 0)
		*ms = number;
	return ret;
}

int
option_link_delay(struct option_parser *parser, const char *value)
{
	return parse_ms(parser, value, &parser->options->link_delay_ms);
}

int
option_carrier_delay(struct option_parser *parser, const char *value)
{
	return parse_ms(parser, value, &parser->options->carrier_delay_ms);
}

int
option_module(struct option_parser *parser, const char *value)
{
	static const struct {
		const char *name;
		enum vmlx4_module module;
	} modules[] = {
		{ "qsfp", VMLX4_MODULE_QSFP },
		{ "sfp", VMLX4_MODULE_SFP },
		{ "none", VMLX4_MODULE_NONE },
	};
	unsigned int i;

	for (i = 0; i < sizeof(modules) / sizeof(modules[0]); i++)
		if (strcmp(value, modules[i].name) == 0) {
			parser->options->module = modules[i].module;
			return 0;
		}
	return option_fail(parser, value, "use qsfp, sfp or none");
}

int
option_wait_link(struct option_parser *parser, const char *value)
{
	return parse_ms(parser, value, &parser->options->wait_link_ms);
}

static bool
wires_share(const struct vmlx4_wire_spec *a, const struct vmlx4_wire_spec *b)
{
	if (a->ifname[0] != '\0' && strcmp(a->ifname, b->ifname) == 0)
		return true;
	if (a->name[0] != '\0' && strcmp(a->name, b->name) == 0)
		return true;
	if (a->pcap_out[0] == '\0')
		return false;
	return strcmp(a->pcap_out, b->pcap_out) == 0 || strcmp(a->pcap_out, b->pcap_in) == 0;
}

/* Options that only make sense together. */
int
option_wires_settle(struct option_parser *parser)
{
	struct vmlx4_options *options = parser->options;
	unsigned int i;

	for (i = 0; i < options->ports; i++) {
		if (parser->wire_set[i])
			continue;
		if (parser->wire_both)
			options->wire[i] = parser->both;
		else if (options->ports == 1 || parser->wire_set[i ^ 1])
			options->wire[i].kind = VMLX4_WIRE_LOOP;
		else
			options->wire[i].kind = VMLX4_WIRE_PEER;
	}
	parser->name = "wire";
	for (i = 0; i < options->ports; i++) {
		if (options->wire[i].kind != VMLX4_WIRE_PEER)
			continue;
		if (options->ports == 1)
			return option_fail(parser, "back-to-back",
				"needs two ports: use ports=2 or "
				"another wire");
		if (options->wire[i ^ 1].kind != VMLX4_WIRE_PEER)
			return option_fail(parser, "back-to-back",
				"holds for both ports or none: give "
				"wire=back-to-back or two other wires");
	}
	if (options->ports == 2 && (wires_share(&options->wire[0], &options->wire[1]) ||
			wires_share(&options->wire[1], &options->wire[0]))) {
		const struct vmlx4_wire_spec *wire = &options->wire[0];

		return option_fail(parser, wire->ifname[0] != '\0' ? wire->ifname :
			wire->name[0] != '\0' ? wire->name :
			wire->pcap_out[0] != '\0' ? wire->pcap_out : wire->pcap_in,
			"two ports cannot share it: give wire1= and wire2= different ones");
	}
	return 0;
}

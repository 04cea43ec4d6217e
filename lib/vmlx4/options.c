/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options_parser.h"
#include "profile.h"

#define VALUE_MAX (2 * PATH_MAX + 64)
#define VALUE_SHOWN 128

int
option_fail(struct option_parser *parser, const char *value, const char *format, ...)
{
	char cure[256];
	va_list args;

	va_start(args, format);
	vsnprintf(cure, sizeof(cure), format, args);
	va_end(args);
	/* An absurdly long value must not push the cure out of the line. */
	snprintf(parser->error, parser->error_size, "option %s: \"%.*s%s\": %s", parser->name,
		strlen(value) > VALUE_SHOWN ? VALUE_SHOWN - 20 : VALUE_SHOWN, value,
		strlen(value) > VALUE_SHOWN ? "…" : "", cure);
	return -EINVAL;
}

int
option_number(struct option_parser *parser, const char *value, long min, long max,
	long *number)
{
	char *end;

	errno = 0;
	*number = strtol(value, &end, 10);
	if (errno != 0 || end == value || *end != '\0' || *number < min || *number > max)
		return option_fail(parser, value, "give a number from %ld to %ld", min, max);
	return 0;
}

int
option_path(struct option_parser *parser, const char *value, char *path)
{
	if (value[0] == '\0')
		return option_fail(parser, value, "give the name of a file");
	if (strlen(value) >= PATH_MAX)
		return option_fail(parser, value, "the name is longer than %d characters",
			PATH_MAX - 1);
	strcpy(path, value);
	return 0;
}

static int
parse_profile(struct option_parser *parser, const char *value)
{
	parser->options->profile = vmlx4_profile_find(value);
	if (parser->options->profile == NULL)
		return option_fail(parser, value,
			"use a name of \"vmlx4 profiles\", such as cx3pro");
	return 0;
}

static int
parse_ports(struct option_parser *parser, const char *value)
{
	long number;
	int ret = option_number(parser, value, 1, VMLX4_MAX_PORTS, &number);

	if (ret == 0)
		parser->options->ports = number;
	return ret;
}

static int
parse_ib(struct option_parser *parser, const char *value)
{
	long number;
	int ret = option_number(parser, value, 1, VMLX4_MAX_PORTS, &number);

	if (ret == 0)
		parser->options->infiniband[number - 1] = true;
	return ret;
}

static int
parse_pci(struct option_parser *parser, const char *value)
{
	unsigned int domain, bus, device, function;
	int used = 0;

	if (sscanf(value, "%4x:%2x:%2x.%1x%n", &domain, &bus, &device, &function, &used) != 4 ||
			value[used] != '\0' || used != 12 || device > 31 || function > 7)
		return option_fail(parser, value, "write a PCI address like 0000:05:00.0");
	snprintf(parser->options->pci_address, sizeof(parser->options->pci_address),
		"%04x:%02x:%02x.%x", domain, bus, device, function);
	return 0;
}

static int
parse_step(struct option_parser *parser, const char *value)
{
	(void)value;
	parser->options->step = true;
	return 0;
}

static int
parse_engine_cpu(struct option_parser *parser, const char *value)
{
	long number;
	int ret = option_number(parser, value, 0, 1023, &number);

	if (ret == 0)
		parser->options->engine_cpu = number;
	return ret;
}

static int
parse_strict(struct option_parser *parser, const char *value)
{
	if (value[0] == '\0')
		parser->options->strict = VMLX4_STRICT_FATAL;
	else if (strcmp(value, "report") == 0)
		parser->options->strict = VMLX4_STRICT_REPORT;
	else if (strcmp(value, "off") == 0)
		parser->options->strict = VMLX4_STRICT_OFF;
	else
		return option_fail(parser, value, "use strict, strict=report or strict=off");
	return 0;
}

static int
parse_stats(struct option_parser *parser, const char *value)
{
	return option_path(parser, value, parser->options->stats_file);
}

static int
parse_sysfs(struct option_parser *parser, const char *value)
{
	return option_path(parser, value, parser->options->sysfs);
}

static int
parse_cqe(struct option_parser *parser, const char *value)
{
	if (strcmp(value, "32") != 0 && strcmp(value, "64") != 0)
		return option_fail(parser, value, "use 32 or 64");
	parser->options->cqe_size = strtoul(value, NULL, 10);
	return 0;
}

static int
parse_no_cap(struct option_parser *parser, const char *value)
{
	if (strcmp(value, "CAP_NET_RAW") == 0)
		parser->options->no_net_raw = true;
	else if (strcmp(value, "CAP_NET_ADMIN") == 0)
		parser->options->no_net_admin = true;
	else
		return option_fail(parser, value, "use CAP_NET_RAW or CAP_NET_ADMIN");
	return 0;
}

static int
parse_memlock(struct option_parser *parser, const char *value)
{
	unsigned long long bytes;
	char *end;

	if (strcmp(value, "host") == 0) {
		parser->options->memlock = VMLX4_MEMLOCK_HOST;
		return 0;
	}
	errno = 0;
	bytes = strtoull(value, &end, 10);
	if (value[0] < '0' || value[0] > '9' || *end != '\0' || errno != 0)
		return option_fail(parser, value, "give a number of bytes, or host for the limit "
			"of this user (ulimit -l)");
	parser->options->memlock = VMLX4_MEMLOCK_BYTES;
	parser->options->memlock_bytes = bytes;
	return 0;
}

static int
parse_deny_open(struct option_parser *parser, const char *value)
{
	(void)value;
	parser->options->deny_open = true;
	return 0;
}

static int
parse_mtu(struct option_parser *parser, const char *value)
{
	long number;
	int ret = option_number(parser, value, VMLX4_MTU_MIN, VMLX4_MTU_MAX, &number);

	if (ret == 0)
		parser->options->mtu = number;
	return ret;
}

static int
parse_unknown(struct option_parser *parser, const char *value)
{
	char cure[128];

	if (vmlx4_unknown_set(&parser->options->unknowns, value, cure, sizeof(cure)) < 0)
		return option_fail(parser, value, "%s", cure);
	return 0;
}

enum option_value { NEEDS_VALUE, NO_VALUE, MAY_HAVE_VALUE };

static const struct option {
	const char *name;
	const char *value_name;
	enum option_value value;
	int (*parse)(struct option_parser *parser, const char *value);
	const char *help;
} option_table[] = {
	{ "profile", "NAME", NEEDS_VALUE, parse_profile,
		"Card model, see \"vmlx4 profiles\" (default cx3pro)." },
	{ "ports", "1|2", NEEDS_VALUE, parse_ports, "Number of ports (default 2)." },
	{ "wire", "SPEC", NEEDS_VALUE, option_wire,
		"What the cable of every port leads to. SPEC is one of\n"
		"  loop                    back to the same port\n"
		"  back-to-back            to the other port (default with two ports)\n"
		"  pcap:in=FILE,out=FILE   replay one capture, write another; either alone\n"
		"  tap:NAME                a TAP interface, made if absent (CAP_NET_ADMIN)\n"
		"  packet:INTERFACE        an existing interface, e.g. a veth (CAP_NET_RAW)\n"
		"  unix:PATH               an adapter in another process, over a socket\n"
		"  shm:NAME                the same over shared memory, which is fastest\n"
		"Behind it rate=10G (or profile), delay=5us and jitter=1us slow the wire down,\n"
		"e.g. shm:cable,rate=40G,delay=1us." },
	{ "wire1", "SPEC", NEEDS_VALUE, option_wire1,
		"The wire of port 1 alone; a port left without a wire then gets loop." },
	{ "wire2", "SPEC", NEEDS_VALUE, option_wire2, "The wire of port 2 alone." },
	{ "ib", "PORT", NEEDS_VALUE, parse_ib,
		"This port is in InfiniBand mode and has no network interface (repeatable)." },
	{ "pci", "ADDRESS", NEEDS_VALUE, parse_pci,
		"PCI address of the adapter (default 0000:05:00.0). MAC addresses and GUIDs\n"
		"follow from it: two programs on one wire need two addresses." },
	{ "step", "", NO_VALUE, parse_step,
		"No engine thread: nothing moves until the program calls vmlx4_step()." },
	{ "engine-cpu", "CPU", NEEDS_VALUE, parse_engine_cpu, "Pin the engine thread." },
	{ "strict", "MODE", MAY_HAVE_VALUE, parse_strict,
		"Check the contract between driver and adapter. A violation is printed and\n"
		"ends the run (--strict), is only printed (--strict=report), or is not looked\n"
		"for (--strict=off, default)." },
	{ "completion-lag", "US", NEEDS_VALUE, option_completion_lag,
		"While checking, a send WQE completes so many microseconds (with --step: steps)\n"
		"after it was executed, so that a buffer that is touched too early is seen\n"
		"(default 0, at most 1000000)." },
	{ "stats", "FILE", NEEDS_VALUE, parse_stats,
		"Write all counters there as JSON when the adapter goes." },
	{ "sysfs", "DIR", NEEDS_VALUE, parse_sysfs,
		"Build the sysfs tree there and leave it; DIR must not exist (default: a\n"
		"private temporary folder, removed at the end)." },
	{ "cqe", "32|64", NEEDS_VALUE, parse_cqe,
		"Size of a completion queue entry in bytes (default 64)." },
	{ "deny-open", "", NO_VALUE, parse_deny_open,
		"Opening the device fails as for a user without permission (EACCES)." },
	{ "no-cap", "CAPABILITY", NEEDS_VALUE, parse_no_cap,
		"Answer as for a user without CAP_NET_RAW (raw packet QPs and flows: EPERM) or\n"
		"CAP_NET_ADMIN (sniffer flows). Repeatable; without it nobody needs any." },
	{ "memlock", "BYTES|host", NEEDS_VALUE, parse_memlock,
		"Refuse to pin more memory (ENOMEM): so many bytes, or as much as this user may\n"
		"lock (ulimit -l; CAP_IPC_LOCK lifts it). Without it there is no limit." },
	{ "mtu", "BYTES", NEEDS_VALUE, parse_mtu,
		"MTU that the network interfaces start with (default 1500)." },
	{ "ip1", "ADDRESSES", NEEDS_VALUE, option_ip1,
		"IP addresses of the interface of port 1, which are GIDs for RDMA: up to eight,\n"
		"10.0.0.1,fd00::1. Without it there is the link-local one of its MAC alone." },
	{ "ip2", "ADDRESSES", NEEDS_VALUE, option_ip2, "Those of port 2." },
	{ "neighbour1", "ADDRESS@MAC", NEEDS_VALUE, option_neighbour1,
		"Who else has an IP address on the network of port 1: up to eight, separated by\n"
		"commas. RDMA finds a link-local address without it, and those of the adapter." },
	{ "neighbour2", "ADDRESS@MAC", NEEDS_VALUE, option_neighbour2,
		"Who has one on the network of port 2." },
	{ "link-delay", "MS", NEEDS_VALUE, option_link_delay,
		"A link comes up so many milliseconds after both its ends, as negotiation takes\n"
		"time: at the start, and each time a port is set up again (default 0)." },
	{ "wait-link", "MS", NEEDS_VALUE, option_wait_link,
		"Opening the device waits so long at most until every port has its link, for\n"
		"programs that look once, on wires whose other end is just starting (default 0)." },
	{ "carrier-delay", "MS", NEEDS_VALUE, option_carrier_delay,
		"The network interface shows the carrier so many milliseconds after the event\n"
		"that the port is active, with no second event (default 0)." },
	{ "module", "qsfp|sfp|none", NEEDS_VALUE, option_module,
		"The plug of every cable, as \"ethtool -m\" shows it: QSFP+, SFP+, or none that\n"
		"can be read (default: what fits the speed of the profile)." },
	{ "unknown", "NAME=VALUE", NEEDS_VALUE, parse_unknown,
		"Decide a behaviour that no public source states (repeatable; see\n"
		"\"vmlx4 unknowns\")." },
	{ "seed", "NUMBER", NEEDS_VALUE, option_seed,
		"What the model draws by lot follows from it (default 1): with --step a run\n"
		"repeats to the byte." },
	{ "trace", "FILE", NEEDS_VALUE, option_trace,
		"Record commands, doorbells, WQEs, CQEs, frames and events there, for\n"
		"\"vmlx4 show\". A second process of the run gets FILE.2, and so on." },
	{ "trace-snaplen", "BYTES", NEEDS_VALUE, option_trace_snaplen,
		"Keep this much of each frame (default 65535: all)." },
	{ "trace-raw", "", NO_VALUE, option_trace_raw,
		"Record addresses as they are, not by memory region and offset. They differ\n"
		"from run to run." },
	{ "faults", "FILE|FAULTS", NEEDS_VALUE, option_faults,
		"Let things go wrong: a file with a fault a line, or faults between semicolons,\n"
		"such as \"command reg_mr nth=3 errno=ENOMEM\"; see \"vmlx4 faults\"." },
	{ "faults-log", "FILE", NEEDS_VALUE, option_faults_log,
		"Write a line there for each fault that happened (- is stderr). The file is again\n"
		"one for --faults: with it the same things go wrong at the same places." },
};

static const struct option *
option_find(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(option_table) / sizeof(option_table[0]); i++)
		if (strcmp(option_table[i].name, name) == 0)
			return &option_table[i];
	return NULL;
}

bool
vmlx4_options_known(const char *name, bool *flag)
{
	const struct option *option = option_find(name);

	if (option == NULL)
		return false;
	*flag = option->value != NEEDS_VALUE;
	return true;
}

void
vmlx4_options_help(void)
{
	size_t i;

	for (i = 0; i < sizeof(option_table) / sizeof(option_table[0]); i++) {
		const struct option *option = &option_table[i];
		const char *line = option->help;

		if (option->value == NEEDS_VALUE)
			printf("  --%s %s\n", option->name, option->value_name);
		else if (option->value == MAY_HAVE_VALUE)
			printf("  --%s[=%s]\n", option->name, option->value_name);
		else
			printf("  --%s\n", option->name);
		while (line != NULL) {
			const char *next = strchr(line, '\n');

			printf("        %.*s\n",
				(int)(next != NULL ? next - line : (ptrdiff_t)strlen(line)), line);
			line = next != NULL ? next + 1 : NULL;
		}
	}
}

int
vmlx4_options_quote(char *buffer, size_t size, const char *name, const char *value)
{
	size_t length = snprintf(buffer, size, "%s=", name);

	for (; *value != '\0'; value++) {
		if (*value == ' ' || *value == '\\') {
			if (length + 1 < size)
				buffer[length] = '\\';
			length++;
		}
		if (length + 1 < size)
			buffer[length] = *value;
		length++;
	}
	if (size > 0)
		buffer[length < size ? length : size - 1] = '\0';
	return length;
}

/* Copy the next word without its backslashes; -E2BIG when it is too long. */
static int
next_word(const char **text, char *word, size_t size)
{
	size_t length = 0;
	const char *at = *text;

	while (*at == ' ')
		at++;
	for (; *at != '\0' && *at != ' '; at++) {
		if (*at == '\\' && at[1] != '\0')
			at++;
		if (length + 1 >= size)
			return -E2BIG;
		word[length++] = *at;
	}
	word[length] = '\0';
	*text = at;
	return length;
}

static int
parse_word(struct option_parser *parser, char *word)
{
	char *value = strchr(word, '=');
	const struct option *option;

	if (value != NULL)
		*value++ = '\0';
	parser->name = word;
	option = option_find(word);
	if (option == NULL) {
		snprintf(parser->error, parser->error_size,
			"option %s: there is no such option: see \"vmlx4 exec --help\"", word);
		return -EINVAL;
	}
	if (value == NULL && option->value == NEEDS_VALUE) {
		snprintf(parser->error, parser->error_size,
			"option %s: the value is missing: write %s=%s", word, word,
			option->value_name);
		return -EINVAL;
	}
	if (value != NULL && option->value == NO_VALUE)
		return option_fail(parser, value, "this option takes no value");
	return option->parse(parser, value != NULL ? value : "");
}

static int
settle(struct option_parser *parser)
{
	struct vmlx4_options *options = parser->options;
	unsigned int i;

	for (i = options->ports; i < VMLX4_MAX_PORTS; i++) {
		if (!parser->wire_set[i] && !options->infiniband[i])
			continue;
		parser->name = parser->wire_set[i] ? "wire2" : "ib";
		return option_fail(parser, "2", "the adapter has one port: use ports=2");
	}
	if (options->step && options->wait_link_ms != 0) {
		parser->name = "wait-link";
		return option_fail(parser, "step", "no engine would bring a link up "
			"meanwhile: drop one of the two");
	}
	if (options->step && options->engine_cpu >= 0) {
		parser->name = "engine-cpu";
		return option_fail(parser, "step",
			"there is no engine thread to pin: drop one of the "
			"two");
	}
	if (option_addresses_settle(parser) < 0)
		return -EINVAL;
	return option_wires_settle(parser);
}

/* Told in one line, whatever the value contains. */
static int
one_line(char *error, int ret)
{
	for (; ret < 0 && *error != '\0'; error++)
		if ((unsigned char)*error < ' ' || *error == 0x7f)
			*error = '?';
	return ret;
}

int
vmlx4_options_parse(const char *text, struct vmlx4_options *options, char *error,
	size_t error_size)
{
	struct option_parser parser = {
		.options = options,
		.error = error,
		.error_size = error_size,
	};
	char word[VALUE_MAX];
	int ret;

	memset(options, 0, sizeof(*options));
	options->profile = vmlx4_profile_find("cx3pro");
	options->ports = 2;
	strcpy(options->pci_address, "0000:05:00.0");
	options->engine_cpu = -1;
	options->cqe_size = 64;
	options->mtu = 1500;
	options->unknowns = vmlx4_unknown_defaults;
	options->seed = VMLX4_SEED_DEFAULT;
	options->trace_snaplen = VMLX4_TRACE_SNAPLEN_MAX;

	while ((ret = next_word(&text, word, sizeof(word))) > 0) {
		ret = parse_word(&parser, word);
		if (ret < 0)
			return one_line(error, ret);
	}
	if (ret < 0) {
		snprintf(error, error_size, "option %.32s…: longer than %d characters: "
			"use shorter file names", word, VALUE_MAX - 1);
		return one_line(error, -EINVAL);
	}
	return one_line(error, settle(&parser));
}

/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "config.h"

/* A directive a line, words between blanks, # for a comment: see example.conf. */

#define WORDS_MAX 8

struct reader {
	struct config *config;
	unsigned int line;
	char *error;
	size_t size;
};

static int fault(struct reader *reader, unsigned int line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int
fault(struct reader *reader, unsigned int line, const char *format, ...)
{
	int used = snprintf(reader->error, reader->size, "%s:%u: ", reader->config->file, line);
	va_list ap;

	va_start(ap, format);
	if (used > 0 && (size_t)used < reader->size)
		vsnprintf(reader->error + used, reader->size - (size_t)used, format, ap);
	va_end(ap);
	return -1;
}

/* Take a word; what is wrong with it is told with the name of what it stands for. */
#define TAKE(reader, name, word, call) do { \
	const char *wrong_ = call; \
	if (wrong_ != NULL) \
		return fault(reader, (reader)->line, "%s '%s': %s", name, word, wrong_); \
} while (0)

#define ROOM(reader, number, max) do { \
	if ((number) == (max)) \
		return fault(reader, (reader)->line, "one '%s' too many: raise the limit of " \
			"%u in config.h", word[0], max); \
} while (0)

/* port NUMBER inside|outside ADDRESS/LENGTH */
static int
read_port(struct reader *reader, char **word)
{
	struct config_port *port;
	unsigned long number;

	if (word_number(word[1], 0, PORTS_MAX - 1, &number) != NULL)
		return fault(reader, reader->line, "port '%s': give the number of an ethdev, "
			"0 to %u", word[1], PORTS_MAX - 1);
	port = &reader->config->ports[number];
	if (port->line != 0)
		return fault(reader, reader->line, "port %lu: line %u has it already", number,
			port->line);
	port->outside = strcmp(word[2], "outside") == 0;
	if (!port->outside && strcmp(word[2], "inside") != 0)
		return fault(reader, reader->line, "side '%s': a port is inside or outside",
			word[2]);
	TAKE(reader, "address", word[3], word_prefix(word[3], &port->subnet));
	if (port->subnet.depth < 1 || port->subnet.depth > 30)
		return fault(reader, reader->line, "address '%s': give it with the length of "
			"its subnet, 1 to 30", word[3]);
	port->address = port->subnet.address;
	port->subnet.address &= prefix_mask(port->subnet.depth);
	port->line = reader->line;
	reader->config->n_ports++;
	return 0;
}

/* neighbour ADDRESS MAC */
static int
read_neighbour(struct reader *reader, char **word)
{
	struct config *config = reader->config;
	struct config_neighbour *neighbour = &config->neighbours[config->n_neighbours];

	ROOM(reader, config->n_neighbours, NEIGHBOURS_MAX);
	TAKE(reader, "neighbour", word[1], word_address(word[1], &neighbour->address));
	TAKE(reader, "address", word[2], word_mac(word[2], &neighbour->mac));
	neighbour->line = reader->line;
	config->n_neighbours++;
	return 0;
}

/* route PREFIX via ADDRESS */
static int
read_route(struct reader *reader, char **word)
{
	struct config *config = reader->config;
	struct config_route *route = &config->routes[config->n_routes];

	ROOM(reader, config->n_routes, ROUTES_MAX);
	TAKE(reader, "route", word[1], word_prefix(word[1], &route->to));
	if ((route->to.address & ~prefix_mask(route->to.depth)) != 0)
		return fault(reader, reader->line, "route '%s': bits are set behind the length "
			"of the prefix", word[1]);
	if (strcmp(word[2], "via") != 0)
		return fault(reader, reader->line, "'%s': write route PREFIX via ADDRESS",
			word[2]);
	TAKE(reader, "next hop", word[3], word_address(word[3], &route->via));
	route->line = reader->line;
	config->n_routes++;
	return 0;
}

/* permit|deny PROTOCOL FROM TO */
static int
read_rule(struct reader *reader, char **word)
{
	struct config *config = reader->config;
	struct config_rule *rule = &config->rules[config->n_rules];
	bool ported;

	ROOM(reader, config->n_rules, RULES_MAX);
	rule->permit = strcmp(word[0], "permit") == 0;
	TAKE(reader, "protocol", word[1], word_proto(word[1], &rule->proto, &rule->proto_mask));
	TAKE(reader, "from", word[2], word_end(word[2], &rule->src, &rule->sport));
	TAKE(reader, "to", word[3], word_end(word[3], &rule->dst, &rule->dport));
	ported = rule->proto_mask != 0 && (rule->proto == 6 || rule->proto == 17);
	if (!ported && (strchr(word[2], ':') != NULL || strchr(word[3], ':') != NULL))
		return fault(reader, reader->line, "protocol '%s': only tcp and udp have ports",
			word[1]);
	rule->line = reader->line;
	config->n_rules++;
	return 0;
}

/* nat ADDRESS PORTS */
static int
read_nat(struct reader *reader, char **word)
{
	struct config *config = reader->config;

	if (config->nat.line != 0)
		return fault(reader, reader->line, "nat '%s': line %u has it already", word[1],
			config->nat.line);
	TAKE(reader, "nat", word[1], word_address(word[1], &config->nat.address));
	TAKE(reader, "ports", word[2], word_range(word[2], &config->nat.ports));
	if (config->nat.ports.first == 0)
		return fault(reader, reader->line, "ports '%s': port 0 is none; begin at 1 or "
			"later, better at 1024", word[2]);
	config->nat.line = reader->line;
	return 0;
}

/* timeout tcp|udp|icmp SECONDS */
static int
read_timeout(struct reader *reader, char **word)
{
	static const char *const names[NAT_PROTOS] = { "tcp", "udp", "icmp" };
	unsigned long seconds;
	unsigned int i;

	for (i = 0; i < NAT_PROTOS && strcmp(word[1], names[i]) != 0; i++)
		;
	if (i == NAT_PROTOS)
		return fault(reader, reader->line, "timeout '%s': of tcp, udp or icmp", word[1]);
	if (word_number(word[2], 1, 86400, &seconds) != NULL)
		return fault(reader, reader->line, "timeout '%s': give seconds, 1 to 86400",
			word[2]);
	reader->config->timeout[i] = (unsigned int)seconds;
	return 0;
}

static const struct directive {
	const char *name;
	int words;
	int (*read)(struct reader *reader, char **word);
	const char *usage;
} directives[] = {
	{ "port", 4, read_port, "port NUMBER inside|outside ADDRESS/LENGTH" },
	{ "neighbour", 3, read_neighbour, "neighbour ADDRESS MAC" },
	{ "route", 4, read_route, "route PREFIX via ADDRESS" },
	{ "permit", 4, read_rule, "permit PROTOCOL FROM TO" },
	{ "deny", 4, read_rule, "deny PROTOCOL FROM TO" },
	{ "nat", 3, read_nat, "nat ADDRESS FIRST-LAST" },
	{ "timeout", 3, read_timeout, "timeout tcp|udp|icmp SECONDS" },
};

static int
read_line(struct reader *reader, char *text)
{
	char *word[WORDS_MAX], *state = NULL;
	unsigned int i;
	int words = 0;

	text[strcspn(text, "#\n")] = '\0';
	for (word[0] = strtok_r(text, " \t\r", &state); word[words] != NULL; ) {
		if (++words == WORDS_MAX)
			break;
		word[words] = strtok_r(NULL, " \t\r", &state);
	}
	if (words == 0)
		return 0;
	for (i = 0; i < sizeof(directives) / sizeof(directives[0]); i++) {
		if (strcmp(word[0], directives[i].name) != 0)
			continue;
		if (words != directives[i].words)
			return fault(reader, reader->line, "'%s' takes %d words, not %d: %s",
				word[0], directives[i].words - 1, words - 1, directives[i].usage);
		return directives[i].read(reader, word);
	}
	return fault(reader, reader->line, "'%s' is no directive: port, neighbour, route, permit, "
		"deny, nat or timeout", word[0]);
}

/* The port in whose subnet an address lies, or PORTS_MAX. */
static unsigned int
port_of(const struct config *config, uint32_t address)
{
	unsigned int i;

	for (i = 0; i < PORTS_MAX; i++)
		if (config->ports[i].line != 0 &&
		    prefix_holds(&config->ports[i].subnet, address))
			break;
	return i;
}

static int
check_ports(struct reader *reader)
{
	const struct config *config = reader->config;
	const struct config_port *one, *other;

	for (one = config->ports; one < config->ports + PORTS_MAX; one++)
		for (other = config->ports; other < one; other++)
			if (one->line != 0 && other->line != 0 &&
			    (prefix_holds(&one->subnet, other->address) ||
			     prefix_holds(&other->subnet, one->address)))
				return fault(reader, RTE_MAX(one->line, other->line),
					"the subnets of ports %d and %d overlap: give each its own",
					(int)(other - config->ports), (int)(one - config->ports));
	return 0;
}

static int
check_neighbours(struct reader *reader)
{
	struct config *config = reader->config;
	unsigned int i, j, port;

	for (i = 0; i < config->n_neighbours; i++) {
		struct config_neighbour *one = &config->neighbours[i];

		port = port_of(config, one->address);
		if (port == PORTS_MAX)
			return fault(reader, one->line, "neighbour: its address is in the subnet "
				"of no port: see the 'port' lines");
		if (one->address == config->ports[port].address)
			return fault(reader, one->line, "neighbour: port %u itself has this "
				"address", port);
		for (j = 0; j < i; j++)
			if (config->neighbours[j].address == one->address)
				return fault(reader, one->line, "neighbour: line %u has this "
					"address already", config->neighbours[j].line);
		one->port = (uint16_t)port;
	}
	return 0;
}

static int
check_routes(struct reader *reader)
{
	struct config *config = reader->config;
	unsigned int i, j;

	for (i = 0; i < config->n_routes; i++) {
		struct config_route *one = &config->routes[i];

		for (j = 0; j < config->n_neighbours &&
		     config->neighbours[j].address != one->via; j++)
			;
		if (j == config->n_neighbours)
			return fault(reader, one->line, "route: the next hop is no neighbour: "
				"add 'neighbour %u.%u.%u.%u MAC'", one->via >> 24,
				one->via >> 16 & 255, one->via >> 8 & 255, one->via & 255);
		one->neighbour = j;
		for (j = 0; j < i; j++)
			if (config->routes[j].to.address == one->to.address &&
			    config->routes[j].to.depth == one->to.depth)
				return fault(reader, one->line, "route: line %u leads to this "
					"prefix already", config->routes[j].line);
		for (j = 0; j < PORTS_MAX; j++)
			if (config->ports[j].line != 0 &&
			    config->ports[j].subnet.address == one->to.address &&
			    config->ports[j].subnet.depth == one->to.depth)
				return fault(reader, one->line, "route: this is the subnet of "
					"port %u, which needs no route", j);
	}
	return 0;
}

static int
check_nat(struct reader *reader)
{
	const struct config *config = reader->config;
	unsigned int port = port_of(config, config->nat.address), i;
	bool outside = false;

	if (config->nat.line == 0)
		return 0;
	if (port != PORTS_MAX && !config->ports[port].outside)
		return fault(reader, config->nat.line, "nat: its address is in the subnet of port "
			"%u, which is inside: take one that the outside knows", port);
	for (i = 0; i < PORTS_MAX; i++)
		outside = outside || (config->ports[i].line != 0 && config->ports[i].outside);
	if (!outside)
		return fault(reader, config->nat.line, "nat: no port is outside: see the 'port' "
			"lines");
	for (i = 0; i < config->n_neighbours; i++)
		if (config->neighbours[i].address == config->nat.address)
			return fault(reader, config->nat.line, "nat: the neighbour of line %u has "
				"this address", config->neighbours[i].line);
	return 0;
}

static int
check(struct reader *reader)
{
	const struct config *config = reader->config;

	if (config->n_ports == 0)
		return fault(reader, reader->line, "no port: add 'port 0 inside 10.0.0.1/24'");
	if (config->n_rules == 0)
		return fault(reader, reader->line, "no rule, so that everything would be denied: "
			"add 'permit any any any'");
	if (check_ports(reader) != 0 || check_neighbours(reader) != 0 ||
	    check_routes(reader) != 0)
		return -1;
	return check_nat(reader);
}

int
config_load(const char *file, struct config *config, char *error, size_t size)
{
	struct reader reader = { .config = config, .error = error, .size = size };
	FILE *stream = fopen(file, "re");
	size_t room = 0;
	char *text = NULL;
	int ret = 0;

	memset(config, 0, sizeof(*config));
	config->timeout[NAT_TCP] = 7200;
	config->timeout[NAT_UDP] = 300;
	config->timeout[NAT_ICMP] = 60;
	if (stream == NULL || strlen(file) >= sizeof(config->file)) {
		snprintf(error, size, "%s: %s: give a file that can be read (--config FILE)", file,
			stream == NULL ? strerror(errno) : "the name is too long");
		if (stream != NULL)
			fclose(stream);
		return -1;
	}
	strcpy(config->file, file);
	while (ret == 0 && getline(&text, &room, stream) >= 0) {
		reader.line++;
		ret = read_line(&reader, text);
	}
	if (ret == 0 && ferror(stream))
		ret = fault(&reader, reader.line + 1, "cannot be read");
	if (ret == 0)
		ret = check(&reader);
	free(text);
	fclose(stream);
	return ret;
}

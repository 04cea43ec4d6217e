/* SPDX-License-Identifier: BSD-3-Clause */

/* The configuration of nfv_chain: what is read, and what is said of what cannot be. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "config.h"

#define PORTS "port 0 inside 10.0.0.1/24\nport 1 outside 192.0.2.1/24\n"
#define RULE "permit any any any\n"
#define NEIGHBOUR "neighbour 192.0.2.254 02:00:00:00:00:fe\n"

static struct config config;
static char error[512];
static char file[] = "nfv-config-XXXXXX";

static int
load(const char *text)
{
	FILE *stream;
	int ret, fd;

	strcpy(file + sizeof(file) - 7, "XXXXXX");
	fd = mkstemp(file);
	stream = fdopen(fd, "w");
	assert_non_null(stream);
	fputs(text, stream);
	fclose(stream);
	error[0] = '\0';
	ret = config_load(file, &config, error, sizeof(error));
	unlink(file);
	return ret;
}

/* The file and the line come first; what follows begins as told. */
static void
refused(const char *text, unsigned int line, const char *complaint)
{
	char head[64];

	assert_int_equal(load(text), -1);
	snprintf(head, sizeof(head), "%s:%u: ", file, line);
	if (strncmp(error, head, strlen(head)) != 0 ||
	    strncmp(error + strlen(head), complaint, strlen(complaint)) != 0)
		fail_msg("\"%s\" is not \"%s%s…\"", error, head, complaint);
	assert_null(strchr(error, '\n'));
}

static void
everything(void **state)
{
	(void)state;
	assert_int_equal(load("# a comment\n\n" PORTS "neighbour 10.0.0.2 02:00:00:00:00:02 # one\n"
		NEIGHBOUR "route 0.0.0.0/0 via 192.0.2.254\n route 10.1.0.0/16\tvia 10.0.0.2\r\n"
		"deny tcp 10.0.0.0/25:1024-65535 any:23\npermit 47 any 192.0.2.9\n"
		"nat 192.0.2.1 20000-29999\ntimeout udp 30"), 0);
	assert_int_equal(config.n_ports, 2);
	assert_true(!config.ports[0].outside && config.ports[1].outside);
	assert_int_equal(config.ports[0].address, 0x0a000001);
	assert_int_equal(config.ports[0].subnet.address, 0x0a000000);
	assert_int_equal(config.ports[1].subnet.depth, 24);
	assert_int_equal(config.n_neighbours, 2);
	assert_int_equal(config.neighbours[0].port, 0);
	assert_int_equal(config.neighbours[1].port, 1);
	assert_int_equal(config.neighbours[1].mac.addr_bytes[5], 0xfe);
	assert_int_equal(config.n_routes, 2);
	assert_int_equal(config.routes[0].neighbour, 1);
	assert_int_equal(config.routes[1].neighbour, 0);
	assert_int_equal(config.routes[1].to.address, 0x0a010000);
	assert_int_equal(config.n_rules, 2);
	assert_true(!config.rules[0].permit && config.rules[1].permit);
	assert_int_equal(config.rules[0].line, 9);
	assert_int_equal(config.rules[0].proto, 6);
	assert_int_equal(config.rules[0].src.depth, 25);
	assert_int_equal(config.rules[0].sport.first, 1024);
	assert_int_equal(config.rules[0].sport.last, 65535);
	assert_int_equal(config.rules[0].dport.first, 23);
	assert_int_equal(config.rules[0].dport.last, 23);
	assert_int_equal(config.rules[1].proto, 47);
	assert_int_equal(config.rules[1].dst.depth, 32);
	assert_int_equal(config.rules[1].dport.last, 65535);
	assert_int_equal(config.nat.address, 0xc0000201);
	assert_int_equal(config.nat.ports.last, 29999);
	assert_int_equal(config.timeout[NAT_UDP], 30);
	assert_int_equal(config.timeout[NAT_TCP], 7200);
}

static void
words(void **state)
{
	(void)state;
	refused("prot 0", 1, "'prot' is no directive: port, neighbour, ");
	refused("port 0 inside", 1, "'port' takes 3 words, not 2: port NUMBER inside|outside ");
	refused("nat 192.0.2.1 1 2 3 4 5 6 7 8", 1, "'nat' takes 2 words, not 7: ");
	refused("port 16 inside 10.0.0.1/24", 1, "port '16': give the number of an ethdev, 0 to");
	refused("\nport -1 inside 10.0.0.1/24", 2, "port '-1': give the number");
	refused("port 0 middle 10.0.0.1/24", 1, "side 'middle': a port is inside or outside");
	refused("port 0 inside 10.0.0.256/24", 1, "address '10.0.0.256/24': not an IPv4 address");
	refused("port 0 inside 10.0.0.1", 1, "address '10.0.0.1': give it with the length");
	refused("port 0 inside 10.0.0.1/33", 1, "address '10.0.0.1/33': behind the slash comes");
	refused("port 0 inside 10.0.0.1/24x", 1, "address '10.0.0.1/24x': behind the slash");
	refused("neighbour 10.0.0.2 02:00:00:00:00", 1, "address '02:00:00:00:00': not a MAC");
	refused("neighbour 10.0.0.2 01:00:00:00:00:00", 1,
		"address '01:00:00:00:00:00': not the address of one station");
	refused("neighbour 10.0.0 02:00:00:00:00:01", 1, "neighbour '10.0.0': not an IPv4");
	refused("route 10.0.0.1/24 via 10.0.0.2", 1, "route '10.0.0.1/24': bits are set behind");
	refused("route 10.0.0.0/24 to 10.0.0.2", 1, "'to': write route PREFIX via ADDRESS");
	refused("route 10.0.0.0/24 via here", 1, "next hop 'here': not an IPv4 address");
	refused("permit sctp any any", 1, "protocol 'sctp': not a protocol");
	refused("permit 256 any any", 1, "protocol '256': not a protocol");
	refused("permit icmp any any:80", 1, "protocol 'icmp': only tcp and udp have ports");
	refused("permit any any:80 any", 1, "protocol 'any': only tcp and udp have ports");
	refused("deny tcp 10.0.0.1/24 any", 1, "from '10.0.0.1/24': bits are set behind");
	refused("deny tcp any any:80-79", 1, "to 'any:80-79': a range that ends before it begins");
	refused("deny tcp any any:65536", 1, "to 'any:65536': not a port or a range");
	refused("deny tcp any any:", 1, "to 'any:': not a port or a range");
	refused("nat 192.0.2.1 0-10", 1, "ports '0-10': port 0 is none");
	refused("nat all 1-10", 1, "nat 'all': not an IPv4 address");
	refused("timeout gre 5", 1, "timeout 'gre': of tcp, udp or icmp");
	refused("timeout tcp 0", 1, "timeout '0': give seconds, 1 to 86400");
}

static void
lines_together(void **state)
{
	(void)state;
	refused("# nothing\n", 1, "no port: add 'port 0 inside 10.0.0.1/24'");
	refused(PORTS, 2, "no rule, so that everything would be denied: add ");
	refused(PORTS "port 1 inside 10.1.0.1/24\n", 3, "port 1: line 2 has it already");
	refused(PORTS RULE "port 2 inside 10.0.0.129/25\n", 4,
		"the subnets of ports 0 and 2 overlap");
	refused(PORTS RULE "neighbour 10.2.0.1 02:00:00:00:00:01\n", 4,
		"neighbour: its address is in the subnet of no port");
	refused(PORTS RULE "neighbour 10.0.0.1 02:00:00:00:00:01\n", 4,
		"neighbour: port 0 itself has this address");
	refused(PORTS RULE NEIGHBOUR NEIGHBOUR, 5, "neighbour: line 4 has this address already");
	refused(PORTS RULE "route 10.1.0.0/16 via 10.0.0.9\n", 4,
		"route: the next hop is no neighbour: add 'neighbour 10.0.0.9 MAC'");
	refused(PORTS RULE NEIGHBOUR "route 10.1.0.0/16 via 192.0.2.254\n"
		"route 10.1.0.0/16 via 192.0.2.254\n", 6,
		"route: line 5 leads to this prefix already");
	refused(PORTS RULE NEIGHBOUR "route 10.0.0.0/24 via 192.0.2.254\n", 5,
		"route: this is the subnet of port 0");
	refused(PORTS RULE "nat 10.0.0.5 1000-2000\n", 4, "nat: its address is in the subnet of "
		"port 0, which is inside");
	refused(PORTS RULE "nat 192.0.2.1 1-2\nnat 192.0.2.1 1-2\n", 5, "nat '192.0.2.1': line 4");
	refused(PORTS RULE NEIGHBOUR "nat 192.0.2.254 1-2\n", 5, "nat: the neighbour of line 4");
	refused("port 0 inside 10.0.0.1/24\n" RULE "nat 192.0.2.1 1-2\n", 3,
		"nat: no port is outside");
}

static void
too_many(void **state)
{
	static char text[RULES_MAX * 32 + 1024];
	unsigned int i;

	(void)state;
	strcpy(text, PORTS);
	for (i = 0; i < RULES_MAX; i++)
		strcat(text, RULE);
	assert_int_equal(load(text), 0);
	strcat(text, RULE);
	refused(text, RULES_MAX + 3, "one 'permit' too many: raise the limit of 1024 in config.h");
}

static void
no_file(void **state)
{
	(void)state;
	assert_int_equal(config_load("/nowhere/x.conf", &config, error, sizeof(error)), -1);
	assert_string_equal(error, "/nowhere/x.conf: No such file or directory: give a file that "
		"can be read (--config FILE)");
	assert_int_equal(config_load("/", &config, error, sizeof(error)), -1);
	assert_non_null(strstr(error, "/:1: cannot be read"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything),
		cmocka_unit_test(words),
		cmocka_unit_test(lines_together),
		cmocka_unit_test(too_many),
		cmocka_unit_test(no_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "options.h"
#include "profile.h"

static struct vmlx4_options options;
static char error[512];

static void
good(const char *text)
{
	error[0] = '\0';
	assert_int_equal(vmlx4_options_parse(text, &options, error, sizeof(error)), 0);
	assert_string_equal(error, "");
}

/* Refused with one line that names the option, the value and the cure. */
static void
bad(const char *text, const char *name, const char *value, const char *cure)
{
	char start[64];

	error[0] = '\0';
	assert_int_equal(vmlx4_options_parse(text, &options, error, sizeof(error)), -EINVAL);
	snprintf(start, sizeof(start), "option %s: ", name);
	if (strncmp(error, start, strlen(start)) != 0 || strstr(error, value) == NULL ||
			strstr(error, cure) == NULL || strchr(error, '\n') != NULL)
		fail_msg("\"%s\" gave \"%s\"", text, error);
}

static void
defaults(void **state)
{
	(void)state;
	good("");
	assert_string_equal(options.profile->name, "cx3pro");
	assert_int_equal(options.ports, 2);
	assert_int_equal(options.wire[0].kind, VMLX4_WIRE_PEER);
	assert_int_equal(options.wire[1].kind, VMLX4_WIRE_PEER);
	assert_string_equal(options.pci_address, "0000:05:00.0");
	assert_false(options.step);
	assert_int_equal(options.engine_cpu, -1);
	assert_int_equal(options.strict, VMLX4_STRICT_OFF);
	assert_int_equal(options.cqe_size, 64);
	assert_false(options.deny_open);
	assert_int_equal(options.mtu, 1500);
	assert_string_equal(options.stats_file, "");
	assert_int_equal(options.seed, VMLX4_SEED_DEFAULT);
	assert_string_equal(options.trace_file, "");
	assert_int_equal(options.trace_snaplen, 65535);
	assert_false(options.trace_raw);
	good("ports=1");
	assert_int_equal(options.wire[0].kind, VMLX4_WIRE_LOOP);
}

static void
every_option(void **state)
{
	(void)state;
	good("profile=cx3 ports=2 wire1=tap:left wire2=packet:right ib=1 pci=0000:0A:1f.7 "
		"engine-cpu=1 strict=report stats=/tmp/s sysfs=/tmp/t cqe=32 deny-open mtu=9000");
	assert_string_equal(options.profile->name, "cx3");
	assert_int_equal(options.wire[0].kind, VMLX4_WIRE_TAP);
	assert_string_equal(options.wire[0].ifname, "left");
	assert_int_equal(options.wire[1].kind, VMLX4_WIRE_PACKET);
	assert_string_equal(options.wire[1].ifname, "right");
	assert_true(options.infiniband[0]);
	assert_false(options.infiniband[1]);
	assert_string_equal(options.pci_address, "0000:0a:1f.7");
	assert_int_equal(options.engine_cpu, 1);
	assert_int_equal(options.strict, VMLX4_STRICT_REPORT);
	assert_string_equal(options.stats_file, "/tmp/s");
	assert_string_equal(options.sysfs, "/tmp/t");
	assert_int_equal(options.cqe_size, 32);
	assert_true(options.deny_open);
	assert_int_equal(options.mtu, 9000);
	good("completion-lag=7");
	assert_int_equal(options.completion_lag_ns, 7000);
	good("seed=0xffffffffffffffff trace=/tmp/t trace-snaplen=0 trace-raw");
	assert_true(options.seed == UINT64_MAX);
	assert_string_equal(options.trace_file, "/tmp/t");
	assert_int_equal(options.trace_snaplen, 0);
	assert_true(options.trace_raw);
	good("step strict");
	assert_true(options.step);
	assert_int_equal(options.strict, VMLX4_STRICT_FATAL);
	good("strict strict=off ib=1 ib=2");
	assert_int_equal(options.strict, VMLX4_STRICT_OFF);
	assert_true(options.infiniband[0] && options.infiniband[1]);
}

static void
addresses(void **state)
{
	static const uint8_t mapped[16] = { [10] = 0xff, [11] = 0xff, 10, 0, 0, 1 };
	static const uint8_t mac[6] = { 0, 2, 0xc9, 6, 0, 1 };

	(void)state;
	good("ip1=10.0.0.1,fd00::1 neighbour1=fd00::2@00:02:c9:06:00:01 ip2=10.0.0.1");
	assert_int_equal(options.addresses[0].owns, 2);
	assert_memory_equal(options.addresses[0].own[0], mapped, 16);
	assert_int_equal(options.addresses[0].own[1][0], 0xfd);
	assert_int_equal(options.addresses[0].neighbours, 1);
	assert_memory_equal(options.addresses[0].neighbour[0].mac, mac, 6);
	assert_int_equal(options.addresses[1].owns, 1);
	bad("ip1=", "ip1", "\"\"", "10.0.0.1,fd00::1");
	bad("ip1=10.0.0.1/24", "ip1", "10.0.0.1/24", "without a prefix");
	bad("ip1=10.0.0.1,", "ip1", "\"\"", "IPv4 or IPv6");
	bad("ip1=fe80::1", "ip1", "fe80::1", "of a host");
	bad("ip1=239.1.1.1", "ip1", "239.1.1.1", "of a host");
	bad("ip1=0.0.0.0", "ip1", "0.0.0.0", "of a host");
	bad("ip1=10.0.0.1,10.0.0.1", "ip1", "10.0.0.1", "twice");
	bad("ip1=1.1.1.1,1.1.1.2,1.1.1.3,1.1.1.4,1.1.1.5,1.1.1.6,1.1.1.7,1.1.1.8,1.1.1.9", "ip1",
		"1.1.1.9", "at most 8");
	bad("neighbour1=10.0.0.1", "neighbour1", "10.0.0.1", "ADDRESS@MAC");
	bad("neighbour1=10.0.0.1@00:02:c9:06:00", "neighbour1", "c9", "ADDRESS@MAC");
	bad("neighbour1=10.0.0.1@01:02:c9:06:00:01", "neighbour1", "01:02", "ADDRESS@MAC");
	bad("neighbour1=10.0.0.1@00:02:c9:06:00:01x", "neighbour1", "01x", "ADDRESS@MAC");
	bad("ip2=10.0.0.1 ports=1", "ip2", "2", "ports=2");
	bad("ib=2 neighbour2=10.0.0.1@00:02:c9:06:00:01", "neighbour2", "2", "InfiniBand");
}

static void
wires_of_both_ports(void **state)
{
	(void)state;
	good("wire=loop");
	assert_int_equal(options.wire[0].kind, VMLX4_WIRE_LOOP);
	assert_int_equal(options.wire[1].kind, VMLX4_WIRE_LOOP);
	/* The special one wins in whatever order. */
	good("wire1=tap:a wire=loop");
	assert_int_equal(options.wire[0].kind, VMLX4_WIRE_TAP);
	assert_int_equal(options.wire[1].kind, VMLX4_WIRE_LOOP);
	good("wire2=tap:a");
	assert_int_equal(options.wire[0].kind, VMLX4_WIRE_LOOP);
	assert_int_equal(options.wire[1].kind, VMLX4_WIRE_TAP);
	good("wire1=back-to-back wire2=back-to-back");
	/* One capture may feed two ports. */
	good("wire=pcap:in=a");
	assert_string_equal(options.wire[1].pcap_in, "a");
}

static void
pcap_file_names(void **state)
{
	(void)state;
	good("ports=1 wire=pcap:in=/a/b,c.pcap,out=d=e.pcap");
	assert_string_equal(options.wire[0].pcap_in, "/a/b,c.pcap");
	assert_string_equal(options.wire[0].pcap_out, "d=e.pcap");
	good("ports=1 wire=pcap:out=x,in=y");
	assert_string_equal(options.wire[0].pcap_in, "y");
	assert_string_equal(options.wire[0].pcap_out, "x");
	good("ports=1 wire=pcap:out=x");
	assert_string_equal(options.wire[0].pcap_in, "");
}

static void
shapes_of_wires(void **state)
{
	(void)state;
	good("wire1=loop,rate=40G,delay=1us wire2=pcap:in=a,b,out=c,jitter=3ns,rate=profile");
	assert_int_equal(options.wire[0].kind, VMLX4_WIRE_LOOP);
	assert_true(options.wire[0].shape.rate == 40000000000);
	assert_int_equal(options.wire[0].shape.delay, 1000);
	assert_int_equal(options.wire[0].shape.jitter, 0);
	assert_string_equal(options.wire[1].pcap_in, "a,b");
	assert_string_equal(options.wire[1].pcap_out, "c");
	assert_true(options.wire[1].shape.rate_of_port);
	assert_int_equal(options.wire[1].shape.jitter, 3);
	good("wire=shm:x,y,delay=10s ports=1");
	assert_string_equal(options.wire[0].name, "x,y");
	assert_true(options.wire[0].shape.delay == 10000000000);
	good("wire=back-to-back,rate=10K");
	assert_int_equal(options.wire[1].shape.rate, 10000);
	good("wire=loop,rate=25000000");
	assert_int_equal(options.wire[0].shape.rate, 25000000);
	bad("wire=loop,rate=", "wire", "loop,rate=", "from 10K to 400G");
	bad("wire=loop,rate=0", "wire", "rate=0", "from 10K to 400G");
	bad("wire=loop,rate=9999", "wire", "rate=9999", "from 10K to 400G");
	bad("wire=loop,rate=401G", "wire", "rate=401G", "from 10K to 400G");
	bad("wire=loop,rate=18446744073709551616G", "wire", "loop", "from 10K to 400G");
	bad("wire=loop,rate=-1G", "wire", "rate=-1G", "from 10K to 400G");
	bad("wire=loop,rate=1g", "wire", "rate=1g", "from 10K to 400G");
	bad("wire=loop,delay=5", "wire", "delay=5", "with its unit");
	bad("wire=loop,delay=11s", "wire", "delay=11s", "up to 10s");
	bad("wire=loop,jitter=x", "wire", "jitter=x", "with its unit");
	bad("wire=loop,rate=1G,speed=1", "wire", "speed=1", "use loop");
	bad("wire=tap:,rate=1G", "wire", "tap:", "name of a network interface");
}

static void
names_of_wires(void **state)
{
	char text[256];

	(void)state;
	good("ports=1 wire=shm:cable");
	assert_int_equal(options.wire[0].kind, VMLX4_WIRE_SHM);
	assert_string_equal(options.wire[0].name, "cable");
	good("wire1=unix:/run/a wire2=unix:/run/b");
	assert_int_equal(options.wire[1].kind, VMLX4_WIRE_UNIX);
	assert_string_equal(options.wire[1].name, "/run/b");
	bad("ports=1 wire=shm:", "wire", "shm:", "a name of 1 to");
	bad("ports=1 wire=unix:", "wire", "unix:", "a name of 1 to");
	bad("wire=shm:x", "wire", "x", "different ones");
	/* As much as a socket's address takes. */
	snprintf(text, sizeof(text), "ports=1 wire=unix:/%0106d", 0);
	good(text);
	snprintf(text, sizeof(text), "ports=1 wire=unix:/%0107d", 0);
	bad(text, "wire", "unix:/0", "1 to 107 characters");
	snprintf(text, sizeof(text), "ports=1 wire=shm:%097d", 0);
	bad(text, "wire", "shm:0", "1 to 96 characters");
}

static void
late_links(void **state)
{
	(void)state;
	good("");
	assert_int_equal(options.link_delay_ms + options.carrier_delay_ms, 0);
	good("link-delay=250 carrier-delay=60000");
	assert_int_equal(options.link_delay_ms, 250);
	assert_int_equal(options.carrier_delay_ms, 60000);
	bad("link-delay=-1", "link-delay", "\"-1\"", "0 to 60000");
	bad("carrier-delay=1s", "carrier-delay", "\"1s\"", "0 to 60000");
	bad("link-delay=60001", "link-delay", "\"60001\"", "0 to 60000");
	good("wait-link=5000");
	assert_int_equal(options.wait_link_ms, 5000);
	bad("wait-link=x", "wait-link", "\"x\"", "0 to 60000");
	bad("wait-link=1 step", "wait-link", "step", "drop one");
	good("wait-link=0 step");
}

static void
quoted_values(void **state)
{
	static const char name[] = "/tmp/with space\\and backslash";
	char text[128];

	(void)state;
	assert_int_equal(vmlx4_options_quote(text, sizeof(text), "stats", name),
		strlen("stats=") + strlen(name) + 3);
	good(text);
	assert_string_equal(options.stats_file, name);
	/* Too small a buffer: cut, ended, and the true length returned. */
	assert_int_equal(vmlx4_options_quote(text, 10, "stats", name),
		strlen("stats=") + strlen(name) + 3);
	assert_string_equal(text, "stats=/tm");
}

static void
plugs(void **state)
{
	(void)state;
	good("");
	assert_int_equal(options.module, VMLX4_MODULE_DEFAULT);
	good("module=sfp");
	assert_int_equal(options.module, VMLX4_MODULE_SFP);
	good("module=none");
	assert_int_equal(options.module, VMLX4_MODULE_NONE);
	bad("module=cfp", "module", "\"cfp\"", "qsfp, sfp or none");
}

static void
bad_options(void **state)
{
	char text[3 * PATH_MAX];

	(void)state;
	bad("colour=red", "colour", "colour", "--help");
	bad("ports", "ports", "missing", "ports=1|2");
	bad("ports=0", "ports", "\"0\"", "from 1 to 2");
	bad("ports=2x", "ports", "\"2x\"", "from 1 to 2");
	bad("ports=99999999999999999999", "ports", "9999", "from 1 to 2");
	bad("profile=cx5", "profile", "\"cx5\"", "cx3pro");
	bad("pci=05:00.0", "pci", "\"05:00.0\"", "0000:05:00.0");
	bad("pci=0000:05:20.0", "pci", "05:20.0", "0000:05:00.0");
	bad("pci=0000:05:00.8", "pci", "05:00.8", "0000:05:00.0");
	bad("step=1", "step", "\"1\"", "no value");
	bad("deny-open=yes", "deny-open", "yes", "no value");
	bad("no-cap=CAP_SYS_ADMIN", "no-cap", "CAP_SYS_ADMIN", "CAP_NET_RAW or CAP_NET_ADMIN");
	bad("memlock=", "memlock", "", "number of bytes, or host");
	bad("memlock=1k", "memlock", "1k", "number of bytes, or host");
	bad("memlock=-1", "memlock", "-1", "number of bytes, or host");
	bad("engine-cpu=-1", "engine-cpu", "-1", "0 to 1023");
	bad("step engine-cpu=0", "engine-cpu", "step", "drop one");
	bad("strict=maybe", "strict", "maybe", "strict=report");
	bad("stats=", "stats", "\"\"", "file");
	bad("cqe=128", "cqe", "128", "32 or 64");
	bad("mtu=45", "mtu", "45", "46 to 9900");
	bad("mtu=9901", "mtu", "9901", "46 to 9900");
	bad("completion-lag=-1", "completion-lag", "-1", "give a number");
	bad("completion-lag=1000001", "completion-lag", "1000001", "to 1000000");
	bad("seed=", "seed", "\"\"", "give a number");
	bad("seed=-1", "seed", "-1", "give a number");
	bad("seed=18446744073709551616", "seed", "1844", "give a number");
	bad("seed=1x", "seed", "1x", "give a number");
	bad("trace=", "trace", "\"\"", "file");
	bad("trace-snaplen=65536", "trace-snaplen", "65536", "0 to 65535");
	bad("trace-raw=1", "trace-raw", "\"1\"", "no value");
	bad("ib=3", "ib", "3", "1 to 2");
	bad("ports=1 ib=2", "ib", "2", "ports=2");
	bad("ports=1 wire2=loop", "wire2", "2", "ports=2");

	memset(text, 'x', sizeof(text));
	memcpy(text, "stats=", 6);
	text[6 + PATH_MAX] = '\0';
	bad(text, "stats", "xxx", "longer than 4095");
	text[6 + PATH_MAX] = 'x';
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(vmlx4_options_parse(text, &options, error, sizeof(error)), -EINVAL);
}

static void
bad_wires(void **state)
{
	(void)state;
	bad("wire=cable", "wire", "\"cable\"", "packet:INTERFACE");
	bad("wire1=tap:", "wire1", "\"tap:\"", "name of a network interface");
	bad("wire1=packet:averyveryverylongname", "wire1", "averyvery", "1 to 15");
	bad("wire1=tap:a/b", "wire1", "a/b", "network interface");
	bad("wire1=pcap:", "wire1", "\"pcap:\"", "pcap:in=FILE");
	bad("wire1=pcap:foo.pcap", "wire1", "foo.pcap", "pcap:in=FILE");
	bad("wire1=pcap:in=", "wire1", "pcap:in=", "name of a file");
	bad("wire1=pcap:in=a,in=b", "wire1", "in=a,in=b", "once each");
	bad("wire1=pcap:in=a,out=a", "wire1", "out=a", "same file");
	bad("ports=1 wire=back-to-back", "wire", "back-to-back", "ports=2");
	bad("wire1=back-to-back", "wire", "back-to-back", "both ports");
	bad("wire1=back-to-back wire2=loop", "wire", "back-to-back", "both ports");
	bad("wire=tap:x", "wire", "\"x\"", "cannot share");
	bad("wire1=tap:x wire2=packet:x", "wire", "\"x\"", "cannot share");
	bad("wire=pcap:out=f", "wire", "\"f\"", "cannot share");
	bad("wire1=pcap:in=f wire2=pcap:out=f", "wire", "\"f\"", "cannot share");
}

/* Each name leads to a field of its own, with the limits that the list has. */
static void
unknowns(void **state)
{
	const struct vmlx4_unknown *unknown;
	unsigned int i, value;
	char text[128];

	(void)state;
	good("");
	for (i = 0; (unknown = vmlx4_unknown_get(i)) != NULL; i++) {
		struct vmlx4_unknowns expected = vmlx4_unknown_defaults;

		memcpy(&value, (char *)&options.unknowns + unknown->offset, sizeof(value));
		assert_int_equal(value, unknown->value);
		value = unknown->value == unknown->most ? unknown->least : unknown->most;
		memcpy((char *)&expected + unknown->offset, &value, sizeof(value));
		snprintf(text, sizeof(text), "unknown=%s=%u", unknown->name, value);
		good(text);
		assert_memory_equal(&options.unknowns, &expected, sizeof(expected));
		good(""); /* nothing is left of it */
		assert_memory_equal(&options.unknowns, &vmlx4_unknown_defaults, sizeof(expected));
		snprintf(text, sizeof(text), "unknown=%s=%llu", unknown->name,
			unknown->most + 1ull);
		bad(text, "unknown", unknown->name, "a number from");
	}
	assert_int_equal(i * sizeof(unsigned int), sizeof(struct vmlx4_unknowns));
	good("unknown=rx_prot_syndrome=0x11 unknown=tx_min_frame=0");
	assert_int_equal(options.unknowns.rx_prot_syndrome, 0x11);
	assert_int_equal(options.unknowns.tx_min_frame, 0);
	bad("unknown", "unknown", "missing", "unknown=NAME=VALUE");
	bad("unknown=", "unknown", "\"\"", "vmlx4 unknowns");
	bad("unknown=tx_min_frame", "unknown", "tx_min_frame", "NAME=VALUE");
	bad("unknown=tx_min=0", "unknown", "tx_min=0", "vmlx4 unknowns");
	bad("unknown=tx_min_frame=", "unknown", "tx_min_frame=", "from 0 to 256");
	bad("unknown=tx_min_frame=-1", "unknown", "tx_min_frame=-1", "from 0 to 256");
	bad("unknown=tx_min_frame=6x", "unknown", "tx_min_frame=6x", "from 0 to 256");
	bad("unknown=rx_prot_syndrome=0", "unknown", "=0", "from 1 to 255");
}

static void
profiles(void **state)
{
	const struct vmlx4_profile *cx3 = vmlx4_profile_find("cx3");
	const struct vmlx4_profile *pro = vmlx4_profile_find("cx3pro");
	const struct vmlx4_profile *vf = vmlx4_profile_find("cx3-vf");
	const struct vmlx4_profile *old = vmlx4_profile_find("cx3-old-fw");
	const struct vmlx4_profile *slow = vmlx4_profile_find("cx3pro-10g");
	unsigned int i;

	(void)state;
	assert_non_null(cx3);
	assert_non_null(pro);
	assert_null(vmlx4_profile_find("cx"));
	assert_ptr_equal(vmlx4_profile_get(0), cx3);
	assert_ptr_equal(vmlx4_profile_get(1), pro);
	for (i = 0; vmlx4_profile_get(i) != NULL; i++)
		assert_ptr_equal(vmlx4_profile_find(vmlx4_profile_get(i)->name),
			vmlx4_profile_get(i));
	assert_int_equal(i, 7);
	assert_int_equal(vf->part_id, 0x1004);
	assert_int_equal(vf->core_clock_khz, 0);
	assert_int_equal(vf->max_cqe, cx3->max_cqe); /* of "like" */
	assert_int_equal(old->fw_ver, (2ull << 32) + (33 << 16) + 5100);
	assert_int_equal(old->device_cap_flags, 0x057e9c66);
	assert_int_equal(cx3->device_cap_flags, 0x257e9c66);
	assert_int_equal(slow->speed_mbps, 10000);
	assert_true(slow->tunnel_offload);
	assert_int_equal(cx3->part_id, 0x1003);
	assert_int_equal(pro->part_id, 0x1007);
	assert_false(cx3->tunnel_offload);
	assert_true(pro->tunnel_offload);
	assert_int_equal(vmlx4_profile_max_qp(cx3, 2), 393144);
	assert_int_equal(vmlx4_profile_max_qp(cx3, 1), 425912);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults),
		cmocka_unit_test(every_option),
		cmocka_unit_test(addresses),
		cmocka_unit_test(wires_of_both_ports),
		cmocka_unit_test(pcap_file_names),
		cmocka_unit_test(late_links),
		cmocka_unit_test(plugs),
		cmocka_unit_test(names_of_wires),
		cmocka_unit_test(shapes_of_wires),
		cmocka_unit_test(quoted_values),
		cmocka_unit_test(bad_options),
		cmocka_unit_test(bad_wires),
		cmocka_unit_test(unknowns),
		cmocka_unit_test(profiles),
	};

	return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}

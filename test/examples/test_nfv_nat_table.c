/* SPDX-License-Identifier: BSD-3-Clause */

/* Who has which port, under a clock of the test's own. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "nat_table.h"
#include "nfv_eal.h"

#define FIRST 1000
#define LAST 1007
#define PORTS (LAST - FIRST + 1)

static const uint64_t timeout[NAT_PROTOS] = { 100, 50, 10 };
static struct nat_table *table;

static int
set_up(void **state)
{
	(void)state;
	table = nat_table_create((struct port_range){ FIRST, LAST }, timeout);
	return table == NULL;
}

static int
tear_down(void **state)
{
	(void)state;
	nat_table_free(table);
	return 0;
}

static struct nat_key
key(uint8_t proto, uint16_t port)
{
	return (struct nat_key){ .address = 0x0a000002, .port = port, .proto = proto };
}

static int
out(uint8_t proto, uint16_t port, uint64_t now)
{
	struct nat_key one = key(proto, port);

	return nat_table_out(table, &one, now);
}

static void
each_has_its_own(void **state)
{
	struct nat_key other = { .address = 0x0a000003, .port = 1, .proto = NAT_TCP };
	const struct nat_key *found;

	(void)state;
	assert_int_equal(out(NAT_TCP, 1, 0), FIRST);
	assert_int_equal(out(NAT_TCP, 2, 0), FIRST + 1);
	assert_int_equal(nat_table_out(table, &other, 0), FIRST + 2);
	assert_int_equal(out(NAT_TCP, 1, 1), FIRST); /* again */
	assert_int_equal(out(NAT_UDP, 1, 1), FIRST); /* a range for each protocol */
	assert_int_equal(nat_table_used(table), 4);
	found = nat_table_in(table, NAT_TCP, FIRST + 2, 1);
	assert_non_null(found);
	assert_memory_equal(found, &other, sizeof(other));
	found = nat_table_in(table, NAT_UDP, FIRST, 1);
	assert_non_null(found);
	assert_int_equal(found->port, 1);
}

static void
nobody_has_it(void **state)
{
	(void)state;
	out(NAT_TCP, 1, 0);
	assert_null(nat_table_in(table, NAT_UDP, FIRST, 0));
	assert_null(nat_table_in(table, NAT_TCP, FIRST + 1, 0));
	assert_null(nat_table_in(table, NAT_TCP, FIRST - 1, 0));
	assert_null(nat_table_in(table, NAT_TCP, LAST + 1, 0));
	assert_null(nat_table_in(table, NAT_TCP, UINT16_MAX, 0));
}

static void
all_are_taken(void **state)
{
	unsigned int proto, i;

	(void)state;
	for (proto = 0; proto < NAT_PROTOS; proto++)
		for (i = 0; i < PORTS; i++)
			assert_int_equal(out(proto, i, 0), FIRST + (int)i);
	assert_int_equal(out(NAT_TCP, 99, 0), -1);
	assert_int_equal(out(NAT_TCP, 3, 0), FIRST + 3);
	assert_int_equal(nat_table_used(table), NAT_PROTOS * PORTS);
}

static void
ages(void **state)
{
	(void)state;
	assert_int_equal(out(NAT_UDP, 1, 0), FIRST);
	assert_int_equal(out(NAT_TCP, 1, 0), FIRST);
	assert_int_equal(nat_table_age(table, NAT_PROTOS * PORTS, 49), 0);
	assert_non_null(nat_table_in(table, NAT_TCP, FIRST, 49)); /* used: until 149 */
	assert_null(nat_table_in(table, NAT_UDP, FIRST, 50));     /* not swept yet */
	assert_int_equal(nat_table_age(table, NAT_PROTOS * PORTS, 50), 1);
	assert_int_equal(nat_table_used(table), 1);
	assert_int_equal(nat_table_age(table, NAT_PROTOS * PORTS, 148), 0);
	assert_int_equal(out(NAT_TCP, 1, 148), FIRST);            /* used: until 248 */
	assert_int_equal(nat_table_age(table, NAT_PROTOS * PORTS, 247), 0);
	assert_int_equal(nat_table_age(table, NAT_PROTOS * PORTS, 248), 1);
	assert_int_equal(nat_table_used(table), 0);
}

static void
ages_in_pieces(void **state)
{
	unsigned int i, aged = 0;

	(void)state;
	for (i = 0; i < PORTS; i++)
		out(NAT_ICMP, i, 0);
	for (i = 0; i < NAT_PROTOS * PORTS; i++) {
		unsigned int one = nat_table_age(table, 1, 10);

		assert_in_range(one, 0, 1);
		aged += one;
	}
	assert_int_equal(aged, PORTS);
	assert_int_equal(nat_table_used(table), 0);
}

/* A port that was given back is the last to be taken again. */
static void
ports_go_round(void **state)
{
	unsigned int i;

	(void)state;
	assert_int_equal(out(NAT_ICMP, 1, 0), FIRST);
	assert_int_equal(nat_table_age(table, NAT_PROTOS * PORTS, 10), 1);
	for (i = 1; i < PORTS; i++)
		assert_int_equal(out(NAT_ICMP, i + 1, 10), FIRST + (int)i);
	assert_int_equal(out(NAT_ICMP, 100, 10), FIRST);
	assert_int_equal(out(NAT_ICMP, 101, 10), -1);
}

static void
largest(void **state)
{
	struct nat_table *large = nat_table_create((struct port_range){ 1, UINT16_MAX }, timeout);
	struct nat_key one = { .proto = NAT_TCP };
	unsigned int i;

	(void)state;
	assert_non_null(large);
	for (i = 0; i < UINT16_MAX; i++) {
		one.address = i;
		assert_int_equal(nat_table_out(large, &one, 0), i + 1);
	}
	one.address = i;
	assert_int_equal(nat_table_out(large, &one, 0), -1);
	nat_table_free(large);
}

int
main(void)
{
#define TABLE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TABLE_TEST(each_has_its_own),
		TABLE_TEST(nobody_has_it),
		TABLE_TEST(all_are_taken),
		TABLE_TEST(ages),
		TABLE_TEST(ages_in_pieces),
		TABLE_TEST(ports_go_round),
		cmocka_unit_test(largest),
	};

	return cmocka_run_group_tests(tests, start_eal, NULL);
}

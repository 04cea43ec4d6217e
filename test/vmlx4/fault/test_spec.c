/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <rdma/ib_user_verbs.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fault/spec.h"
#include "trace/commands.h"

/* The language of the faults: what it takes, and what it says to mistakes. */

#define MAX 32

static struct vmlx4_fault_spec specs[MAX];
static unsigned int count;
static char error[512];

static int
keep(void *arg, const struct vmlx4_fault_spec *spec)
{
	assert_ptr_equal(arg, specs);
	assert_true(count < MAX);
	specs[count++] = *spec;
	return 0;
}

static const struct vmlx4_fault_spec *
good(const char *text)
{
	count = 0;
	error[0] = '\0';
	if (vmlx4_fault_parse(text, "fault", 7, keep, specs, error, sizeof(error)) != 0)
		fail_msg("\"%s\": %s", text, error);
	assert_string_equal(error, "");
	return specs;
}

/* One line that names the place, the word and the cure. */
static void
bad(const char *text, const char *place, const char *word, const char *cure)
{
	char start[128];
	int ret;

	count = 0;
	error[0] = '\0';
	ret = vmlx4_fault_parse(text, "fault", 7, keep, specs, error, sizeof(error));
	snprintf(start, sizeof(start), "faults: %s: \"%s", place, word);
	if (ret != -EINVAL || strncmp(error, start, strlen(start)) != 0 ||
			strstr(error, cure) == NULL || strchr(error, '\n') != NULL)
		fail_msg("\"%s\" gave %d, \"%s\"", text, ret, error);
}

static void
commands(void **state)
{
	const struct vmlx4_fault_spec *spec = good("command reg_mr nth=3 errno=ENOMEM");

	(void)state;
	assert_int_equal(count, 1);
	assert_int_equal(spec->subject, VMLX4_FAULT_COMMAND);
	assert_string_equal(spec->command->name, "reg_mr");
	assert_int_equal(spec->nths, 1);
	assert_int_equal(spec->nth[0], 3);
	assert_int_equal(spec->err, ENOMEM);
	assert_int_equal(spec->count, UINT64_MAX);
	assert_string_equal(spec->text, "command reg_mr errno=ENOMEM");
	spec = good("command errno=71 every=10 count=2");
	assert_null(spec->command);
	assert_int_equal(spec->err, 71);
	assert_int_equal(spec->every, 10);
	assert_int_equal(spec->count, 2);
	spec = good("memory above=64M");
	assert_int_equal(spec->above, 64 << 20);
	assert_int_equal(spec->err, ENOMEM);
	assert_int_equal(good("memory above=3 errno=EAGAIN")->err, EAGAIN);
}

static void
queues(void **state)
{
	const struct vmlx4_fault_spec *spec =
		good("wqe tx port=2 qpn=0x200 nth=1,5,9 syndrome=0x04 vendor=0x57");

	(void)state;
	assert_int_equal(spec->directions, VMLX4_FAULT_DIR_TX);
	assert_int_equal(spec->port, 2);
	assert_int_equal(spec->qpn, 0x200);
	assert_int_equal(spec->nths, 3);
	assert_int_equal(spec->nth[2], 9);
	assert_int_equal(spec->syndrome, 4);
	assert_int_equal(spec->vendor, 0x57);
	assert_string_equal(spec->text,
		"wqe tx port=2 qpn=0x200 syndrome=0x04 vendor=0x57");
	assert_int_equal(good("wqe tx rx syndrome=1")->directions, 3);
	assert_int_equal(specs[0].vendor, -1);
	spec = good("cqe late=5us cqn=0x80");
	assert_int_equal(spec->directions, 0);
	assert_int_equal(spec->late, 5000);
	assert_int_equal(spec->cqn, 0x80);
	spec = good("cqe rx coalesce=8 within=2ms");
	assert_int_equal(spec->n, 8);
	assert_int_equal(spec->within, 2000000);
	assert_int_equal(good("cqe coalesce=8")->within, 1000000);
}

static void
frames(void **state)
{
	const struct vmlx4_fault_spec *spec = good("frame rx port=2 every=10 drop");

	(void)state;
	assert_int_equal(spec->directions, VMLX4_FAULT_DIR_RX);
	assert_int_equal(spec->every, 10);
	assert_int_equal(spec->action, VMLX4_FAULT_DROP);
	spec = good("frame tx p=0.01 corrupt");
	assert_true(spec->random);
	assert_int_equal(spec->ppb, 10000000);
	assert_int_equal(spec->bit, -1);
	assert_false(spec->fcs_good);
	assert_int_equal(good("frame tx p=1 corrupt bit=7 fcs=good")->ppb, 1000000000);
	assert_int_equal(specs[0].bit, 7);
	assert_true(specs[0].fcs_good);
	assert_int_equal(good("frame tx p=0.000000001 corrupt byte=0")->ppb, 1);
	assert_int_equal(specs[0].byte, 0);
	assert_int_equal(good("frame tx truncate=64")->n, 64);
	assert_int_equal(good("frame tx reorder")->n, 1);
	assert_int_equal(good("frame tx rx duplicate=3")->n, 3);
	spec = good("frame rx match=12:0800/f0ff drop");
	assert_int_equal(spec->match.offset, 12);
	assert_int_equal(spec->match.length, 2);
	assert_int_equal(spec->match.value[0], 8);
	assert_int_equal(spec->match.mask[0], 0xf0);
	assert_int_equal(good("frame rx match=0:AbCd drop")->match.mask[1], 0xff);
}

static void
states(void **state)
{
	const struct vmlx4_fault_spec *spec = good("link port=1 down at=10ms for=5ms every=50ms");

	(void)state;
	assert_int_equal(spec->trigger, VMLX4_FAULT_AT_TIME);
	assert_int_equal(spec->at, 10000000);
	assert_int_equal(spec->duration, 5000000);
	assert_int_equal(spec->period, 50000000);
	assert_int_equal(good("link down frame=9")->trigger, VMLX4_FAULT_AT_FRAME);
	assert_int_equal(good("device fatal at=1s")->at, 1000000000);
	assert_int_equal(good("device fatal")->trigger, VMLX4_FAULT_AT_ONCE);
	assert_int_equal(good("device remove frame=3 for=2ms")->action, VMLX4_FAULT_REMOVE);
	assert_int_equal(specs[0].duration, 2000000);
	assert_int_equal(good("qp access-error command=4")->action, VMLX4_FAULT_ACCESS_ERROR);
	assert_int_equal(good("cq error cqn=128")->cqn, 128);
	assert_int_equal(good("clock stuck at=5ns")->action, VMLX4_FAULT_STUCK);
	spec = good("slow port=2 frames=8 per=10us");
	assert_int_equal(spec->n, 8);
	assert_int_equal(spec->per, 10000);
	assert_int_equal(spec->queue, 64);
}

static void
lists(void **state)
{
	(void)state;
	good("seed=42; link down # comment; device fatal\n\n ; \tclock missing\r\n"
		"seed=0\nqp fatal");
	assert_int_equal(count, 3);
	assert_int_equal(specs[0].seed, 42);
	assert_int_equal(specs[1].subject, VMLX4_FAULT_CLOCK);
	assert_int_equal(specs[1].seed, 42);
	assert_int_equal(specs[2].seed, 0);
	assert_int_equal(good("link down")->seed, 7);
	good("");
	assert_int_equal(count, 0);
}

static void
places(void **state)
{
	(void)state;
	bad("link down; link up", "fault 2", "up", "link takes port=");
	bad("link down\nblah", "fault 2", "blah", "start with command, memory");
	count = 0;
	assert_int_equal(vmlx4_fault_parse("link down; link down\n# x; y\nlink", "line", 1, keep,
		specs, error, sizeof(error)), -EINVAL);
	assert_int_equal(count, 2);
	assert_non_null(strstr(error, "faults: line 3: \"link\": say what happens"));
}

static void
mistakes(void **state)
{
	(void)state;
	bad("command", "fault 1", "command", "give errno=NAME");
	bad("command reg_mrs errno=EIO", "fault 1", "reg_mrs", "the name of a command and nth=");
	bad("command errno=EFOO", "fault 1", "errno=EFOO", "such as ENOMEM");
	bad("command errno=0", "fault 1", "errno=0", "1 to 4095");
	bad("command errno=EIO errno=EIO", "fault 1", "errno=EIO", "once");
	bad("command errno=EIO late=3us", "fault 1", "late=3us", "command takes");
	bad("command errno", "fault 1", "errno", "write errno=VALUE");
	bad("memory", "fault 1", "memory", "above=BYTES");
	bad("memory above=5T", "fault 1", "above=5T", "K, M or G");
	bad("memory above=99999999999G", "fault 1", "above=", "K, M or G");
	bad("wqe syndrome=4", "fault 1", "wqe", "wqe tx or wqe rx");
	bad("wqe tx", "fault 1", "wqe", "give syndrome=NUMBER");
	bad("wqe tx syndrome=0", "fault 1", "syndrome=0", "1 to 255");
	bad("wqe tx syndrome=0x100", "fault 1", "syndrome=0x100", "1 to 255");
	bad("wqe tx port=3 syndrome=4", "fault 1", "port=3", "1 to 2");
	bad("cqe", "fault 1", "cqe", "late=TIME or coalesce=N");
	bad("cqe late=5", "fault 1", "late=5", "a unit");
	bad("cqe late=-5us", "fault 1", "late=-5us", "a unit");
	bad("cqe late=1us coalesce=2", "fault 1", "coalesce=2", "write two");
	bad("cqe coalesce=1", "fault 1", "coalesce=1", "2 to 65535");
	bad("frame drop", "fault 1", "frame", "frame tx");
	bad("frame tx", "fault 1", "frame", "drop, corrupt");
	bad("frame tx drop=3", "fault 1", "drop=3", "write drop alone");
	bad("frame tx drop bit=3", "fault 1", "bit=", "corrupt only");
	bad("frame tx corrupt bit=3 byte=4", "fault 1", "byte=", "one of");
	bad("frame tx drop fcs=good", "fault 1", "fcs=good", "truncate only");
	bad("frame tx corrupt fcs=ok", "fault 1", "fcs=ok", "fcs=good");
	bad("frame tx truncate=13", "fault 1", "truncate=13", "14 to 65535");
	bad("frame tx p=1.1 drop", "fault 1", "p=1.1", "0 to 1");
	bad("frame tx p=0,5 drop", "fault 1", "p=0,5", "0 to 1");
	bad("frame tx p= drop", "fault 1", "p=", "0 to 1");
	bad("frame tx p=0.0000000001 drop", "fault 1", "p=0.0000000001", "nine decimals");
	bad("frame tx p=0.5 nth=3 drop", "fault 1", "nth=3", "one of nth=");
	bad("frame tx nth=0 drop", "fault 1", "nth=0", "from 1");
	bad("frame tx nth=1,,2 drop", "fault 1", "", "from 1");
	bad("frame tx nth=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17 drop", "fault 1", "nth=",
		"at most 16");
	bad("frame tx match=12 drop", "fault 1", "match=12", "OFFSET:BYTES");
	bad("frame tx match=12:080 drop", "fault 1", "match=12:080", "OFFSET:BYTES");
	bad("frame tx match=12:0800/ff drop", "fault 1", "match=12:0800/ff", "OFFSET:BYTES");
	bad("frame tx match=70000:00 drop", "fault 1", "match=70000:00", "OFFSET:BYTES");
	bad("slow frames=3", "fault 1", "slow", "per=TIME");
	bad("slow frames=3 per=0us", "fault 1", "slow", "per=TIME");
	bad("link", "fault 1", "link", "down");
	bad("link down at=1us frame=3", "fault 1", "frame=3", "one of at=");
	bad("link down every=5ms", "fault 1", "every=", "for=TIME");
	bad("link down every=5ms for=5ms", "fault 1", "every=", "less than every=");
	bad("link down frame=3 every=5ms for=1ms", "fault 1", "every=", "at=TIME");
	bad("link down count=3", "fault 1", "count=", "every=TIME");
	bad("device", "fault 1", "device", "fatal or remove");
	bad("device fatal remove", "fault 1", "remove", "one");
	bad("qp remove", "fault 1", "remove", "qp");
	bad("device fatal port=1", "fault 1", "port=1", "device takes");
	bad("qp", "fault 1", "qp", "request-error");
	bad("cq", "fault 1", "cq", "error");
	bad("clock", "fault 1", "clock", "stuck");
	bad("seed=x", "fault 1", "seed=x", "a number");
	bad("seed=3 link down", "fault 1", "link", "alone");
}

static void
long_ones(void **state)
{
	char text[VMLX4_FAULT_TEXT + 64];

	(void)state;
	memset(text, ' ', sizeof(text));
	memcpy(text, "link", 4);
	strcpy(text + VMLX4_FAULT_TEXT - 5, "down");
	good(text);
	strcpy(text + VMLX4_FAULT_TEXT - 4, "down");
	bad(text, "fault 1", "link", "longer than 255");
	memset(text, 'x', sizeof(text) - 1);
	text[200] = '\0';
	bad(text, "fault 1", "xxx", "…");
}

static void
names(void **state)
{
	const struct vmlx4_fault_command *command;
	char text[128];
	unsigned int i;

	(void)state;
	for (i = 0; (command = vmlx4_fault_command_get(i)) != NULL; i++) {
		assert_true(command->plain >= 0 || command->extended >= 0);
		snprintf(text, sizeof(text), "command errno=EIO %s", command->name);
		assert_ptr_equal(good(text)->command, command);
	}
}

static bool
has_name(uint32_t command)
{
	const struct vmlx4_fault_command *entry;
	unsigned int i;

	for (i = 0; (entry = vmlx4_fault_command_get(i)) != NULL; i++)
		if (entry->plain == (int)command || (entry->extended >= 0 && command ==
				((uint32_t)entry->extended | IB_USER_VERBS_CMD_FLAG_EXTENDED)))
			return true;
	return false;
}

/* Whatever the adapter knows can be made to fail; address handles it refuses anyway. */
static void
every_command_has_a_name(void **state)
{
	const struct vmlx4_command_entry *entry;
	unsigned int i;

	(void)state;
	for (i = 0; (entry = vmlx4_trace_command_entry(i)) != NULL; i++)
		if (!has_name(entry->command) && entry->command != IB_USER_VERBS_CMD_CREATE_AH &&
				entry->command != IB_USER_VERBS_CMD_DESTROY_AH)
			fail_msg("%s", entry->name);
	assert_true(i > 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commands),
		cmocka_unit_test(queues),
		cmocka_unit_test(frames),
		cmocka_unit_test(states),
		cmocka_unit_test(lists),
		cmocka_unit_test(places),
		cmocka_unit_test(mistakes),
		cmocka_unit_test(long_ones),
		cmocka_unit_test(names),
		cmocka_unit_test(every_command_has_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

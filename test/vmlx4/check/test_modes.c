/* SPDX-License-Identifier: BSD-3-Clause */

#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "broken.h"

/* What a violation does, mode by mode. */

/* Mode fatal: one line that says what and where, and the run ends with 86. */
static void
test_fatal_line_and_status(void **state)
{
	char text[512] = "";
	int fd[2], status;
	pid_t pid;
	ssize_t n;

	(void)state;
	assert_int_equal(pipe(fd), 0);
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct broken *b = broken_new(VMLX4_STRICT_FATAL, 6);

		dup2(fd[1], STDERR_FILENO);
		card_post(b->sq, 0, 0x0c, b->card.arena, 60);
		ring(b);
		_exit(0);
	}
	close(fd[1]);
	n = read(fd[0], text, sizeof(text) - 1);
	close(fd[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), VMLX4_EXIT_VIOLATION);
	assert_true(n > 0);
	assert_string_equal(text, "vmlx4: contract violation: sq-se-bit: SQ 0x100 index 0: "
		"flags 0xc lack SE: the card would append an ICRC\n");
}

static void
test_off_says_nothing(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_OFF, 6);

	(void)state;
	card_post(b->sq, 0, 0x0c, b->card.arena, 60);
	ring(b);
	assert_int_equal(b->card.adapter->ports[0].stats.tx_frames, 1);
	clean(b);
}

/* The last rule has a text too, and no name stands for two rules. */
static void
test_texts(void **state)
{
	const struct vmlx4_rule_text *rule;
	unsigned int i;

	(void)state;
	for (i = 0; (rule = vmlx4_rule_text(i)) != NULL; i++) {
		assert_non_null(rule->name);
		assert_string_equal(rule->name, vmlx4_rule_name((enum vmlx4_rule)i));
		assert_int_equal(vmlx4_rule_find(rule->name), i);
		assert_non_null(rule->text);
		assert_non_null(rule->source);
		assert_non_null(rule->seen);
	}
	assert_int_equal(i, VMLX4_RULES);
	assert_int_equal(vmlx4_rule_find("sq-"), VMLX4_RULES);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fatal_line_and_status),
		cmocka_unit_test(test_off_says_nothing),
		cmocka_unit_test(test_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

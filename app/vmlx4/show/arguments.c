/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "show.h"

static const char help[] =
	"vmlx4 show [OPTIONS] FILE\n"
	"\n"
	"Print what \"vmlx4 exec --trace FILE\" recorded, one line for each command, WQE,\n"
	"CQE, frame and so on, in the order in which it happened. Options are --name VALUE\n"
	"or --name=VALUE; with several queues a line is printed that names any of them:\n"
	"\n"
	"  --kind LIST\n"
	"        Only these, separated by commas: cmd, close, doorbell, wqe, rqe, cqe, frame,\n"
	"        event, link, violation, drop, fault.\n"
	"  --qp NUMBER\n"
	"  --wq NUMBER\n"
	"  --cq NUMBER\n"
	"        Only what names the queue with this QPN, WQN or CQN (repeatable).\n"
	"  --port NUMBER\n"
	"        Only what happened at this port.\n"
	"  --from TIME\n"
	"  --to TIME\n"
	"        Only what happened from then on, or up to then: seconds since the start of\n"
	"        the trace, as they are printed, or with a unit: 1.5ms, 20us, 300ns.\n"
	"  --hex\n"
	"        Also the bytes of WQEs, CQEs and frames.\n"
	"  --pcapng FILE\n"
	"        Print nothing, but write the frames there (- for standard output), for\n"
	"        Wireshark: an interface for each port, with directions and nanoseconds.\n"
	"  --help\n"
	"\n"
	"The exit status is 2 when the file is not there, is no trace or is corrupt.\n";

static int
bad_value(const char *name, const char *value, const char *cure)
{
	complain("option %s: \"%.64s\": %s", name, value, cure);
	return -EINVAL;
}

static int
take_number(const char *name, const char *value, uint32_t *number)
{
	char *end;
	unsigned long long got;

	errno = 0;
	got = strtoull(value, &end, 0);
	if (errno != 0 || end == value || *end != '\0' || value[0] == '-' || got > 0xffffff)
		return bad_value(name, value, "give a number, such as 0x200");
	*number = (uint32_t)got;
	return 0;
}

static int
take_queue(const char *name, const char *value, uint32_t *numbers, unsigned int *count)
{
	if (*count == FILTER_QUEUES)
		return bad_value(name, value, "more than 16 of these");
	return take_number(name, value, &numbers[(*count)++]);
}

static int
take_time(const char *name, const char *value, uint64_t *ns)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = { { "", 1e9 }, { "s", 1e9 }, { "ms", 1e6 }, { "us", 1e3 }, { "ns", 1 } };
	char *end;
	double number = strtod(value, &end);
	size_t i;

	for (i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		double wanted = number * units[i].ns;

		if (end == value || strcmp(end, units[i].name) != 0)
			continue;
		/* Not written as a < 0: what is no number shall not pass. */
		if (!(wanted >= 0 && wanted < 1e18))
			break;
		*ns = (uint64_t)(wanted + 0.5);
		return 0;
	}
	return bad_value(name, value, "give a time, such as 0.25, 1.5ms or 300ns");
}

static int
take_kinds(const char *name, const char *value, uint32_t *kinds)
{
	char bad[64], cure[192];

	*kinds = kinds_parse(value, bad, sizeof(bad));
	if (*kinds != 0)
		return 0;
	snprintf(cure, sizeof(cure), "\"%s\" is no kind: see \"vmlx4 show --help\"", bad);
	return bad_value(name, value, cure);
}

static int
take_port(const char *name, const char *value, unsigned int *port)
{
	uint32_t number = 0;

	if (take_number(name, value, &number) < 0)
		return -EINVAL;
	if (number < 1 || number > VMLX4_MAX_PORTS)
		return bad_value(name, value, "ports are 1 and 2");
	*port = number;
	return 0;
}

static int
take_value(struct show *show, const char *name, const char *value)
{
	struct filter *filter = &show->filter;

	if (strcmp(name, "kind") == 0)
		return take_kinds(name, value, &filter->kinds);
	if (strcmp(name, "qp") == 0 || strcmp(name, "wq") == 0)
		return take_queue(name, value, filter->qp, &filter->qps);
	if (strcmp(name, "cq") == 0)
		return take_queue(name, value, filter->cq, &filter->cqs);
	if (strcmp(name, "port") == 0)
		return take_port(name, value, &filter->port);
	if (strcmp(name, "from") == 0)
		return take_time(name, value, &filter->from);
	if (strcmp(name, "to") == 0)
		return take_time(name, value, &filter->to);
	if (value[0] == '\0')
		return bad_value(name, value, "give the name of a file");
	show->pcapng = value;
	return 0;
}

/* Words used; 0: --help; -EINVAL. */
static int
take_option(struct show *show, char *word, char *next)
{
	static const char * const valued[] = {
		"kind", "qp", "wq", "cq", "port", "from", "to", "pcapng",
	};
	char *value = strchr(word, '=');
	int used = 1;
	size_t i;

	if (strcmp(word, "help") == 0) {
		fputs(help, stdout);
		return 0;
	}
	if (strcmp(word, "hex") == 0) {
		show->hex = true;
		return used;
	}
	if (value != NULL)
		*value++ = '\0';
	for (i = 0; i < sizeof(valued) / sizeof(valued[0]); i++)
		if (strcmp(word, valued[i]) == 0)
			break;
	if (i == sizeof(valued) / sizeof(valued[0])) {
		complain("option %s: there is no such option: see \"vmlx4 show --help\"", word);
		return -EINVAL;
	}
	if (value == NULL) {
		value = next;
		used = 2;
	}
	if (value == NULL) {
		complain("option %s: the value is missing: write --%s VALUE", word, word);
		return -EINVAL;
	}
	return take_value(show, word, value) < 0 ? -EINVAL : used;
}

int
show_arguments(int argc, char **argv, struct show *show)
{
	int i = 1;

	show->filter.kinds = UINT32_MAX;
	show->filter.to = UINT64_MAX;
	while (i < argc) {
		int used = 1;

		if (strncmp(argv[i], "--", 2) == 0) {
			used = take_option(show, argv[i] + 2, argv[i + 1]);
			if (used <= 0)
				return used == 0 ? 1 : used;
		} else if (show->file != NULL) {
			complain("%s: one file at a time", argv[i]);
			return -EINVAL;
		} else {
			show->file = argv[i];
		}
		i += used;
	}
	if (show->file == NULL) {
		complain("the file is missing: write vmlx4 show [OPTIONS] FILE");
		return -EINVAL;
	}
	return 0;
}

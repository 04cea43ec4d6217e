/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdio.h>
#include <string.h>

#include "check/check.h"
#include "fault/spec.h"
#include "launcher.h"
#include "profile.h"

/* The guide has these lists word for word; a test compares them. */

static void
profiles(void)
{
	const struct vmlx4_profile *profile;
	unsigned int i;

	for (i = 0; (profile = vmlx4_profile_get(i)) != NULL; i++)
		printf("%-11s %s, PCI id 15b3:%04x, firmware %u.%u.%03u\n", profile->name,
			profile->description, (unsigned int)profile->part_id,
			(unsigned int)(profile->fw_ver >> 32),
			(unsigned int)(profile->fw_ver >> 16 & 0xffff),
			(unsigned int)(profile->fw_ver & 0xffff));
}

static void
unknowns(void)
{
	const struct vmlx4_unknown *unknown;
	unsigned int i;

	for (i = 0; (unknown = vmlx4_unknown_get(i)) != NULL; i++)
		printf("%-23s %5u  %s\n", unknown->name, unknown->value, unknown->text);
}

static void
paragraph(const char *label, const char *text)
{
	const char *next;

	for (printf("  %s", label); (next = strchr(text, '\n')) != NULL; text = next + 1)
		printf("%.*s\n  ", (int)(next - text), text);
	puts(text);
}

static void
rules(void)
{
	const struct vmlx4_rule_text *rule;
	unsigned int i;

	for (i = 0; (rule = vmlx4_rule_text(i)) != NULL; i++) {
		printf("%s%s\n", i > 0 ? "\n" : "", rule->name);
		paragraph("", rule->text);
		paragraph("Source: ", rule->source);
		paragraph("Detected: ", rule->seen);
	}
}

static void
faults(void)
{
	fputs(vmlx4_fault_help, stdout);
}

static const struct list {
	const char *name;
	const char *heading;
	void (*print)(void);
} lists[] = {
	{ "profiles", "Card models, for --profile", profiles },
	{ "options", "Options of \"vmlx4 exec\"", vmlx4_options_help },
	{ "rules", "Rules of the contract, which --strict checks", rules },
	{ "unknowns", "What nobody has published, for --unknown, with defaults", unknowns },
	{ "faults", "What can go wrong on demand, for --faults", faults },
};
#define LISTS (sizeof(lists) / sizeof(lists[0]))

bool
print_list(const char *name)
{
	size_t i;

	for (i = 0; i < LISTS; i++) {
		if (strcmp(lists[i].name, name) != 0)
			continue;
		lists[i].print();
		return true;
	}
	return false;
}

static void
print_all(void)
{
	size_t i, length;

	for (i = 0; i < LISTS; i++) {
		printf("%s%s\n", i > 0 ? "\n" : "", lists[i].heading);
		for (length = strlen(lists[i].heading); length > 0; length--)
			putchar('-');
		printf("\n\n");
		lists[i].print();
	}
}

int
list_command(int argc, char **argv)
{
	size_t i;

	if (argc == 2 && strcmp(argv[1], "--help") == 0) {
		puts("vmlx4 list [NAME]\n\nPrint one of these lists, or all of them:\n");
		for (i = 0; i < LISTS; i++)
			printf("  %-10s %s\n", lists[i].name, lists[i].heading);
		return 0;
	}
	if (argc > 2)
		return complain("list %s %s: one list at a time", argv[1], argv[2]);
	if (argc == 1)
		print_all();
	else if (!print_list(argv[1]))
		return complain("list %s: there is no such list: see \"vmlx4 list --help\"",
			argv[1]);
	return 0;
}

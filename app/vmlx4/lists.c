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

bool
print_list(const char *name)
{
	static const struct {
		const char *name;
		void (*print)(void);
	} lists[] = { { "profiles", profiles }, { "unknowns", unknowns }, { "rules", rules },
		{ "faults", faults } };
	size_t i;

	for (i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		if (strcmp(lists[i].name, name) != 0)
			continue;
		lists[i].print();
		return true;
	}
	return false;
}

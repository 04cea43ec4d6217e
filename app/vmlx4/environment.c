/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher.h"

struct list {
	struct launch *launch;
	char text[OPTIONS_MAX];
	unsigned int links;
	bool failed;
};

static void
append(struct list *list, const char *name)
{
	size_t used = strlen(list->text);
	int length = snprintf(list->text + used, sizeof(list->text) - used, "%s%s",
		used > 0 ? ":" : "", name);

	if (!list->failed && length >= (int)(sizeof(list->text) - used)) {
		complain("LD_PRELOAD becomes too long: preload fewer libraries");
		list->failed = true;
	}
}

/* The loader splits at colons and spaces: a path with one gets a link without. */
static void
append_path(struct list *list, const char *file)
{
	char path[PATH_MAX], link[PATH_MAX + 32];

	if (realpath(file, path) == NULL) {
		complain("%s: %s", file, strerror(errno));
		list->failed = true;
		return;
	}
	if (strpbrk(path, ": ") == NULL) {
		append(list, path);
		return;
	}
	snprintf(link, sizeof(link), "%s/preload%u.so", list->launch->root, list->links++);
	if (strpbrk(link, ": ") != NULL || symlink(path, link) < 0) {
		complain("%s: the loader cannot take a path with a colon or a space: set TMPDIR "
			"to a folder without", path);
		list->failed = true;
		return;
	}
	append(list, link);
}

/* What was there before, but for the libraries of an adapter around this one. */
static void
append_previous(struct list *list, const char *library, const char *sanitizer)
{
	const char *before = getenv("LD_PRELOAD");
	char *copy, *word, *state = NULL;

	if (before == NULL || (copy = strdup(before)) == NULL)
		return;
	for (word = strtok_r(copy, ": ", &state); word != NULL;
			word = strtok_r(NULL, ": ", &state)) {
		const char *base = strrchr(word, '/');

		base = base != NULL ? base + 1 : word;
		if (strcmp(word, library) == 0 || strcmp(base, sanitizer) == 0)
			continue;
		append(list, word);
	}
	free(copy);
}

static bool
set(const char *name, const char *value)
{
	if (setenv(name, value, 1) == 0)
		return true;
	complain("%s: %s", name, strerror(errno));
	return false;
}

bool
set_environment(struct launch *launch)
{
	static struct list list;
	char library[PATH_MAX], sanitizer[256], path[PATH_MAX + 32], quoted[2 * PATH_MAX + 16];
	unsigned int i;

	if (!find_library(library))
		return false;
	list.launch = launch;
	/* Its runtime insists on being the first library of a process. */
	find_sanitizer(library, sanitizer, sizeof(sanitizer));
	if (sanitizer[0] == '\0')
		find_sanitizer(launch->path, sanitizer, sizeof(sanitizer));
	if (sanitizer[0] != '\0')
		append(&list, sanitizer);
	append_path(&list, library);
	for (i = 0; i < launch->preloads; i++)
		append_path(&list, launch->preload[i]);
	append_previous(&list, library, sanitizer);
	if (list.failed)
		return false;

	if (!launch->keep) {
		size_t used = strlen(launch->text);
		size_t room = sizeof(launch->text) - used;

		vmlx4_options_quote(quoted, sizeof(quoted), "sysfs", launch->root);
		if (snprintf(launch->text + used, room, "%s%s", used > 0 ? " " : "", quoted) >=
				(int)room) {
			complain("all options together are too long: use shorter file names");
			return false;
		}
	}
	snprintf(path, sizeof(path), "%s/bus/pci/devices", launch->root);
	return set("SYSFS_PATH", launch->root) && set("SYSFS_PCI_DEVICES", path) &&
		set(VMLX4_OPTIONS_ENV, launch->text) && set("LD_PRELOAD", list.text);
}

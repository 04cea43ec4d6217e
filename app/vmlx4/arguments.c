/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher.h"

#define ABSOLUTE_MAX (3 * PATH_MAX) /* a wire with two files */

static void
help(void)
{
	fputs("vmlx4 exec [OPTIONS] -- PROGRAM [ARGUMENTS]\n"
		"\n"
		"Run PROGRAM on a virtual adapter. Options are --name VALUE or --name=VALUE:\n"
		"\n", stdout);
	vmlx4_options_help();
	fputs("  --preload FILE\n"
		"        Also load this library, behind the adapter's (repeatable).\n"
		"  --help\n"
		"\n"
		"The exit status is the program's (128 + N when signal N ended it), 86 when a\n"
		"violation of the contract ended it, 2 when it could not be started.\n", stdout);
}

static int
add_preload(struct launch *launch, const char *file)
{
	if (launch->preloads == PRELOADS_MAX) {
		complain("option preload: \"%s\": more than %d libraries", file, PRELOADS_MAX);
		return -EINVAL;
	}
	if (access(file, R_OK) < 0) {
		complain("option preload: \"%s\": %s: give a library that you may read", file,
			strerror(errno));
		return -EINVAL;
	}
	launch->preload[launch->preloads++] = file;
	return 0;
}

/* Append "name" or "name=value" to the text for the library. */
static int
add_option(struct launch *launch, const char *name, const char *value)
{
	size_t used = strlen(launch->text), room = sizeof(launch->text) - used;
	char *at = launch->text + used;
	int length;

	if (used > 0 && room > 1) {
		*at++ = ' ';
		*at = '\0';
		room--;
	}
	length = value != NULL ? vmlx4_options_quote(at, room, name, value) :
		snprintf(at, room, "%s", name);
	if (length >= (int)room) {
		complain("option %s: all options together are too long: use shorter file names",
			name);
		return -EINVAL;
	}
	return 0;
}

/*
 * The program runs in the same folder, but may change it before it opens the
 * adapter, and a file name is taken then.
 */
static bool
absolute(const char *name, const char *value, char path[ABSOLUTE_MAX])
{
	static const char * const keys[] = { "in=", "out=" };
	bool is_file = strcmp(name, "stats") == 0 || strcmp(name, "sysfs") == 0 ||
		strcmp(name, "trace") == 0 ||
		(strcmp(name, "faults") == 0 && access(value, F_OK) == 0) ||
		(strcmp(name, "faults-log") == 0 && strcmp(value, "-") != 0);
	bool is_pcap = strncmp(name, "wire", 4) == 0 && strncmp(value, "pcap:", 5) == 0;
	bool is_socket = strncmp(name, "wire", 4) == 0 &&
		((strncmp(value, "unix:", 5) == 0 && value[5] != '@' && value[5] != '\0') ||
		(strncmp(value, "shm:", 4) == 0 && strchr(value, '/') != NULL));
	char here[PATH_MAX];
	size_t used = 0, i;

	if ((!is_file && !is_pcap && !is_socket) || strlen(value) >= PATH_MAX ||
			getcwd(here, PATH_MAX) == NULL)
		return false;
	if (is_file) {
		if (value[0] == '/' || value[0] == '\0')
			return false;
		snprintf(path, ABSOLUTE_MAX, "%s/%s", here, value);
		return true;
	}
	if (is_socket) {
		used = strchr(value, ':') + 1 - value;
		if (value[used] == '/')
			return false;
		snprintf(path, ABSOLUTE_MAX, "%.*s%s/%s", (int)used, value, here, value + used);
		return true;
	}
	while (*value != '\0') {
		bool start = used == 5 || (used > 5 && path[used - 1] == ',');

		for (i = 0; start && i < 2; i++) {
			size_t length = strlen(keys[i]);

			if (strncmp(value, keys[i], length) != 0)
				continue;
			used += sprintf(path + used, "%s%s", keys[i],
				value[length] == '/' || value[length] == '\0' ||
				value[length] == ',' ? "" : here);
			value += length;
			if (path[used - 1] != '=')
				path[used++] = '/';
			start = false;
		}
		if (*value != '\0')
			path[used++] = *value++;
	}
	path[used] = '\0';
	return true;
}

static int
take_option(struct launch *launch, char *word, char **next)
{
	char path[ABSOLUTE_MAX];
	char *value = strchr(word, '=');
	bool flag = false;
	int used = 1;

	if (value != NULL)
		*value++ = '\0';
	if (strcmp(word, "preload") != 0 && !vmlx4_options_known(word, &flag)) {
		complain("option %s: there is no such option: see \"vmlx4 exec --help\"", word);
		return -EINVAL;
	}
	if (value == NULL && !flag) {
		value = *next;
		if (value == NULL || strcmp(value, "--") == 0) {
			complain("option %s: the value is missing: write --%s VALUE", word, word);
			return -EINVAL;
		}
		used = 2;
	}
	if (strcmp(word, "preload") == 0)
		return add_preload(launch, value) < 0 ? -EINVAL : used;
	if (value != NULL && absolute(word, value, path))
		value = path;
	return add_option(launch, word, value) < 0 ? -EINVAL : used;
}

int
parse_arguments(int argc, char **argv, struct launch *launch)
{
	char error[PATH_MAX + 256];
	int i = 1;

	while (i < argc && strncmp(argv[i], "--", 2) == 0) {
		int used;

		if (argv[i][2] == '\0') {
			i++;
			break;
		}
		if (strcmp(argv[i], "--help") == 0) {
			help();
			return 1;
		}
		used = take_option(launch, argv[i] + 2, &argv[i + 1]);
		if (used < 0)
			return used;
		i += used;
	}
	if (i == argc) {
		complain("the program is missing: write vmlx4 exec [OPTIONS] -- PROGRAM");
		return -EINVAL;
	}
	if (argv[i][0] == '-' && strcmp(argv[i - 1], "--") != 0) {
		complain("option %s: options begin with two dashes: see \"vmlx4 exec --help\"",
			argv[i]);
		return -EINVAL;
	}
	launch->program = &argv[i];
	if (vmlx4_options_parse(launch->text, &launch->options, error, sizeof(error)) < 0) {
		complain("%s", error);
		return -EINVAL;
	}
	return 0;
}

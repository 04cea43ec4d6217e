/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launcher.h"
#include "sysfs/sysfs.h"

static bool
is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* As execvp() would look for it, but before anything is set up. */
static bool
find_program(struct launch *launch)
{
	const char *name = launch->program[0], *at = getenv("PATH");

	if (strlen(name) >= sizeof(launch->path)) {
		complain("%.64s…: the name is too long", name);
		return false;
	}
	strcpy(launch->path, name);
	if (strchr(name, '/') != NULL) {
		if (is_program(name))
			return true;
		complain("%s: %s: name an executable file", name, access(name, F_OK) < 0 ?
			strerror(errno) : "not executable");
		return false;
	}
	if (at == NULL)
		at = "/usr/local/bin:/usr/bin:/bin";
	while (name[0] != '\0' && *at != '\0') {
		size_t length = strcspn(at, ":");

		snprintf(launch->path, sizeof(launch->path), "%.*s%s%s", (int)length, at,
			length > 0 ? "/" : "", name);
		if (is_program(launch->path))
			return true;
		at += length + (at[length] == ':');
	}
	complain("%s: no such program in PATH: install it or give its path", name);
	return false;
}

static bool
make_root(struct launch *launch)
{
	const char *folder = vmlx4_sysfs_parent();
	char error[PATH_MAX + 256];

	launch->keep = launch->options.sysfs[0] != '\0';
	if (launch->keep) {
		strcpy(launch->root, launch->options.sysfs);
		if (mkdir(launch->root, 0755) < 0) {
			complain("option sysfs: \"%s\": %s: name a folder that is not there yet, "
				"in one that you may write", launch->root, strerror(errno));
			return false;
		}
	} else {
		snprintf(launch->root, sizeof(launch->root), "%s/vmlx4-XXXXXX", folder);
		if (mkdtemp(launch->root) == NULL) {
			complain("%s: %s: set TMPDIR to a folder that you may write", folder,
				strerror(errno));
			return false;
		}
	}
	if (vmlx4_sysfs_build(&launch->options, launch->root, error, sizeof(error)) < 0) {
		complain("%s", error);
		vmlx4_sysfs_remove(launch->root);
		return false;
	}
	return true;
}

int
exec_command(int argc, char **argv)
{
	static struct launch launch;
	int ret = parse_arguments(argc, argv, &launch);

	if (ret != 0)
		return ret > 0 ? 0 : EXIT_USAGE;
	if (!find_program(&launch) || !check_options(&launch) || !make_root(&launch))
		return EXIT_USAGE;
	note_static(launch.path);
	ret = set_environment(&launch) ? run_program(&launch) : EXIT_USAGE;
	if (!launch.keep && vmlx4_sysfs_remove(launch.root) < 0)
		complain("%s: could not be removed: %s", launch.root, strerror(errno));
	return ret;
}

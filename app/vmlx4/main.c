/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launcher.h"
#include "sysfs/sysfs.h"
#include "wire/wire.h"

static const char usage[] =
	"vmlx4 runs a program on a virtual ConnectX-3.\n"
	"\n"
	"  vmlx4 exec [OPTIONS] -- PROGRAM [ARGUMENTS]\n"
	"  vmlx4 exec --help       the options\n"
	"  vmlx4 show FILE         what \"exec --trace FILE\" recorded\n"
	"  vmlx4 show --help       filters, and frames for Wireshark\n"
	"  vmlx4 profiles          the card models, for --profile\n"
	"  vmlx4 unknowns          behaviours that no public source states, for --unknown\n"
	"  vmlx4 rules             what --strict looks for\n"
	"  vmlx4 faults            what can go wrong on demand, for --faults\n"
	"  vmlx4 --version\n"
	"\n"
	"Examples:\n"
	"  vmlx4 exec -- ibv_devinfo -v\n"
	"  vmlx4 exec --wire1 tap:left --wire2 tap:right -- dpdk-testpmd -- -i\n";

int
complain(const char *format, ...)
{
	va_list args;

	fputs("vmlx4: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return EXIT_USAGE;
}

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

/* Everything that could go wrong with a wire shall do so before the program runs. */
static bool
try_wires(const struct launch *launch)
{
	char error[PATH_MAX + 256];
	unsigned int i;

	for (i = 0; i < launch->options.ports; i++) {
		struct vmlx4_wire *wire = vmlx4_wire_open(&launch->options.wire[i], NULL,
			error, sizeof(error));

		if (wire == NULL) {
			complain("port %u: %s", i + 1, error);
			return false;
		}
		vmlx4_wire_close(wire);
	}
	return true;
}

/* A file in a folder that is not there would be missed only at the end. */
static bool
try_output(const char *option, const char *name)
{
	bool present;
	FILE *file;

	if (name[0] == '\0')
		return true;
	present = access(name, F_OK) == 0;
	file = fopen(name, "ae");
	if (file == NULL) {
		complain("option %s: \"%s\": %s: give a file in a folder that you may write",
			option, name, strerror(errno));
		return false;
	}
	fclose(file);
	if (!present)
		unlink(name);
	return true;
}

/* Each process of the program appends to the log, which begins here. */
static bool
try_faults_log(const struct launch *launch)
{
	const char *name = launch->options.faults_log;
	FILE *file;

	if (strcmp(name, "-") == 0 || name[0] == '\0')
		return true;
	if (!try_output("faults-log", name))
		return false;
	file = fopen(name, "we");
	if (file != NULL)
		fclose(file);
	return file != NULL;
}

/* Without its CPU the engine would not start when the program opens the device. */
static bool
try_engine_cpu(const struct launch *launch)
{
	int cpu = launch->options.engine_cpu;
	cpu_set_t one, old;

	if (cpu < 0 || sched_getaffinity(0, sizeof(old), &old) < 0)
		return true;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one) == 0) {
		sched_setaffinity(0, sizeof(old), &old);
		return true;
	}
	complain("option engine-cpu: \"%d\": %s: name a CPU that this machine has and lets us "
		"use", cpu, strerror(errno));
	return false;
}

static bool
make_root(struct launch *launch)
{
	const char *folder = getenv("TMPDIR");
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
		if (folder == NULL || folder[0] != '/')
			folder = "/tmp";
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

static int
exec_command(int argc, char **argv)
{
	static struct launch launch;
	int ret = parse_arguments(argc, argv, &launch);

	if (ret != 0)
		return ret > 0 ? 0 : EXIT_USAGE;
	if (!find_program(&launch) || !try_wires(&launch) ||
			!try_output("stats", launch.options.stats_file) ||
			!try_trace(&launch) || !try_faults_log(&launch) ||
			!try_engine_cpu(&launch) || !make_root(&launch))
		return EXIT_USAGE;
	ret = set_environment(&launch) ? run_program(&launch) : EXIT_USAGE;
	if (!launch.keep && vmlx4_sysfs_remove(launch.root) < 0)
		complain("%s: could not be removed: %s", launch.root, strerror(errno));
	return ret;
}

int
main(int argc, char **argv)
{
	const char *command = argc > 1 ? argv[1] : "";

	if (strcmp(command, "exec") == 0)
		return exec_command(argc - 1, argv + 1);
	if (strcmp(command, "show") == 0)
		return show_command(argc - 1, argv + 1);
	if (strcmp(command, "--version") == 0) {
		puts("vmlx4 " VMLX4_VERSION);
		return 0;
	}
	if (strcmp(command, "--help") == 0 || strcmp(command, "-h") == 0) {
		fputs(usage, stdout);
		return 0;
	}
	if (argc == 2 && print_list(command))
		return 0;
	return complain("%s: no such command: see \"vmlx4 --help\"",
		command[0] != '\0' ? command : "(none)");
}

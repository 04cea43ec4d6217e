/* SPDX-License-Identifier: BSD-3-Clause */

#include <elf.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "launcher.h"
#include "wire/wire.h"

/* What would go wrong in the adapter's first moment shall do so before the program runs. */

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

bool
check_options(const struct launch *launch)
{
	return try_wires(launch) && try_output("stats", launch->options.stats_file) &&
		try_trace(launch) && try_faults_log(launch) && try_engine_cpu(launch);
}

/* An ELF file that names no dynamic linker, and is none: nothing is preloaded into it. */
static bool
is_static(FILE *file)
{
	Elf64_Ehdr head;
	Elf64_Phdr part;
	unsigned int i;

	if (fread(&head, sizeof(head), 1, file) != 1 ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    head.e_phentsize != sizeof(part) || fseek(file, (long)head.e_phoff, SEEK_SET) < 0)
		return false;
	for (i = 0; i < head.e_phnum; i++)
		if (fread(&part, sizeof(part), 1, file) != 1 || part.p_type == PT_INTERP)
			return false;
	return true;
}

void
note_static(const char *path)
{
	const char *name = strrchr(path, '/');
	FILE *file;

	name = name != NULL ? name + 1 : path;
	if (strncmp(name, "ld-", 3) == 0 || strcmp(name, "ld.so") == 0)
		return;
	file = fopen(path, "re");
	if (file == NULL)
		return;
	if (is_static(file))
		complain("%s is linked statically and does not see the adapter; only dynamic "
			"programs that it starts do", path);
	fclose(file);
}

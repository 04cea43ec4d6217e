/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef LAUNCHER_H_
#define LAUNCHER_H_

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "options.h"

#define EXIT_USAGE 2
#define PRELOADS_MAX 16
#define OPTIONS_MAX 32768

/* What the command line of "vmlx4 exec" asks for. */
struct launch {
	char text[OPTIONS_MAX];        /* options as the library takes them */
	struct vmlx4_options options;
	const char *preload[PRELOADS_MAX];
	unsigned int preloads;
	char **program;                /* its argument vector */
	char path[PATH_MAX];           /* and where it was found */
	char root[PATH_MAX];           /* of the sysfs tree */
	bool keep;                     /* the user named the place: leave the tree there */
};

/* One line on stderr; returns EXIT_USAGE. */
int complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- exec.c ---- */

/* "vmlx4 exec"; an exit status. */
int exec_command(int argc, char **argv);

/* ---- checks.c, trace_file.c ---- */

/* Can the adapter have what the options name? False: complained. */
bool check_options(const struct launch *launch);
/* Tell of a program that goes past the adapter; it may start others that do not. */
void note_static(const char *path);
/* Make way for the trace that they ask for. False: complained. */
bool try_trace(const struct launch *launch);

/* ---- arguments.c ---- */

/* 0; 1 when --help was asked for and given; -EINVAL after a complaint. */
int parse_arguments(int argc, char **argv, struct launch *launch);

/* ---- library.c ---- */

/* Path of the preload library, next to this program or installed. False: complained. */
bool find_library(char path[PATH_MAX]);
/* Name of the sanitizer runtime that a library needs, or "". */
void find_sanitizer(const char *library, char *name, size_t size);

/* ---- show/ ---- */

/* "vmlx4 show"; an exit status. */
int show_command(int argc, char **argv);

/* ---- lists.c ---- */

/* A list alone, on stdout. False: there is none of this name. */
bool print_list(const char *name);
/* "vmlx4 list"; an exit status. */
int list_command(int argc, char **argv);

/* ---- environment.c ---- */

/* Point the program to the adapter: all of the environment. False: complained. */
bool set_environment(struct launch *launch);

/* ---- run.c ---- */

/* Start the program, pass on signals, wait; its status as a shell would give it. */
int run_program(struct launch *launch);

#endif /* LAUNCHER_H_ */

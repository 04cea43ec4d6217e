/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "launcher.h"

static const char usage[] =
	"vmlx4 runs a program on a virtual ConnectX-3: no card, no privileges, and the\n"
	"program, libibverbs and libmlx4 as they are.\n"
	"\n"
	"  vmlx4 exec [OPTIONS] -- PROGRAM [ARGUMENTS]     run it\n"
	"  vmlx4 show [OPTIONS] FILE                       what \"exec --trace FILE\" recorded\n"
	"  vmlx4 list [profiles|options|rules|unknowns|faults]\n"
	"                                                  what there is to choose from\n"
	"  vmlx4 --version\n"
	"\n"
	"Each of the three tells more with --help. To begin with:\n"
	"\n"
	"  vmlx4 exec -- ibv_devinfo -v\n"
	"        what a program sees\n"
	"  vmlx4 exec --strict -- PROGRAM\n"
	"        what a card would punish on a bad day ends the run at once\n"
	"  vmlx4 exec --trace run.trace -- PROGRAM\n"
	"  vmlx4 show run.trace\n"
	"        each command, doorbell, WQE, CQE and frame, one a line\n"
	"  vmlx4 exec --wire1 tap:left --wire2 tap:right -- dpdk-testpmd -- -i\n"
	"        the ports joined to two interfaces of this host (as root)\n"
	"\n"
	"The man page vmlx4(7) says what is modelled, and what is not.\n";

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

int
main(int argc, char **argv)
{
	const char *command = argc > 1 ? argv[1] : "";

	if (argc <= 1) {
		fputs(usage, stderr);
		return EXIT_USAGE;
	}
	if (strcmp(command, "exec") == 0)
		return exec_command(argc - 1, argv + 1);
	if (strcmp(command, "show") == 0)
		return show_command(argc - 1, argv + 1);
	if (strcmp(command, "list") == 0)
		return list_command(argc - 1, argv + 1);
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
	return complain("%s: no such command: see \"vmlx4 --help\"", command);
}

/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The adapter without the launcher: what "vmlx4 exec" does before it starts a
 * program, done by the program itself, which is linked with this library.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "adapter.h"
#include "options.h"
#include "sysfs/sysfs.h"
#include "vmlx4.h"
#include "wire/wire.h"

/* Of the sysfs tree that this process made, and is to remove; empty: none. */
static char made_root[PATH_MAX];
static pid_t made_by;

static int
complain(const char *text, int ret)
{
	fprintf(stderr, "vmlx4: %s\n", text);
	return ret;
}

/* Everything that could go wrong with a wire shall do so now. */
static int
try_wires(const struct vmlx4_options *options, char *error, size_t size)
{
	unsigned int i;

	for (i = 0; i < options->ports; i++) {
		int used = snprintf(error, size, "port %u: ", i + 1);
		struct vmlx4_wire *wire = vmlx4_wire_open(&options->wire[i], NULL,
			error + used, size - (size_t)used);

		if (wire == NULL)
			return -EINVAL;
		vmlx4_wire_close(wire);
	}
	return 0;
}

static int
make_root(struct vmlx4_options *options, char *error, size_t size)
{
	const char *folder = vmlx4_sysfs_parent();
	int ret;

	snprintf(options->sysfs, sizeof(options->sysfs), "%.*s/vmlx4-XXXXXX", PATH_MAX - 32,
		folder);
	if (mkdtemp(options->sysfs) == NULL) {
		ret = -errno;
		snprintf(error, size, "%.256s: %s: set TMPDIR to a folder that you may write",
			folder, strerror(-ret));
		return ret;
	}
	strcpy(made_root, options->sysfs);
	made_by = getpid();
	return vmlx4_sysfs_build(options, made_root, error, size);
}

static void
remove_root(void)
{
	if (made_root[0] != '\0' && made_by == getpid())
		vmlx4_sysfs_remove(made_root);
	made_root[0] = '\0';
}

/* What libibverbs, DPDK and the library itself read. */
static int
set_environment(const char *options)
{
	char devices[PATH_MAX + 32], quoted[2 * PATH_MAX + 16], *text;
	int ret = -ENOMEM;

	snprintf(devices, sizeof(devices), "%s/bus/pci/devices", made_root);
	vmlx4_options_quote(quoted, sizeof(quoted), "sysfs", made_root);
	if (asprintf(&text, "%s%s%s", options, options[0] != '\0' ? " " : "", quoted) < 0)
		return -ENOMEM;
	if (setenv("SYSFS_PATH", made_root, 1) == 0 &&
			setenv("SYSFS_PCI_DEVICES", devices, 1) == 0 &&
			setenv(VMLX4_OPTIONS_ENV, text, 1) == 0)
		ret = 0;
	free(text);
	return ret;
}

static int
start(const char *text)
{
	static struct vmlx4_options options;
	char error[PATH_MAX + 256] = "out of memory";
	int ret;

	if (vmlx4_options_parse(text, &options, error, sizeof(error)) < 0)
		return complain(error, -EINVAL);
	if (options.sysfs[0] != '\0')
		return complain("option sysfs: it is the launcher's: leave it out", -EINVAL);
	ret = try_wires(&options, error, sizeof(error));
	if (ret == 0)
		ret = make_root(&options, error, sizeof(error));
	if (ret == 0)
		ret = set_environment(text);
	if (ret == 0)
		return 0;
	remove_root();
	return complain(error, ret);
}

int
vmlx4_start(const char *options)
{
	int ret;

	if (options == NULL)
		return -EINVAL;
	vmlx4_life_lock();
	ret = vmlx4_configured() ? -EALREADY : start(options);
	vmlx4_life_unlock();
	return ret;
}

/* Options in the environment, and no launcher that made a tree for them. */
static void __attribute__((constructor))
linked_begin(void)
{
	static struct vmlx4_options options;
	const char *text = getenv(VMLX4_OPTIONS_ENV);
	char error[PATH_MAX + 256];

	if (text == NULL || (vmlx4_options_parse(text, &options, error, sizeof(error)) == 0 &&
			options.sysfs[0] != '\0'))
		return;
	/* Said on stderr; the program finds no device. */
	if (start(text) < 0)
		unsetenv(VMLX4_OPTIONS_ENV);
}

static void __attribute__((destructor))
linked_end(void)
{
	remove_root();
}

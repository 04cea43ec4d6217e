/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "../hca/hca.h"
#include "sysfs.h"

/*
 * The adapter leaves the machine: what the tree has of it goes out of the way, and
 * comes back as it was. Each is one rename(), so that nobody sees half a folder.
 */

#define AWAY "away"
#define ENTRIES (3 + VMLX4_MAX_PORTS)

/* The links of the classes lead to the folder of the PCI device, which goes last. */
static unsigned int
list_entries(const struct vmlx4_options *options, char entries[ENTRIES][128])
{
	unsigned int n = 0, port;
	char name[IFNAMSIZ];

	strcpy(entries[n++], "class/infiniband_verbs/" VMLX4_UVERBS);
	strcpy(entries[n++], "class/infiniband/" VMLX4_IBDEV);
	for (port = 1; port <= options->ports; port++) {
		if (options->infiniband[port - 1])
			continue;
		vmlx4_ifname(port, name);
		snprintf(entries[n++], sizeof(entries[0]), "class/net/%s", name);
	}
	snprintf(entries[n++], sizeof(entries[0]), "bus/pci/devices/%s", options->pci_address);
	return n;
}

static void
move(const struct vmlx4_options *options, const char *entry, unsigned int number, bool away)
{
	char here[PATH_MAX + 128], there[PATH_MAX + 128];

	snprintf(here, sizeof(here), "%s/%.127s", options->sysfs, entry);
	snprintf(there, sizeof(there), "%s/" AWAY "/%u", options->sysfs, number);
	if (rename(away ? here : there, away ? there : here) < 0 && errno != ENOENT)
		fprintf(stderr, "vmlx4: sysfs tree: cannot move %s: %s\n", away ? here : there,
			strerror(errno));
}

void
vmlx4_sysfs_away(const struct vmlx4_options *options, bool away)
{
	char entries[ENTRIES][128], folder[PATH_MAX + 128];
	unsigned int n, i;

	if (options->sysfs[0] == '\0')
		return;
	n = list_entries(options, entries);
	snprintf(folder, sizeof(folder), "%s/" AWAY, options->sysfs);
	/* A tree that is gone has nothing to move. */
	if (away && mkdir(folder, 0755) < 0 && errno != EEXIST)
		return;
	for (i = 0; i < n; i++) {
		unsigned int number = away ? i : n - 1 - i;

		move(options, entries[number], number, away);
	}
}

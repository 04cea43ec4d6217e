/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../profile.h"
#include "sysfs.h"

/*
 * The files that libibverbs, libmlx4, DPDK's PCI bus and its mlx4 driver read
 * of a ConnectX-3, and what mlx4dv-check looks for, no more. Both libraries take
 * the place of /sys from the environment (SYSFS_PATH, SYSFS_PCI_DEVICES).
 */

#define MARK "vmlx4"      /* first thing in the root: says that the tree is ours */

struct tree {
	const struct vmlx4_options *options;
	const char *root;
	char pci[64];     /* "bus/pci/devices/0000:05:00.0" */
	int err;          /* first failure; nothing is written after it */
	char *error;
	size_t error_size;
};

static void
failed(struct tree *tree, const char *path)
{
	tree->err = -errno;
	snprintf(tree->error, tree->error_size, "sysfs tree: %s: %s: give a folder with "
		"room that you may write (TMPDIR)", path, strerror(errno));
}

const char *
vmlx4_sysfs_parent(void)
{
	const char *folder = getenv("TMPDIR");

	if (folder != NULL && folder[0] == '/')
		return folder;
	return access("/dev/shm", R_OK | W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp";
}

/* Make every folder on the way to the last slash. */
static int
make_parents(char *path, const char *root)
{
	char *slash = path + strlen(root) + 1;

	while ((slash = strchr(slash, '/')) != NULL) {
		*slash = '\0';
		if (mkdir(path, 0755) < 0 && errno != EEXIST)
			return -1;
		*slash++ = '/';
	}
	return 0;
}

static void file(struct tree *tree, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* A file with one line, as sysfs has them. */
static void
file(struct tree *tree, const char *name, const char *format, ...)
{
	char path[PATH_MAX];
	va_list args;
	FILE *out;

	if (tree->err != 0)
		return;
	if (snprintf(path, sizeof(path), "%s/%s", tree->root, name) >= (int)sizeof(path)) {
		errno = ENAMETOOLONG;
		failed(tree, name);
		return;
	}
	/* Most folders are there already: no call for each of them, for each file. */
	out = fopen(path, "we");
	if (out == NULL && errno == ENOENT && make_parents(path, tree->root) == 0)
		out = fopen(path, "we");
	if (out == NULL) {
		failed(tree, path);
		return;
	}
	va_start(args, format);
	vfprintf(out, format, args);
	va_end(args);
	fputc('\n', out);
	if (fclose(out) != 0)
		failed(tree, path);
}

static void
link_to(struct tree *tree, const char *name, const char *target)
{
	char path[PATH_MAX];

	if (tree->err != 0)
		return;
	if (snprintf(path, sizeof(path), "%s/%s", tree->root, name) >= (int)sizeof(path)) {
		errno = ENAMETOOLONG;
		failed(tree, name);
		return;
	}
	if (make_parents(path, tree->root) < 0 || symlink(target, path) < 0)
		failed(tree, path);
}

#define PCI_FILE(tree, name, ...) do { \
	char name_[PATH_MAX / 2]; \
	snprintf(name_, sizeof(name_), "%s/%s", (tree)->pci, name); \
	file(tree, name_, __VA_ARGS__); \
} while (0)

static void
pci_device(struct tree *tree)
{
	const struct vmlx4_options *options = tree->options;
	unsigned int id = options->profile->part_id;
	char path[256];
	unsigned int i;

	PCI_FILE(tree, "vendor", "0x15b3");
	PCI_FILE(tree, "device", "0x%04x", id);
	PCI_FILE(tree, "subsystem_vendor", "0x15b3");
	PCI_FILE(tree, "subsystem_device", "0x0055");
	PCI_FILE(tree, "class", "0x020000");
	PCI_FILE(tree, "numa_node", "-1");
	PCI_FILE(tree, "modalias", "pci:v000015B3d%08Xsv000015B3sd00000055bc02sc00i00", id);
	PCI_FILE(tree, "uevent", "DRIVER=mlx4_core\nPCI_CLASS=20000\nPCI_ID=15B3:%04X\n"
		"PCI_SUBSYS_ID=15B3:0055\nPCI_SLOT_NAME=%s\n"
		"MODALIAS=pci:v000015B3d%08Xsv000015B3sd00000055bc02sc00i00",
		id, options->pci_address, id);

	/* DPDK drops a device whose BAR list is short or whose driver is unknown. */
	snprintf(path, sizeof(path), "%s/resource", tree->pci);
	if (tree->err == 0) {
		char lines[13 * 64] = "";
		size_t used = 0;

		for (i = 0; i < 13; i++)
			used += snprintf(lines + used, sizeof(lines) - used,
				"%s0x%016x 0x%016x 0x%016x", i == 0 ? "" : "\n",
				i == 0 ? 0xf7a00000u : i == 2 ? 0xf0000000u : 0,
				i == 0 ? 0xf7afffffu : i == 2 ? 0xf1ffffffu : 0,
				i == 0 ? 0x140204u : i == 2 ? 0x14220cu : 0);
		file(tree, path, "%s", lines);
	}
	file(tree, "bus/pci/drivers/mlx4_core/module", "mlx4_core");
	snprintf(path, sizeof(path), "%s/driver", tree->pci);
	link_to(tree, path, "../../drivers/mlx4_core");
}

/* The kernel's modules, as far as somebody asks whether they are loaded. */
static void
modules(struct tree *tree)
{
	/* IBV_DEVICE_MANAGED_FLOW_STEERING is what the parameter decides of. */
	bool managed = (tree->options->profile->device_cap_flags & 1u << 29) != 0;

	file(tree, "module/mlx4_core/parameters/log_num_mgm_entry_size", managed ? "-1" : "10");
	file(tree, "module/mlx4_core/initstate", "live");
	file(tree, "module/mlx4_en/initstate", "live");
	file(tree, "module/mlx4_ib/initstate", "live");
	file(tree, "module/ib_uverbs/initstate", "live");
}

static void
guid_text(uint64_t guid, char text[20])
{
	snprintf(text, 20, "%04x:%04x:%04x:%04x", (unsigned int)(guid >> 48),
		(unsigned int)(guid >> 32 & 0xffff), (unsigned int)(guid >> 16 & 0xffff),
		(unsigned int)(guid & 0xffff));
}

static void
verbs_port(struct tree *tree, unsigned int port)
{
	bool infiniband = tree->options->infiniband[port - 1], used = true;
	char base[128], path[192], text[40], ifname[IFNAMSIZ];
	uint8_t gid[16], mac[6];
	enum vmlx4_roce roce;
	unsigned int i;

	snprintf(base, sizeof(base), "%s/infiniband/%s/ports/%u", tree->pci, VMLX4_IBDEV, port);
	vmlx4_ifname(port, ifname);
	vmlx4_port_mac(tree->options, port, mac);
	for (i = 0; i < VMLX4_GIDS; i++) {
		used = used && vmlx4_port_gid(tree->options, port, mac, i, gid, &roce);
		if (!used)
			memset(gid, 0, sizeof(gid));
		vmlx4_gid_text(gid, text);
		snprintf(path, sizeof(path), "%s/gids/%u", base, i);
		file(tree, path, "%s", text);
		/* Those of the unused entries cannot be read: see attribute.c. */
		if (!used)
			continue;
		snprintf(path, sizeof(path), "%s/gid_attrs/types/%u", base, i);
		file(tree, path, "%s", roce == VMLX4_ROCE_V1 ? "IB/RoCE v1" : "RoCE v2");
		if (infiniband)
			continue;
		snprintf(path, sizeof(path), "%s/gid_attrs/ndevs/%u", base, i);
		file(tree, path, "%s", ifname);
	}
	snprintf(path, sizeof(path), "%s/pkeys/0", base);
	file(tree, path, "0xffff");
	snprintf(path, sizeof(path), "%s/link_layer", base);
	file(tree, path, "%s", infiniband ? "InfiniBand" : "Ethernet");
}

#define DEVICE_FILE(tree, name, ...) \
	PCI_FILE(tree, "infiniband/" VMLX4_IBDEV "/" name, __VA_ARGS__)

static void
verbs_device(struct tree *tree)
{
	const struct vmlx4_profile *profile = tree->options->profile;
	char guid[20], path[192], target[192];
	unsigned int port;

	guid_text(vmlx4_node_guid(tree->options), guid);
	DEVICE_FILE(tree, "node_type", "1: CA");
	DEVICE_FILE(tree, "node_guid", "%s", guid);
	guid_text(vmlx4_node_guid(tree->options) + 3, guid);
	DEVICE_FILE(tree, "sys_image_guid", "%s", guid);
	DEVICE_FILE(tree, "node_desc", "vmlx4 %s", profile->name);
	DEVICE_FILE(tree, "fw_ver", "%u.%u.%03u", (unsigned int)(profile->fw_ver >> 32),
		(unsigned int)(profile->fw_ver >> 16 & 0xffff),
		(unsigned int)(profile->fw_ver & 0xffff));
	DEVICE_FILE(tree, "board_id", "%s", profile->board_id);
	DEVICE_FILE(tree, "hca_type", "MT%u", (unsigned int)profile->part_id);
	DEVICE_FILE(tree, "hw_rev", "%x", profile->hw_ver);
	snprintf(path, sizeof(path), "%s/infiniband/%s/device", tree->pci, VMLX4_IBDEV);
	link_to(tree, path, "../..");
	for (port = 1; port <= tree->options->ports; port++)
		verbs_port(tree, port);

	PCI_FILE(tree, "infiniband_verbs/" VMLX4_UVERBS "/dev", "%u:%u", VMLX4_UVERBS_MAJOR,
		VMLX4_UVERBS_MINOR);
	PCI_FILE(tree, "infiniband_verbs/" VMLX4_UVERBS "/ibdev", VMLX4_IBDEV);
	PCI_FILE(tree, "infiniband_verbs/" VMLX4_UVERBS "/abi_version", "4");
	snprintf(path, sizeof(path), "%s/infiniband_verbs/%s/device", tree->pci, VMLX4_UVERBS);
	link_to(tree, path, "../..");

	file(tree, "class/infiniband_verbs/abi_version", "6");
	snprintf(target, sizeof(target), "../../%s/infiniband_verbs/%s", tree->pci, VMLX4_UVERBS);
	link_to(tree, "class/infiniband_verbs/" VMLX4_UVERBS, target);
	snprintf(target, sizeof(target), "../../%s/infiniband/%s", tree->pci, VMLX4_IBDEV);
	link_to(tree, "class/infiniband/" VMLX4_IBDEV, target);
}

static void
net_device(struct tree *tree, unsigned int port)
{
	char name[IFNAMSIZ], base[128], path[192], target[192];
	uint8_t mac[6];

	vmlx4_ifname(port, name);
	vmlx4_port_mac(tree->options, port, mac);
	snprintf(base, sizeof(base), "%s/net/%s", tree->pci, name);
#define NET_FILE(leaf, ...) do { \
	snprintf(path, sizeof(path), "%s/%s", base, leaf); \
	file(tree, path, __VA_ARGS__); \
} while (0)
	/* Ports of one PCI function: mlx4_en tells them apart by dev_port and dev_id. */
	NET_FILE("dev_port", "%u", port - 1);
	NET_FILE("dev_id", "0x%x", port - 1);
	NET_FILE("address", "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3],
		mac[4], mac[5]);
	NET_FILE("mtu", "%u", tree->options->mtu);
	NET_FILE("operstate", "up");
	NET_FILE("carrier", "1");
	NET_FILE("ifindex", "%u", vmlx4_ifindex(port));
#undef NET_FILE
	snprintf(path, sizeof(path), "%s/device", base);
	link_to(tree, path, "../..");
	snprintf(path, sizeof(path), "class/net/%s", name);
	snprintf(target, sizeof(target), "../../%s", base);
	link_to(tree, path, target);
}

static void
counter_files(struct tree *tree, unsigned int port)
{
	char path[256];
	unsigned int i;

	for (i = 0; vmlx4_counter_path(tree->options, port, i, path, sizeof(path)); i++)
		file(tree, path, "0");
}

int
vmlx4_sysfs_build(const struct vmlx4_options *options, const char *root, char *error,
	size_t error_size)
{
	struct tree tree = {
		.options = options,
		.root = root,
		.error = error,
		.error_size = error_size,
	};
	unsigned int port;

	snprintf(tree.pci, sizeof(tree.pci), "bus/pci/devices/%s", options->pci_address);
	file(&tree, MARK, "sysfs tree of a virtual adapter");
	modules(&tree);
	pci_device(&tree);
	verbs_device(&tree);
	for (port = 1; port <= options->ports; port++) {
		if (!options->infiniband[port - 1])
			net_device(&tree, port);
		counter_files(&tree, port);
	}
	return tree.err;
}

static int
remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

int
vmlx4_sysfs_remove(const char *root)
{
	char mark[PATH_MAX];

	if (snprintf(mark, sizeof(mark), "%s/%s", root, MARK) >= (int)sizeof(mark))
		return -ENAMETOOLONG;
	if (access(mark, F_OK) < 0) {
		/* Nothing built yet: an empty folder may go, another's may not. */
		if (rmdir(root) == 0)
			return 0;
		return -errno;
	}
	if (nftw(root, remove_entry, 16, FTW_DEPTH | FTW_PHYS) != 0)
		return -errno;
	return 0;
}

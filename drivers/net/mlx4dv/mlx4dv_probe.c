/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The two ways in: a PCI driver, which makes a port per port of the adapter, and
 * a virtual device, which names one port of a verbs device and works beside any
 * other driver of the adapter.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_devargs.h>
#include <rte_string_fns.h>
#include <rte_version.h>

#include <bus_pci_driver.h>
#include <bus_vdev_driver.h>
#include <ethdev_driver.h>

#include "mlx4dv.h"
#include "mlx4dv_devargs.h"
#include "mlx4dv_log.h"

#define VDEV_NAME "net_mlx4dv"
#define KERNEL_MODULES "* ib_uverbs & mlx4_en & mlx4_core & mlx4_ib"

RTE_LOG_REGISTER_DEFAULT(mdv_logtype, NOTICE);

/* For who looks at the file without loading it: usertools/mlx4dv-check. */
static const char built_for[] __rte_used = "net_mlx4dv was built for DPDK "
	RTE_STR(RTE_VER_YEAR) "." RTE_STR(RTE_VER_MONTH);

/*
 * The soname is the same in releases whose ethdev structures differ, and inlines
 * of those are compiled in: only the release that this was built for will do.
 */
static int
check_version(const char *name)
{
	const char *running = rte_version();
	unsigned int year = 0, month = 0;

	if (sscanf(running, "%*[^0-9]%u.%u", &year, &month) == 2 &&
	    year == RTE_VER_YEAR && month == RTE_VER_MONTH)
		return 0;
	MDV_LOG(ERR, "%s: built for DPDK %d.%02d but running under \"%s\": rebuild the driver "
		"with the headers of the running DPDK", name, RTE_VER_YEAR, RTE_VER_MONTH, running);
	return -ENOTSUP;
}

/* ---- PCI ---- */

static bool
ibdev_at(const struct ibv_device *ibdev, const char *pci_name)
{
	char path[IBV_SYSFS_PATH_MAX + 32];
	char line[256];
	bool match = false;
	FILE *f;

	snprintf(path, sizeof(path), "%s/device/uevent", ibdev->ibdev_path);
	f = fopen(path, "re");
	if (f == NULL)
		return false;
	while (!match && fgets(line, sizeof(line), f) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		match = strncmp(line, "PCI_SLOT_NAME=", 14) == 0 &&
			strcmp(line + 14, pci_name) == 0;
	}
	fclose(f);
	return match;
}

static int
find_ibdev(const struct rte_pci_device *pci, char *ibname, size_t size)
{
	struct ibv_device **list;
	int ret = -ENODEV;
	int n = 0;
	int i;

	list = ibv_get_device_list(&n);
	for (i = 0; list != NULL && i < n && ret != 0; i++) {
		if (!ibdev_at(list[i], pci->name))
			continue;
		strlcpy(ibname, ibv_get_device_name(list[i]), size);
		ret = 0;
	}
	if (list != NULL)
		ibv_free_device_list(list);
	if (ret == 0)
		return 0;
	if (pci->kdrv == RTE_PCI_KDRV_VFIO || pci->kdrv == RTE_PCI_KDRV_IGB_UIO ||
	    pci->kdrv == RTE_PCI_KDRV_UIO_GENERIC)
		MDV_LOG(ERR, "%s is bound to a user-space driver (vfio or uio): bind it back to "
			"mlx4_core (dpdk-devbind.py -b mlx4_core %s)", pci->name, pci->name);
	else
		MDV_LOG(ERR, "%s has no verbs device: load mlx4_ib (modprobe mlx4_ib); in a "
			"container also pass in /dev/infiniband", pci->name);
	return ret;
}

/* Is the verbs device the only one? A virtual device without device= takes that. */
static bool
is_only_device(void)
{
	struct ibv_device **list;
	int n = 0;

	list = ibv_get_device_list(&n);
	if (list != NULL)
		ibv_free_device_list(list);
	return n == 1;
}

/* Does a --vdev option name this verbs device? Then its ports are given out there. */
static bool
vdev_names(const char *ibname)
{
	struct rte_devargs *da;
	const char *value;
	size_t length;
	bool found = false;

	RTE_EAL_DEVARGS_FOREACH("vdev", da) {
		if (strncmp(da->name, VDEV_NAME, sizeof(VDEV_NAME) - 1) != 0)
			continue;
		/* Mistakes in it are reported when the virtual device is probed. */
		value = strstr(da->args != NULL ? da->args : "", MDV_ARG_DEVICE "=");
		if (value == NULL) {
			found = found || is_only_device();
			continue;
		}
		value += sizeof(MDV_ARG_DEVICE);
		length = strcspn(value, ",");
		found = found || (length == strlen(ibname) && strncmp(value, ibname, length) == 0);
	}
	return found;
}

static int
count_ports(const char *ibname, unsigned int *ports)
{
	struct ibv_context *ctx = mdv_open_device(ibname);
	struct ibv_device_attr attr;
	int ret;

	if (ctx == NULL)
		return -errno;
	ret = ibv_query_device(ctx, &attr);
	if (ret != 0)
		MDV_LOG(ERR, "ibv_query_device(%s) failed: %s", ibname, strerror(ret));
	else
		*ports = attr.phys_port_cnt;
	ibv_close_device(ctx);
	return -ret;
}

static void
pci_port_name(const struct rte_pci_device *pci, unsigned int port, char name[RTE_ETH_NAME_MAX_LEN])
{
	snprintf(name, RTE_ETH_NAME_MAX_LEN, "%s_port%u", pci->name, port);
}

/* In a secondary process: the ports that the primary has made of it, if any. */
static int
pci_attach(struct rte_pci_device *pci)
{
	char name[RTE_ETH_NAME_MAX_LEN];
	unsigned int port, made = 0;
	int ret = 0;

	for (port = 1; port <= MDV_MAX_PORTS; port++) {
		pci_port_name(pci, port, name);
		if (rte_eth_dev_allocated(name) != NULL)
			continue;
		ret = mdv_secondary_attach(&pci->device, name);
		made += ret == 0;
		if (ret != 0 && ret != -ENODEV)
			return ret;
	}
	return made != 0 ? 0 : 1; /* another driver's */
}

/* The ports that are wanted of a device that has nb_ports. */
static int
make_ports(struct rte_pci_device *pci, const char *ibname, const struct mdv_devargs *args,
	unsigned int nb_ports)
{
	char name[RTE_ETH_NAME_MAX_LEN];
	unsigned int port, made = 0;
	int ret, first_error = 0;

	for (port = 1; port <= RTE_MAX(nb_ports, (unsigned int)MDV_MAX_PORTS); port++) {
		if (args->ports != 0 ? (args->ports & RTE_BIT32(port)) == 0 : port > nb_ports)
			continue;
		pci_port_name(pci, port, name);
		/* The device is probed again, for a port that was closed. */
		if (rte_eth_dev_allocated(name) != NULL)
			ret = -EEXIST;
		else
			ret = mdv_port_create(&pci->device, name, ibname, port, args);
		if (ret == 0)
			made++;
		else if (first_error == 0)
			first_error = ret;
	}
	/* One port that cannot be used does not take the other with it. */
	return made != 0 ? 0 : first_error;
}

static int
pci_probe(struct rte_pci_driver *driver, struct rte_pci_device *pci)
{
	const struct rte_devargs *da = pci->device.devargs;
	char ibname[IBV_SYSFS_NAME_MAX];
	struct mdv_devargs args;
	unsigned int nb_ports = 0;
	int ret;

	RTE_SET_USED(driver);
	ret = check_version(pci->name);
	if (ret == 0 && rte_eal_process_type() == RTE_PROC_SECONDARY)
		return pci_attach(pci);
	if (ret == 0)
		ret = find_ibdev(pci, ibname, sizeof(ibname));
	if (ret != 0)
		return ret;
	/* Before the arguments: they are the other driver's, and may mean nothing here. */
	if (vdev_names(ibname)) {
		MDV_LOG(INFO, "%s is left to other drivers: a --vdev names %s", pci->name, ibname);
		return 1;
	}
	ret = mdv_devargs_parse(pci->name, da != NULL ? da->args : NULL, false, &args);
	if (ret == 0)
		ret = count_ports(ibname, &nb_ports);
	return ret != 0 ? ret : make_ports(pci, ibname, &args, nb_ports);
}

static int
pci_remove(struct rte_pci_device *pci)
{
	return mdv_port_remove_all(&pci->device);
}

static int
pci_dma_map(struct rte_pci_device *pci, void *addr, uint64_t iova, size_t len)
{
	RTE_SET_USED(iova); /* the adapter takes virtual addresses */
	return mdv_dma_map(&pci->device, addr, len);
}

static int
pci_dma_unmap(struct rte_pci_device *pci, void *addr, uint64_t iova, size_t len)
{
	RTE_SET_USED(iova);
	return mdv_dma_unmap(&pci->device, addr, len);
}

/* In decimal, as JSON has no other numbers. */
#define VENDOR 5555      /* 15b3: Mellanox */
#define CX3 4099         /* 1003: ConnectX-3 */
#define CX3_VF 4100      /* 1004: ConnectX-3 and Pro, virtual function */
#define CX3_PRO 4103     /* 1007: ConnectX-3 Pro */

static const struct rte_pci_id pci_ids[] = {
	{ RTE_PCI_DEVICE(VENDOR, CX3) },
	{ RTE_PCI_DEVICE(VENDOR, CX3_VF) },
	{ RTE_PCI_DEVICE(VENDOR, CX3_PRO) },
	{ .vendor_id = 0 },
};

static struct rte_pci_driver mdv_pci_driver = {
	.id_table = pci_ids,
	.drv_flags = RTE_PCI_DRV_PROBE_AGAIN,
	.probe = pci_probe,
	.remove = pci_remove,
	.dma_map = pci_dma_map,
	.dma_unmap = pci_dma_unmap,
};

/* ---- virtual device ---- */

/* The one verbs device of the machine, when none is named. */
static int
only_device(const char *name, struct mdv_devargs *args)
{
	struct ibv_device **list;
	int n = 0;

	list = ibv_get_device_list(&n);
	if (list != NULL && n == 1)
		strlcpy(args->device, ibv_get_device_name(list[0]), sizeof(args->device));
	if (list != NULL)
		ibv_free_device_list(list);
	if (args->device[0] != '\0')
		return 0;
	if (n == 0)
		MDV_LOG(ERR, "%s: no verbs device: load mlx4_ib (modprobe mlx4_ib); in a "
			"container also pass in /dev/infiniband", name);
	else
		MDV_LOG(ERR, "%s: there are %d verbs devices: name one with device=, as "
			"ibv_devices lists them", name, n);
	return -ENODEV;
}

static int
vdev_probe(struct rte_vdev_device *vdev)
{
	const char *name = rte_vdev_device_name(vdev);
	struct mdv_devargs args;
	int ret;

	ret = check_version(name);
	if (ret == 0 && rte_eal_process_type() == RTE_PROC_SECONDARY)
		return mdv_secondary_attach(&vdev->device, name);
	if (ret == 0)
		ret = mdv_devargs_parse(name, rte_vdev_device_args(vdev), true, &args);
	if (ret == 0 && args.device[0] == '\0')
		ret = only_device(name, &args);
	if (ret != 0)
		return ret;
	if (args.ports == 0)
		args.ports = RTE_BIT32(1);
	return mdv_port_create(&vdev->device, name, args.device, rte_bsf32(args.ports), &args);
}

static int
vdev_remove(struct rte_vdev_device *vdev)
{
	return mdv_port_remove_all(&vdev->device);
}

static int
vdev_dma_map(struct rte_vdev_device *vdev, void *addr, uint64_t iova, size_t len)
{
	RTE_SET_USED(iova);
	return mdv_dma_map(&vdev->device, addr, len);
}

static int
vdev_dma_unmap(struct rte_vdev_device *vdev, void *addr, uint64_t iova, size_t len)
{
	RTE_SET_USED(iova);
	return mdv_dma_unmap(&vdev->device, addr, len);
}

static struct rte_vdev_driver mdv_vdev_driver = {
	.probe = vdev_probe,
	.remove = vdev_remove,
	.dma_map = vdev_dma_map,
	.dma_unmap = vdev_dma_unmap,
};

RTE_PMD_REGISTER_VDEV(net_mlx4dv, mdv_vdev_driver);
RTE_PMD_REGISTER_PARAM_STRING(net_mlx4dv, MDV_VDEV_PARAMETERS);
RTE_PMD_REGISTER_PCI(net_mlx4dv_pci, mdv_pci_driver);
RTE_PMD_REGISTER_PCI_TABLE(net_mlx4dv_pci, pci_ids);
RTE_PMD_REGISTER_KMOD_DEP(net_mlx4dv_pci, KERNEL_MODULES);
RTE_PMD_REGISTER_PARAM_STRING(net_mlx4dv_pci, MDV_PCI_PARAMETERS);

/*
 * What dpdk-pmdinfo.py looks for. DPDK's build makes these strings of the lines above for
 * its own drivers only.
 */
#define PCI_ID(device) "[" RTE_STR(VENDOR) ", " RTE_STR(device) ", 65535, 65535]"
static const char vdev_info[] __rte_used = "PMD_INFO_STRING= {\"name\": \"net_mlx4dv\", "
	"\"params\": \"" MDV_VDEV_PARAMETERS "\", \"pci_ids\": []}";
static const char pci_info[] __rte_used = "PMD_INFO_STRING= {\"name\": \"net_mlx4dv_pci\", "
	"\"params\": \"" MDV_PCI_PARAMETERS "\", \"kmod\": \"" KERNEL_MODULES "\", "
	"\"pci_ids\": [" PCI_ID(CX3) ", " PCI_ID(CX3_VF) ", " PCI_ID(CX3_PRO) "]}";

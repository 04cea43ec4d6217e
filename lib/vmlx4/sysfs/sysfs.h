/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VMLX4_SYSFS_H_
#define VMLX4_SYSFS_H_

/*
 * What Linux shows of the adapter outside the verbs device: the sysfs tree and
 * the network interfaces of mlx4_en.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../ib/ib.h"
#include "../options.h"

struct vmlx4_adapter;
struct vmlx4_port;

/* The character device that the tree announces. */
#define VMLX4_IBDEV "mlx4_0"
#define VMLX4_UVERBS "uverbs0"
#define VMLX4_UVERBS_MAJOR 231
#define VMLX4_UVERBS_MINOR 192

/* ---- identity.c: names and addresses, all derived from the options ---- */

void vmlx4_port_mac(const struct vmlx4_options *options, unsigned int port, uint8_t mac[6]);
uint64_t vmlx4_node_guid(const struct vmlx4_options *options);
/*
 * An entry of a port's GID table, in the order of the table; false: there are no more.
 * mac: of the interface now.
 */
#define VMLX4_GIDS 128 /* entries of the table */
bool vmlx4_port_gid(const struct vmlx4_options *options, unsigned int port, const uint8_t mac[6],
	unsigned int index, uint8_t gid[16], enum vmlx4_roce *roce);
/* An IPv4 address stands behind ten zeroes and ffff. */
bool vmlx4_gid_is_ipv4(const uint8_t gid[16]);
/* As sysfs has it. */
void vmlx4_gid_text(const uint8_t gid[16], char text[40]);
void vmlx4_ifname(unsigned int port, char name[IFNAMSIZ]);
unsigned int vmlx4_ifindex(unsigned int port);

/* ---- tree.c ---- */

/*
 * The folder for trees that nobody gave a place: TMPDIR, or else memory where
 * there is any, as some hundred small files take a disk its time.
 */
const char *vmlx4_sysfs_parent(void);

/*
 * Build the tree under root, which must exist and be empty. On error write one
 * line and return a negative errno; what was built stays for _remove().
 */
int vmlx4_sysfs_build(const struct vmlx4_options *options, const char *root,
	char *error, size_t error_size);
/* Remove root and all below it. Refuses what _build() did not begin. */
int vmlx4_sysfs_remove(const char *root);

/* ---- away.c ---- */

/* The adapter has left the machine, or is back: the tree follows. */
void vmlx4_sysfs_away(const struct vmlx4_options *options, bool away);

/* ---- attribute.c ---- */

/*
 * No file has this name. Sysfs may have one whose reading fails, as for an unused
 * GID: a descriptor like that, or a negative errno.
 */
int vmlx4_sysfs_missing(const char *path);

/* ---- netdev.c ---- */

/* Name, index, MAC and MTU of the interface of a port, as the options say; UP. */
void vmlx4_netdev_init(struct vmlx4_port *port);

/* IFF_* with RUNNING derived from the port's state. */
unsigned int vmlx4_netdev_flags(const struct vmlx4_port *port);

/*
 * ioctl() on a socket. Sets *handled when the request names an interface of
 * this adapter and returns 0 or a negative errno; otherwise the request belongs
 * to the kernel. Takes the adapter's lock; adapter may be NULL (nothing of ours).
 */
int vmlx4_netdev_ioctl(struct vmlx4_adapter *adapter, unsigned long request, void *arg,
	int *handled);

/* 0 and NULL when the interface is not one of ours. No lock, adapter may be NULL. */
unsigned int vmlx4_netdev_nametoindex(const struct vmlx4_adapter *adapter, const char *name);
char *vmlx4_netdev_indextoname(const struct vmlx4_adapter *adapter, unsigned int index,
	char name[IFNAMSIZ]);

/* Write address, mtu, operstate and carrier of a port into the tree anew; its GIDs. */
void vmlx4_netdev_sysfs_update(const struct vmlx4_port *port);
void vmlx4_gids_sysfs_update(const struct vmlx4_port *port);

/* ---- counters.c ---- */

/* The index-th counter file of a port, below the root; false: no more. */
bool vmlx4_counter_path(const struct vmlx4_options *options, unsigned int port,
	unsigned int index, char *path, size_t size);
/* May the path be one of them? Without the lock. */
bool vmlx4_counter_file(const struct vmlx4_adapter *adapter, const char *path);
/* Write those that changed since, with the adapter locked; and once a second. */
void vmlx4_counters_update(struct vmlx4_adapter *adapter);
void vmlx4_counters_refresh(struct vmlx4_adapter *adapter, uint64_t now);

/* ---- ethtool.c: SIOCETHTOOL; called with the adapter locked ---- */

int vmlx4_ethtool(struct vmlx4_port *port, void *data);

/* ---- module.c: what ethtool shows of the plug; as above ---- */

struct ethtool_modinfo;
struct ethtool_eeprom;
int vmlx4_module_info(const struct vmlx4_port *port, struct ethtool_modinfo *info);
int vmlx4_module_eeprom(const struct vmlx4_port *port, struct ethtool_eeprom *eeprom);

#endif /* VMLX4_SYSFS_H_ */

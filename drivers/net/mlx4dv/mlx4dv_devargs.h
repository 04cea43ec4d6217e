/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef MLX4DV_DEVARGS_H_
#define MLX4DV_DEVARGS_H_

/* Device arguments: what a user writes behind the name of a device. */

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#include <rte_common.h>

#define MDV_ARG_DEVICE "device"
#define MDV_ARG_PORT "port"
#define MDV_ARG_MR_EXT_MEMSEG "mr_ext_memseg_en"
#define MDV_ARG_TX_INLINE "tx_inline"
#define MDV_ARG_TX_BLUEFLAME "tx_blueflame"

#define MDV_MAX_PORTS 2 /* of any ConnectX-3 */
#define MDV_TX_INLINE_MIN 17  /* bytes; the adapter takes no shorter ones inline: mlx4_en */
#define MDV_TX_INLINE_MAX 224 /* bytes; what four blocks of a WQE hold: mlx4dv_tx_inline.c */

/* What dpdk-pmdinfo shows. */
#define MDV_PCI_PARAMETERS MDV_ARG_PORT "=<1..2> " MDV_ARG_MR_EXT_MEMSEG "=<0|1> " \
	MDV_ARG_TX_INLINE "=<0|" RTE_STR(MDV_TX_INLINE_MIN) ".." RTE_STR(MDV_TX_INLINE_MAX) "> " \
	MDV_ARG_TX_BLUEFLAME "=<0|1>"
#define MDV_VDEV_PARAMETERS MDV_ARG_DEVICE "=<verbs device> " MDV_PCI_PARAMETERS

struct mdv_devargs {
	char device[IBV_SYSFS_NAME_MAX]; /* or "" */
	uint32_t ports;                  /* bit N: port N was named */
	bool mr_ext_memseg;
	uint32_t tx_inline;              /* bytes of a frame, at most; 0: none */
	bool tx_blueflame;               /* needs tx_inline */
};

/*
 * Parse the text behind the name of a device, which may be NULL. A virtual device has one
 * port and may name the verbs device. -EINVAL was logged, with what to write instead.
 */
int mdv_devargs_parse(const char *name, const char *text, bool vdev, struct mdv_devargs *args);

#endif /* MLX4DV_DEVARGS_H_ */

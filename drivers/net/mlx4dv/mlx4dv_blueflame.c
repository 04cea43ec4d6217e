/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The BlueFlame page of a port's context, which WQEs can be copied to in place of a
 * doorbell: of ports with tx_blueflame=1, in the primary process. Secondaries, which share
 * neither the lock nor whose turn which buffer is, ring ordinary doorbells.
 */

#include <errno.h>
#include <string.h>

#include <ethdev_driver.h>

#include "mlx4dv.h"
#include "mlx4dv_log.h"
#include "mlx4dv_rxtx.h"

struct mdv_blueflame mdv_blueflame[RTE_MAX_ETHPORTS];

void
mdv_blueflame_open(struct mdv_priv *priv)
{
	struct mdv_blueflame *blueflame = &mdv_blueflame[priv->data->port_id];
	int ret;

	if (!priv->tx_blueflame)
		return;
	rte_spinlock_init(&blueflame->lock);
	/* The kernel tells guests that they have none; and all their WQEs hold an address. */
	ret = priv->caps.vf ? -ENOTSUP :
		dvq_bf_open(&blueflame->bf, priv->ctx, DVQ_BF_REG_SIZE);
	if (ret != 0)
		MDV_PLOG(priv, WARNING, "cannot map a BlueFlame page of %s: %s; all doorbells are "
			 "ordinary ones", priv->ibname, strerror(-ret));
}

void
mdv_blueflame_close(struct mdv_priv *priv)
{
	if (mdv_has_blueflame(priv->data->port_id))
		dvq_bf_close(&mdv_blueflame[priv->data->port_id].bf);
}

/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Events for the application. Its callbacks may stop, reset or close the port, and
 * that waits for the handlers of the port to be through: none of them can be what
 * the callback is called from. So an event is only marked where it is met, and told
 * from an alarm, whose last act it is. The alarm can be cancelled under itself.
 */

#include <errno.h>
#include <string.h>

#include <rte_alarm.h>

#include <ethdev_driver.h>

#include "mlx4dv.h"
#include "mlx4dv_log.h"

#define SOON_US 1

static void deliver(void *arg);

static void
arm(struct mdv_priv *priv)
{
	int ret = rte_eal_alarm_set(SOON_US, deliver, priv);

	if (ret != 0)
		MDV_PLOG(priv, ERR, "no alarm to tell the application of an event: %s",
			 strerror(-ret));
}

static void
deliver(void *arg)
{
	struct mdv_priv *priv = arg;
	struct rte_eth_dev *dev = priv->dev;
	uint32_t pending = MDV_LOAD_ACQUIRE(&priv->events);
	uint32_t type;

	if (pending == 0)
		return;
	type = rte_bsf32(pending);
	/* One at a time: after the callback there may be no port any more. */
	if (__atomic_and_fetch(&priv->events, ~RTE_BIT32(type), __ATOMIC_ACQ_REL) != 0)
		arm(priv);
	rte_eth_dev_callback_process(dev, (enum rte_eth_event_type)type, NULL);
}

void
mdv_event_post(struct mdv_priv *priv, enum rte_eth_event_type type)
{
	uint32_t bit = RTE_BIT32(type);

	/* The alarm that is on its way tells all that is marked. */
	if (__atomic_fetch_or(&priv->events, bit, __ATOMIC_ACQ_REL) == 0)
		arm(priv);
}

void
mdv_event_cancel(struct mdv_priv *priv)
{
	rte_eal_alarm_cancel(deliver, priv);
	MDV_STORE_RELEASE(&priv->events, 0);
}

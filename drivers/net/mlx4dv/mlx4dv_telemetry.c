/* SPDX-License-Identifier: BSD-3-Clause */

/* What dpdk-telemetry.py reads below /mlx4dv. All in the primary process. */

#include <errno.h>
#include <stdlib.h>

#include <rte_telemetry.h>

#include <ethdev_driver.h>

#include "mlx4dv_show.h"

struct to_dict {
	struct mdv_shown shown;
	struct rte_tel_data *dict;
};

static void
dict_text(struct mdv_shown *to, const char *name, const char *value)
{
	rte_tel_data_add_dict_string(((struct to_dict *)(void *)to)->dict, name, value);
}

static void
dict_number(struct mdv_shown *to, const char *name, uint64_t value)
{
	MDV_TEL_ADD_DICT_UINT(((struct to_dict *)(void *)to)->dict, name, value);
}

static bool
is_ours(uint16_t port_id)
{
	return rte_eth_dev_is_valid_port(port_id) && mdv_is_ours(&rte_eth_devices[port_id]);
}

/* "PORT" or "PORT,QUEUE"; queue NULL: none wanted. */
static struct rte_eth_dev *
parse(const char *params, uint16_t *queue)
{
	unsigned long port, number = 0;
	char *end;

	if (params == NULL || *params < '0' || *params > '9')
		return NULL;
	port = strtoul(params, &end, 10);
	if (queue != NULL && *end == ',' && end[1] >= '0' && end[1] <= '9')
		number = strtoul(end + 1, &end, 10);
	else if (queue != NULL)
		return NULL;
	if (*end != '\0' || port >= RTE_MAX_ETHPORTS || number > UINT16_MAX ||
	    !is_ours((uint16_t)port))
		return NULL;
	if (queue != NULL)
		*queue = (uint16_t)number;
	return &rte_eth_devices[port];
}

static int
handle_list(const char *cmd, const char *params, struct rte_tel_data *data)
{
	uint16_t port_id;

	RTE_SET_USED(cmd);
	RTE_SET_USED(params);
	rte_tel_data_start_array(data, RTE_TEL_INT_VAL);
	RTE_ETH_FOREACH_DEV(port_id)
		if (is_ours(port_id))
			rte_tel_data_add_array_int(data, port_id);
	return 0;
}

static int
show_port(const char *params, struct rte_tel_data *data,
	void (*show)(struct mdv_priv *priv, struct mdv_shown *to))
{
	struct to_dict to = { { dict_text, dict_number }, data };
	struct rte_eth_dev *dev = parse(params, NULL);

	if (dev == NULL)
		return -EINVAL;
	rte_tel_data_start_dict(data);
	show(mdv_priv(dev), &to.shown);
	return 0;
}

static int
handle_device(const char *cmd, const char *params, struct rte_tel_data *data)
{
	RTE_SET_USED(cmd);
	return show_port(params, data, mdv_show_device);
}

static int
handle_memory(const char *cmd, const char *params, struct rte_tel_data *data)
{
	RTE_SET_USED(cmd);
	return show_port(params, data, mdv_show_memory);
}

static int
handle_flows(const char *cmd, const char *params, struct rte_tel_data *data)
{
	RTE_SET_USED(cmd);
	return show_port(params, data, mdv_show_flows);
}

static int
handle_errors(const char *cmd, const char *params, struct rte_tel_data *data)
{
	RTE_SET_USED(cmd);
	return show_port(params, data, mdv_show_errors);
}

static int
handle_rxq(const char *cmd, const char *params, struct rte_tel_data *data)
{
	struct to_dict to = { { dict_text, dict_number }, data };
	uint16_t queue;
	struct rte_eth_dev *dev = parse(params, &queue);

	RTE_SET_USED(cmd);
	if (dev == NULL || queue >= dev->data->nb_rx_queues ||
	    dev->data->rx_queues[queue] == NULL)
		return -EINVAL;
	rte_tel_data_start_dict(data);
	mdv_show_rxq(dev->data->rx_queues[queue], &to.shown);
	return 0;
}

static int
handle_txq(const char *cmd, const char *params, struct rte_tel_data *data)
{
	struct to_dict to = { { dict_text, dict_number }, data };
	uint16_t queue;
	struct rte_eth_dev *dev = parse(params, &queue);

	RTE_SET_USED(cmd);
	if (dev == NULL || queue >= dev->data->nb_tx_queues ||
	    dev->data->tx_queues[queue] == NULL)
		return -EINVAL;
	rte_tel_data_start_dict(data);
	mdv_show_txq(dev->data->tx_queues[queue], &to.shown);
	return 0;
}

RTE_INIT(mdv_telemetry_init)
{
	rte_telemetry_register_cmd("/mlx4dv/list", handle_list,
		"Ports of net_mlx4dv. Takes no parameters");
	rte_telemetry_register_cmd("/mlx4dv/device", handle_device,
		"Device and settings of a port. Parameters: int port_id");
	rte_telemetry_register_cmd("/mlx4dv/rxq", handle_rxq,
		"State, counters and last error of an RX queue. Parameters: int port_id,int queue");
	rte_telemetry_register_cmd("/mlx4dv/txq", handle_txq,
		"State, counters and last error of a TX queue. Parameters: int port_id,int queue");
	rte_telemetry_register_cmd("/mlx4dv/memory", handle_memory,
		"Memory regions of a port. Parameters: int port_id");
	rte_telemetry_register_cmd("/mlx4dv/errors", handle_errors,
		"Errors of a port by cause, and the last of them. Parameters: int port_id");
	rte_telemetry_register_cmd("/mlx4dv/flows", handle_flows,
		"Flow rules of a port. Parameters: int port_id");
}

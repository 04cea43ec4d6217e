/* SPDX-License-Identifier: BSD-3-Clause */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../counters.h"
#include "../hca/internal.h"
#include "sysfs.h"

/*
 * Counters as files: of the interface (statistics/) as the kernel's core has them,
 * of the verbs port (counters/) and of the card (hw_counters/) as mlx4_ib has
 * them. What the model has no number for reads 0.
 */

typedef uint64_t counter_fn(const struct vmlx4_port *port);

#define COUNTER(name, expression) \
	static uint64_t \
	name(const struct vmlx4_port *port) \
	{ \
		return expression; \
	}

#define S port->stats

static uint64_t
zero(const struct vmlx4_port *port)
{
	(void)port;
	return 0;
}

COUNTER(rx_packets, S.rx_frames)
COUNTER(tx_packets, S.tx_frames)
COUNTER(rx_bytes, S.rx_bytes)
COUNTER(tx_bytes, S.tx_bytes)
COUNTER(multicast, S.rx_multicast)
COUNTER(rx_errors, vmlx4_rx_errors(&S))
COUNTER(tx_errors, S.tx_errors)
COUNTER(rx_dropped, vmlx4_rx_dropped(&S))
COUNTER(tx_dropped, vmlx4_tx_dropped(&S))
COUNTER(rx_length_errors, S.rx_oversize + S.rx_runt)
COUNTER(rx_over_errors, S.rx_cq_overrun + S.rx_overruns)
COUNTER(rx_crc_errors, S.rx_crc_errors)
COUNTER(rx_missed_errors, S.rx_no_wqe)
COUNTER(tx_carrier_errors, S.tx_link_down + S.tx_wire_drops)
/* In words of four bytes, as InfiniBand counts. */
COUNTER(rcv_data, S.rx_bytes / 4)
COUNTER(xmit_data, S.tx_bytes / 4)
COUNTER(overflows, port->adapter->cq_overruns)
#define ERRORS(name, send, syndrome) COUNTER(name, port->syndromes[send][syndrome])
ERRORS(rq_lle, 0, VMLX4_HW_SYN_LOC_LEN)
ERRORS(sq_lle, 1, VMLX4_HW_SYN_LOC_LEN)
ERRORS(rq_lqpoe, 0, VMLX4_HW_SYN_LOC_QP_OP)
ERRORS(sq_lqpoe, 1, VMLX4_HW_SYN_LOC_QP_OP)
ERRORS(rq_lpe, 0, VMLX4_HW_SYN_LOC_PROT)
ERRORS(sq_lpe, 1, VMLX4_HW_SYN_LOC_PROT)
ERRORS(rq_wrfe, 0, VMLX4_HW_SYN_FLUSH)
ERRORS(sq_wrfe, 1, VMLX4_HW_SYN_FLUSH)
ERRORS(sq_mwbe, 1, VMLX4_HW_SYN_MW_BIND)
ERRORS(sq_bre, 1, VMLX4_HW_SYN_BAD_RESP)
ERRORS(sq_rire, 1, VMLX4_HW_SYN_REM_INV_REQ)
ERRORS(sq_rae, 1, VMLX4_HW_SYN_REM_ACCESS)
ERRORS(sq_roe, 1, VMLX4_HW_SYN_REM_OP)
ERRORS(sq_tree, 1, VMLX4_HW_SYN_RETRY_EXC)
ERRORS(sq_rree, 1, VMLX4_HW_SYN_RNR_RETRY)
COUNTER(rq_rire, S.rx_roce_invalid)
COUNTER(rq_rae, S.rx_roce_access)
COUNTER(rq_rnr, S.rx_roce_rnr)
COUNTER(sq_rnr, S.tx_roce_rnr)
COUNTER(rq_oos, S.rx_roce_sequence)
COUNTER(sq_oos, S.tx_roce_sequence)

static const struct counter {
	const char *name;
	counter_fn *value;
} netdev_counters[] = {
	{ "collisions", zero }, { "multicast", multicast }, { "rx_bytes", rx_bytes },
	{ "rx_compressed", zero }, { "rx_crc_errors", rx_crc_errors },
	{ "rx_dropped", rx_dropped }, { "rx_errors", rx_errors }, { "rx_fifo_errors", zero },
	{ "rx_frame_errors", zero }, { "rx_length_errors", rx_length_errors },
	{ "rx_missed_errors", rx_missed_errors }, { "rx_nohandler", zero },
	{ "rx_over_errors", rx_over_errors }, { "rx_packets", rx_packets },
	{ "tx_aborted_errors", zero }, { "tx_bytes", tx_bytes },
	{ "tx_carrier_errors", tx_carrier_errors }, { "tx_compressed", zero },
	{ "tx_dropped", tx_dropped }, { "tx_errors", tx_errors }, { "tx_fifo_errors", zero },
	{ "tx_heartbeat_errors", zero }, { "tx_packets", tx_packets },
	{ "tx_window_errors", zero }, { NULL, NULL },
}, port_counters[] = {
	{ "port_rcv_data", rcv_data }, { "port_rcv_packets", rx_packets },
	{ "port_xmit_data", xmit_data }, { "port_xmit_packets", tx_packets },
	{ "port_xmit_wait", zero }, { "symbol_error", zero },
	{ "link_error_recovery", zero }, { "link_downed", zero },
	{ "port_rcv_errors", zero }, { "port_rcv_remote_physical_errors", zero },
	{ "port_rcv_switch_relay_errors", zero }, { "port_xmit_discards", zero },
	{ "port_xmit_constraint_errors", zero }, { "port_rcv_constraint_errors", zero },
	{ "local_link_integrity_errors", zero }, { "excessive_buffer_overrun_errors", zero },
	{ "VL15_dropped", zero }, { NULL, NULL },
}, hw_counters[] = {
	{ "rq_num_lle", rq_lle }, { "sq_num_lle", sq_lle }, { "rq_num_lqpoe", rq_lqpoe },
	{ "sq_num_lqpoe", sq_lqpoe }, { "rq_num_lpe", rq_lpe }, { "sq_num_lpe", sq_lpe },
	{ "rq_num_wrfe", rq_wrfe }, { "sq_num_wrfe", sq_wrfe }, { "sq_num_mwbe", sq_mwbe },
	{ "sq_num_bre", sq_bre }, { "sq_num_rire", sq_rire }, { "rq_num_rire", rq_rire },
	{ "sq_num_rae", sq_rae }, { "rq_num_rae", rq_rae }, { "sq_num_roe", sq_roe },
	{ "sq_num_tree", sq_tree }, { "sq_num_rree", sq_rree }, { "rq_num_rnr", rq_rnr },
	{ "sq_num_rnr", sq_rnr }, { "rq_num_oos", rq_oos }, { "sq_num_oos", sq_oos },
	{ "num_cqovf", overflows }, { NULL, NULL },
};

/* A folder of them below the device, and who has it. */
static const struct folder {
	const char *format;    /* of interface name or port number */
	const struct counter *counters;
	bool netdev;
} folders[] = {
	{ "net/%s/statistics", netdev_counters, true },
	{ "infiniband/" VMLX4_IBDEV "/ports/%s/counters", port_counters, false },
	{ "infiniband/" VMLX4_IBDEV "/ports/%s/hw_counters", hw_counters, false },
};

#define FOLDERS (sizeof(folders) / sizeof(folders[0]))
#define FILES ((sizeof(netdev_counters) + sizeof(port_counters) + sizeof(hw_counters)) / \
	sizeof(struct counter) - FOLDERS)
#define REFRESH_NS 1000000000u

/* The index-th counter file of a port, and its path below the tree's root; or NULL. */
static const struct counter *
counter_at(const struct vmlx4_options *options, unsigned int port, unsigned int index,
	char *path, size_t size)
{
	unsigned int f, i;

	for (f = 0; f < FOLDERS; f++) {
		const struct folder *folder = &folders[f];
		char name[IFNAMSIZ];
		int used;

		if (folder->netdev && options->infiniband[port - 1])
			continue;
		for (i = 0; folder->counters[i].name != NULL && index != 0; i++)
			index--;
		if (folder->counters[i].name == NULL)
			continue;
		if (folder->netdev)
			vmlx4_ifname(port, name);
		else
			snprintf(name, sizeof(name), "%u", port);
		used = snprintf(path, size, "bus/pci/devices/%s/", options->pci_address);
		used += snprintf(path + used, size - (size_t)used, folder->format, name);
		snprintf(path + used, size - (size_t)used, "/%s", folder->counters[i].name);
		return &folder->counters[i];
	}
	return NULL;
}

bool
vmlx4_counter_path(const struct vmlx4_options *options, unsigned int port, unsigned int index,
	char *path, size_t size)
{
	return counter_at(options, port, index, path, size) != NULL;
}

/* By system call: the preloaded open() comes here. */
static void
write_value(const char *path, uint64_t value)
{
	char text[32];
	int size = snprintf(text, sizeof(text), "%llu\n", (unsigned long long)value);
	long fd = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CLOEXEC, 0);

	if (fd < 0)
		return; /* the tree may be gone or another's */
	/* They only grow: nothing of the old value is left behind. */
	if (pwrite((int)fd, text, (size_t)size, 0) < 0)
		size = 0;
	syscall(SYS_close, fd);
}

void
vmlx4_counters_update(struct vmlx4_adapter *adapter)
{
	const struct vmlx4_options *options = &adapter->options;
	char path[2 * PATH_MAX], leaf[256];
	const struct counter *counter;
	unsigned int port, i;

	if (options->sysfs[0] == '\0')
		return;
	if (adapter->shown == NULL)
		adapter->shown = calloc(VMLX4_MAX_PORTS * FILES, sizeof(uint64_t));
	if (adapter->shown == NULL)
		return;
	for (port = 1; port <= options->ports; port++) {
		uint64_t *shown = adapter->shown + (port - 1) * FILES;

		for (i = 0; (counter = counter_at(options, port, i, leaf, sizeof(leaf))) != NULL;
		     i++) {
			uint64_t value = counter->value(&adapter->ports[port - 1]);

			if (value == shown[i])
				continue;
			shown[i] = value;
			snprintf(path, sizeof(path), "%s/%s", options->sysfs, leaf);
			write_value(path, value);
		}
	}
}

void
vmlx4_counters_refresh(struct vmlx4_adapter *adapter, uint64_t now)
{
	if (now - adapter->shown_at < REFRESH_NS)
		return;
	adapter->shown_at = now;
	vmlx4_counters_update(adapter);
}

bool
vmlx4_counter_file(const struct vmlx4_adapter *adapter, const char *path)
{
	size_t root = strlen(adapter->options.sysfs);

	return root != 0 && strncmp(path, adapter->options.sysfs, root) == 0 &&
		(strstr(path + root, "/statistics/") != NULL ||
		 strstr(path + root, "counters/") != NULL);
}

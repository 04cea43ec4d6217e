/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VMLX4_FAULT_H_
#define VMLX4_FAULT_H_

/*
 * Faults on demand. The model asks at the places where something can go wrong;
 * it asks only while adapter->faults is not NULL, so that without faults a place
 * costs one test. All of it is called with the adapter locked.
 *
 * Whether an event is hit depends on its number among the events that a fault is
 * about and on the seed, never on time: the same program has the same faults.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct vmlx4_adapter;
struct vmlx4_cmd;
struct vmlx4_context;
struct vmlx4_cq;
struct vmlx4_fault_stats;
struct vmlx4_faults;
struct vmlx4_hw_cqe;
struct vmlx4_port;

/* ---- life (faults.c) ---- */

/* The faults of the options. 0 or a negative errno, and a line in error. */
int vmlx4_faults_init(struct vmlx4_adapter *adapter, char *error, size_t error_size);
/* At the end of the adapter. */
void vmlx4_faults_free(struct vmlx4_adapter *adapter);

const struct vmlx4_fault_stats *vmlx4_fault_stats_get(const struct vmlx4_adapter *adapter);

/* ---- where the model asks ---- */

/* A command is about to run: 0, or the errno that it fails with. command.c */
int vmlx4_fault_command(struct vmlx4_context *ctx, uint32_t command,
	const struct vmlx4_cmd *cmd);
/* No new context: the device is dead. state.c */
bool vmlx4_fault_device_dead(const struct vmlx4_adapter *adapter);
bool vmlx4_fault_device_returns(const struct vmlx4_adapter *adapter);

/* A WQE is about to be executed or filled: 0, or its syndrome. queue.c */
uint8_t vmlx4_fault_wqe(struct vmlx4_port *port, uint32_t qpn, bool send);
/* The vendor error that goes with the syndrome just given. */
uint8_t vmlx4_fault_vendor(struct vmlx4_adapter *adapter, uint8_t syndrome, uint8_t vendor);

/*
 * A CQE is complete but for its last dword, which hands it over. True: it is kept
 * and shows later; the CQ counts it as written all the same. hold.c
 */
bool vmlx4_fault_hold_cqe(struct vmlx4_cq *cq, struct vmlx4_hw_cqe *cqe, uint32_t last);
/* The producer as the program sees it. */
uint32_t vmlx4_fault_visible(const struct vmlx4_cq *cq);
/* The CQ goes, and what was kept with it. */
void vmlx4_fault_cq_gone(struct vmlx4_cq *cq);

/* In place of vmlx4_port_transmit() and vmlx4_port_accept(). frame.c */
void vmlx4_fault_send(struct vmlx4_port *port, const uint8_t *frame, size_t length);
void vmlx4_fault_receive(struct vmlx4_port *port, const uint8_t *frame, size_t length);

/* The adapter's clock, given what it should show; and is it offered at all? state.c */
uint64_t vmlx4_fault_clock(const struct vmlx4_adapter *adapter, uint64_t now);
bool vmlx4_fault_clock_missing(const struct vmlx4_adapter *adapter);

#endif /* VMLX4_FAULT_H_ */

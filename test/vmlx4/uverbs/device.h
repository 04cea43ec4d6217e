/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef DEVICE_H_
#define DEVICE_H_

/*
 * What the tests of the verbs interface share: the device, objects of it in
 * their plainest form, and commands written past libmlx4, which checks a lot
 * itself. The programs run under "vmlx4 exec --step".
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <infiniband/mlx4dv.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx4-abi.h>

#include "vmlx4.h"

struct device {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
};

/* cmocka set-up and tear-down of one test; the latter finds objects left over. */
int device_setup(void **state);
int device_teardown(void **state);
#define cmocka_unit_test_device(f) cmocka_unit_test_setup_teardown(f, device_setup, device_teardown)

struct ibv_context *device_open(void);
struct ibv_cq *device_cq(struct device *device, int cqe);
struct ibv_qp *device_qp(struct device *device, struct ibv_cq *cq);
struct ibv_wq *device_wq(struct device *device, struct ibv_cq *cq, int log_range);
struct ibv_rwq_ind_table *device_table(struct device *device, struct ibv_wq **wq, int log_size);
/* fields: IBV_RX_HASH_*; *error (if not NULL) is errno when the result is NULL. */
struct ibv_qp *device_rss_qp(struct device *device, struct ibv_rwq_ind_table *table,
	uint64_t fields, int *error);
/* Page-aligned memory that the test frees with free(). */
void *device_memory(size_t size);

/* A QP with a transport, with a receive queue of its own. */
struct ibv_qp *device_transport(struct device *device, struct ibv_cq *cq, enum ibv_qp_type type);
/* RESET -> INIT on a port. 0 or a positive errno. */
int transport_to_init(struct ibv_qp *qp, uint8_t port);
/* All that a connection over a port to that QP, of the same port, takes up to RTS. */
void transport_attr(struct ibv_qp_attr *attr, uint8_t port, uint32_t dest_qpn);
/* The attributes of that which the step to a state takes. */
int transport_mask(const struct ibv_qp *qp, enum ibv_qp_state state);
/* From RESET to RTS. */
void transport_connect(struct ibv_qp *qp, uint8_t port, uint32_t dest_qpn);

/* To a state; extra attributes by mask. 0 or a positive errno. */
int qp_to(struct ibv_qp *qp, enum ibv_qp_state state, int extra_mask);
int wq_to(struct ibv_wq *wq, enum ibv_wq_state state);

/* A plain command with mlx4's part behind the core one. 0 or a positive errno. */
int write_mlx4(struct ibv_context *ctx, uint32_t command, const void *core, size_t core_size,
	const void *driver, size_t driver_size, void *reply, size_t reply_size);
/* One without. With a reply its address goes into the first eight bytes. */
int write_plain(struct ibv_context *ctx, uint32_t command, const void *core, size_t core_size,
	void *reply, size_t reply_size);
/* An extended one. */
int write_ex(struct ibv_context *ctx, uint32_t command, const void *core, size_t core_size,
	const void *driver, size_t driver_size, void *reply, size_t reply_size);

#endif /* DEVICE_H_ */

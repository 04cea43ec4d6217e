/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <unistd.h>

#include "device.h"

/*
 * libmlx4 forgets the ids of the dummy send queue when ibv_create_wq() fails,
 * and everything when its device is closed under it; both happen here. libibverbs
 * forgets addresses when it asks for a neighbour.
 */
const char *__lsan_default_suppressions(void);

const char *
__lsan_default_suppressions(void)
{
	return "leak:libmlx4.so\nleak:libibverbs.so\nleak:nl_addr_alloc\n";
}

struct ibv_context *
device_open(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx;

	assert_non_null(list);
	assert_non_null(list[0]);
	ctx = ibv_open_device(list[0]);
	ibv_free_device_list(list);
	assert_non_null(ctx);
	return ctx;
}

int
device_setup(void **state)
{
	struct device *device = calloc(1, sizeof(*device));

	assert_non_null(device);
	device->ctx = device_open();
	device->pd = ibv_alloc_pd(device->ctx);
	assert_non_null(device->pd);
	*state = device;
	return 0;
}

int
device_teardown(void **state)
{
	struct device *device = *state;
	struct vmlx4_object_counts counts;

	assert_int_equal(ibv_dealloc_pd(device->pd), 0);
	assert_int_equal(vmlx4_object_counts(&counts), 0);
	assert_int_equal(counts.pds + counts.mrs + counts.channels + counts.cqs + counts.qps +
		counts.wqs + counts.tables + counts.flows + counts.srqs + counts.mws +
		counts.xrcds, 0);
	assert_int_equal(counts.mr_bytes, 0);
	assert_int_equal(ibv_close_device(device->ctx), 0);
	free(device);
	return 0;
}

struct ibv_cq *
device_cq(struct device *device, int cqe)
{
	struct ibv_cq *cq = ibv_create_cq(device->ctx, cqe, NULL, NULL, 0);

	assert_non_null(cq);
	return cq;
}

struct ibv_qp *
device_qp(struct device *device, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1,
			.max_recv_sge = 1 },
		.qp_type = IBV_QPT_RAW_PACKET,
	};
	struct ibv_qp *qp = ibv_create_qp(device->pd, &attr);

	assert_non_null(qp);
	return qp;
}

struct ibv_wq *
device_wq(struct device *device, struct ibv_cq *cq, int log_range)
{
	struct ibv_wq_init_attr attr = {
		.wq_type = IBV_WQT_RQ,
		.max_wr = 8,
		.max_sge = 1,
		.pd = device->pd,
		.cq = cq,
	};
	uint8_t range = log_range;

	assert_int_equal(mlx4dv_set_context_attr(device->ctx,
		MLX4DV_SET_CTX_ATTR_LOG_WQS_RANGE_SZ, &range), 0);
	return ibv_create_wq(device->ctx, &attr);
}

struct ibv_rwq_ind_table *
device_table(struct device *device, struct ibv_wq **wq, int log_size)
{
	struct ibv_rwq_ind_table_init_attr attr = {
		.log_ind_tbl_size = log_size,
		.ind_tbl = wq,
	};

	return ibv_create_rwq_ind_table(device->ctx, &attr);
}

struct ibv_qp *
device_rss_qp(struct device *device, struct ibv_rwq_ind_table *table, uint64_t fields,
	int *error)
{
	uint8_t key[40] = { 0x6d, 0x5a };
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE |
			IBV_QP_INIT_ATTR_RX_HASH,
		.pd = device->pd,
		.rwq_ind_tbl = table,
		.rx_hash_conf = {
			.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ,
			.rx_hash_key_len = sizeof(key),
			.rx_hash_key = key,
			.rx_hash_fields_mask = fields,
		},
	};
	struct ibv_qp *qp = ibv_create_qp_ex(device->ctx, &attr);

	if (error != NULL)
		*error = qp == NULL ? errno : 0;
	return qp;
}

void *
device_memory(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *memory = aligned_alloc(page, (size + page - 1) / page * page);

	assert_non_null(memory);
	memset(memory, 0, size);
	return memory;
}

int
qp_to(struct ibv_qp *qp, enum ibv_qp_state state, int extra_mask)
{
	struct ibv_qp_attr attr = { .qp_state = state, .port_num = 1 };

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | extra_mask);
}

struct ibv_qp *
device_transport(struct device *device, struct ibv_cq *cq, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 2,
			.max_recv_sge = 2 },
		.qp_type = type,
	};
	struct ibv_qp *qp = ibv_create_qp(device->pd, &attr);

	assert_non_null(qp);
	return qp;
}

void
transport_attr(struct ibv_qp_attr *attr, uint8_t port, uint32_t dest_qpn)
{
	*attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.port_num = port,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = dest_qpn,
		.rq_psn = 0x123456,
		.sq_psn = 0x123456,
		.qkey = 0x1ee7,
		.qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE |
			IBV_ACCESS_REMOTE_ATOMIC,
		.max_rd_atomic = 4,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 12,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.ah_attr = {
			.is_global = 1, .port_num = port,
			.grh = { .hop_limit = 1, .sgid_index = 0 },
		},
	};
}

int
transport_mask(const struct ibv_qp *qp, enum ibv_qp_state state)
{
	bool reliable = qp->qp_type != IBV_QPT_UC && qp->qp_type != IBV_QPT_UD;
	bool datagrams = qp->qp_type == IBV_QPT_UD;
	int mask = IBV_QP_STATE;

	if (state == IBV_QPS_INIT)
		mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			(datagrams ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
	else if (state == IBV_QPS_RTR)
		mask |= (datagrams ? 0 : IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			IBV_QP_RQ_PSN) |
			(reliable ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0);
	else
		mask |= IBV_QP_SQ_PSN | (reliable ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC : 0);
	return mask;
}

int
transport_to_init(struct ibv_qp *qp, uint8_t port)
{
	struct ibv_qp_attr attr;

	transport_attr(&attr, port, 0);
	attr.qp_state = IBV_QPS_INIT;
	return ibv_modify_qp(qp, &attr, transport_mask(qp, IBV_QPS_INIT));
}

void
transport_connect(struct ibv_qp *qp, uint8_t port, uint32_t dest_qpn)
{
	struct ibv_qp_attr attr;

	transport_attr(&attr, port, dest_qpn);
	assert_int_equal(ibv_query_gid(qp->context, port, 0, &attr.ah_attr.grh.dgid), 0);
	assert_int_equal(transport_to_init(qp, port), 0);
	assert_int_equal(ibv_modify_qp(qp, &attr, transport_mask(qp, IBV_QPS_RTR)), 0);
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(ibv_modify_qp(qp, &attr, transport_mask(qp, IBV_QPS_RTS)), 0);
}

int
wq_to(struct ibv_wq *wq, enum ibv_wq_state state)
{
	struct ibv_wq_attr attr = { .attr_mask = IBV_WQ_ATTR_STATE, .wq_state = state };

	return ibv_modify_wq(wq, &attr);
}

static int
write_all(struct ibv_context *ctx, const void *buffer, size_t size)
{
	ssize_t ret = write(ctx->cmd_fd, buffer, size);

	if (ret < 0)
		return errno;
	assert_int_equal(ret, size);
	return 0;
}

int
write_mlx4(struct ibv_context *ctx, uint32_t command, const void *core, size_t core_size,
	const void *driver, size_t driver_size, void *reply, size_t reply_size)
{
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		uint8_t payload[512];
	} buffer;
	size_t size = sizeof(buffer.hdr) + core_size + driver_size;
	uint64_t response = (uintptr_t)reply;

	assert_in_range(core_size + driver_size, 0, sizeof(buffer.payload));
	memset(&buffer, 0, sizeof(buffer));
	buffer.hdr.command = command;
	buffer.hdr.in_words = size / 4;
	buffer.hdr.out_words = reply_size / 4;
	memcpy(buffer.payload, core, core_size);
	if (driver_size > 0)
		memcpy(buffer.payload + core_size, driver, driver_size);
	if (reply != NULL)
		memcpy(buffer.payload, &response, sizeof(response));
	return write_all(ctx, &buffer, size);
}

int
write_plain(struct ibv_context *ctx, uint32_t command, const void *core, size_t core_size,
	void *reply, size_t reply_size)
{
	return write_mlx4(ctx, command, core, core_size, NULL, 0, reply, reply_size);
}

int
write_ex(struct ibv_context *ctx, uint32_t command, const void *core, size_t core_size,
	const void *driver, size_t driver_size, void *reply, size_t reply_size)
{
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_ex_cmd_hdr ex;
		uint8_t payload[512];
	} buffer;

	assert_in_range(core_size + driver_size, 0, sizeof(buffer.payload));
	memset(&buffer, 0, sizeof(buffer));
	buffer.hdr.command = command | IB_USER_VERBS_CMD_FLAG_EXTENDED;
	buffer.hdr.in_words = core_size / 8;
	buffer.hdr.out_words = reply_size / 8;
	buffer.ex.response = (uintptr_t)reply;
	buffer.ex.provider_in_words = driver_size / 8;
	memcpy(buffer.payload, core, core_size);
	if (driver_size > 0)
		memcpy(buffer.payload + core_size, driver, driver_size);
	return write_all(ctx, &buffer, sizeof(buffer.hdr) + sizeof(buffer.ex) +
		core_size + driver_size);
}

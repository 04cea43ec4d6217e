/* SPDX-License-Identifier: BSD-3-Clause */

#include <infiniband/verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx4-abi.h>
#include <string.h>

#include "commands.h"

#define FIELD_(part, type, member, kind, name, when) \
	{ (name), offsetof(struct type, member), sizeof(((struct type *)NULL)->member), \
		(part), VMLX4_FIELD_##kind, (when) }
#define IN(type, member, kind) FIELD_(VMLX4_IN, type, member, kind, #member, 0)
#define DRIVER(type, member, kind) FIELD_(VMLX4_DRIVER_IN, type, member, kind, #member, 0)
#define OUT(type, member, kind) FIELD_(VMLX4_OUT, type, member, kind, #member, 0)
#define DRIVER_OUT(type, member, kind) FIELD_(VMLX4_DRIVER_OUT, type, member, kind, #member, 0)
/* Under a shorter name: of a member of a member, or of a handle. */
#define IN_AS(type, member, kind, name) FIELD_(VMLX4_IN, type, member, kind, name, 0)
#define OUT_AS(type, member, kind, name) FIELD_(VMLX4_OUT, type, member, kind, name, 0)
#define IN_IF(type, member, kind, name, when) FIELD_(VMLX4_IN, type, member, kind, name, when)
#define FIELDS static const struct vmlx4_command_field

/* ---- device ---- */

FIELDS get_context[] = {
	OUT(ib_uverbs_get_context_resp, num_comp_vectors, NUMBER),
	DRIVER_OUT(mlx4_ib_alloc_ucontext_resp, qp_tab_size, HEX),
	DRIVER_OUT(mlx4_ib_alloc_ucontext_resp, bf_reg_size, NUMBER),
	DRIVER_OUT(mlx4_ib_alloc_ucontext_resp, cqe_size, NUMBER),
};
FIELDS query_port[] = {
	IN_AS(ib_uverbs_query_port, port_num, NUMBER, "port"),
	OUT(ib_uverbs_query_port_resp, state, PORT_STATE),
	OUT(ib_uverbs_query_port_resp, link_layer, LAYER),
};
FIELDS create_channel[] = {
	OUT_AS(ib_uverbs_create_comp_channel_resp, fd, CHANNEL, "channel"),
};

/* ---- memory ---- */

FIELDS alloc_pd[] = {
	OUT_AS(ib_uverbs_alloc_pd_resp, pd_handle, PD, "pd"),
};
FIELDS dealloc_pd[] = {
	IN_AS(ib_uverbs_dealloc_pd, pd_handle, PD, "pd"),
};
FIELDS reg_mr[] = {
	IN_AS(ib_uverbs_reg_mr, pd_handle, PD, "pd"),
	IN(ib_uverbs_reg_mr, start, ADDRESS),
	IN(ib_uverbs_reg_mr, length, NUMBER),
	IN_AS(ib_uverbs_reg_mr, hca_va, ADDRESS, "iova"),
	IN_AS(ib_uverbs_reg_mr, access_flags, HEX, "access"),
	OUT_AS(ib_uverbs_reg_mr_resp, mr_handle, MR, "mr"),
};
FIELDS rereg_mr[] = {
	IN_AS(ib_uverbs_rereg_mr, mr_handle, MR, "mr"),
	IN(ib_uverbs_rereg_mr, flags, HEX),
	IN_AS(ib_uverbs_rereg_mr, pd_handle, PD, "pd"),
	IN(ib_uverbs_rereg_mr, start, ADDRESS),
	IN(ib_uverbs_rereg_mr, length, NUMBER),
	IN_AS(ib_uverbs_rereg_mr, hca_va, ADDRESS, "iova"),
	IN_AS(ib_uverbs_rereg_mr, access_flags, HEX, "access"),
	OUT(ib_uverbs_rereg_mr_resp, lkey, HEX),
};
FIELDS dereg_mr[] = {
	IN_AS(ib_uverbs_dereg_mr, mr_handle, MR, "mr"),
};

/* ---- completion queues ---- */

FIELDS create_cq[] = {
	IN(ib_uverbs_create_cq, cqe, NUMBER),
	IN(ib_uverbs_create_cq, comp_vector, NUMBER),
	IN_AS(ib_uverbs_create_cq, comp_channel, CHANNEL, "channel"),
	DRIVER(mlx4_ib_create_cq, buf_addr, ADDRESS),
	DRIVER(mlx4_ib_create_cq, db_addr, ADDRESS),
	OUT_AS(ib_uverbs_create_cq_resp, cq_handle, CQ, "cq"),
	OUT(ib_uverbs_create_cq_resp, cqe, NUMBER),
};
FIELDS create_cq_ex[] = {
	IN(ib_uverbs_ex_create_cq, cqe, NUMBER),
	IN(ib_uverbs_ex_create_cq, comp_vector, NUMBER),
	IN_AS(ib_uverbs_ex_create_cq, comp_channel, CHANNEL, "channel"),
	IN(ib_uverbs_ex_create_cq, comp_mask, HEX),
	IN(ib_uverbs_ex_create_cq, flags, HEX),
	DRIVER(mlx4_ib_create_cq, buf_addr, ADDRESS),
	DRIVER(mlx4_ib_create_cq, db_addr, ADDRESS),
	OUT_AS(ib_uverbs_ex_create_cq_resp, base.cq_handle, CQ, "cq"),
	OUT_AS(ib_uverbs_ex_create_cq_resp, base.cqe, NUMBER, "cqe"),
};
FIELDS resize_cq[] = {
	IN_AS(ib_uverbs_resize_cq, cq_handle, CQ, "cq"),
	IN(ib_uverbs_resize_cq, cqe, NUMBER),
	DRIVER(mlx4_ib_resize_cq, buf_addr, ADDRESS),
	OUT(ib_uverbs_resize_cq_resp, cqe, NUMBER),
};
FIELDS modify_cq[] = {
	IN_AS(ib_uverbs_ex_modify_cq, cq_handle, CQ, "cq"),
	IN(ib_uverbs_ex_modify_cq, attr_mask, HEX),
	IN_AS(ib_uverbs_ex_modify_cq, attr.cq_count, NUMBER, "count"),
	IN_AS(ib_uverbs_ex_modify_cq, attr.cq_period, NUMBER, "period"),
};
FIELDS destroy_cq[] = {
	IN_AS(ib_uverbs_destroy_cq, cq_handle, CQ, "cq"),
	OUT_AS(ib_uverbs_destroy_cq_resp, comp_events_reported, NUMBER, "comp_events"),
	OUT_AS(ib_uverbs_destroy_cq_resp, async_events_reported, NUMBER, "async_events"),
};

/* ---- queue pairs ---- */

/* Both forms of the request have members of these names. */
#define CREATE_QP_FIELDS(type) \
	IN_AS(type, qp_type, QP_TYPE, "type"), \
	IN_AS(type, pd_handle, PD, "pd"), \
	IN_AS(type, send_cq_handle, CQ, "send_cq"), \
	IN_AS(type, recv_cq_handle, CQ, "recv_cq"), \
	IN(type, is_srq, NUMBER), \
	IN(type, max_send_wr, NUMBER), \
	IN(type, max_recv_wr, NUMBER), \
	IN(type, max_send_sge, NUMBER), \
	IN(type, max_recv_sge, NUMBER), \
	IN(type, max_inline_data, NUMBER), \
	IN(type, sq_sig_all, NUMBER)
#define CREATE_QP_DRIVER_FIELDS \
	DRIVER(mlx4_ib_create_qp, buf_addr, ADDRESS), \
	DRIVER(mlx4_ib_create_qp, db_addr, ADDRESS), \
	DRIVER(mlx4_ib_create_qp, log_sq_bb_count, NUMBER), \
	DRIVER(mlx4_ib_create_qp, log_sq_stride, NUMBER)

FIELDS create_qp[] = {
	CREATE_QP_FIELDS(ib_uverbs_create_qp),
	CREATE_QP_DRIVER_FIELDS,
	OUT_AS(ib_uverbs_create_qp_resp, qp_handle, QP, "qp"),
	OUT(ib_uverbs_create_qp_resp, max_send_wr, NUMBER),
	OUT(ib_uverbs_create_qp_resp, max_recv_wr, NUMBER),
	OUT(ib_uverbs_create_qp_resp, max_inline_data, NUMBER),
};
FIELDS create_qp_ex[] = {
	CREATE_QP_FIELDS(ib_uverbs_ex_create_qp),
	IN(ib_uverbs_ex_create_qp, comp_mask, HEX),
	IN(ib_uverbs_ex_create_qp, create_flags, HEX),
	CREATE_QP_DRIVER_FIELDS,
	OUT_AS(ib_uverbs_ex_create_qp_resp, base.qp_handle, QP, "qp"),
	OUT_AS(ib_uverbs_ex_create_qp_resp, base.max_send_wr, NUMBER, "max_send_wr"),
	OUT_AS(ib_uverbs_ex_create_qp_resp, base.max_recv_wr, NUMBER, "max_recv_wr"),
	OUT_AS(ib_uverbs_ex_create_qp_resp, base.max_inline_data, NUMBER, "max_inline_data"),
};
FIELDS create_rss_qp[] = {
	IN_AS(ib_uverbs_ex_create_qp, qp_type, QP_TYPE, "type"),
	IN_AS(ib_uverbs_ex_create_qp, pd_handle, PD, "pd"),
	IN_AS(ib_uverbs_ex_create_qp, rwq_ind_tbl_handle, TABLE, "table"),
	IN(ib_uverbs_ex_create_qp, comp_mask, HEX),
	IN(ib_uverbs_ex_create_qp, create_flags, HEX),
	DRIVER(mlx4_ib_create_qp_rss, rx_hash_fields_mask, HEX),
	DRIVER(mlx4_ib_create_qp_rss, rx_hash_function, NUMBER),
	OUT_AS(ib_uverbs_ex_create_qp_resp, base.qp_handle, QP, "qp"),
};
/* The address of the other end stands in the request too; it is too long for a field. */
#define MODIFY_QP_FIELDS(type, base) \
	IN_AS(type, base attr_mask, MASK, "mask"), \
	IN_AS(type, base qp_handle, QP, "qp"), \
	IN_IF(type, base qp_state, QP_STATE, "state", IBV_QP_STATE), \
	IN_IF(type, base cur_qp_state, QP_STATE, "current", IBV_QP_CUR_STATE), \
	IN_IF(type, base port_num, NUMBER, "port", IBV_QP_PORT), \
	IN_IF(type, base pkey_index, NUMBER, "pkey", IBV_QP_PKEY_INDEX), \
	IN_IF(type, base qkey, HEX, "qkey", IBV_QP_QKEY), \
	IN_IF(type, base qp_access_flags, HEX, "access", IBV_QP_ACCESS_FLAGS), \
	IN_IF(type, base path_mtu, NUMBER, "mtu", IBV_QP_PATH_MTU), \
	IN_IF(type, base dest_qp_num, HEX, "dest_qpn", IBV_QP_DEST_QPN), \
	IN_IF(type, base dest.port_num, NUMBER, "dest_port", IBV_QP_AV), \
	IN_IF(type, base dest.sgid_index, NUMBER, "sgid", IBV_QP_AV), \
	IN_IF(type, base rq_psn, HEX, "rq_psn", IBV_QP_RQ_PSN), \
	IN_IF(type, base sq_psn, HEX, "sq_psn", IBV_QP_SQ_PSN), \
	IN_IF(type, base max_rd_atomic, NUMBER, "reads", IBV_QP_MAX_QP_RD_ATOMIC), \
	IN_IF(type, base max_dest_rd_atomic, NUMBER, "dest_reads", IBV_QP_MAX_DEST_RD_ATOMIC), \
	IN_IF(type, base min_rnr_timer, NUMBER, "rnr_timer", IBV_QP_MIN_RNR_TIMER), \
	IN_IF(type, base timeout, NUMBER, "timeout", IBV_QP_TIMEOUT), \
	IN_IF(type, base retry_cnt, NUMBER, "retries", IBV_QP_RETRY_CNT), \
	IN_IF(type, base rnr_retry, NUMBER, "rnr_retries", IBV_QP_RNR_RETRY)

FIELDS modify_qp[] = {
	MODIFY_QP_FIELDS(ib_uverbs_modify_qp, ),
};
FIELDS modify_qp_ex[] = {
	MODIFY_QP_FIELDS(ib_uverbs_ex_modify_qp, base.),
	IN_IF(ib_uverbs_ex_modify_qp, rate_limit, NUMBER, "rate_limit", IBV_QP_RATE_LIMIT),
};
FIELDS query_qp[] = {
	IN_AS(ib_uverbs_query_qp, qp_handle, QP, "qp"),
	OUT_AS(ib_uverbs_query_qp_resp, qp_state, QP_STATE, "state"),
	OUT_AS(ib_uverbs_query_qp_resp, port_num, NUMBER, "port"),
};
FIELDS destroy_qp[] = {
	IN_AS(ib_uverbs_destroy_qp, qp_handle, QP, "qp"),
	OUT_AS(ib_uverbs_destroy_qp_resp, events_reported, NUMBER, "events"),
};
FIELDS mcast[] = {
	IN_AS(ib_uverbs_attach_mcast, qp_handle, QP, "qp"),
	IN(ib_uverbs_attach_mcast, mlid, NUMBER),
};
FIELDS open_qp[] = {
	IN_AS(ib_uverbs_open_qp, pd_handle, XRCD, "xrcd"),
	IN(ib_uverbs_open_qp, qpn, HEX),
	OUT_AS(ib_uverbs_create_qp_resp, qp_handle, QP, "qp"),
};

/* ---- shared receive queues, windows, domains ---- */

FIELDS create_srq[] = {
	IN_AS(ib_uverbs_create_srq, pd_handle, PD, "pd"),
	IN(ib_uverbs_create_srq, max_wr, NUMBER),
	IN(ib_uverbs_create_srq, max_sge, NUMBER),
	DRIVER(mlx4_ib_create_srq, buf_addr, ADDRESS),
	DRIVER(mlx4_ib_create_srq, db_addr, ADDRESS),
	OUT_AS(ib_uverbs_create_srq_resp, srq_handle, SRQ, "srq"),
	OUT(ib_uverbs_create_srq_resp, max_wr, NUMBER),
};
FIELDS create_xsrq[] = {
	IN_AS(ib_uverbs_create_xsrq, srq_type, NUMBER, "type"),
	IN_AS(ib_uverbs_create_xsrq, pd_handle, PD, "pd"),
	IN_AS(ib_uverbs_create_xsrq, xrcd_handle, XRCD, "xrcd"),
	IN_AS(ib_uverbs_create_xsrq, cq_handle, CQ, "cq"),
	IN(ib_uverbs_create_xsrq, max_wr, NUMBER),
	IN(ib_uverbs_create_xsrq, max_sge, NUMBER),
	DRIVER(mlx4_ib_create_srq, buf_addr, ADDRESS),
	DRIVER(mlx4_ib_create_srq, db_addr, ADDRESS),
	OUT_AS(ib_uverbs_create_srq_resp, srq_handle, SRQ, "srq"),
	OUT(ib_uverbs_create_srq_resp, max_wr, NUMBER),
};
FIELDS modify_srq[] = {
	IN_AS(ib_uverbs_modify_srq, srq_handle, SRQ, "srq"),
	IN_AS(ib_uverbs_modify_srq, attr_mask, HEX, "mask"),
	IN_AS(ib_uverbs_modify_srq, srq_limit, NUMBER, "limit"),
};
FIELDS query_srq[] = {
	IN_AS(ib_uverbs_query_srq, srq_handle, SRQ, "srq"),
	OUT_AS(ib_uverbs_query_srq_resp, srq_limit, NUMBER, "limit"),
};
FIELDS destroy_srq[] = {
	IN_AS(ib_uverbs_destroy_srq, srq_handle, SRQ, "srq"),
	OUT_AS(ib_uverbs_destroy_srq_resp, events_reported, NUMBER, "events"),
};
FIELDS alloc_mw[] = {
	IN_AS(ib_uverbs_alloc_mw, pd_handle, PD, "pd"),
	IN_AS(ib_uverbs_alloc_mw, mw_type, NUMBER, "type"),
	OUT_AS(ib_uverbs_alloc_mw_resp, mw_handle, MW, "mw"),
};
FIELDS dealloc_mw[] = {
	IN_AS(ib_uverbs_dealloc_mw, mw_handle, MW, "mw"),
};
FIELDS open_xrcd[] = {
	IN(ib_uverbs_open_xrcd, oflags, HEX),
	OUT_AS(ib_uverbs_open_xrcd_resp, xrcd_handle, XRCD, "xrcd"),
};
FIELDS close_xrcd[] = {
	IN_AS(ib_uverbs_close_xrcd, xrcd_handle, XRCD, "xrcd"),
};

/* ---- work queues ---- */

FIELDS create_wq[] = {
	IN_AS(ib_uverbs_ex_create_wq, wq_type, NUMBER, "type"),
	IN_AS(ib_uverbs_ex_create_wq, pd_handle, PD, "pd"),
	IN_AS(ib_uverbs_ex_create_wq, cq_handle, CQ, "cq"),
	IN(ib_uverbs_ex_create_wq, max_wr, NUMBER),
	IN(ib_uverbs_ex_create_wq, max_sge, NUMBER),
	IN(ib_uverbs_ex_create_wq, create_flags, HEX),
	DRIVER(mlx4_ib_create_wq, buf_addr, ADDRESS),
	DRIVER(mlx4_ib_create_wq, db_addr, ADDRESS),
	DRIVER(mlx4_ib_create_wq, log_range_size, NUMBER),
	OUT_AS(ib_uverbs_ex_create_wq_resp, wq_handle, WQ, "wq"),
	OUT(ib_uverbs_ex_create_wq_resp, max_wr, NUMBER),
	OUT(ib_uverbs_ex_create_wq_resp, max_sge, NUMBER),
};
FIELDS modify_wq[] = {
	IN_AS(ib_uverbs_ex_modify_wq, attr_mask, MASK, "mask"),
	IN_AS(ib_uverbs_ex_modify_wq, wq_handle, WQ, "wq"),
	IN_IF(ib_uverbs_ex_modify_wq, wq_state, WQ_STATE, "state", IBV_WQ_ATTR_STATE),
	IN_IF(ib_uverbs_ex_modify_wq, curr_wq_state, WQ_STATE, "current",
		IBV_WQ_ATTR_CURR_STATE),
	IN_IF(ib_uverbs_ex_modify_wq, flags, HEX, "flags", IBV_WQ_ATTR_FLAGS),
};
FIELDS destroy_wq[] = {
	IN_AS(ib_uverbs_ex_destroy_wq, wq_handle, WQ, "wq"),
	OUT_AS(ib_uverbs_ex_destroy_wq_resp, events_reported, NUMBER, "events"),
};
FIELDS create_table[] = {
	IN_AS(ib_uverbs_ex_create_rwq_ind_table, log_ind_tbl_size, NUMBER, "log_size"),
	OUT_AS(ib_uverbs_ex_create_rwq_ind_table_resp, ind_tbl_handle, TABLE, "table"),
};
FIELDS destroy_table[] = {
	IN_AS(ib_uverbs_ex_destroy_rwq_ind_table, ind_tbl_handle, TABLE, "table"),
};

/* ---- flow steering ---- */

FIELDS create_flow[] = {
	IN_AS(ib_uverbs_create_flow, qp_handle, QP, "qp"),
	IN_AS(ib_uverbs_create_flow, flow_attr.type, FLOW_TYPE, "type"),
	IN_AS(ib_uverbs_create_flow, flow_attr.port, NUMBER, "port"),
	IN_AS(ib_uverbs_create_flow, flow_attr.priority, NUMBER, "priority"),
	IN_AS(ib_uverbs_create_flow, flow_attr.flags, HEX, "flags"),
	OUT_AS(ib_uverbs_create_flow_resp, flow_handle, FLOW, "flow"),
};
FIELDS destroy_flow[] = {
	IN_AS(ib_uverbs_destroy_flow, flow_handle, FLOW, "flow"),
};

/* ---- the table ---- */

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define PLAIN(command) IB_USER_VERBS_CMD_##command
#define EX(command) (IB_USER_VERBS_CMD_FLAG_EXTENDED | IB_USER_VERBS_EX_CMD_##command)
#define ENTRY(command, name, fields) \
	{ (command), (name), (fields), COUNT(fields), 0, VMLX4_BLOB_NONE }
#define NO_FIELDS(command, name) { (command), (name), NULL, 0, 0, VMLX4_BLOB_NONE }

static const struct vmlx4_command_entry entries[] = {
	ENTRY(PLAIN(GET_CONTEXT), "get_context", get_context),
	NO_FIELDS(PLAIN(QUERY_DEVICE), "query_device"),
	NO_FIELDS(EX(QUERY_DEVICE), "query_device_ex"),
	ENTRY(PLAIN(QUERY_PORT), "query_port", query_port),
	ENTRY(PLAIN(CREATE_COMP_CHANNEL), "create_comp_channel", create_channel),
	ENTRY(PLAIN(ALLOC_PD), "alloc_pd", alloc_pd),
	ENTRY(PLAIN(DEALLOC_PD), "dealloc_pd", dealloc_pd),
	ENTRY(PLAIN(REG_MR), "reg_mr", reg_mr),
	ENTRY(PLAIN(REREG_MR), "rereg_mr", rereg_mr),
	ENTRY(PLAIN(DEREG_MR), "dereg_mr", dereg_mr),
	ENTRY(PLAIN(CREATE_CQ), "create_cq", create_cq),
	ENTRY(EX(CREATE_CQ), "create_cq_ex", create_cq_ex),
	ENTRY(PLAIN(RESIZE_CQ), "resize_cq", resize_cq),
	ENTRY(EX(MODIFY_CQ), "modify_cq", modify_cq),
	ENTRY(PLAIN(DESTROY_CQ), "destroy_cq", destroy_cq),
	ENTRY(PLAIN(CREATE_QP), "create_qp", create_qp),
	ENTRY(EX(CREATE_QP), "create_qp_ex", create_qp_ex),
	/* Found only through the one above. */
	ENTRY(EX(CREATE_QP), "create_rss_qp", create_rss_qp),
	ENTRY(PLAIN(MODIFY_QP), "modify_qp", modify_qp),
	ENTRY(EX(MODIFY_QP), "modify_qp_ex", modify_qp_ex),
	ENTRY(PLAIN(QUERY_QP), "query_qp", query_qp),
	ENTRY(PLAIN(DESTROY_QP), "destroy_qp", destroy_qp),
	ENTRY(PLAIN(ATTACH_MCAST), "attach_mcast", mcast),
	ENTRY(PLAIN(DETACH_MCAST), "detach_mcast", mcast),
	ENTRY(EX(CREATE_WQ), "create_wq", create_wq),
	ENTRY(EX(MODIFY_WQ), "modify_wq", modify_wq),
	ENTRY(EX(DESTROY_WQ), "destroy_wq", destroy_wq),
	{ EX(CREATE_RWQ_IND_TBL), "create_rwq_ind_table", create_table, COUNT(create_table),
		sizeof(struct ib_uverbs_ex_create_rwq_ind_table), VMLX4_BLOB_WQS },
	ENTRY(EX(DESTROY_RWQ_IND_TBL), "destroy_rwq_ind_table", destroy_table),
	{ EX(CREATE_FLOW), "create_flow", create_flow, COUNT(create_flow),
		sizeof(struct ib_uverbs_create_flow), VMLX4_BLOB_FLOW_SPECS },
	ENTRY(EX(DESTROY_FLOW), "destroy_flow", destroy_flow),
	ENTRY(PLAIN(OPEN_QP), "open_qp", open_qp),
	ENTRY(PLAIN(CREATE_SRQ), "create_srq", create_srq),
	ENTRY(PLAIN(CREATE_XSRQ), "create_xsrq", create_xsrq),
	ENTRY(PLAIN(MODIFY_SRQ), "modify_srq", modify_srq),
	ENTRY(PLAIN(QUERY_SRQ), "query_srq", query_srq),
	ENTRY(PLAIN(DESTROY_SRQ), "destroy_srq", destroy_srq),
	ENTRY(PLAIN(ALLOC_MW), "alloc_mw", alloc_mw),
	ENTRY(PLAIN(DEALLOC_MW), "dealloc_mw", dealloc_mw),
	ENTRY(PLAIN(OPEN_XRCD), "open_xrcd", open_xrcd),
	ENTRY(PLAIN(CLOSE_XRCD), "close_xrcd", close_xrcd),
	/* Not offered, but programs ask. */
	NO_FIELDS(PLAIN(CREATE_AH), "create_ah"),
	NO_FIELDS(PLAIN(DESTROY_AH), "destroy_ah"),
};

const struct vmlx4_command_entry *
vmlx4_trace_command_entry(unsigned int index)
{
	return index < COUNT(entries) ? &entries[index] : NULL;
}

const struct vmlx4_command_entry *
vmlx4_trace_command_find(uint32_t command, const void *in, size_t in_size, unsigned int *index)
{
	struct ib_uverbs_ex_create_qp request;

	for (*index = 0; *index < COUNT(entries); (*index)++)
		if (entries[*index].command == command)
			break;
	if (*index == COUNT(entries))
		return NULL;
	if (entries[*index].fields == create_qp_ex && in_size >= sizeof(request)) {
		memcpy(&request, in, sizeof(request));
		if ((request.comp_mask & IB_UVERBS_CREATE_QP_MASK_IND_TABLE) != 0)
			(*index)++;
	}
	return &entries[*index];
}

/* FNV-1a */
static uint32_t
hash(uint32_t sum, const void *data, size_t size)
{
	const uint8_t *byte = data;

	for (; size > 0; size--)
		sum = (sum ^ *byte++) * 16777619u;
	return sum;
}

uint32_t
vmlx4_trace_commands_hash(void)
{
	uint32_t sum = 2166136261u;
	unsigned int i, j;

	for (i = 0; i < COUNT(entries); i++) {
		const struct vmlx4_command_entry *entry = &entries[i];

		sum = hash(sum, entry->name, strlen(entry->name) + 1);
		for (j = 0; j < entry->count; j++) {
			const struct vmlx4_command_field *field = &entry->fields[j];

			sum = hash(sum, field->name, strlen(field->name) + 1);
			sum = hash(sum, &field->part, sizeof(field->part));
			sum = hash(sum, &field->kind, sizeof(field->kind));
		}
	}
	return sum;
}

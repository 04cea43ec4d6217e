/* SPDX-License-Identifier: BSD-3-Clause */

#include <string.h>

#include "program.h"
#include "raw.h"

static void
create_common(struct raw *raw, struct ibv_context *ctx, uint32_t ring, uint32_t slot)
{
	struct ibv_port_attr attr;

	must0(ibv_query_port(ctx, raw->port, &attr), "ibv_query_port");
	if (attr.link_layer != IBV_LINK_LAYER_ETHERNET || attr.state != IBV_PORT_ACTIVE)
		die(1, "port %u is %s: raw packets take an Ethernet port with a link", raw->port,
		    attr.state != IBV_PORT_ACTIVE ? "down" : "not in Ethernet mode");
	memory_open(&raw->memory, ctx, (size_t)ring * slot);
	raw->cq = create_cq(ctx, (int)ring);
}

static void
to_state(const struct raw *raw, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state, .port_num = raw->port };
	int mask = IBV_QP_STATE | (state == IBV_QPS_INIT ? IBV_QP_PORT : 0);

	must0(ibv_modify_qp(raw->qp, &attr, mask), "ibv_modify_qp");
}

void
raw_create_sender(struct raw *raw, struct ibv_context *ctx, uint32_t ring, uint32_t slot)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.cap = { .max_send_wr = ring, .max_send_sge = 1 },
	};

	create_common(raw, ctx, ring, slot);
	attr.send_cq = attr.recv_cq = raw->cq;
	raw->qp = must(ibv_create_qp(raw->memory.pd, &attr), "ibv_create_qp");
	to_state(raw, IBV_QPS_INIT);
	to_state(raw, IBV_QPS_RTR);
	to_state(raw, IBV_QPS_RTS);
}

/* A receive WQ works once an RSS QP, here over a table of one, is ready. */
static void
create_rss_qp(struct raw *raw, struct ibv_context *ctx)
{
	static uint8_t key[40];
	struct ibv_rwq_ind_table_init_attr table = { .log_ind_tbl_size = 0, .ind_tbl = &raw->wq };
	struct ibv_qp_init_attr_ex qp = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE |
			IBV_QP_INIT_ATTR_RX_HASH,
		.pd = raw->memory.pd,
		.rx_hash_conf = {
			.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ,
			.rx_hash_key_len = sizeof(key), .rx_hash_key = key,
			.rx_hash_fields_mask = IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4,
		},
	};

	raw->table = must(ibv_create_rwq_ind_table(ctx, &table), "ibv_create_rwq_ind_table");
	qp.rwq_ind_tbl = raw->table;
	raw->qp = must(ibv_create_qp_ex(ctx, &qp), "ibv_create_qp_ex");
	to_state(raw, IBV_QPS_INIT);
	to_state(raw, IBV_QPS_RTR);
}

void
raw_create_sink(struct raw *raw, struct ibv_context *ctx, uint32_t ring, uint32_t slot)
{
	struct ibv_wq_attr ready = { .attr_mask = IBV_WQ_ATTR_STATE, .wq_state = IBV_WQS_RDY };
	struct ibv_wq_init_attr attr = { .wq_type = IBV_WQT_RQ, .max_wr = ring, .max_sge = 1 };

	create_common(raw, ctx, ring, slot);
	attr.pd = raw->memory.pd;
	attr.cq = raw->cq;
	raw->wq = must(ibv_create_wq(ctx, &attr), "ibv_create_wq");
	must0(ibv_modify_wq(raw->wq, &ready), "ibv_modify_wq");
	create_rss_qp(raw, ctx);
}

void
raw_create_rule(struct raw *raw, const uint8_t mac[6])
{
	struct {
		struct ibv_flow_attr attr;
		struct ibv_flow_spec_eth eth;
	} rule = {
		.attr = { .type = IBV_FLOW_ATTR_NORMAL, .size = sizeof(rule),
			  .num_of_specs = 1, .port = raw->port },
		.eth = { .type = IBV_FLOW_SPEC_ETH, .size = sizeof(rule.eth) },
	};

	memcpy(rule.eth.val.dst_mac, mac, 6);
	memset(rule.eth.mask.dst_mac, 0xff, 6);
	raw->flow = must(ibv_create_flow(raw->qp, &rule.attr), "ibv_create_flow");
}

void
raw_destroy(struct raw *raw)
{
	if (raw->flow != NULL)
		must0(ibv_destroy_flow(raw->flow), "ibv_destroy_flow");
	must0(ibv_destroy_qp(raw->qp), "ibv_destroy_qp");
	if (raw->wq != NULL) {
		must0(ibv_destroy_rwq_ind_table(raw->table), "ibv_destroy_rwq_ind_table");
		must0(ibv_destroy_wq(raw->wq), "ibv_destroy_wq");
	}
	must0(ibv_destroy_cq(raw->cq), "ibv_destroy_cq");
	memory_close(&raw->memory);
}

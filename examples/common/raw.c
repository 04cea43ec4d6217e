/* SPDX-License-Identifier: BSD-3-Clause */

#include <err.h>
#include <string.h>

#include "raw.h"

void
raw_create(struct raw *raw, struct ibv_context *ctx, uint32_t ring, uint32_t slot)
{
	raw->ring = ring;
	raw->slot = slot;
	memory_open(&raw->memory, ctx, (size_t)2 * ring * slot);
	raw->cq = create_cq(ctx, 2 * ring);
}

static void
check_port(struct ibv_context *ctx, unsigned long port)
{
	struct ibv_port_attr attr;

	must0(ibv_query_port(ctx, (uint8_t)port, &attr), "ibv_query_port");
	if (attr.link_layer != IBV_LINK_LAYER_ETHERNET || attr.state != IBV_PORT_ACTIVE)
		errx(1, "port %lu is %s: raw packets take an Ethernet port with a link", port,
		     attr.state != IBV_PORT_ACTIVE ? "down" : "not in Ethernet mode");
}

static void
to_state(struct ibv_qp *qp, enum ibv_qp_state state, unsigned long port)
{
	struct ibv_qp_attr attr = { .qp_state = state, .port_num = (uint8_t)port };
	int mask = IBV_QP_STATE | (state == IBV_QPS_INIT ? IBV_QP_PORT : 0);

	must0(ibv_modify_qp(qp, &attr, mask), "ibv_modify_qp");
}

void
raw_add_sender(struct raw *raw, unsigned long port)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RAW_PACKET, .send_cq = raw->cq, .recv_cq = raw->cq,
		.cap = { .max_send_wr = raw->ring, .max_send_sge = 1 },
	};

	check_port(raw->cq->context, port);
	raw->qp = must(ibv_create_qp(raw->memory.pd, &attr), "ibv_create_qp");
	to_state(raw->qp, IBV_QPS_INIT, port);
	to_state(raw->qp, IBV_QPS_RTR, port);
	to_state(raw->qp, IBV_QPS_RTS, port);
}

/* A receive WQ works once an RSS QP, here over a table of one, is ready. */
static void
create_rss_qp(struct raw *raw, unsigned long port)
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
	struct ibv_context *ctx = raw->wq->context;

	raw->table = must(ibv_create_rwq_ind_table(ctx, &table), "ibv_create_rwq_ind_table");
	qp.rwq_ind_tbl = raw->table;
	raw->rss_qp = must(ibv_create_qp_ex(ctx, &qp), "ibv_create_qp_ex");
	to_state(raw->rss_qp, IBV_QPS_INIT, port);
	to_state(raw->rss_qp, IBV_QPS_RTR, port);
}

void
raw_add_sink(struct raw *raw, unsigned long port)
{
	struct ibv_wq_attr ready = { .attr_mask = IBV_WQ_ATTR_STATE, .wq_state = IBV_WQS_RDY };
	struct ibv_wq_init_attr attr = { .wq_type = IBV_WQT_RQ, .max_wr = raw->ring,
		.max_sge = 1, .pd = raw->memory.pd, .cq = raw->cq };

	check_port(raw->cq->context, port);
	raw->wq = must(ibv_create_wq(raw->cq->context, &attr), "ibv_create_wq");
	must0(ibv_modify_wq(raw->wq, &ready), "ibv_modify_wq");
	create_rss_qp(raw, port);
}

void
raw_add_rule(struct raw *raw, unsigned long port, const uint8_t mac[6])
{
	struct {
		struct ibv_flow_attr attr;
		struct ibv_flow_spec_eth eth;
	} rule = {
		.attr = { .type = IBV_FLOW_ATTR_NORMAL, .size = sizeof(rule),
			  .num_of_specs = 1, .port = (uint8_t)port },
		.eth = { .type = IBV_FLOW_SPEC_ETH, .size = sizeof(rule.eth) },
	};

	memcpy(rule.eth.val.dst_mac, mac, 6);
	memset(rule.eth.mask.dst_mac, 0xff, 6);
	raw->flow = must(ibv_create_flow(raw->rss_qp, &rule.attr), "ibv_create_flow");
}

static void
destroy_sink(struct raw *raw)
{
	must0(ibv_destroy_flow(raw->flow), "ibv_destroy_flow");
	must0(ibv_destroy_qp(raw->rss_qp), "ibv_destroy_qp");
	must0(ibv_destroy_rwq_ind_table(raw->table), "ibv_destroy_rwq_ind_table");
	must0(ibv_destroy_wq(raw->wq), "ibv_destroy_wq");
}

void
raw_destroy(struct raw *raw)
{
	if (raw->wq != NULL)
		destroy_sink(raw);
	if (raw->qp != NULL)
		must0(ibv_destroy_qp(raw->qp), "ibv_destroy_qp");
	must0(ibv_destroy_cq(raw->cq), "ibv_destroy_cq");
	memory_close(&raw->memory);
}

uint8_t *
raw_send_slot(const struct raw *raw, uint32_t index)
{
	return raw->memory.bytes + (size_t)(index % raw->ring) * raw->slot;
}

uint8_t *
raw_sink_slot(const struct raw *raw, uint32_t index)
{
	return raw->memory.bytes + (size_t)(raw->ring + index % raw->ring) * raw->slot;
}

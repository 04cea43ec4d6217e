/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bench.h"

#define HUGE_PAGE ((size_t)2 << 20)

static const uint8_t address[6] = { 0x02, 0, 0, 0, 0, 0x02 };

static void
must0(int err, const char *call)
{
	if (err != 0)
		bench_die("%s: %s", call, strerror(err));
}

static void *
must(void *object, const char *call)
{
	if (object == NULL)
		must0(errno != 0 ? errno : ENOMEM, call);
	return object;
}

/* ---- open ---- */

static void
open_common(struct bench_end *end, struct ibv_device *device, unsigned int slots, int cqes)
{
	size_t length = (size_t)slots * SLOT;

	end->slots = slots;
	end->ctx = must(ibv_open_device(device), "ibv_open_device");
	end->pd = must(ibv_alloc_pd(end->ctx), "ibv_alloc_pd");
	/* In huge pages, as the mbufs of a DPDK driver; where the kernel refuses, small ones do. */
	length = (length + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
	end->area = must(aligned_alloc(HUGE_PAGE, length), "aligned_alloc");
	madvise(end->area, length, MADV_HUGEPAGE);
	memset(end->area, 0, length);
	end->mr = must(ibv_reg_mr(end->pd, end->area, (size_t)slots * SLOT,
		IBV_ACCESS_LOCAL_WRITE), "ibv_reg_mr");
	end->cq = must(ibv_create_cq(end->ctx, cqes, NULL, NULL, 0), "ibv_create_cq");
}

static void
to_ready(struct bench_end *end, uint8_t port)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = port };

	must0(ibv_modify_qp(end->qp, &attr, IBV_QP_STATE | IBV_QP_PORT), "ibv_modify_qp: INIT");
	attr.qp_state = IBV_QPS_RTR;
	must0(ibv_modify_qp(end->qp, &attr, IBV_QP_STATE), "ibv_modify_qp: RTR");
	if (end->wq != NULL)
		return;
	attr.qp_state = IBV_QPS_RTS;
	must0(ibv_modify_qp(end->qp, &attr, IBV_QP_STATE), "ibv_modify_qp: RTS");
}

static void
open_plain(struct bench_end *end, uint8_t port, unsigned int recv_wr)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RAW_PACKET, .send_cq = end->cq, .recv_cq = end->cq,
		.cap = { .max_send_wr = SEND_WR, .max_recv_wr = recv_wr, .max_send_sge = 1,
			.max_recv_sge = 1 },
	};

	end->qp = must(ibv_create_qp(end->pd, &init), "ibv_create_qp");
	to_ready(end, port);
}

static void
open_rss(struct bench_end *end, uint8_t port)
{
	static uint8_t key[40] = { 0x6d, 0x5a, 0x56, 0xda };
	struct ibv_wq_init_attr wq = {
		.wq_type = IBV_WQT_RQ, .max_wr = RECV_WR, .max_sge = 1, .pd = end->pd,
		.cq = end->cq,
	};
	struct ibv_wq_attr ready = { .attr_mask = IBV_WQ_ATTR_STATE, .wq_state = IBV_WQS_RDY };
	struct ibv_rwq_ind_table_init_attr table = { .ind_tbl = &end->wq };
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_RAW_PACKET, .pd = end->pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_RX_HASH |
			IBV_QP_INIT_ATTR_IND_TABLE,
		.rx_hash_conf = {
			.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ,
			.rx_hash_key_len = sizeof(key), .rx_hash_key = key,
			.rx_hash_fields_mask = IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4 |
				IBV_RX_HASH_SRC_PORT_UDP | IBV_RX_HASH_DST_PORT_UDP,
		},
	};

	end->wq = must(ibv_create_wq(end->ctx, &wq), "ibv_create_wq");
	must0(ibv_modify_wq(end->wq, &ready), "ibv_modify_wq");
	end->table = must(ibv_create_rwq_ind_table(end->ctx, &table), "ibv_create_rwq_ind_table");
	init.rwq_ind_tbl = end->table;
	end->qp = must(ibv_create_qp_ex(end->ctx, &init), "ibv_create_qp_ex");
	to_ready(end, port);
}

static void
open_flow(struct bench_end *end, uint8_t port)
{
	struct {
		struct ibv_flow_attr attr;
		struct ibv_flow_spec_eth eth;
	} rule = {
		.attr = { .type = IBV_FLOW_ATTR_NORMAL, .size = sizeof(rule), .num_of_specs = 1,
			.port = port },
		.eth = { .type = IBV_FLOW_SPEC_ETH, .size = sizeof(rule.eth) },
	};

	memcpy(rule.eth.val.dst_mac, address, 6);
	memset(rule.eth.mask.dst_mac, 0xff, 6);
	end->flow = must(ibv_create_flow(end->qp, &rule.attr), "ibv_create_flow");
}

/* IPv4 and UDP with good checksums; the payload of zeroes makes them easy. */
static void
fill(uint8_t *frame, unsigned int size, unsigned int number)
{
	uint8_t head[42] = {
		0x02, 0, 0, 0, 0, 0x02, 0x02, 0, 0, 0, 0, 0x01, 0x08, 0x00,
		0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0, 198, 18, 0, 1, 198, 18, 0, 2,
		0, 9, 0, 9, 0, 0, 0, 0,
	};
	unsigned int ip = size - 14, udp = size - 34, i;
	uint32_t sum = 0;

	head[16] = (uint8_t)(ip >> 8);
	head[17] = (uint8_t)ip;
	head[35] = (uint8_t)number;
	head[38] = (uint8_t)(udp >> 8);
	head[39] = (uint8_t)udp;
	for (i = 14; i < 34; i += 2)
		sum += (uint32_t)head[i] << 8 | head[i + 1];
	sum = ~((sum & 0xffff) + (sum >> 16)) & 0xffff;
	head[24] = (uint8_t)(sum >> 8);
	head[25] = (uint8_t)sum;
	for (sum = 17 + udp, i = 26; i < 42; i += 2)
		sum += (uint32_t)head[i] << 8 | head[i + 1];
	sum = ~((sum & 0xffff) + (sum >> 16)) & 0xffff;
	head[40] = (uint8_t)(sum >> 8);
	head[41] = (uint8_t)sum;
	memcpy(frame, head, sizeof(head));
}

static unsigned int
slots_of(const struct bench_options *options)
{
	return options->slots != 0 ? options->slots : 2 * options->batch;
}

void
bench_open_sender(struct bench_end *end, struct ibv_device *device,
	const struct bench_options *options)
{
	unsigned int i;

	open_common(end, device, slots_of(options), SEND_WR);
	open_plain(end, 1, RECV_WR);
	for (i = 0; i < end->slots; i++)
		fill(end->area + (size_t)i * SLOT, options->size, i);
}

void
bench_open_receiver(struct bench_end *end, struct ibv_device *device,
	const struct bench_options *options)
{
	unsigned int recv_wr = options->recv_wr != 0 ? options->recv_wr : RECV_WR;

	open_common(end, device, slots_of(options), (int)recv_wr);
	if (options->rss)
		open_rss(end, 2);
	else
		open_plain(end, 2, recv_wr);
	open_flow(end, 2);
}

void
bench_close(struct bench_end *end)
{
	if (end->flow != NULL)
		must0(ibv_destroy_flow(end->flow), "ibv_destroy_flow");
	must0(ibv_destroy_qp(end->qp), "ibv_destroy_qp");
	if (end->wq != NULL) {
		must0(ibv_destroy_rwq_ind_table(end->table), "ibv_destroy_rwq_ind_table");
		must0(ibv_destroy_wq(end->wq), "ibv_destroy_wq");
	}
	must0(ibv_destroy_cq(end->cq), "ibv_destroy_cq");
	must0(ibv_dereg_mr(end->mr), "ibv_dereg_mr");
	must0(ibv_dealloc_pd(end->pd), "ibv_dealloc_pd");
	must0(ibv_close_device(end->ctx), "ibv_close_device");
	free(end->area);
}

/* ---- one batch ---- */

void
bench_post_buffers(struct bench_end *end, unsigned int count)
{
	static unsigned int slot;
	struct ibv_recv_wr wr[BATCH_MAX], *bad;
	struct ibv_sge sge[BATCH_MAX];
	unsigned int i;

	for (i = 0; i < count; i++) {
		sge[i] = (struct ibv_sge){
			.addr = (uintptr_t)end->area + (size_t)(slot++ % end->slots) * SLOT,
			.length = 2048, .lkey = end->mr->lkey,
		};
		wr[i] = (struct ibv_recv_wr){
			.next = i + 1 < count ? &wr[i + 1] : NULL,
			.sg_list = &sge[i], .num_sge = 1,
		};
	}
	must0(end->wq != NULL ? ibv_post_wq_recv(end->wq, wr, &bad) :
		ibv_post_recv(end->qp, wr, &bad), "posting of receive buffers");
}

void
bench_send(struct bench_end *sender, const struct bench_options *options)
{
	static unsigned int slot;
	struct ibv_send_wr wr[BATCH_MAX], *bad;
	struct ibv_sge sge[BATCH_MAX];
	unsigned int i;

	for (i = 0; i < options->batch; i++) {
		bool last = i + 1 == options->batch;

		sge[i] = (struct ibv_sge){
			.addr = (uintptr_t)sender->area + (size_t)(slot++ % sender->slots) * SLOT,
			.length = options->size, .lkey = sender->mr->lkey,
		};
		wr[i] = (struct ibv_send_wr){
			.next = last ? NULL : &wr[i + 1],
			.sg_list = &sge[i], .num_sge = 1, .opcode = IBV_WR_SEND,
			.send_flags = last || !options->quiet ? IBV_SEND_SIGNALED : 0,
		};
	}
	must0(ibv_post_send(sender->qp, wr, &bad), "ibv_post_send");
}

void
bench_post(struct bench_end *sender, struct bench_end *receiver,
	const struct bench_options *options)
{
	bench_post_buffers(receiver, options->batch);
	bench_send(sender, options);
}

void
bench_take(struct bench_end *end, const char *what, unsigned int count, unsigned int size)
{
	struct ibv_wc wc[BATCH_MAX];
	int got = ibv_poll_cq(end->cq, BATCH_MAX, wc), i;

	if (got != (int)count)
		bench_die("%d of %u %s completions", got, count, what);
	for (i = 0; i < got; i++)
		if (wc[i].status != IBV_WC_SUCCESS || (size != 0 && wc[i].byte_len != size))
			bench_die("%s completion: %s, %u bytes", what,
				ibv_wc_status_str(wc[i].status), wc[i].byte_len);
}

void
bench_reap(struct bench_end *sender, struct bench_end *receiver,
	const struct bench_options *options)
{
	bench_take(sender, "send", options->quiet ? 1 : options->batch, 0);
	bench_take(receiver, "receive", options->batch, options->size);
}

/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <string.h>

#include <infiniband/mlx4dv.h>

#include "dvq_device.h"
#include "internal.h"

static int
check_context(struct ibv_context *ctx)
{
	const struct dvq_error none = { NULL, 0 };

	return dvq_check_provider("context", ctx, &none);
}

int
dvq_query_device(struct ibv_context *ctx, struct dvq_device *device)
{
	struct mlx4dv_context attr = { .comp_mask = 0 };
	int ret = check_context(ctx);

	if (ret == 0 && device == NULL)
		ret = -EINVAL;
	if (ret == 0)
		ret = -mlx4dv_query_device(ctx, &attr);
	if (ret == 0 && attr.version != 0)
		ret = -ENOTSUP;
	if (ret == 0)
		device->max_inline_recv = attr.max_inl_recv_sz;
	return ret;
}

int
dvq_set_wqs_range(struct ibv_context *ctx, uint32_t wqs)
{
	uint8_t log = (uint8_t)__builtin_ctz(wqs | 1u << 31);
	int ret = check_context(ctx);

	if (ret != 0)
		return ret;
	if (wqs == 0 || (wqs & (wqs - 1)) != 0)
		return -EINVAL;
	return -mlx4dv_set_context_attr(ctx, MLX4DV_SET_CTX_ATTR_LOG_WQS_RANGE_SZ, &log);
}

int
dvq_set_allocator(struct ibv_context *ctx, void *(*alloc)(size_t size, void *data),
		  void (*release)(void *memory, void *data), void *data)
{
	struct mlx4dv_ctx_allocators attr = { .alloc = alloc, .free = release, .data = data };
	int ret = check_context(ctx);

	if (ret != 0)
		return ret;
	if ((alloc == NULL) != (release == NULL))
		return -EINVAL;
	return -mlx4dv_set_context_attr(ctx, MLX4DV_SET_CTX_ATTR_BUF_ALLOCATORS, &attr);
}

struct ibv_qp *
dvq_create_qp(struct ibv_context *ctx, struct ibv_qp_init_attr_ex *attr, uint32_t inline_recv)
{
	struct mlx4dv_qp_init_attr mlx4 = {
		.comp_mask = MLX4DV_QP_INIT_ATTR_MASK_INL_RECV, .inl_recv_sz = inline_recv,
	};
	struct dvq_device device;
	int ret = dvq_query_device(ctx, &device);

	if (ret == 0 && (attr == NULL || inline_recv > device.max_inline_recv))
		ret = -EINVAL;
	if (ret != 0) {
		errno = -ret;
		return NULL;
	}
	return mlx4dv_create_qp(ctx, attr, &mlx4);
}

/* ---- address handles ---- */

static int
negative_errno(void)
{
	return errno != 0 ? -errno : -ENOMEM;
}

/*
 * A request that libmlx4 refuses after it has written the datagram segment: more inline
 * data than the QP allows. Nothing is posted, no doorbell rings.
 */
static int
write_segment(struct ibv_qp *qp, struct ibv_ah *ah, uint32_t max_inline,
	      const struct dvq_datagram_seg *want)
{
	struct ibv_sge sge = { .length = max_inline + 1 };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_INLINE,
		.wr.ud = { .ah = ah, .remote_qpn = be32toh(want->qpn),
			   .remote_qkey = be32toh(want->qkey) },
	};

	/* Should it have been posted after all, the QP never leaves RESET. */
	return ibv_post_send(qp, &wr, &bad) != 0 ? 0 : -ENOTSUP;
}

/* Both numbers are where they belong: so is everything else. */
static int
read_segment(struct ibv_qp *qp, struct dvq_datagram_seg *to, const struct dvq_datagram_seg *want)
{
	struct mlx4dv_qp out = { .comp_mask = 0 };
	struct mlx4dv_obj obj = { .qp = { qp, &out } };
	int ret = -mlx4dv_init_obj(&obj, MLX4DV_OBJ_QP);

	if (ret != 0)
		return ret;
	memcpy(to, (uint8_t *)out.buf.buf + out.sq.offset + sizeof(struct dvq_ctrl_seg),
	       sizeof(*to));
	return to->qpn == want->qpn && to->qkey == want->qkey && to->port_pd != 0 ? 0 : -ENOTSUP;
}

static int
through_qp(struct ibv_cq *cq, struct dvq_datagram_seg *to, struct ibv_ah *ah,
	   const struct dvq_datagram_seg *want)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_UD, .send_cq = cq, .recv_cq = cq,
		.cap = { .max_send_wr = 1, .max_send_sge = 1, .max_recv_wr = 1,
			 .max_recv_sge = 1 },
	};
	struct ibv_qp *qp = ibv_create_qp(ah->pd, &attr);
	int ret;

	if (qp == NULL)
		return negative_errno();
	ret = write_segment(qp, ah, attr.cap.max_inline_data, want);
	if (ret == 0)
		ret = read_segment(qp, to, want);
	ibv_destroy_qp(qp);
	return ret;
}

int
dvq_datagram_init(struct dvq_datagram_seg *to, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey)
{
	const struct dvq_datagram_seg want = { .qpn = htobe32(qpn), .qkey = htobe32(qkey) };
	const struct dvq_error none = { NULL, 0 };
	struct ibv_cq *cq;
	int ret = dvq_check_provider("AH", ah, &none);

	if (ret != 0)
		return ret;
	if (to == NULL)
		return -EINVAL;
	errno = 0;
	cq = ibv_create_cq(ah->context, 1, NULL, NULL, 0);
	if (cq == NULL)
		return negative_errno();
	ret = through_qp(cq, to, ah, &want);
	ibv_destroy_cq(cq);
	return ret;
}

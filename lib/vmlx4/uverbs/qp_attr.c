/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_verbs.h>
#include <string.h>

#include "../profile.h"
#include "../sysfs/sysfs.h"
#include "uverbs.h"

/*
 * The attributes of a QP with a transport: MODIFY_QP checks them all before it
 * stores any, QUERY_QP reports them. Values that the card has fewer bits for are
 * cut, as mlx4_ib writes them into the context of the QP.
 */

#define PSN_MASK 0xffffffu
#define QPN_MASK 0xffffffu
#define RD_ATOMIC_MAX 128u     /* as requester, and… */
#define DEST_RD_ATOMIC_MAX 16u /* …as responder: QUERY_DEVICE says so too */
#define UD_MTU IBV_MTU_4096
#define REMOTE_ACCESS (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | \
	IBV_ACCESS_REMOTE_ATOMIC)
#define FLOW_LABEL_MASK 0xfffffu

static bool
port_exists(const struct vmlx4_adapter *adapter, unsigned int number)
{
	return number >= 1 && number <= adapter->options.ports;
}

/* The kernel of these ports knows no migration: there is no second path. */
static int
check_alternate(const struct vmlx4_qp *qp, const struct ib_uverbs_modify_qp *request)
{
	const struct vmlx4_adapter *adapter = qp->obj.ctx->adapter;
	unsigned int number = request->alt_port_num;

	if (!port_exists(adapter, number) || request->alt_dest.port_num != number)
		return -EINVAL;
	if (qp->port == NULL || !qp->port->infiniband || !adapter->ports[number - 1].infiniband)
		return -EINVAL;
	return request->alt_pkey_index < adapter->profile->max_pkeys ? 0 : -EINVAL;
}

/* The address of the other end; where it lies is found out at the same time. */
static int
check_path(const struct vmlx4_qp *qp, const struct vmlx4_port *port,
	const struct ib_uverbs_qp_dest *dest, uint8_t mac[6])
{
	uint8_t gid[VMLX4_GID_SIZE];
	enum vmlx4_roce roce;

	if (!port_exists(qp->obj.ctx->adapter, dest->port_num))
		return -EINVAL;
	if (dest->is_global == 0)
		return port->infiniband ? 0 : -EINVAL;
	if (dest->sgid_index >= VMLX4_GIDS)
		return -EINVAL;
	if (!vmlx4_gid_get(port, dest->sgid_index, gid, &roce))
		return -ENODATA;
	return port->infiniband ? 0 : vmlx4_gid_resolve(port, dest->dgid, mac);
}

static int
check_values(const struct vmlx4_qp *qp, const struct ib_uverbs_modify_qp *request, uint32_t mask)
{
	const struct vmlx4_profile *profile = qp->obj.ctx->adapter->profile;

	if ((mask & IBV_QP_PKEY_INDEX) != 0 && request->pkey_index >= profile->max_pkeys)
		return -EINVAL;
	if ((mask & IBV_QP_MAX_QP_RD_ATOMIC) != 0 && request->max_rd_atomic > RD_ATOMIC_MAX)
		return -EINVAL;
	if ((mask & IBV_QP_MAX_DEST_RD_ATOMIC) != 0 &&
			request->max_dest_rd_atomic > DEST_RD_ATOMIC_MAX)
		return -EINVAL;
	if ((mask & IBV_QP_PATH_MTU) != 0 && (request->path_mtu < IBV_MTU_256 ||
			request->path_mtu > IBV_MTU_4096))
		return -EINVAL;
	return (mask & IBV_QP_ALT_PATH) != 0 ? check_alternate(qp, request) : 0;
}

int
vmlx4_qp_attr_check(const struct vmlx4_qp *qp, const struct ib_uverbs_modify_qp *request,
	uint32_t mask, const struct vmlx4_port *port, uint8_t mac[6])
{
	int ret = check_values(qp, request, mask);

	return ret == 0 && (mask & IBV_QP_AV) != 0 ?
		check_path(qp, port, &request->dest, mac) : ret;
}

static void
store_path(struct vmlx4_path *path, const struct ib_uverbs_qp_dest *dest)
{
	path->sl = dest->sl;
	path->static_rate = dest->static_rate;
	path->sgid_index = dest->sgid_index;
	path->hop_limit = dest->hop_limit;
	path->traffic_class = dest->traffic_class;
	path->flow_label = dest->flow_label & FLOW_LABEL_MASK;
	memcpy(path->dgid, dest->dgid, sizeof(path->dgid));
}

/* Reads and atomics under way have a power of two; none at all is not to be had. */
static uint8_t
rounded(uint8_t wanted)
{
	return (uint8_t)vmlx4_round_up_pow2(wanted);
}

/* A QP that answers no reads has neither reads nor atomics, whatever its flags. */
static void
store_access(struct vmlx4_ib_attr *attr, const struct ib_uverbs_modify_qp *request,
	uint32_t mask)
{
	if ((mask & IBV_QP_ACCESS_FLAGS) != 0)
		attr->asked.access = request->qp_access_flags & REMOTE_ACCESS;
	if ((mask & IBV_QP_MAX_DEST_RD_ATOMIC) != 0) {
		attr->asked.max_dest_rd_atomic = request->max_dest_rd_atomic;
		attr->max_dest_rd_atomic = rounded(request->max_dest_rd_atomic);
	}
	attr->access = attr->asked.access;
	if (attr->asked.max_dest_rd_atomic == 0)
		attr->access &= IBV_ACCESS_REMOTE_WRITE;
}

static void
store_times(struct vmlx4_ib_attr *attr, const struct ib_uverbs_modify_qp *request, uint32_t mask)
{
	if ((mask & IBV_QP_TIMEOUT) != 0)
		attr->timeout = request->timeout & 0x1f;
	if ((mask & IBV_QP_RETRY_CNT) != 0)
		attr->retry_cnt = request->retry_cnt & 7;
	if ((mask & IBV_QP_RNR_RETRY) != 0)
		attr->rnr_retry = request->rnr_retry & 7;
	if ((mask & IBV_QP_MIN_RNR_TIMER) != 0)
		attr->min_rnr_timer = request->min_rnr_timer & 0x1f;
}

static void
store_alternate(struct vmlx4_ib_attr *attr, const struct ib_uverbs_modify_qp *request)
{
	store_path(&attr->alt_path, &request->alt_dest);
	attr->alt_port = request->alt_port_num;
	attr->alt_pkey_index = request->alt_pkey_index;
	attr->alt_timeout = request->alt_timeout & 0x1f;
}

void
vmlx4_qp_attr_store(struct vmlx4_qp *qp, const struct ib_uverbs_modify_qp *request,
	uint32_t mask, const uint8_t mac[6])
{
	struct vmlx4_ib_attr *attr = vmlx4_ib_attr(qp->ib);

	if ((mask & IBV_QP_PKEY_INDEX) != 0)
		attr->pkey_index = request->pkey_index;
	if ((mask & IBV_QP_QKEY) != 0)
		attr->qkey = request->qkey;
	if ((mask & IBV_QP_AV) != 0) {
		store_path(&attr->path, &request->dest);
		memcpy(attr->path.dmac, mac, sizeof(attr->path.dmac));
	}
	if ((mask & IBV_QP_PATH_MTU) != 0)
		attr->mtu = request->path_mtu;
	if ((mask & IBV_QP_RQ_PSN) != 0)
		attr->rq_psn = request->rq_psn & PSN_MASK;
	if ((mask & IBV_QP_SQ_PSN) != 0)
		attr->sq_psn = request->sq_psn & PSN_MASK;
	if ((mask & IBV_QP_DEST_QPN) != 0)
		attr->dest_qpn = request->dest_qp_num & QPN_MASK;
	if ((mask & IBV_QP_MAX_QP_RD_ATOMIC) != 0)
		attr->max_rd_atomic = rounded(request->max_rd_atomic);
	if ((mask & (IBV_QP_ACCESS_FLAGS | IBV_QP_MAX_DEST_RD_ATOMIC)) != 0)
		store_access(attr, request, mask);
	store_times(attr, request, mask);
	if ((mask & IBV_QP_ALT_PATH) != 0)
		store_alternate(attr, request);
	if ((mask & IBV_QP_PATH_MIG_STATE) != 0)
		attr->path_mig_state = request->path_mig_state;
	if (qp->qp_type == IBV_QPT_UD)
		attr->mtu = UD_MTU;
}

/* ---- QUERY_QP ---- */

static void
report_path(const struct vmlx4_path *path, unsigned int port, struct ib_uverbs_qp_dest *dest)
{
	dest->sl = path->sl & 0xf;
	dest->static_rate = path->static_rate;
	dest->port_num = port;
	dest->is_global = 1;
	dest->sgid_index = path->sgid_index;
	dest->hop_limit = path->hop_limit;
	dest->traffic_class = path->traffic_class;
	dest->flow_label = path->flow_label;
	memcpy(dest->dgid, path->dgid, sizeof(dest->dgid));
}

static void
report_connection(const struct vmlx4_qp *qp, const struct vmlx4_ib_attr *attr,
	struct ib_uverbs_query_qp_resp *reply)
{
	reply->dest_qp_num = attr->dest_qpn;
	reply->qp_access_flags = attr->access;
	reply->max_rd_atomic = rounded(attr->max_rd_atomic);
	reply->max_dest_rd_atomic = rounded(attr->max_dest_rd_atomic);
	reply->min_rnr_timer = attr->min_rnr_timer;
	reply->timeout = attr->timeout;
	reply->retry_cnt = attr->retry_cnt;
	reply->rnr_retry = attr->rnr_retry;
	/* Before the connection there is no other end to tell of. */
	if (qp->state == IBV_QPS_INIT)
		return;
	report_path(&attr->path, qp->port->number, &reply->dest);
	if (attr->alt_port == 0)
		return;
	report_path(&attr->alt_path, attr->alt_port, &reply->alt_dest);
	reply->alt_port_num = attr->alt_port;
	reply->alt_pkey_index = attr->alt_pkey_index;
	reply->alt_timeout = attr->alt_timeout;
}

void
vmlx4_qp_attr_report(const struct vmlx4_qp *qp, struct ib_uverbs_query_qp_resp *reply)
{
	const struct vmlx4_ib_attr *attr = vmlx4_ib_attr(qp->ib);
	struct vmlx4_ib_psns next = vmlx4_ib_next_psns(qp);

	reply->sq_draining = vmlx4_ib_draining(qp);
	reply->path_mtu = attr->mtu;
	reply->path_mig_state = attr->path_mig_state;
	reply->pkey_index = attr->pkey_index;
	reply->qkey = attr->qkey;
	reply->rq_psn = next.rq;
	reply->sq_psn = next.sq;
	if (qp->qp_type != IBV_QPT_UD)
		report_connection(qp, attr, reply);
}

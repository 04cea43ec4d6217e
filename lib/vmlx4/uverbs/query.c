/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx4-abi.h>
#include <string.h>
#include <unistd.h>

#include "../fault/fault.h"
#include "../profile.h"
#include "../sysfs/sysfs.h"
#include "uverbs.h"

#define VENDOR_ID 0x02c9u
#define PAGE_SIZES 0xfffffe00u         /* 512 B and up */
#define RD_ATOM_OF_QP 16u
#define HASH_FIELDS 0xffu              /* IPv4, IPv6, TCP and UDP, both directions */
#define QPT_RAW_PACKET_BIT (1u << IBV_QPT_RAW_PACKET)
#define TIMESTAMP_MASK 0xffffffffffffu /* 48 bits */

/* Path migration is a matter of InfiniBand: mlx4_ib tells of it with such a port only. */
static uint64_t
device_cap_flags(const struct vmlx4_adapter *adapter)
{
	uint64_t flags = adapter->profile->device_cap_flags;
	unsigned int i;

	for (i = 0; i < adapter->options.ports; i++)
		if (adapter->ports[i].infiniband)
			flags |= IBV_DEVICE_AUTO_PATH_MIG;
	return flags;
}

/*
 * Public dumps of ConnectX-3 and what mlx4_core computes from the same firmware;
 * the limits that differ between models come from the profile.
 */
static void
fill_device(const struct vmlx4_adapter *adapter, struct ib_uverbs_query_device_resp *dev)
{
	const struct vmlx4_profile *profile = adapter->profile;

	memset(dev, 0, sizeof(*dev));
	dev->fw_ver = profile->fw_ver;
	dev->node_guid = htobe64(vmlx4_node_guid(&adapter->options));
	/* Behind the card's own GUID come those of two ports, used or not. */
	dev->sys_image_guid = htobe64(vmlx4_node_guid(&adapter->options) + 3);
	dev->max_mr_size = UINT64_MAX;
	dev->page_size_cap = PAGE_SIZES;
	dev->vendor_id = VENDOR_ID;
	dev->vendor_part_id = profile->part_id;
	dev->hw_ver = profile->hw_ver;
	dev->max_qp = vmlx4_profile_max_qp(profile, adapter->options.ports);
	dev->max_qp_wr = profile->max_qp_wr;
	dev->device_cap_flags = (uint32_t)device_cap_flags(adapter);
	dev->max_sge = profile->max_sge;
	dev->max_sge_rd = profile->max_sge_rd;
	dev->max_cq = profile->max_cq;
	dev->max_cqe = profile->max_cqe;
	dev->max_mr = profile->max_mr;
	dev->max_pd = profile->max_pd;
	dev->max_qp_rd_atom = RD_ATOM_OF_QP;
	dev->max_qp_init_rd_atom = 128;
	dev->max_res_rd_atom = dev->max_qp * RD_ATOM_OF_QP;
	dev->atomic_cap = IBV_ATOMIC_HCA;
	dev->max_mcast_grp = profile->max_mcast_grp;
	dev->max_mcast_qp_attach = profile->max_mcast_qp_attach;
	dev->max_total_mcast_qp_attach =
		profile->max_mcast_grp * profile->max_mcast_qp_attach;
	dev->max_ah = profile->max_ah;
	dev->max_srq = profile->max_srq;
	dev->max_srq_wr = profile->max_srq_wr;
	dev->max_srq_sge = profile->max_srq_sge;
	dev->max_pkeys = profile->max_pkeys;
	dev->local_ca_ack_delay = 15;
	dev->phys_port_cnt = adapter->options.ports;
}

int
vmlx4_cmd_query_device(struct vmlx4_context *ctx, const struct vmlx4_cmd *cmd)
{
	struct ib_uverbs_query_device_resp reply;

	fill_device(ctx->adapter, &reply);
	vmlx4_cmd_out(cmd, &reply, sizeof(reply));
	return 0;
}

static bool
clock_offered(const struct vmlx4_adapter *adapter)
{
	return adapter->profile->core_clock_khz != 0 &&
		(adapter->faults == NULL || !vmlx4_fault_clock_missing(adapter));
}

static void
fill_device_ex(const struct vmlx4_adapter *adapter,
	struct ib_uverbs_ex_query_device_resp *reply)
{
	const struct vmlx4_profile *profile = adapter->profile;

	memset(reply, 0, sizeof(*reply));
	fill_device(adapter, &reply->base);
	reply->device_cap_flags_ex = device_cap_flags(adapter);
	if (clock_offered(adapter)) {
		reply->timestamp_mask = TIMESTAMP_MASK;
		reply->hca_core_clock = profile->core_clock_khz;
	}
	if (profile->max_rss_table != 0) {
		reply->rss_caps.supported_qpts = QPT_RAW_PACKET_BIT;
		reply->rss_caps.max_rwq_indirection_tables = reply->base.max_qp;
		reply->rss_caps.max_rwq_indirection_table_size = profile->max_rss_table;
		reply->max_wq_type_rq = reply->base.max_qp;
	}
	if (profile->scatter_fcs)
		reply->raw_packet_caps = IB_UVERBS_RAW_PACKET_CAP_SCATTER_FCS;
	reply->cq_moderation_caps.max_cq_moderation_count = UINT16_MAX;
	reply->cq_moderation_caps.max_cq_moderation_period = UINT16_MAX;
}

static void
fill_device_driver(const struct vmlx4_adapter *adapter,
	struct mlx4_uverbs_ex_query_device_resp *reply)
{
	const struct vmlx4_profile *profile = adapter->profile;

	memset(reply, 0, sizeof(*reply));
	if (clock_offered(adapter)) {
		reply->comp_mask = MLX4_IB_QUERY_DEV_RESP_MASK_CORE_CLOCK_OFFSET;
		reply->hca_core_clock_offset = VMLX4_CLOCK_OFFSET;
	}
	reply->max_inl_recv_sz = vmlx4_max_inline_receive(profile);
	if (profile->max_rss_table != 0) {
		reply->rss_caps.rx_hash_fields_mask = HASH_FIELDS;
		if (vmlx4_rss_inner_offered(adapter))
			reply->rss_caps.rx_hash_fields_mask |= MLX4_IB_RX_HASH_INNER;
		reply->rss_caps.rx_hash_function = MLX4_IB_RX_HASH_FUNC_TOEPLITZ;
	}
	if (profile->max_tso != 0) {
		reply->tso_caps.max_tso = profile->max_tso;
		reply->tso_caps.supported_qpts = QPT_RAW_PACKET_BIT;
	}
}

int
vmlx4_cmd_query_device_ex(struct vmlx4_context *ctx, const struct vmlx4_cmd *cmd)
{
	struct ib_uverbs_ex_query_device request;
	struct ib_uverbs_ex_query_device_resp reply;
	struct mlx4_uverbs_ex_query_device_resp driver;
	uint64_t driver_request;
	int ret;

	ret = vmlx4_cmd_in(cmd, &request, sizeof(request));
	if (ret < 0)
		return ret;
	if (request.comp_mask != 0 || request.reserved != 0)
		return -EINVAL;
	if (cmd->drv_in_len != 0) {
		ret = vmlx4_cmd_drv_in(cmd, &driver_request, sizeof(driver_request));
		if (ret < 0)
			return ret;
		if (driver_request != 0)
			return -EINVAL;
	}
	fill_device_ex(ctx->adapter, &reply);
	reply.response_length = cmd->out_len < sizeof(reply) ? cmd->out_len : sizeof(reply);
	vmlx4_cmd_out(cmd, &reply, sizeof(reply));
	fill_device_driver(ctx->adapter, &driver);
	driver.response_length = cmd->drv_out_len < sizeof(driver) ?
		cmd->drv_out_len : sizeof(driver);
	vmlx4_cmd_drv_out(cmd, &driver, sizeof(driver));
	return 0;
}

/* Headers of RoCE take 96 bytes of an Ethernet MTU. */
static uint8_t
active_mtu(unsigned int netdev_mtu)
{
	unsigned int payload = netdev_mtu > 96 ? netdev_mtu - 96 : 0;
	uint8_t mtu = IBV_MTU_4096;

	while (mtu > IBV_MTU_256 && (128u << mtu) > payload)
		mtu--;
	return mtu;
}

static void
port_speed(uint32_t mbps, struct ib_uverbs_query_port_resp *reply)
{
	reply->active_width = mbps > 10000 ? 2 : 1; /* 4X, 1X */
	reply->active_speed = mbps > 40000 ? 16 : 4; /* FDR, QDR */
}

static void
fill_ethernet(const struct vmlx4_port *port, struct ib_uverbs_query_port_resp *reply)
{
	reply->port_cap_flags = 0x04010000; /* CM, IP based GIDs */
	reply->max_vl_num = 2;
	reply->pkey_tbl_len = 1;
	reply->active_mtu = active_mtu(port->netdev.mtu);
	reply->link_layer = IBV_LINK_LAYER_ETHERNET;
}

static void
fill_infiniband(const struct vmlx4_port *port, struct ib_uverbs_query_port_resp *reply)
{
	reply->port_cap_flags = 0x02514868;
	reply->max_vl_num = 4; /* VL0-7 */
	reply->pkey_tbl_len = port->adapter->profile->max_pkeys;
	reply->active_mtu = IBV_MTU_4096;
	reply->link_layer = IBV_LINK_LAYER_INFINIBAND;
	reply->lid = port->number;
	reply->sm_lid = 1;
	reply->subnet_timeout = 18;
}

int
vmlx4_cmd_query_port(struct vmlx4_context *ctx, const struct vmlx4_cmd *cmd)
{
	struct ib_uverbs_query_port request;
	struct ib_uverbs_query_port_resp reply = { 0 };
	const struct vmlx4_port *port;
	int ret;

	ret = vmlx4_cmd_in(cmd, &request, sizeof(request));
	if (ret < 0)
		return ret;
	if (request.port_num < 1 || request.port_num > ctx->adapter->options.ports)
		return -EINVAL;
	port = &ctx->adapter->ports[request.port_num - 1];
	reply.max_msg_sz = 0x40000000;
	reply.gid_tbl_len = 128;
	reply.state = port->active ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
	/* LinkUp, Polling, Disabled */
	reply.phys_state = port->active ? 5 : port->link.trains ? 2 : 3;
	reply.max_mtu = IBV_MTU_4096;
	port_speed(ctx->adapter->profile->speed_mbps, &reply);
	if (port->infiniband)
		fill_infiniband(port, &reply);
	else
		fill_ethernet(port, &reply);
	vmlx4_cmd_out(cmd, &reply, sizeof(reply));
	return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */

#include <stddef.h>
#include <string.h>

#include "profile.h"

/*
 * The numbers come from public ibv_devinfo dumps of ConnectX-3 cards with
 * firmware 2.42.5000. No dump of a Pro is public: it shares the numbers (they
 * follow from the same firmware and from mlx4_core's reservations) and differs
 * in its id and its tunnel offloads. What no dump shows is an assumption of
 * the model: max_tso, max_rss_table, bf_reg_size, speed_mbps.
 */

#define FW(major, minor, sub) \
	((uint64_t)(major) << 32 | (uint64_t)(minor) << 16 | (uint64_t)(sub))

/*
 * Ethernet ports only, device managed flow steering (bit 29), checksums of raw
 * packets (bit 26).
 */
#define CAP_FLAGS 0x257e9c66u

#define COMMON_LIMITS \
	.hw_ver = 0, \
	.fw_ver = FW(2, 42, 5000), \
	.speed_mbps = 40000, \
	.device_cap_flags = CAP_FLAGS, \
	.max_qp = 393144, /* of a card with two ports; see vmlx4_profile_max_qp() */ \
	.max_qp_wr = 16351, \
	.max_sge = 32, \
	.max_sge_rd = 30, \
	.max_cq = 65408, \
	.max_cqe = 4194303, \
	.max_mr = 524032, \
	.max_pd = 32764, \
	.max_srq = 65472, \
	.max_srq_wr = 16383, \
	.max_srq_sge = 31, \
	.max_ah = 2147483647, \
	.max_mcast_grp = 131072, \
	.max_mcast_qp_attach = 244, \
	.max_pkeys = 128, \
	.max_rss_table = 128, \
	.max_tso = 262144, \
	.core_clock_khz = 427000, \
	.bf_reg_size = 512, \
	.bf_regs_per_page = 8, \
	.scatter_fcs = true

static const struct vmlx4_profile profiles[] = {
	{
		.name = "cx3",
		.description = "ConnectX-3 (MT27500), 40 GbE",
		.part_id = 4099,
		.board_id = "MT_1090120019",
		.tunnel_offload = false,
		COMMON_LIMITS,
	},
	{
		.name = "cx3pro",
		.description = "ConnectX-3 Pro (MT27520), 40 GbE",
		.part_id = 4103,
		.board_id = "MT_1090111019",
		.tunnel_offload = true,
		COMMON_LIMITS,
	},
};

const struct vmlx4_profile *
vmlx4_profile_get(unsigned int index)
{
	if (index >= sizeof(profiles) / sizeof(profiles[0]))
		return NULL;
	return &profiles[index];
}

const struct vmlx4_profile *
vmlx4_profile_find(const char *name)
{
	const struct vmlx4_profile *profile;
	unsigned int i;

	for (i = 0; (profile = vmlx4_profile_get(i)) != NULL; i++)
		if (strcmp(profile->name, name) == 0)
			return profile;
	return NULL;
}

uint32_t
vmlx4_profile_max_qp(const struct vmlx4_profile *profile, unsigned int ports)
{
	/* mlx4_core reserves 2 * 128 * 128 numbers per port for steering. */
	return profile->max_qp + (ports == 1 ? 2 * 128 * 128 : 0);
}

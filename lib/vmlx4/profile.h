/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VMLX4_PROFILE_H_
#define VMLX4_PROFILE_H_

/* What a card model reports of itself: one file per model in profiles/. */

#include <stdbool.h>
#include <stdint.h>

struct vmlx4_profile {
	const char *name;          /* option value: "cx3", "cx3pro", … */
	const char *description;
	uint16_t part_id;          /* PCI device id and vendor_part_id */
	uint32_t hw_ver;
	uint64_t fw_ver;           /* major << 32 | minor << 16 | sub */
	const char *board_id;
	uint32_t speed_mbps;
	uint64_t device_cap_flags;
	uint32_t max_qp, max_qp_wr, max_sge, max_sge_rd, max_cq, max_cqe;
	uint32_t max_mr, max_pd, max_srq, max_srq_wr, max_srq_sge;
	uint32_t max_ah, max_mcast_grp, max_mcast_qp_attach, max_pkeys;
	uint32_t max_rss_table;    /* entries of an indirection table; 0: no RSS, no WQs */
	uint32_t max_tso;          /* 0: none */
	uint32_t core_clock_khz;   /* 0: no clock page */
	uint16_t bf_reg_size;      /* 0: no BlueFlame */
	uint16_t bf_regs_per_page;
	bool tunnel_offload;       /* Pro: inner checksum, VXLAN */
	bool scatter_fcs;
	bool roce_v2;              /* IP packets for RDMA: Pro */
};

/* Generated from the files. */
extern const struct vmlx4_profile vmlx4_profiles[];
extern const unsigned int vmlx4_profile_count;

const struct vmlx4_profile *vmlx4_profile_find(const char *name);
const struct vmlx4_profile *vmlx4_profile_get(unsigned int index); /* NULL: end */
/* max_qp holds for two ports; a card with one port has more left. */
uint32_t vmlx4_profile_max_qp(const struct vmlx4_profile *profile, unsigned int ports);

#endif /* VMLX4_PROFILE_H_ */

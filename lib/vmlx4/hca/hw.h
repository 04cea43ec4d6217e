/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VMLX4_HW_H_
#define VMLX4_HW_H_

/*
 * What the hardware reads and writes in memory: the adapter's own reading of
 * the contract, on purpose shared with no driver. Multi-byte fields are big
 * endian; masks apply to the value in host order. The sources in brackets:
 * [rc] the libmlx4 provider, [K] the kernel's mlx4 drivers, [PRM] the public
 * part of the programmer's reference manual.
 */

#include <assert.h>
#include <endian.h>
#include <stddef.h>
#include <stdint.h>

#define VMLX4_HW_CHUNK 64u          /* unit of SQ fetches and stamps [K: TXBB] */
#define VMLX4_HW_PREFETCH 2048u     /* bytes read ahead of the SQ position [rc] */
#define VMLX4_HW_MAX_WQE 1008u      /* 63 units of 16 bytes [PRM] */

/* ---- UAR page: offsets of the doorbells [rc] ---- */

#define VMLX4_HW_UAR_SEND 0x14      /* QPN in bits 31:8 */
#define VMLX4_HW_UAR_ARM 0x20       /* sn, cmd, cqn; then consumer index */

/* Arm word, and the same fields in the arm record without the CQN [PRM]. */
#define VMLX4_HW_ARM_SN(dw) (((dw) >> 28) & 3)
#define VMLX4_HW_ARM_CMD(dw) (((dw) >> 24) & 7)
#define VMLX4_HW_ARM_LOW24(dw) ((dw) & 0xffffff)
#define VMLX4_HW_ARM_SOLICITED 1
#define VMLX4_HW_ARM_NEXT 2

/* ---- send WQE ---- */

struct vmlx4_hw_ctrl { /* [rc] control segment */
	uint32_t owner_opcode;
	uint32_t vlan_size;  /* VLAN tag, insertion bits, size; BlueFlame: QPN */
	uint32_t flags;      /* upper half: bytes 0, 1 of the destination MAC */
	uint32_t imm;        /* bytes 2..5 of the destination MAC */
};
static_assert(sizeof(struct vmlx4_hw_ctrl) == 16, "control segment");

#define VMLX4_HW_OWNER 0x80000000u       /* dword 0, bit 31 [rc] */
#define VMLX4_HW_NEC 0x20000000u         /* no error CQE [K] */
#define VMLX4_HW_IIP 0x10000000u         /* inner IPv4 checksum, Pro only [K] */
#define VMLX4_HW_ILP 0x08000000u         /* inner L4 checksum, Pro only [K] */
#define VMLX4_HW_BF_INDEX 0x00ffff00u    /* WQE index of a BlueFlame post [rc] */
#define VMLX4_HW_BLH 0x40u               /* LSO: the header runs over 64 bytes [K] */
#define VMLX4_HW_OPCODE 0x1fu
#define VMLX4_HW_OP_NOP 0x00u            /* [PRM] */
#define VMLX4_HW_OP_SEND 0x0au
#define VMLX4_HW_OP_LSO 0x0eu
/* Of the transports of InfiniBand [rc] */
#define VMLX4_HW_OP_SEND_INVAL 0x01u
#define VMLX4_HW_OP_WRITE 0x08u
#define VMLX4_HW_OP_WRITE_IMM 0x09u
#define VMLX4_HW_OP_SEND_IMM 0x0bu
#define VMLX4_HW_OP_READ 0x10u
#define VMLX4_HW_OP_ATOMIC_CS 0x11u
#define VMLX4_HW_OP_ATOMIC_FA 0x12u
#define VMLX4_HW_OP_MASKED_CS 0x14u      /* and these two [K] */
#define VMLX4_HW_OP_MASKED_FA 0x15u
#define VMLX4_HW_OP_BIND_MW 0x18u
#define VMLX4_HW_OP_LOCAL_INVAL 0x1bu

#define VMLX4_HW_INS_SVLAN 0x8000u       /* dword 1, bit 15 [K] */
#define VMLX4_HW_INS_CVLAN 0x4000u       /* bit 14 */
#define VMLX4_HW_FENCE 0x40u             /* after reads and atomics [rc] */
#define VMLX4_HW_DS 0x3fu                /* WQE size in units of 16 bytes [rc] */

#define VMLX4_HW_CSUM_L4 0x20u           /* dword 2 [K] */
#define VMLX4_HW_CSUM_IP 0x10u
#define VMLX4_HW_CQE_ALWAYS 0x0cu        /* both C bits [rc] */
#define VMLX4_HW_SE 0x02u                /* solicited; raw Ethernet: append no ICRC [rc] */
#define VMLX4_HW_ORDERED 0x80u           /* after all that was posted before [rc] */
#define VMLX4_HW_FL 0x01u                /* force loopback [PRM] */
#define VMLX4_HW_DMAC_GROUP 0x01000000u  /* of a multicast destination MAC */

#define VMLX4_HW_STAMP 0x7fffffffu       /* chunk not written yet, modulo bit 31 [rc] */

struct vmlx4_hw_data { /* [rc] data segment, of send and receive WQEs */
	uint32_t byte_count; /* 0: 2^31 */
	uint32_t lkey;
	uint64_t addr;
};
static_assert(sizeof(struct vmlx4_hw_data) == 16, "data segment");
static_assert(offsetof(struct vmlx4_hw_data, addr) == 8, "data segment");

#define VMLX4_HW_INLINE 0x80000000u      /* of byte_count: the bytes follow [rc] */
#define VMLX4_HW_MAX_INLINE 60u          /* rest of a chunk behind its header [rc] */
#define VMLX4_HW_LKEY_INVALID 0x100u     /* ends a receive list [rc] */

/* LSO segment at byte 16: MSS in the upper half, then the header [rc]. */
#define VMLX4_HW_LSO_MSS(dw) ((dw) >> 16)
#define VMLX4_HW_LSO_HEADER(dw) ((dw) & 0xffff)

/* ---- completion ---- */

struct vmlx4_hw_cqe { /* [rc], names of the RX meaning on Ethernet [K] */
	uint32_t vlan_qpn;
	uint32_t rss_hash;
	uint32_t mlpath;
	uint16_t sl_vid;     /* or timestamp 47:32 */
	uint16_t smac_hi;    /* or timestamp 31:16 */
	uint32_t status;
	uint32_t byte_cnt;
	uint16_t wqe_index;
	uint16_t checksum;
	uint32_t owner_op;   /* timestamp 15:0 at bytes 1, 2; owner and opcode at byte 3 */
};
static_assert(sizeof(struct vmlx4_hw_cqe) == 32, "CQE");
static_assert(offsetof(struct vmlx4_hw_cqe, status) == 16, "CQE");
static_assert(offsetof(struct vmlx4_hw_cqe, wqe_index) == 24, "CQE");
static_assert(offsetof(struct vmlx4_hw_cqe, owner_op) == 28, "CQE");

/* The 64-byte CQE holds the valid half at offset 32 [rc]. */
#define VMLX4_HW_CQE_OFFSET(size) ((size) - 32u)

/* Error CQE: vendor error and syndrome take the place of the checksum [rc]. */
#define VMLX4_HW_ERR(vendor, syndrome) (((uint16_t)(vendor) << 8) | (syndrome))

#define VMLX4_HW_CQE_OWNER 0x80u         /* byte 31 [rc] */
#define VMLX4_HW_CQE_SEND 0x40u
#define VMLX4_HW_CQE_INLINE 0x20u        /* received data is in the WQE [rc] */
#define VMLX4_HW_CQE_OP_RECV 0x01u       /* SEND as the receiver sees it */
#define VMLX4_HW_CQE_OP_RECV_WRITE_IMM 0x00u /* and the others of the transports [rc] */
#define VMLX4_HW_CQE_OP_RECV_IMM 0x02u
#define VMLX4_HW_CQE_OP_RECV_INVAL 0x03u
#define VMLX4_HW_CQE_OP_ERROR 0x1eu

#define VMLX4_HW_CQE_SVLAN 0x40000000u   /* vlan_qpn [K] */
#define VMLX4_HW_CQE_CVLAN 0x20000000u
#define VMLX4_HW_CQE_TUNNEL_IPOK 0x80000000u /* outer headers, Pro only [K] */
#define VMLX4_HW_CQE_TUNNEL 0x08000000u
#define VMLX4_HW_CQE_TUNNEL_L4OK 0x04000000u
#define VMLX4_HW_CQE_TUNNEL_IPV4 0x02000000u

#define VMLX4_HW_ST_IPOK 0x10000000u     /* status [K] */
#define VMLX4_HW_ST_UDP 0x08000000u
#define VMLX4_HW_ST_TCP 0x04000000u
#define VMLX4_HW_ST_IPV4OPT 0x02000000u
#define VMLX4_HW_ST_IPV6 0x01000000u
#define VMLX4_HW_ST_IPV4F 0x00800000u
#define VMLX4_HW_ST_IPV4 0x00400000u
#define VMLX4_HW_ST_EXT_SHIFT 8          /* IPv6 extension header mask */
#define VMLX4_HW_ST_L4OK 0x00000004u
/* Bits 1:0 are the 802.2 encapsulations, as vmlx4_parsed.llc has them. */

#define VMLX4_HW_EXT_FRAGMENT 0x10u      /* the one bit that is public [K] */

/* Syndromes [rc]. */
#define VMLX4_HW_SYN_LOC_LEN 0x01
#define VMLX4_HW_SYN_LOC_QP_OP 0x02
#define VMLX4_HW_SYN_LOC_PROT 0x04
#define VMLX4_HW_SYN_FLUSH 0x05
#define VMLX4_HW_SYN_MW_BIND 0x06
#define VMLX4_HW_SYN_BAD_RESP 0x10
#define VMLX4_HW_SYN_LOC_ACCESS 0x11
#define VMLX4_HW_SYN_REM_INV_REQ 0x12
#define VMLX4_HW_SYN_REM_ACCESS 0x13
#define VMLX4_HW_SYN_REM_OP 0x14
#define VMLX4_HW_SYN_RETRY_EXC 0x15
#define VMLX4_HW_SYN_RNR_RETRY 0x16
#define VMLX4_HW_VENDOR_PROT 0x57        /* seen on silicon with LOC_PROT */

#endif /* VMLX4_HW_H_ */

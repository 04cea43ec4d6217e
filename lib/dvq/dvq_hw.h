/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef DVQ_HW_H_
#define DVQ_HW_H_

/*
 * What a ConnectX-3 reads and writes in queue memory. Every multi-byte field
 * is big endian. The source of a fact stands beside it: "libmlx4" and "mlx4_en"
 * are the drivers whose behaviour shows it, "PRM" the public part of the
 * programmer's manual.
 */

#include <assert.h>
#include <endian.h>
#include <stddef.h>
#include <stdint.h>

/* <endian.h> keeps these to itself under -std=c11 and the like. */
#ifndef htobe32
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define htobe16(x) __builtin_bswap16(x)
#define htobe32(x) __builtin_bswap32(x)
#define htobe64(x) __builtin_bswap64(x)
#else
#define htobe16(x) ((uint16_t)(x))
#define htobe32(x) ((uint32_t)(x))
#define htobe64(x) ((uint64_t)(x))
#endif
#define be16toh(x) htobe16(x)
#define be32toh(x) htobe32(x)
#define be64toh(x) htobe64(x)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Send queue ---- */

#define DVQ_SQ_BB_SHIFT 6        /* a basic block: what the prefetcher reads; PRM */
#define DVQ_SQ_BB_SIZE (1u << DVQ_SQ_BB_SHIFT)
#define DVQ_SQ_PREFETCH 2048u    /* bytes read ahead of the consumer; libmlx4, mlx4_en */
#define DVQ_WQE_UNIT 16u         /* what the ds field counts; PRM */
#define DVQ_WQE_MAX_UNITS 63u    /* ds has six bits; PRM */
#define DVQ_WQE_MAX_BLOCKS 16u   /* DVQ_WQE_MAX_UNITS in blocks */
#define DVQ_UNITS_PER_BB (DVQ_SQ_BB_SIZE / DVQ_WQE_UNIT)

/* Control segment: the first 16 bytes of each send WQE; PRM. */
struct dvq_ctrl_seg {
	uint32_t owner_opcode;   /* DVQ_CTRL_OWNER, DVQ_CTRL_RR, DVQ_OP_*; written last */
	uint32_t vlan_ds;        /* VLAN tag 31:16, DVQ_CTRL_INS_* , ds 5:0 */
	uint32_t flags;          /* DMAC bytes 0-1 in 31:16, DVQ_CTRL_* below */
	uint32_t imm;            /* DMAC bytes 2-5 on raw Ethernet; libmlx4 */
};

static_assert(sizeof(struct dvq_ctrl_seg) == 16, "control segment");
static_assert(offsetof(struct dvq_ctrl_seg, vlan_ds) == 4, "control segment");
static_assert(offsetof(struct dvq_ctrl_seg, flags) == 8, "control segment");
static_assert(offsetof(struct dvq_ctrl_seg, imm) == 12, "control segment");

/* owner_opcode */
#define DVQ_CTRL_OWNER (1u << 31)     /* polarity of the pass over the ring; PRM */
#define DVQ_CTRL_INNER_IP_CSUM (1u << 28) /* ConnectX-3 Pro tunnels; mlx4_en (IIP) */
#define DVQ_CTRL_INNER_L4_CSUM (1u << 27) /* ConnectX-3 Pro tunnels; mlx4_en (ILP) */
#define DVQ_CTRL_RR (1u << 6)         /* set with LSO; mlx4_en */
#define DVQ_CTRL_OPCODE_MASK 0x1fu
#define DVQ_CTRL_BF_INDEX_SHIFT 8     /* low 16 bits of the WQE's index; BlueFlame; libmlx4 */
#define DVQ_OP_NOP 0x00u              /* PRM */
#define DVQ_OP_SEND_INVAL 0x01u       /* this and the others below: libmlx4 */
#define DVQ_OP_RDMA_WRITE 0x08u
#define DVQ_OP_RDMA_WRITE_IMM 0x09u
#define DVQ_OP_SEND 0x0au             /* PRM */
#define DVQ_OP_SEND_IMM 0x0bu
#define DVQ_OP_LSO 0x0eu              /* PRM */
#define DVQ_OP_RDMA_READ 0x10u
#define DVQ_OP_ATOMIC_CAS 0x11u
#define DVQ_OP_ATOMIC_FAA 0x12u
#define DVQ_OP_MASKED_CAS 0x14u       /* mlx4_ib */
#define DVQ_OP_MASKED_FAA 0x15u       /* mlx4_ib */
#define DVQ_OP_BIND_MW 0x18u
#define DVQ_OP_LOCAL_INVAL 0x1bu

/* vlan_ds */
#define DVQ_CTRL_VLAN_SHIFT 16
#define DVQ_CTRL_INS_SVLAN (1u << 15) /* insert the tag as 0x88a8; mlx4_en */
#define DVQ_CTRL_INS_CVLAN (1u << 14) /* insert the tag as 0x8100; mlx4_en */
#define DVQ_CTRL_FENCE (1u << 6)
#define DVQ_CTRL_DS_MASK 0x3fu

/* flags */
#define DVQ_CTRL_SO (1u << 7)         /* strong ordering: not before what is in flight; libmlx4 */
#define DVQ_CTRL_L4_CSUM (1u << 5)    /* compute TCP or UDP checksum; libmlx4 */
#define DVQ_CTRL_IP_CSUM (1u << 4)    /* compute IPv4 header checksum; libmlx4 */
#define DVQ_CTRL_CQE (3u << 2)        /* generate a CQE; always both bits; libmlx4 */
#define DVQ_CTRL_SE (1u << 1)         /* solicited event; raw Ethernet: append no ICRC; mlx4_en */
#define DVQ_CTRL_FL (1u << 0)         /* force loopback; PRM */

/* Data segment: also the whole of a receive WQE; PRM. */
struct dvq_data_seg {
	uint32_t byte_count;     /* 0 means 2^31: see DVQ_SEG_EMPTY */
	uint32_t lkey;
	uint64_t addr;
};

static_assert(sizeof(struct dvq_data_seg) == 16, "data segment");
static_assert(offsetof(struct dvq_data_seg, lkey) == 4, "data segment");
static_assert(offsetof(struct dvq_data_seg, addr) == 8, "data segment");

/* Inline segment: this header, then bytes; never across a block end; libmlx4. */
struct dvq_inline_seg {
	uint32_t byte_count;     /* DVQ_SEG_INLINE | length */
};

static_assert(sizeof(struct dvq_inline_seg) == 4, "inline segment");

/* LSO segment: this header, then the packet headers without a break; mlx4_en. */
struct dvq_lso_seg {
	uint32_t mss_hdr_size;   /* mss 31:16, header bytes 9:0 */
};

static_assert(sizeof(struct dvq_lso_seg) == 4, "LSO segment");

/* Where RDMA and atomic operations go; behind the control segment; libmlx4. */
struct dvq_raddr_seg {
	uint64_t addr;
	uint32_t rkey;
	uint32_t reserved;
};

static_assert(sizeof(struct dvq_raddr_seg) == 16, "remote address segment");
static_assert(offsetof(struct dvq_raddr_seg, rkey) == 8, "remote address segment");

/* Operands of an atomic operation, behind the remote address; libmlx4. */
struct dvq_atomic_seg {
	uint64_t swap_add;
	uint64_t compare;
};

static_assert(sizeof(struct dvq_atomic_seg) == 16, "atomic segment");

/* The same with masks, of a compare and swap; mlx4_ib. */
struct dvq_masked_atomic_seg {
	uint64_t swap_add;
	uint64_t compare;
	uint64_t swap_add_mask;
	uint64_t compare_mask;
};

static_assert(sizeof(struct dvq_masked_atomic_seg) == 32, "masked atomic segment");

/* The key that a LOCAL_INVAL invalidates; libmlx4. */
struct dvq_inval_seg {
	uint64_t reserved0;
	uint32_t key;
	uint32_t reserved1;
	uint64_t reserved2[2];
};

static_assert(sizeof(struct dvq_inval_seg) == 32, "invalidation segment");
static_assert(offsetof(struct dvq_inval_seg, key) == 8, "invalidation segment");

/* What a BIND_MW binds; libmlx4. */
struct dvq_bind_seg {
	uint32_t access;         /* DVQ_BIND_ATOMIC, _WRITE, _READ */
	uint32_t type;           /* DVQ_BIND_TYPE_2, _ZERO_BASED */
	uint32_t new_rkey;
	uint32_t lkey;           /* of the region below the window */
	uint64_t addr;
	uint64_t length;
};

static_assert(sizeof(struct dvq_bind_seg) == 32, "bind segment");
static_assert(offsetof(struct dvq_bind_seg, new_rkey) == 8, "bind segment");
static_assert(offsetof(struct dvq_bind_seg, addr) == 16, "bind segment");

#define DVQ_BIND_ATOMIC (1u << 31)
#define DVQ_BIND_WRITE (1u << 30)
#define DVQ_BIND_READ (1u << 29)
#define DVQ_BIND_TYPE_2 (1u << 31)
#define DVQ_BIND_ZERO_BASED (1u << 30)

/* Where a datagram goes: behind the control segment of a UD QP; libmlx4. */
struct dvq_datagram_seg {
	uint32_t port_pd;        /* port 31:24, VLAN present 29, protection domain 23:0 */
	uint8_t reserved0;
	uint8_t g_slid;
	uint16_t dlid;
	uint8_t reserved1;
	uint8_t gid_index;
	uint8_t stat_rate;
	uint8_t hop_limit;
	uint32_t sl_tclass_flowlabel;
	uint8_t dgid[16];
	uint32_t qpn;
	uint32_t qkey;
	uint16_t vlan;
	uint8_t mac[6];
};

static_assert(sizeof(struct dvq_datagram_seg) == 48, "datagram segment");
static_assert(offsetof(struct dvq_datagram_seg, dgid) == 16, "datagram segment");
static_assert(offsetof(struct dvq_datagram_seg, qpn) == 32, "datagram segment");
static_assert(offsetof(struct dvq_datagram_seg, mac) == 42, "datagram segment");

/* First segment of each WQE of an SRQ; data segments follow; libmlx4. */
struct dvq_srq_next_seg {
	uint16_t reserved0;
	uint16_t next;           /* number of the next WQE of the list */
	uint32_t reserved1[3];
};

static_assert(sizeof(struct dvq_srq_next_seg) == 16, "SRQ next segment");
static_assert(offsetof(struct dvq_srq_next_seg, next) == 2, "SRQ next segment");

#define DVQ_SEG_INLINE (1u << 31)
#define DVQ_SEG_EMPTY DVQ_SEG_INLINE  /* zero bytes: an empty inline segment; libmlx4 */
#define DVQ_SEG_MAX_BYTES ((1u << 31) - 1)
#define DVQ_INVALID_LKEY 0x100u       /* ends the list of a receive WQE; libmlx4 */

/* A block without a WQE: dword 0 is this, bit 31 as a coming pass holds invalid. */
#define DVQ_SQ_STAMP 0x7fffffffu      /* mlx4_en */

/* ---- Completion queue ---- */

/* CQE: 32 bytes, or the second half of 64; libmlx4. */
struct dvq_cqe {
	uint32_t vlan_my_qpn;    /* DVQ_CQE_* tunnel and VLAN bits, QPN 23:0 */
	uint32_t rss_hash;       /* or immediate data, or the invalidated key; libmlx4, mlx4_en */
	uint32_t g_mlpath_rqpn;  /* GRH 31, path bits 30:24, remote QPN (XRC: SRQN) 23:0; libmlx4 */
	uint16_t sl_vid;         /* tag; or time stamp 47:32 */
	uint16_t smac_hi;        /* or time stamp 31:16 */
	uint32_t status;         /* DVQ_CQE_ST_* */
	uint32_t byte_cnt;
	uint16_t wqe_index;
	uint16_t checksum;
	uint8_t reserved;
	uint8_t ts_15_8;
	uint8_t ts_7_0;
	uint8_t owner_sr_opcode; /* written last by the adapter */
};

static_assert(sizeof(struct dvq_cqe) == 32, "CQE");
static_assert(offsetof(struct dvq_cqe, rss_hash) == 4, "CQE");
static_assert(offsetof(struct dvq_cqe, sl_vid) == 12, "CQE");
static_assert(offsetof(struct dvq_cqe, status) == 16, "CQE");
static_assert(offsetof(struct dvq_cqe, byte_cnt) == 20, "CQE");
static_assert(offsetof(struct dvq_cqe, wqe_index) == 24, "CQE");
static_assert(offsetof(struct dvq_cqe, checksum) == 26, "CQE");
static_assert(offsetof(struct dvq_cqe, owner_sr_opcode) == 31, "CQE");

/* Error CQE: opcode DVQ_CQE_OP_ERROR; libmlx4. */
struct dvq_err_cqe {
	uint32_t qpn;            /* 23:0 */
	uint32_t reserved0[5];
	uint16_t wqe_index;
	uint8_t vendor_err;
	uint8_t syndrome;        /* DVQ_SYNDROME_* */
	uint8_t reserved1[3];
	uint8_t owner_sr_opcode;
};

static_assert(sizeof(struct dvq_err_cqe) == 32, "error CQE");
static_assert(offsetof(struct dvq_err_cqe, wqe_index) == 24, "error CQE");
static_assert(offsetof(struct dvq_err_cqe, vendor_err) == 26, "error CQE");
static_assert(offsetof(struct dvq_err_cqe, syndrome) == 27, "error CQE");
static_assert(offsetof(struct dvq_err_cqe, owner_sr_opcode) == 31, "error CQE");

/* owner_sr_opcode; libmlx4 */
#define DVQ_CQE_OWNER 0x80u
#define DVQ_CQE_IS_SEND 0x40u
#define DVQ_CQE_INLINE_SCATTER 0x20u
#define DVQ_CQE_OPCODE_MASK 0x1fu
#define DVQ_CQE_OP_RECV_WRITE_IMM 0x00u
#define DVQ_CQE_OP_RECV_SEND 0x01u
#define DVQ_CQE_OP_RECV_SEND_IMM 0x02u
#define DVQ_CQE_OP_RECV_SEND_INVAL 0x03u
#define DVQ_CQE_OP_RESIZE 0x16u
#define DVQ_CQE_OP_ERROR 0x1eu

/* vlan_my_qpn */
#define DVQ_CQE_TUNNEL_IPOK (1u << 31)   /* mlx4_en; ConnectX-3 Pro */
#define DVQ_CQE_SVLAN (1u << 30)         /* PRM */
#define DVQ_CQE_CVLAN (1u << 29)         /* PRM */
#define DVQ_CQE_TUNNEL (1u << 27)        /* mlx4_en; ConnectX-3 Pro */
#define DVQ_CQE_TUNNEL_L4OK (1u << 26)   /* mlx4_en; ConnectX-3 Pro */
#define DVQ_CQE_TUNNEL_IPV4 (1u << 25)   /* outer header; mlx4_en; ConnectX-3 Pro */
#define DVQ_CQE_QPN_MASK 0xffffffu

/* g_mlpath_rqpn */
#define DVQ_CQE_GRH (1u << 31)

/* status; mlx4_en */
#define DVQ_CQE_ST_IPOK (1u << 28)
#define DVQ_CQE_ST_UDP (1u << 27)
#define DVQ_CQE_ST_TCP (1u << 26)
#define DVQ_CQE_ST_IPV4OPT (1u << 25)
#define DVQ_CQE_ST_IPV6 (1u << 24)
#define DVQ_CQE_ST_IPV4F (1u << 23)
#define DVQ_CQE_ST_IPV4 (1u << 22)
#define DVQ_CQE_ST_IPV6F (1u << 12)      /* fragment header, in ipv6_ext_mask 15:8 */
#define DVQ_CQE_ST_BAD_FCS (1u << 4)
#define DVQ_CQE_ST_L4OK (1u << 2)

/* Syndromes of an error CQE; libmlx4 */
#define DVQ_SYNDROME_LOCAL_LENGTH 0x01u
#define DVQ_SYNDROME_LOCAL_QP_OP 0x02u
#define DVQ_SYNDROME_LOCAL_PROT 0x04u
#define DVQ_SYNDROME_WR_FLUSH 0x05u
#define DVQ_SYNDROME_MW_BIND 0x06u
#define DVQ_SYNDROME_BAD_RESP 0x10u
#define DVQ_SYNDROME_LOCAL_ACCESS 0x11u
#define DVQ_SYNDROME_REMOTE_INVAL_REQ 0x12u
#define DVQ_SYNDROME_REMOTE_ACCESS 0x13u
#define DVQ_SYNDROME_REMOTE_OP 0x14u
#define DVQ_SYNDROME_TRANSPORT_RETRY 0x15u
#define DVQ_SYNDROME_RNR_RETRY 0x16u
#define DVQ_SYNDROME_REMOTE_ABORT 0x22u

/* ---- Doorbells ---- */

#define DVQ_UAR_SEND_DB 0x14u            /* 32 bits: QPN << 8; libmlx4 */
#define DVQ_UAR_CQ_ARM 0x20u             /* 64 bits: sn, cmd, cqn; ci; libmlx4 */
#define DVQ_CQ_CI_MASK 0xffffffu
#define DVQ_CQ_ARM_SOLICITED 1u          /* next solicited or failed completion; PRM */
#define DVQ_CQ_ARM_NEXT 2u               /* next completion; PRM */
/* A BlueFlame register: two buffers, used in turn. No dump of a card shows the size; mlx4_core */
#define DVQ_BF_REG_SIZE 512u
#define DVQ_RQ_DB_MASK 0xffffu           /* running count of posted WQEs; libmlx4 */

#ifdef __cplusplus
}
#endif

#endif /* DVQ_HW_H_ */

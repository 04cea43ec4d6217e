/* SPDX-License-Identifier: BSD-3-Clause */

#include <stddef.h>
#include <string.h>

#include "check.h"

/*
 * "PRM" is the public part of the programmer's reference of this family; a
 * driver named as a source is one that works on silicon because it does so.
 */
static const struct vmlx4_rule_text rules[VMLX4_RULES] = {
	[VMLX4_RULE_LKEY] = {
		"lkey",
		"A segment lies inside the memory region of its lkey, in the same PD; what the\n"
		"card writes, in a region with LOCAL_WRITE.",
		"verbs: access rules of memory regions; PRM: local protection error.",
		"every segment that is read or written is looked up: key, PD, range, access.",
	},
	[VMLX4_RULE_MR_IN_USE] = {
		"mr-in-use",
		"A memory region stays as it is while a posted WQE refers to it, but for receive\n"
		"WQEs of transports: who knows that its peer is done may leave them.",
		"verbs: ibv_dereg_mr() with work outstanding; the card then faults.",
		"the queues of the context are searched for its lkey when it is deregistered or\n"
		"changed: what is posted, and what is sent and not completed.",
	},
	[VMLX4_RULE_MR_UNMAPPED] = {
		"mr-unmapped",
		"Memory of an MR, a queue or a doorbell record stays mapped, as writable as it\n"
		"was, until the object is destroyed.",
		"verbs: a kernel pins those pages; a program that unmaps them no longer shares\n"
		"them with the card, which goes on with the old ones.",
		"the adapter faults on it. The queue gets a local protection error where a card\n"
		"would go on; memory that was mapped anew is not noticed.",
	},
	[VMLX4_RULE_SQ_OWNERSHIP] = {
		"sq-ownership",
		"The owner bit of a send WQE is that of the pass over the ring its first stride\n"
		"lies in.",
		"rdma-core: providers/mlx4 posts so.",
		"a doorbell named the queue, its next WQE was rewritten since it was last\n"
		"executed, and still is not owned by the adapter after the grace period.",
	},
	[VMLX4_RULE_SQ_OWNER_LAST] = {
		"sq-owner-last",
		"The owner bit of a send WQE is written when all the rest of it is: from then on\n"
		"the card may execute it, without a doorbell.",
		"rdma-core: the barrier before the owner dword in providers/mlx4.",
		"blocks up to 2 KiB ahead are read at times drawn by lot (--seed; stepped: at the\n"
		"end of each run), and compared when they are executed.",
	},
	[VMLX4_RULE_SQ_STAMP] = {
		"sq-stamp",
		"Blocks ahead of the last posted WQE read as not posted: the card reads up to\n"
		"2 KiB ahead and takes a block with the valid owner bit as posted.",
		"rdma-core and Linux mlx4_en stamp freed WQEs for the prefetcher.",
		"blocks ahead are looked at when the queue runs dry and when it idles; and a\n"
		"later block of a WQE that was read ahead without a stamp had another dword 0.",
	},
	[VMLX4_RULE_SQ_HEADROOM] = {
		"sq-headroom",
		"2 KiB and one stride of a send queue stay unposted.",
		"rdma-core and Linux mlx4_ib reserve as much for the prefetcher.",
		"the posted WQEs are counted before the queue is executed.",
	},
	[VMLX4_RULE_SQ_FIRST_DWORD] = {
		"sq-first-dword-last",
		"Bytes 4 to 63 of a block are written before its dword 0, which is its stamp.",
		"rdma-core: the order in which providers/mlx4 writes data segments.",
		"a WQE is executed and a later block of it still has the stamp, or had no stamp\n"
		"when it was read ahead and other bytes behind its dword 0.",
	},
	[VMLX4_RULE_SQ_DOORBELL] = {
		"sq-doorbell",
		"What is posted is announced by a doorbell.",
		"rdma-core and DPDK ring after each post.",
		"a WQE that the adapter owns lies unannounced for the grace period (with\n"
		"--step: for two steps).",
	},
	[VMLX4_RULE_SQ_OPCODE] = {
		"sq-opcode",
		"A WQE of a raw packet QP is a SEND, an LSO or a NOP; one of another QP an\n"
		"operation of its transport.",
		"rdma-core: the opcodes of providers/mlx4; Linux mlx4_en.",
		"the opcode of each WQE.",
	},
	[VMLX4_RULE_SQ_RESERVED] = {
		"sq-reserved",
		"The bits 30, 26 to 24, 7 and 5 of dword 0 of a WQE are 0. Checksums are asked\n"
		"for on raw packet QPs, and for datagrams of InfiniBand ports.",
		"rdma-core and Linux: no mlx4 driver sets them on an Ethernet queue;\n"
		"libmlx4 refuses IBV_SEND_IP_CSUM to a datagram on Ethernet.",
		"dwords 0 and 2 of each WQE.",
	},
	[VMLX4_RULE_SQ_INDEX] = {
		"sq-index",
		"Bits 23 to 8 of dword 0 are 0, or, as BlueFlame wants it, the low 16 bits of the\n"
		"WQE's running index.",
		"rdma-core: providers/mlx4 writes it for BlueFlame only.",
		"another number stands there when the WQE is executed.",
	},
	[VMLX4_RULE_SQ_TUNNEL] = {
		"sq-tunnel-bits",
		"The inner checksums (IIP, ILP) are asked for only of a card that has them.",
		"Linux mlx4_en: with the tunnel offload of the Pro.",
		"one of the bits is set and the profile has no tunnel offload.",
	},
	[VMLX4_RULE_SQ_DWORD1] = {
		"sq-dword1",
		"Bytes 4 to 6 of a control segment (VLAN tag, insertion bits) are 0 unless a tag\n"
		"is to be inserted, which only a raw packet QP can; the QPN, as BlueFlame wants\n"
		"it, is harmless.",
		"Linux mlx4_en: layout of the control segment. The hazard of bytes left\n"
		"over from an earlier WQE is deduced.",
		"something else stands there while no insertion is asked for.",
	},
	[VMLX4_RULE_SQ_CQE_BITS] = {
		"sq-cqe-bits",
		"The two C bits of a WQE are both set, for a CQE, or both clear.",
		"rdma-core: MLX4_WQE_CTRL_CQ_UPDATE is both.",
		"one of them is set.",
	},
	[VMLX4_RULE_SQ_SE] = {
		"sq-se-bit",
		"SE is set in a WQE of a raw packet QP: it says that no ICRC is appended.",
		"rdma-core and Linux mlx4_ib set it for raw Ethernet.",
		"a SEND or LSO lacks it.",
	},
	[VMLX4_RULE_SQ_DMAC] = {
		"sq-dmac",
		"The destination MAC in the control segment, if there is one, is that of the\n"
		"frame.",
		"rdma-core and Linux mlx4_en copy it from the frame, for the loopback of the card.",
		"the two are compared, unless the field is 0.",
	},
	[VMLX4_RULE_SQ_DS] = {
		"sq-size",
		"The size field of a send WQE covers whole, well-formed segments.",
		"PRM: WQE format; rdma-core: the same in providers/mlx4.",
		"the segments are walked up to the size.",
	},
	[VMLX4_RULE_SQ_ZERO] = {
		"sq-zero-length",
		"An empty segment is encoded as 0x80000000: a byte count of 0 stands for 2^31.",
		"rdma-core: providers/mlx4 does so for every segment.",
		"a segment with the byte count 0.",
	},
	[VMLX4_RULE_SQ_INLINE] = {
		"sq-inline",
		"An inline segment ends within the 64-byte block it begins in.",
		"rdma-core: providers/mlx4 starts a new segment at each block.",
		"the segments are walked up to the size of the WQE.",
	},
	[VMLX4_RULE_SQ_INLINE_MIN] = {
		"sq-inline-min",
		"A frame that lies wholly inline has 17 bytes at least.",
		"Linux mlx4_en pads it: MIN_PKT_LEN, a limit of the hardware.",
		"the lengths of the inline segments are summed up.",
	},
	[VMLX4_RULE_LSO_HEADER] = {
		"lso-header",
		"The header of an LSO WQE is all headers of one unfragmented TCP packet, from\n"
		"Ethernet on, and nothing else, and lies in the WQE.",
		"Linux mlx4_en; DPDK wants all headers in the first segment.",
		"the header is parsed (not if inner checksums are asked for) and measured.",
	},
	[VMLX4_RULE_LSO_MSS] = {
		"lso-mss",
		"The MSS of an LSO WQE is not 0.",
		"Linux mlx4_en; the payload could not be cut. Deduced.",
		"the LSO segment.",
	},
	[VMLX4_RULE_LSO_BLH] = {
		"lso-blh",
		"Bit 6 of dword 0 is set when the LSO segment has more than 64 bytes.",
		"Linux mlx4_ib sets it then, mlx4_en always.",
		"the LSO segment is measured.",
	},
	[VMLX4_RULE_LSO_LENGTH] = {
		"lso-length",
		"The payload of an LSO WQE is no longer than max_tso.",
		"verbs: tso_caps; Linux: max_gso_sz of the device.",
		"the segments are summed up.",
	},
	[VMLX4_RULE_SQ_WQE_FLIGHT] = {
		"sq-wqe-in-flight",
		"A WQE stays as it was posted until the CQE that covers it.",
		"verbs: a work request belongs to the adapter until it completes.",
		"a digest taken when the WQE is executed is compared when its CQE is about to be\n"
		"written (see --completion-lag), and when the queue stops; not the fields of\n"
		"BlueFlame.",
	},
	[VMLX4_RULE_SQ_BUFFER_FLIGHT] = {
		"sq-buffer-in-flight",
		"The bytes that a WQE sends stay as they are until the CQE that covers it.",
		"verbs: buffers of a work request are the adapter's until it completes.",
		"a digest of all of them, taken and compared as that of the WQE.",
	},
	[VMLX4_RULE_RQ_OVERRUN] = {
		"rq-overrun",
		"No more receive WQEs are posted than the ring holds.",
		"rdma-core: the limit of providers/mlx4; the counter has 16 bits.",
		"posted less consumed exceeds the ring when the record is read.",
	},
	[VMLX4_RULE_RQ_BACKWARDS] = {
		"rq-record-backwards",
		"The record of a receive queue only counts up, modulo 2^16.",
		"rdma-core: it is the running count of posted WQEs.",
		"the record is less than when it was last read, which is when a frame finds no\n"
		"WQE, at times drawn by lot (--seed), and now and then.",
	},
	[VMLX4_RULE_RQ_RESTART] = {
		"rq-restart",
		"When the last RSS QP of a used WQ goes, the adapter's counter restarts at 0; so\n"
		"must the driver's: by way of RESET.",
		"Linux mlx4_ib takes the queue to RESET then; libmlx4 resets its indices only in\n"
		"ibv_modify_wq(). Deduced from both.",
		"the WQ serves again, was not in RESET meanwhile, and has the same record.",
	},
	[VMLX4_RULE_RQ_WQE] = {
		"rq-wqe",
		"The byte count of a receive segment is 1 to 2^31 - 1.",
		"PRM: data segment, where 0 stands for 2^31 and bit 31 for inline data.",
		"a segment that a frame is scattered to has another.",
	},
	[VMLX4_RULE_RQ_WQE_POSTED] = {
		"rq-wqe-posted",
		"A receive WQE is written before the record covers it, and stays as it is until\n"
		"its completion.",
		"rdma-core: the barrier before the record in providers/mlx4.",
		"a digest taken when the record is first seen to cover it is compared when a\n"
		"frame comes.",
	},
	[VMLX4_RULE_RQ_BUFFER_POSTED] = {
		"rq-buffer-posted",
		"Nobody but the adapter writes to a buffer that is posted.",
		"verbs: buffers of a work request are the adapter's until it completes.",
		"as the WQE, for the first 1024 of a queue and then for one in eight: the first\n"
		"64 bytes of up to four buffers, at times a second piece; not if the adapter\n"
		"itself wrote there meanwhile, nor under valgrind.",
	},
	[VMLX4_RULE_SRQ_OVERRUN] = {
		"srq-overrun",
		"No more WQEs are posted to a shared receive queue than its chain holds: one less\n"
		"than there are, since the program appends to the last one.",
		"rdma-core: providers/mlx4 refuses to post when head meets tail.",
		"the record is compared with what was taken when a WQE is wanted.",
	},
	[VMLX4_RULE_SRQ_CHAIN] = {
		"srq-chain",
		"Each WQE of a shared receive queue names the next one: another one of the queue.",
		"rdma-core: providers/mlx4 links all WQEs, and a freed one behind the last.",
		"the number is looked at when the WQE is taken. The queue ends with SRQ_ERR.",
	},
	[VMLX4_RULE_CQ_OVERRUN] = {
		"cq-overrun",
		"The CQ has room for what completes.",
		"PRM: CQ overrun; verbs: IBV_EVENT_CQ_ERR.",
		"a completion finds the consumer record a whole ring behind.",
	},
	[VMLX4_RULE_CQ_CONSUMER] = {
		"cq-consumer",
		"The consumer index of a CQ is not ahead of its producer.",
		"PRM: consumer index of the doorbell record, 24 bits.",
		"the record is read when room is wanted, and when the CQ is looked over.",
	},
	[VMLX4_RULE_CQ_BACKWARDS] = {
		"cq-consumer-backwards",
		"The consumer index of a CQ only counts up, in 24 bits.",
		"PRM: consumer index of the doorbell record.",
		"the record is less than when it was last read: when room is wanted, at the\n"
		"latest moment, and when the CQ is looked over.",
	},
	[VMLX4_RULE_CQE_OWNER] = {
		"cqe-owner",
		"The owner bits of a CQ are written by the adapter alone.",
		"rdma-core: also where providers/mlx4 moves CQEs it leaves them.",
		"the entry that is written next has the owner bit of the pass before; of a burst,\n"
		"the first entry.",
	},
	[VMLX4_RULE_CQ_ARM] = {
		"cq-arm",
		"The arm record is written before the arm doorbell, with the same "
		"sequence number,\n"
		"command and index.",
		"rdma-core: providers/mlx4 arms so.",
		"the two are compared when the doorbell is taken; the record may be newer.",
	},
	[VMLX4_RULE_CQ_ARM_COMMAND] = {
		"cq-arm-command",
		"The command of an arm doorbell is 1 (solicited), 2 (next) or 3 (after some).",
		"PRM: CQ doorbell.",
		"the doorbell has another.",
	},
	[VMLX4_RULE_CQ_ARM_INDEX] = {
		"cq-arm-index",
		"The index that a CQ is armed with is not ahead of the producer.",
		"rdma-core: it is the consumer index. An event might never come.",
		"the doorbell is compared with the producer.",
	},
	[VMLX4_RULE_CQ_ARM_SN] = {
		"cq-arm-sn",
		"After an event was consumed a CQ is armed with the next sequence number.",
		"rdma-core: arm_sn counts consumed events; PRM: a used one is ignored.",
		"the doorbell has the number of the last event and a newer index, and the channel\n"
		"holds no event that is not read.",
	},
	[VMLX4_RULE_CQ_ARM_DOORBELL] = {
		"cq-arm-doorbell",
		"An arm record is followed by its doorbell.",
		"rdma-core: providers/mlx4 writes both.",
		"the record changed, and no doorbell of the context came for three looks.",
	},
	[VMLX4_RULE_UAR_SEND] = {
		"uar-send",
		"The low 8 bits of a send doorbell are 0.",
		"rdma-core: the QPN is in bits 31 to 8.",
		"the doorbell word.",
	},
	[VMLX4_RULE_UAR_QPN] = {
		"uar-qpn",
		"A doorbell, or a BlueFlame copy, names a QP of its context that has a send queue.",
		"Linux: a context has a UAR of its own.",
		"the QPN is looked up. A doorbell that another overwrote is not seen.",
	},
	[VMLX4_RULE_UAR_STATE] = {
		"uar-qp-state",
		"No doorbell is rung for a QP before it is ready to send.",
		"verbs: work requests are processed from RTS on; the doorbell would be lost.",
		"the QP is in RESET, INIT or RTR. In the error state it may be rung for.",
	},
	[VMLX4_RULE_UAR_CQN] = {
		"uar-cqn",
		"An arm doorbell names a CQ of its context.",
		"Linux: a context has a UAR of its own.",
		"the CQN is looked up.",
	},
	[VMLX4_RULE_UAR_STRAY] = {
		"uar-stray",
		"Nothing is written to a mapped page of the device but its registers: 0x14 and\n"
		"0x20 of the UAR page, and the BlueFlame buffers.",
		"PRM: layout of the UAR page; the clock page is for reading.",
		"256 bytes of the UAR page at every look, all of the UAR, unused and clock pages\n"
		"at every 64th.",
	},
	[VMLX4_RULE_BF_COPY] = {
		"bf-copy",
		"What is copied to a BlueFlame buffer is the WQE in the ring at the index in its\n"
		"dword 0, with owner bit and QPN.",
		"rdma-core: providers/mlx4 copies it from there.",
		"the two are compared (with --step: the engine's thread may see half a copy).",
	},
	[VMLX4_RULE_BF_SIZE] = {
		"bf-size",
		"A BlueFlame WQE has data, and is no longer than a buffer.",
		"rdma-core: the condition of providers/mlx4.",
		"the size in dword 1 (with --step).",
	},
	[VMLX4_RULE_BF_BUFFER] = {
		"bf-buffer",
		"The two BlueFlame buffers of a context take turns.",
		"rdma-core: providers/mlx4 changes the buffer after each post.",
		"two WQEs that follow each other came by the same one, and the context has one\n"
		"queue that sends (with --step).",
	},
	[VMLX4_RULE_BF_VLAN] = {
		"bf-vlan",
		"A WQE that inserts a VLAN tag does not go by BlueFlame: the QPN has its place.",
		"Linux mlx4_en: its condition for BlueFlame.",
		"the QPN in a buffer is none, and has the bits that insert a tag.",
	},
};

const struct vmlx4_rule_text *
vmlx4_rule_text(unsigned int index)
{
	return index < VMLX4_RULES ? &rules[index] : NULL;
}

unsigned int
vmlx4_rule_find(const char *name)
{
	unsigned int i;

	for (i = 0; i < VMLX4_RULES; i++)
		if (strcmp(rules[i].name, name) == 0)
			break;
	return i;
}

const char *
vmlx4_rule_name(enum vmlx4_rule rule)
{
	const struct vmlx4_rule_text *text = vmlx4_rule_text((unsigned int)rule);

	return text != NULL ? text->name : "unknown";
}

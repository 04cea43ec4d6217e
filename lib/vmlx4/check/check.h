/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VMLX4_CHECK_H_
#define VMLX4_CHECK_H_

/*
 * The contract checker: what a real card would punish on a bad day is reported
 * at once, with the rule, the queue and the index.
 */

#include <stdint.h>

struct vmlx4_adapter;

/* One rule of the contract between driver and adapter; told in rule_texts.c. */
enum vmlx4_rule {
	VMLX4_RULE_LKEY,            /* the lkey covers the buffer */
	VMLX4_RULE_MR_IN_USE,       /* no region goes while a WQE uses it */
	VMLX4_RULE_MR_UNMAPPED,     /* registered memory stays mapped */
	VMLX4_RULE_SQ_OWNERSHIP,    /* owner bit of the pass the WQE lies in */
	VMLX4_RULE_SQ_OWNER_LAST,   /* the owner bit is written last */
	VMLX4_RULE_SQ_STAMP,        /* chunks ahead of the posted WQEs are stamped */
	VMLX4_RULE_SQ_HEADROOM,     /* 2 KiB + one stride stay unposted */
	VMLX4_RULE_SQ_FIRST_DWORD,  /* dword 0 of a chunk is written last */
	VMLX4_RULE_SQ_DOORBELL,     /* posted without ringing the doorbell */

	VMLX4_RULE_SQ_OPCODE,       /* an opcode of the QP's type */
	VMLX4_RULE_SQ_RESERVED,     /* no unknown bits in dword 0; no checksums of transports */
	VMLX4_RULE_SQ_INDEX,        /* the WQE index in dword 0 is right, or 0 */
	VMLX4_RULE_SQ_TUNNEL,       /* inner checksums only where the card has them */
	VMLX4_RULE_SQ_DWORD1,       /* no stale VLAN bytes in the control segment */
	VMLX4_RULE_SQ_CQE_BITS,     /* both C bits or none */
	VMLX4_RULE_SQ_SE,           /* raw Ethernet WQEs carry the SE bit */
	VMLX4_RULE_SQ_DMAC,         /* the DMAC in the control segment is the frame's */
	VMLX4_RULE_SQ_DS,           /* size field and segments agree */
	VMLX4_RULE_SQ_ZERO,         /* an empty segment is not encoded as 0 */
	VMLX4_RULE_SQ_INLINE,       /* inline data stays within a block */
	VMLX4_RULE_SQ_INLINE_MIN,   /* inline frames have 17 bytes at least */
	VMLX4_RULE_LSO_HEADER,      /* all headers of a TCP packet, in the WQE */
	VMLX4_RULE_LSO_MSS,         /* an MSS */
	VMLX4_RULE_LSO_BLH,         /* long headers are announced */
	VMLX4_RULE_LSO_LENGTH,      /* no more payload than the card cuts */

	VMLX4_RULE_SQ_WQE_FLIGHT,   /* a WQE stays as it is until it completes */
	VMLX4_RULE_SQ_BUFFER_FLIGHT, /* and so do the bytes that it sends */

	VMLX4_RULE_RQ_OVERRUN,      /* more WQEs posted than the ring holds */
	VMLX4_RULE_RQ_BACKWARDS,    /* the record only counts up */
	VMLX4_RULE_RQ_RESTART,      /* a counter that restarts is restarted on both sides */
	VMLX4_RULE_RQ_WQE,          /* malformed receive segment */
	VMLX4_RULE_RQ_WQE_POSTED,   /* a WQE stays as it was posted */
	VMLX4_RULE_RQ_BUFFER_POSTED, /* nobody else writes to a posted buffer */

	VMLX4_RULE_SRQ_OVERRUN,     /* more WQEs posted than the chain holds */
	VMLX4_RULE_SRQ_CHAIN,       /* each WQE names another one of the SRQ */

	VMLX4_RULE_CQ_OVERRUN,      /* the CQ ran over */
	VMLX4_RULE_CQ_CONSUMER,     /* consumer index ahead of the producer */
	VMLX4_RULE_CQ_BACKWARDS,    /* the consumer index only counts up */
	VMLX4_RULE_CQE_OWNER,       /* owner bits of a CQ are the adapter's */
	VMLX4_RULE_CQ_ARM,          /* arm doorbell and record disagree */
	VMLX4_RULE_CQ_ARM_COMMAND,  /* a command that arms */
	VMLX4_RULE_CQ_ARM_INDEX,    /* armed from what is not yet written on */
	VMLX4_RULE_CQ_ARM_SN,       /* a new sequence number for each event */
	VMLX4_RULE_CQ_ARM_DOORBELL, /* a record is followed by a doorbell */

	VMLX4_RULE_UAR_SEND,        /* the form of a send doorbell */
	VMLX4_RULE_UAR_QPN,         /* it names a send queue of the context */
	VMLX4_RULE_UAR_STATE,       /* which is ready to send */
	VMLX4_RULE_UAR_CQN,         /* an arm doorbell names a CQ of the context */
	VMLX4_RULE_UAR_STRAY,       /* nothing is written beside the registers */
	VMLX4_RULE_BF_COPY,         /* a BlueFlame copy is the WQE in the ring */
	VMLX4_RULE_BF_SIZE,         /* and fits its buffer */
	VMLX4_RULE_BF_BUFFER,       /* the two buffers take turns */
	VMLX4_RULE_BF_VLAN,         /* no tag to insert by BlueFlame */
	VMLX4_RULES
};

/* Texts may have several lines. */
struct vmlx4_rule_text {
	const char *name;    /* as a violation names it */
	const char *text;    /* what holds */
	const char *source;  /* who says so */
	const char *seen;    /* how a violation is detected */
};

const struct vmlx4_rule_text *vmlx4_rule_text(unsigned int index); /* NULL: end */
const char *vmlx4_rule_name(enum vmlx4_rule rule);
/* VMLX4_RULES: no rule has that name. */
unsigned int vmlx4_rule_find(const char *name);

/*
 * Report a violation: "vmlx4: contract violation: RULE: QUEUE 0x… index …:
 * what was seen". Ends the process with VMLX4_EXIT_VIOLATION in strict mode;
 * does nothing when checking is off.
 */
void vmlx4_violation(struct vmlx4_adapter *adapter, enum vmlx4_rule rule,
	const char *queue, uint32_t number, uint32_t index, const char *format, ...)
	__attribute__((format(printf, 6, 7)));

/* With the engine; nothing happens when checking is off. */
void vmlx4_check_start(struct vmlx4_adapter *adapter);
void vmlx4_check_stop(struct vmlx4_adapter *adapter);

#endif /* VMLX4_CHECK_H_ */

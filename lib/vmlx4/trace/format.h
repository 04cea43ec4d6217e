/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VMLX4_TRACE_FORMAT_H_
#define VMLX4_TRACE_FORMAT_H_

/*
 * The file that "vmlx4 exec --trace" writes and "vmlx4 show" reads: one
 * vmlx4_trace_head with its texts, then records, each a multiple of 8 bytes.
 * All fields are little endian, whatever the machine.
 *
 * The file is written through a mapping and grows in steps. A run that did not
 * come to its end (a signal, a crash) leaves zeroes behind the last record: a
 * record of size 0 is where it stopped.
 */

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#define VMLX4_TRACE_MAGIC "VMLX4TRC"
/* Raised with every change of what is below. */
#define VMLX4_TRACE_VERSION 1u

#define VMLX4_TRACE_RAW 1u      /* flags: addresses as they are */
#define VMLX4_TRACE_STEPPED 2u  /* the clock is the model's own */

struct vmlx4_trace_head {
	char magic[8];
	uint32_t version;
	uint32_t size;         /* with the texts: the first record is there */
	uint32_t commands;     /* vmlx4_trace_commands_hash(): which tables tell the fields */
	uint32_t flags;
	uint64_t seed;
	uint64_t start;        /* vmlx4_time() at the beginning, ns */
	uint64_t wall;         /* the same moment in ns since 1970; 0 when stepped */
	uint32_t snaplen;
	uint32_t ports;
	/*
	 * Texts that end with a zero: version of the writer, profile, options, and
	 * for each port the name of its network interface. Zeroes up to size.
	 */
};
static_assert(sizeof(struct vmlx4_trace_head) == 56, "no padding");

enum vmlx4_trace_kind {
	VMLX4_TRACE_END,         /* orderly end of the run: struct vmlx4_trace_end */
	VMLX4_TRACE_COMMAND,     /* struct vmlx4_trace_command: as it came */
	VMLX4_TRACE_RESULT,      /* struct vmlx4_trace_command: of the command before */
	VMLX4_TRACE_CLOSE,       /* the context is closed; nothing follows */
	VMLX4_TRACE_DOORBELL,    /* struct vmlx4_trace_doorbell */
	VMLX4_TRACE_WQE,         /* struct vmlx4_trace_wqe: of a send queue, about to run */
	VMLX4_TRACE_RQE,         /* struct vmlx4_trace_wqe: of a receive queue, a frame takes it */
	VMLX4_TRACE_CQE,         /* struct vmlx4_trace_cqe: written */
	VMLX4_TRACE_FRAME,       /* struct vmlx4_trace_frame */
	VMLX4_TRACE_EVENT,       /* struct vmlx4_trace_event: for the program */
	VMLX4_TRACE_LINK,        /* struct vmlx4_trace_link */
	VMLX4_TRACE_VIOLATION,   /* struct vmlx4_trace_violation */
	VMLX4_TRACE_COUNTER,     /* struct vmlx4_trace_counter: of what was dropped */
	VMLX4_TRACE_FAULT,       /* text: what was injected */
	VMLX4_TRACE_KINDS
};

/* Head of every record. */
struct vmlx4_trace_record {
	uint32_t size;         /* of all of it; written last */
	uint8_t kind;
	uint8_t port;          /* 1, 2; 0: of none */
	uint16_t context;      /* from 1 in the order of opening; 0: of none */
	uint64_t time;         /* vmlx4_time(), ns */
};
static_assert(sizeof(struct vmlx4_trace_record) == 16, "no padding");

struct vmlx4_trace_end {
	uint64_t lost;         /* records that found no room on the disk */
};

/* ---- commands: the fields are in commands.c ---- */

#define VMLX4_TRACE_NO_ENTRY 0xffffu

struct vmlx4_trace_command {
	uint32_t command;      /* as the header of the uverbs command has it */
	int32_t result;        /* 0 or a negative errno; of a COMMAND: 0 */
	uint16_t entry;        /* of the table of commands */
	uint16_t blob;         /* bytes behind the values */
	uint32_t present;      /* one bit for each field of the table */
	/* uint64_t value[]: of the fields present, in the order of the table */
};
static_assert(sizeof(struct vmlx4_trace_command) == 16, "no padding");

/* A field that names an object: handle, and above it the object's number. */
#define VMLX4_TRACE_NO_NUMBER 0xffffffffu

/* ---- queues ---- */

enum vmlx4_trace_bell {
	VMLX4_TRACE_BELL_SEND,
	VMLX4_TRACE_BELL_BLUEFLAME,
	VMLX4_TRACE_BELL_ARM,
};

struct vmlx4_trace_doorbell {
	uint8_t what;          /* enum vmlx4_trace_bell */
	uint8_t sn;            /* of an arm */
	uint8_t command;
	uint8_t zero;
	uint32_t number;       /* QPN or CQN */
	uint32_t index;        /* consumer index of an arm */
	uint32_t zero2;
};

/*
 * Where the address of a segment points, two bits for each pointer segment of a
 * WQE from the front.
 */
enum vmlx4_trace_place {
	VMLX4_TRACE_AS_IS,     /* the address is itself */
	VMLX4_TRACE_IN_MR,     /* it is an offset in the MR of the lkey */
	VMLX4_TRACE_OTHER_MR,  /* lkey >> 8 of another MR in bits 63:40, offset below */
	VMLX4_TRACE_NOWHERE,   /* in no MR; the address is left out */
};

#define VMLX4_TRACE_SEGMENTS 64u
/*
 * The last one, which no WQE has: of the address at the peer or, of BIND_MW, in the
 * region. It goes by the rkey or lkey that stands beside it.
 */
#define VMLX4_TRACE_REMOTE (VMLX4_TRACE_SEGMENTS - 1)
#define VMLX4_TRACE_OFFSET_BITS 40

struct vmlx4_trace_wqe {
	uint32_t number;       /* QPN or WQN */
	uint32_t index;
	uint32_t size;         /* of the WQE in bytes */
	uint32_t length;       /* RQE: bytes of the frame; WQE: type of the QP, 0: raw packets */
	uint8_t places[VMLX4_TRACE_SEGMENTS / 4];
	/* uint8_t bytes[size]: big endian, as in the ring */
};
static_assert(sizeof(struct vmlx4_trace_wqe) == 32, "no padding");

#define VMLX4_TRACE_CQE_TRANSPORT 0x80000000u

struct vmlx4_trace_cqe {
	uint32_t number;       /* CQN */
	uint32_t index;        /* 24 bits, and _TRANSPORT: of a QP that is not for raw packets */
	uint8_t bytes[32];     /* the valid half, big endian, as in the ring */
};

/* ---- ports ---- */

enum vmlx4_trace_direction { VMLX4_TRACE_IN, VMLX4_TRACE_OUT };

#define VMLX4_TRACE_FRAME_DOWN 1u /* flags: the port was down */

struct vmlx4_trace_frame {
	uint32_t length;
	uint32_t kept;         /* bytes that follow */
	uint8_t direction;
	uint8_t flags;
	uint8_t zero[6];
	/* uint8_t bytes[kept] */
};
static_assert(sizeof(struct vmlx4_trace_frame) == 16, "no padding");

struct vmlx4_trace_link {
	uint32_t up;
	uint32_t zero;
};

struct vmlx4_trace_counter {
	uint64_t more;
	/* char name[] */
};

/* ---- what the program is told ---- */

enum vmlx4_trace_object {
	VMLX4_TRACE_NONE, VMLX4_TRACE_CQ, VMLX4_TRACE_QP, VMLX4_TRACE_SRQ,
};

struct vmlx4_trace_event {
	uint8_t completion;    /* 1: to the channel of a CQ; 0: an async event */
	uint8_t object;        /* enum vmlx4_trace_object */
	uint16_t zero;
	uint32_t type;         /* IBV_EVENT_* of an async event */
	uint32_t number;       /* CQN or QPN */
	uint32_t zero2;
};

struct vmlx4_trace_violation {
	uint32_t number;       /* of the queue */
	uint32_t index;
	/* char rule[], queue[], text[]: each ends with a zero */
};

#endif /* VMLX4_TRACE_FORMAT_H_ */

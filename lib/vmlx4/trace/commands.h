/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VMLX4_TRACE_COMMANDS_H_
#define VMLX4_TRACE_COMMANDS_H_

/* Which fields of the uverbs commands a trace keeps: for its writer and its reader. */

#include <stddef.h>
#include <stdint.h>

/* Where in a command (struct vmlx4_cmd) a field is. */
enum vmlx4_field_part { VMLX4_IN, VMLX4_DRIVER_IN, VMLX4_OUT, VMLX4_DRIVER_OUT };

enum vmlx4_field_kind {
	VMLX4_FIELD_NUMBER,
	VMLX4_FIELD_HEX,
	VMLX4_FIELD_ADDRESS,   /* by default only its place in the page is kept */
	VMLX4_FIELD_MASK,      /* IBV_QP_*: tells which other fields count */
	VMLX4_FIELD_QP_STATE,
	VMLX4_FIELD_QP_TYPE,
	VMLX4_FIELD_WQ_STATE,
	VMLX4_FIELD_FLOW_TYPE,
	VMLX4_FIELD_PORT_STATE,
	VMLX4_FIELD_LAYER,
	/* Handles; the number of the object is kept beside it. */
	VMLX4_FIELD_PD,
	VMLX4_FIELD_MR,        /* lkey */
	VMLX4_FIELD_CQ,        /* CQN */
	VMLX4_FIELD_QP,        /* QPN */
	VMLX4_FIELD_WQ,        /* WQN */
	VMLX4_FIELD_TABLE,
	VMLX4_FIELD_FLOW,
	VMLX4_FIELD_SRQ,       /* SRQN */
	VMLX4_FIELD_MW,        /* rkey */
	VMLX4_FIELD_XRCD,
	VMLX4_FIELD_CHANNEL,   /* the field is a descriptor; its handle is kept */
};

struct vmlx4_command_field {
	const char *name;
	uint16_t offset;
	uint8_t size;
	uint8_t part;
	uint8_t kind;
	uint32_t when;         /* only with this bit in the mask; 0: always */
};

enum vmlx4_blob_kind { VMLX4_BLOB_NONE, VMLX4_BLOB_FLOW_SPECS, VMLX4_BLOB_WQS };

#define VMLX4_BLOB_MAX 1024u

struct vmlx4_command_entry {
	uint32_t command;      /* as in the header of the command */
	const char *name;
	const struct vmlx4_command_field *fields; /* at most 32 */
	unsigned int count;
	uint16_t blob_offset;  /* in the core request: from here to its end */
	uint8_t blob;
};

const struct vmlx4_command_entry *vmlx4_trace_command_entry(unsigned int index); /* NULL: end */
/*
 * The entry of a command, or NULL. One that creates an RSS QP has a driver part of its
 * own, which the core request tells.
 */
const struct vmlx4_command_entry *vmlx4_trace_command_find(uint32_t command, const void *in,
	size_t in_size, unsigned int *index);
/* Of everything in the tables: a reader with another one would misread the fields. */
uint32_t vmlx4_trace_commands_hash(void);

#endif /* VMLX4_TRACE_COMMANDS_H_ */

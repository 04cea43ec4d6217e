/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VMLX4_TRACE_INTERNAL_H_
#define VMLX4_TRACE_INTERNAL_H_

/* What the files of the writer share. */

#include <sys/types.h>

#include "trace.h"

struct vmlx4_trace {
	int fd;
	dev_t device;
	ino_t inode;
	uint8_t *window;       /* a piece of the file, mapped; NULL: no room, nothing is written */
	uint64_t at;           /* where it lies in the file */
	size_t used;           /* of it, in bytes */
	size_t begun;          /* of a record that is not done yet */
	uint64_t lost;         /* records since there was no room */
	bool raw;
	uint32_t snaplen;
	struct vmlx4_port_stats seen[VMLX4_MAX_PORTS]; /* counters of drops told so far */
	char file[PATH_MAX + 8];
};

/*
 * Room behind the head of a new record, zeroed; NULL: the disk is full. The
 * record is in the file once vmlx4_trace_done() was called: one that is left in
 * the middle, as the program's memory is gone (hca/guard.h), never was.
 */
void *vmlx4_trace_begin(struct vmlx4_adapter *adapter, enum vmlx4_trace_kind kind,
	unsigned int port, const struct vmlx4_context *ctx, size_t size);
void vmlx4_trace_done(struct vmlx4_trace *trace, size_t size);

/* ---- address.c ---- */

/* Of an LSO WQE on a raw packet QP: what lies between its header and first, the segments. */
void vmlx4_trace_clear_header(uint8_t *wqe, uint32_t size, uint32_t first);
/* Put MR and offset for the addresses of a copy of a WQE; tell so in places. */
void vmlx4_trace_places(const struct vmlx4_context *ctx, uint8_t *wqe, uint32_t size,
	uint32_t first, uint8_t *places);
/* The same for the one between the control segment and the data, of a transport. */
void vmlx4_trace_remote_place(const struct vmlx4_adapter *adapter, uint8_t *wqe, uint32_t size,
	bool datagram, uint8_t *places);
/* An offset for the address of a RoCE packet; false, and no copy: it has none. */
bool vmlx4_trace_packet(const struct vmlx4_adapter *adapter, const uint8_t *frame,
	size_t length, uint8_t *copy);
/* The same for the addresses in a text; cut to size. */
void vmlx4_trace_text(const struct vmlx4_adapter *adapter, const char *text, char *out,
	size_t size);

#endif /* VMLX4_TRACE_INTERNAL_H_ */

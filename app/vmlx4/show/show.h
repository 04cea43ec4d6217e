/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef SHOW_H_
#define SHOW_H_

/* "vmlx4 show": what its files share. */

#include "../launcher.h"
#include "reader.h"

#define FILTER_QUEUES 16

/* Which records are wanted. */
struct filter {
	uint32_t kinds;               /* a bit for each enum vmlx4_trace_kind */
	unsigned int port;            /* 0: of any */
	uint64_t from, to;            /* ns since the beginning */
	uint32_t qp[FILTER_QUEUES], cq[FILTER_QUEUES]; /* QPs and WQs share their numbers */
	unsigned int qps, cqs;
};

struct show {
	struct trace trace;
	struct filter filter;
	bool hex;                     /* also the bytes */
	const char *file;
	const char *pcapng;           /* write the frames there, print nothing; or NULL */
	uint8_t timestamps[1u << 16]; /* by CQN: its CQEs carry them */
};

/* ---- arguments.c ---- */

/* 0; 1 when --help was asked for and given; -EINVAL after a complaint. */
int show_arguments(int argc, char **argv, struct show *show);

/* ---- filter.c ---- */

const char *kind_name(enum vmlx4_trace_kind kind);
/* The bits of "wqe,cqe"; 0: there is no such kind, its name in bad. */
uint32_t kinds_parse(const char *list, char *bad, size_t size);
bool filter_passes(const struct show *show, const struct record *record);

/* ---- one line each, without its beginning and end ---- */

void print_command(const struct show *show, const struct record *record);  /* command.c */
/* Of a send WQE; NULL: none that the adapter executes. */
const char *opcode_name(uint32_t opcode);                                   /* wqe.c */
void print_wqe(const struct show *show, const struct record *record);      /* wqe.c */
void print_rqe(const struct show *show, const struct record *record);
void print_cqe(const struct show *show, const struct record *record);      /* cqe.c */
void print_frame(const struct show *show, const struct record *record);    /* frame.c */

/* Indented lines of bytes. */
void print_bytes(const uint8_t *bytes, size_t size);

/* ---- pcapng.c ---- */

/* An exit status. */
int pcapng_write(struct show *show);

#endif /* SHOW_H_ */

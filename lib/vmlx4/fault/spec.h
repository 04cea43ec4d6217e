/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VMLX4_FAULT_SPEC_H_
#define VMLX4_FAULT_SPEC_H_

/*
 * The language in which faults are asked for: one fault a line or, in an
 * argument, between semicolons. Knows nothing of the adapter, so that the
 * launcher can refuse a mistake before the program starts.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VMLX4_FAULT_TEXT 256     /* longest fault with its terminator */
#define VMLX4_FAULT_NTHS 16
#define VMLX4_FAULT_MATCH 32     /* bytes of a frame that a fault compares */
#define VMLX4_FAULTS_MAX 8192    /* longest argument of --faults with its terminator */

enum vmlx4_fault_subject {
	VMLX4_FAULT_COMMAND,
	VMLX4_FAULT_MEMORY,
	VMLX4_FAULT_WQE,
	VMLX4_FAULT_CQE,
	VMLX4_FAULT_FRAME,
	VMLX4_FAULT_SLOW,
	VMLX4_FAULT_LINK,
	VMLX4_FAULT_DEVICE,
	VMLX4_FAULT_QP,
	VMLX4_FAULT_CQ,
	VMLX4_FAULT_CLOCK,
	VMLX4_FAULT_SUBJECTS
};

enum vmlx4_fault_action {
	VMLX4_FAULT_NOTHING,
	VMLX4_FAULT_ERRNO,          /* command, memory */
	VMLX4_FAULT_SYNDROME,       /* wqe */
	VMLX4_FAULT_LATE,           /* cqe */
	VMLX4_FAULT_COALESCE,
	VMLX4_FAULT_DROP,           /* frame */
	VMLX4_FAULT_CORRUPT,
	VMLX4_FAULT_TRUNCATE,
	VMLX4_FAULT_REORDER,
	VMLX4_FAULT_DUPLICATE,
	VMLX4_FAULT_RATE,           /* slow */
	VMLX4_FAULT_DOWN,           /* link */
	VMLX4_FAULT_FATAL,          /* device, qp */
	VMLX4_FAULT_REMOVE,         /* device */
	VMLX4_FAULT_REQUEST_ERROR,  /* qp */
	VMLX4_FAULT_ACCESS_ERROR,
	VMLX4_FAULT_ERROR,          /* cq */
	VMLX4_FAULT_MISSING,        /* clock */
	VMLX4_FAULT_STUCK,
};

/* What sets a fault off that is not one of a stream of events. */
enum vmlx4_fault_trigger {
	VMLX4_FAULT_AT_ONCE,
	VMLX4_FAULT_AT_TIME,
	VMLX4_FAULT_AT_COMMAND,
	VMLX4_FAULT_AT_FRAME,
};

#define VMLX4_FAULT_DIR_TX 1u
#define VMLX4_FAULT_DIR_RX 2u

struct vmlx4_fault_spec {
	enum vmlx4_fault_subject subject;
	enum vmlx4_fault_action action;

	/* Which events; 0: any. */
	unsigned int directions;   /* VMLX4_FAULT_DIR_* */
	unsigned int port;
	uint32_t qpn, cqn;
	const struct vmlx4_fault_command *command;
	uint64_t above;            /* bytes registered */
	struct {
		uint32_t offset;
		uint32_t length;
		uint8_t value[VMLX4_FAULT_MATCH], mask[VMLX4_FAULT_MATCH];
	} match;

	/* Which of those: one of nth, every and ppb, or all; and no more than count. */
	uint64_t nth[VMLX4_FAULT_NTHS];
	unsigned int nths;
	uint64_t every;
	bool random;
	uint32_t ppb;              /* probability in parts per billion */
	uint64_t count;

	enum vmlx4_fault_trigger trigger;
	uint64_t at;               /* ns, or the number of the command or frame */
	uint64_t period, duration; /* ns; 0: once, for good */

	int err;
	uint8_t syndrome;
	int vendor;                /* -1: what the model has for the syndrome */
	uint64_t late;             /* ns */
	uint64_t within;           /* ns */
	uint32_t n;                /* CQEs, bytes, frames, copies */
	uint64_t per;              /* ns */
	uint32_t queue;            /* frames */
	int64_t bit, byte;         /* -1: the seed decides */
	bool fcs_good;

	uint64_t seed;
	/* The fault without the words that say when: a line of the log starts so. */
	char text[VMLX4_FAULT_TEXT];
};

/* A verb as the kernel has it, as a plain command, an extended one or both. */
struct vmlx4_fault_command {
	const char *name;
	int plain, extended;       /* IB_USER_VERBS_CMD_*, IB_USER_VERBS_EX_CMD_*, -1 */
};
const struct vmlx4_fault_command *vmlx4_fault_command_get(unsigned int index);
const char *vmlx4_fault_errno_name(int err);

/*
 * Parse faults and hand each to add(), which may refuse with a negative errno
 * (NULL: only check). 0, or -EINVAL (or what add() said) and one line that names
 * the place, the word and the cure. place is what a line is called there: "line",
 * or "fault" for an argument; seed holds for faults before a seed= of their own.
 */
int vmlx4_fault_parse(const char *text, const char *place, uint64_t seed,
	int (*add)(void *arg, const struct vmlx4_fault_spec *spec), void *arg,
	char *error, size_t error_size);

/*
 * The argument of --faults: the name of a file that is there, or faults. The text
 * to parse, which the caller frees, and its place; NULL and a line in error.
 */
char *vmlx4_fault_text(const char *argument, const char **place, char *error,
	size_t error_size);

/* The language in one page, for "vmlx4 faults". */
extern const char vmlx4_fault_help[];

#endif /* VMLX4_FAULT_SPEC_H_ */

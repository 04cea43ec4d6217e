/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VMLX4_FAULT_INTERNAL_H_
#define VMLX4_FAULT_INTERNAL_H_

/* Between the files of the faults. */

#include <stdio.h>

#include "../hca/hca.h"
#include "../hca/internal.h"
#include "fault.h"
#include "spec.h"

/* A frame that is kept for a while. */
struct vmlx4_kept {
	STAILQ_ENTRY(vmlx4_kept) next;
	size_t length;
	unsigned int overtaken;    /* by how many it still is to be */
	uint64_t until;            /* ns */
	uint8_t frame[];
};
STAILQ_HEAD(vmlx4_kept_list, vmlx4_kept);

/* Reordered frames of one direction of a port, in the order they came. */
struct vmlx4_overtaken {
	struct vmlx4_port *port;
	bool send;
	struct vmlx4_kept_list frames;
	struct vmlx4_timer timer;
};

struct vmlx4_fault_rule {
	struct vmlx4_fault_spec spec;
	struct vmlx4_adapter *adapter;
	unsigned int id;           /* its number in the list */
	bool brief;                /* of vmlx4_fail_next() */
	uint64_t events;           /* seen */
	uint64_t hits;             /* of those, acted upon */
	uint64_t next;             /* ns: when a state is to change, as planned */
	bool is_down;
	struct vmlx4_timer timer;
	/* slow: what waits, per port, and how many may still pass in this period */
	struct {
		struct vmlx4_kept_list frames;
		unsigned int waiting, left;
	} slow[VMLX4_MAX_PORTS];
	uint64_t period_end;       /* ns */
	STAILQ_ENTRY(vmlx4_fault_rule) list;
};
STAILQ_HEAD(vmlx4_fault_rules, vmlx4_fault_rule);

struct vmlx4_faults {
	struct vmlx4_adapter *adapter;
	struct vmlx4_fault_rules rules;
	unsigned int next_id;
	FILE *log;
	struct vmlx4_fault_stats stats;
	bool dead;                 /* the device */
	bool clock_missing, clock_stuck;
	uint64_t stuck_at;         /* cycles */
	uint8_t syndrome, vendor;  /* of the last WQE that was made to fail… */
	bool vendor_given;         /* …if its fault names a vendor error */
	uint64_t born;             /* ns */
	struct vmlx4_overtaken overtaken[2][VMLX4_MAX_PORTS]; /* tx and rx */
};

/* ---- faults.c ---- */

/* The next rule behind from (NULL: the first) of a subject, or NULL. */
struct vmlx4_fault_rule *vmlx4_fault_next(struct vmlx4_faults *faults,
	struct vmlx4_fault_rule *from, enum vmlx4_fault_subject subject);
/* One event that the rule is about: is it hit? */
bool vmlx4_fault_hits(struct vmlx4_fault_rule *rule);
/* A number that depends on seed, rule and event only. */
uint64_t vmlx4_fault_random(const struct vmlx4_fault_rule *rule, unsigned int stream);
void vmlx4_fault_remove_rule(struct vmlx4_faults *faults, struct vmlx4_fault_rule *rule);
int vmlx4_fault_add_text(struct vmlx4_faults *faults, const char *text, const char *place,
	bool brief, char *error, size_t error_size);
/* No faults any more. deliver: what they hold back comes now, else it goes. */
void vmlx4_fault_clear_all(struct vmlx4_faults *faults, bool deliver);

/*
 * Count a fault and write its line: the words that say what, those of when (with
 * nth: of an event), then as a comment its number, time and the object.
 */
void vmlx4_fault_log(struct vmlx4_fault_rule *rule, uint64_t *counter, const char *when,
	const char *object, ...) __attribute__((format(printf, 4, 5)));
void vmlx4_fault_note(struct vmlx4_faults *faults, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* ---- hold.c, slow.c, frame.c, state.c ---- */

/* All CQEs kept, of a context or (NULL) of all, show now. */
void vmlx4_fault_show_cqes(struct vmlx4_adapter *adapter, struct vmlx4_context *ctx);
void vmlx4_fault_frames_init(struct vmlx4_faults *faults);
/* All frames kept pass now, or are freed. */
void vmlx4_fault_flush_frames(struct vmlx4_faults *faults, bool deliver);
/* True: the frame has to wait, or is lost since too many do. */
bool vmlx4_fault_slow(struct vmlx4_port *port, const uint8_t *frame, size_t length);
struct vmlx4_kept *vmlx4_kept_new(const uint8_t *frame, size_t length);
void vmlx4_fault_slow_timer(struct vmlx4_timer *timer);
/* A rule of a state begins to wait for its trigger. */
void vmlx4_fault_state_start(struct vmlx4_fault_rule *rule);
/* One more command or frame (of a port), for the triggers that count them. */
void vmlx4_fault_state_event(struct vmlx4_faults *faults, enum vmlx4_fault_trigger trigger,
	unsigned int port);
/* The link, clock and device are as before. */
void vmlx4_fault_state_undo(struct vmlx4_faults *faults);

#endif /* VMLX4_FAULT_INTERNAL_H_ */

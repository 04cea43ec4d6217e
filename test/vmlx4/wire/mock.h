/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef MOCK_H_
#define MOCK_H_

/* A port without an engine: what a wire delivers to it is kept for the test. */

#include "hca/hca.h"

#define MOCK_FRAMES 256

struct mock_frame {
	unsigned int port;
	size_t length;
	uint8_t *bytes;
};

extern struct vmlx4_adapter mock_adapter;
extern struct mock_frame mock_frames[MOCK_FRAMES];
extern unsigned int mock_count;
extern unsigned int mock_updates; /* calls of vmlx4_port_update() */
extern unsigned int mock_bursts;  /* in which plain frames came */
extern unsigned int mock_room;    /* frames that find a WQE */
extern bool mock_unwanted;        /* no rule wants any frame */

/* Two ports, active, without frames; ports and options as "text" says. */
void mock_reset(const char *text);
/* Forget the frames that were delivered. */
void mock_forget(void);
/* Give port 1 a flow rule. */
void mock_add_rule(struct vmlx4_flow *flow);

#endif /* MOCK_H_ */

/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VMLX4_CAPTURE_H_
#define VMLX4_CAPTURE_H_

/* A capture file that is read from its beginning to its end, some frames at a time. */

#include <stdbool.h>
#include <stddef.h>

#include "wire.h"

struct vmlx4_capture;

/*
 * Open a capture of Ethernet frames. A file is read to its end first, so that a bad
 * frame is found before the program starts and not in the middle of its run. On error
 * write one line that names the file and the cure and return a negative errno. NULL
 * in place of where to put it: only check.
 */
int vmlx4_capture_open(struct vmlx4_capture **capture, const char *name, char *error,
	size_t error_size);
void vmlx4_capture_close(struct vmlx4_capture *capture);

/*
 * Read the next frames, which stay until the next call: as many as there are at hand,
 * but of a pipe only one, as the one behind it may be long in coming. False: that was
 * all, and *fault tells of an end that none should have, or is NULL.
 */
bool vmlx4_capture_read(struct vmlx4_capture *capture, struct vmlx4_burst *burst,
	const char **fault);
/* The number of the frame that was read last, from 1 as tcpdump -# counts. */
unsigned long vmlx4_capture_number(const struct vmlx4_capture *capture);

#endif /* VMLX4_CAPTURE_H_ */

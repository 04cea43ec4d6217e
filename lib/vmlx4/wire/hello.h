/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VMLX4_HELLO_H_
#define VMLX4_HELLO_H_

/* The messages by which the ends of a meeting get to know each other (meet.c). */

#include "meet.h"

/* Send one; with a welcome goes the memory of the host. */
void vmlx4_hello_say(const struct vmlx4_meet *meet, int fd, enum vmlx4_meet_what what,
	enum vmlx4_meet_status status);
/*
 * 1: hello is filled; 0: nothing there yet; negative: the other side has gone.
 * memory takes a descriptor that came along; NULL: none is wanted.
 */
int vmlx4_hello_hear(int fd, struct vmlx4_hello *hello, int *memory);
bool vmlx4_hello_is_one(const struct vmlx4_hello *hello);
/* What a hello is worth, to who gives and to who gets the answer. */
enum vmlx4_meet_status vmlx4_hello_judge(const struct vmlx4_meet *meet,
	const struct vmlx4_hello *hello);
/* An answer in words; 0 for a welcome. */
int vmlx4_hello_explain(const struct vmlx4_meet *meet, const struct vmlx4_hello *answer,
	char *error, size_t error_size);

#endif /* VMLX4_HELLO_H_ */

/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VMLX4_TURNS_H_
#define VMLX4_TURNS_H_

/*
 * A card does not wait for a processor. The calling thread asks for short turns: Linux
 * from 6.12 on then gives it one as soon as it wakes, where it else comes after those
 * who have theirs, often a program that polls and waits for this thread. How much of a
 * processor it gets in all stays as it is. Older kernels do not listen.
 */
void vmlx4_short_turns(void);

#endif /* VMLX4_TURNS_H_ */

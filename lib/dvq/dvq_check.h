/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef DVQ_CHECK_H_
#define DVQ_CHECK_H_

/*
 * Two choices of the program that includes <dvq.h>, the same in all its files:
 *
 * DVQ_UNCHECKED  leaves out the checks for a full queue and for a WQE that is too
 *                long. They then cost nothing, and are the program's to make.
 * DVQ_DEBUG      notices a queue that somebody else uses as well, for instance
 *                ibv_post_send() or ibv_poll_cq(): see dvq_debug_mixed().
 */

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef DVQ_UNCHECKED
#define DVQ_CHECK(ok, err) ((void)sizeof(ok))
#else
/* Leave the function with a negative errno unless @ok. */
#define DVQ_CHECK(ok, err) do { if (__builtin_expect(!(ok), 0)) return (err); } while (0)
#endif

/**
 * Called when a DVQ_DEBUG build finds that a queue was used by others: with a
 * sentence that names the queue, its number, what was found and what was due.
 * Prints it and calls abort() unless the program puts a function of its own here.
 */
extern void (*dvq_debug_mixed)(const char *sentence);

/* Make the sentence and call dvq_debug_mixed(). */
void dvq_debug_report(const char *queue, uint32_t number, const char *what, uint32_t found,
		      uint32_t due);

#ifdef DVQ_DEBUG
#define DVQ_DEBUG_SAME(queue, number, what, found, due) do { \
	uint32_t found_ = (found), due_ = (due); \
	if (found_ != due_) \
		dvq_debug_report(queue, number, what, found_, due_); \
} while (0)
#else
#define DVQ_DEBUG_SAME(queue, number, what, found, due) ((void)0)
#endif

#ifdef __cplusplus
}
#endif

#endif /* DVQ_CHECK_H_ */

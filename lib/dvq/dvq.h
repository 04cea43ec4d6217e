/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef DVQ_H_
#define DVQ_H_

/*
 * libdvq: the send, receive and completion queues of a ConnectX-3 used without
 * verbs calls. A program creates its queues with libibverbs, opens them with
 * dvq_open(), then builds WQEs and reads CQEs with the inline functions below.
 *
 * Conventions: lengths are bytes; "block" is 64 bytes of a send queue; indices
 * are running counts that the functions mask themselves. A name ending in _be
 * is big endian, every other value is in host order. Functions that can fail return
 * a negative errno. No function locks: one thread at a time per queue, or dvq_lock.h.
 *
 * Defined before this file is included, DVQ_UNCHECKED leaves out checks and DVQ_DEBUG
 * adds some: see dvq_check.h.
 */

#define DVQ_VERSION_MAJOR 1
#define DVQ_VERSION_MINOR 0

#include "dvq_hw.h"
#include "dvq_barrier.h"
#include "dvq_check.h"
#include "dvq_cq.h"
#include "dvq_wc.h"
#include "dvq_sq.h"
#include "dvq_rq.h"
#include "dvq_sendq.h"
#include "dvq_post.h"
#include "dvq_bf.h"
#include "dvq_srq.h"
#include "dvq_lock.h"
#include "dvq_open.h"
#include "dvq_init.h"
#include "dvq_device.h"

#endif /* DVQ_H_ */

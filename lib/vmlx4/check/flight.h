/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VMLX4_FLIGHT_H_
#define VMLX4_FLIGHT_H_

/*
 * Send WQEs between their execution and the CQE that covers them. The card may
 * read them, and their buffers, at any time until then: both are compared with
 * what they were. With options.completion_lag the CQEs wait, so that there is a
 * time in between. The engine calls these while the adapter is locked.
 */

#include <stdbool.h>
#include <stdint.h>

struct vmlx4_adapter;
struct vmlx4_flight;
struct vmlx4_qp;

struct vmlx4_flight *vmlx4_flight_new(struct vmlx4_qp *qp);
void vmlx4_flight_free(struct vmlx4_flight *flight);

/* The WQE at the head, of size bytes and contiguous, is about to be executed. */
void vmlx4_flight_take(struct vmlx4_qp *qp, const uint8_t *wqe, uint32_t size);
/* The queue's turn ends: what is in flight now must stay as it is. */
void vmlx4_flight_seal(struct vmlx4_qp *qp);
/*
 * The WQE at a running index was executed and wants a CQE. True: that comes later,
 * by itself. False: the caller writes it now; what it covers was looked at.
 */
bool vmlx4_flight_hold(struct vmlx4_qp *qp, uint32_t index, uint32_t opcode,
	uint32_t byte_cnt);
/* Those of a burst of SEND: bit i is the WQE at first + i. Which to write now. */
uint32_t vmlx4_flight_hold_burst(struct vmlx4_qp *qp, uint32_t first, uint32_t signaled);
/* The queue stops: write the CQEs that wait, and look at what else was executed. */
void vmlx4_flight_end(struct vmlx4_qp *qp);

/* Memory of the program is gone: what is in flight is completed unseen. */
void vmlx4_flight_forget(struct vmlx4_adapter *adapter);

/* Is there a WQE in flight with a segment in the region (lkey)? Its index. */
bool vmlx4_flight_uses(const struct vmlx4_qp *qp, uint32_t lkey, uint32_t *index);

/* Has this WQE, contiguous, a segment in the region? */
bool vmlx4_wqe_uses(const struct vmlx4_qp *qp, const uint8_t *wqe, uint32_t size, uint32_t lkey);

#endif /* VMLX4_FLIGHT_H_ */

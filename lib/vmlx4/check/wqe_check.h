/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VMLX4_WQE_CHECK_H_
#define VMLX4_WQE_CHECK_H_

#include <stdint.h>

struct vmlx4_qp;

/*
 * What the control segment and the segments of a send WQE of size bytes ask for,
 * which lies contiguous and is about to be executed. Keys, and how segments
 * follow each other, are looked at by the execution itself.
 */
void vmlx4_wqe_check(struct vmlx4_qp *qp, const uint8_t *wqe, uint32_t size);

#endif /* VMLX4_WQE_CHECK_H_ */

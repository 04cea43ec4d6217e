/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VMLX4_MR_CHECK_H_
#define VMLX4_MR_CHECK_H_

struct vmlx4_mr;

/* The region is about to be deregistered, or to change: is it in use? */
void vmlx4_mr_check_use(struct vmlx4_mr *mr);

#endif /* VMLX4_MR_CHECK_H_ */

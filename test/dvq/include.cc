/* SPDX-License-Identifier: BSD-3-Clause */

/* The headers serve C++ as well; building this is the test. */

#include <dvq.h>

int
main()
{
	dvq_sq sq = {};
	dvq_wqe wqe;
	dvq_spinlock lock = {};
	dvq_sendq sendq = {};
	dvq_cq cq = {};
	dvq_wc wc;

	cq.cqe_cnt = 0;
	if (dvq_locked(&lock, dvq_post_nop(&sendq, 0)) != -ENOMEM)
		return 1;
	if (cq.cqe_cnt != 0 && dvq_cq_poll_batch(&cq, &wc, 1) != 0)
		return 1;
	dvq_wqe_begin(&wqe, &sq);
	return dvq_syndrome_str(0) == nullptr || wqe.size != sizeof(dvq_ctrl_seg);
}

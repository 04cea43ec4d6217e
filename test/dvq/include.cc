/* SPDX-License-Identifier: BSD-3-Clause */

/* The headers serve C++ as well; building this is the test. */

#include <dvq.h>

int
main()
{
	dvq_sq sq = {};
	dvq_wqe wqe;

	dvq_wqe_begin(&wqe, &sq);
	return dvq_syndrome_str(0) == nullptr || wqe.size != sizeof(dvq_ctrl_seg);
}

/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <rdma/ib_user_verbs.h>

#include "words.h"

#define BOTH(name, NAME) { name, IB_USER_VERBS_CMD_##NAME, IB_USER_VERBS_EX_CMD_##NAME }
#define PLAIN(name, NAME) { name, IB_USER_VERBS_CMD_##NAME, -1 }
#define EXTENDED(name, NAME) { name, -1, IB_USER_VERBS_EX_CMD_##NAME }

static const struct vmlx4_fault_command commands[] = {
	PLAIN("get_context", GET_CONTEXT),
	BOTH("query_device", QUERY_DEVICE),
	PLAIN("query_port", QUERY_PORT),
	PLAIN("alloc_pd", ALLOC_PD),
	PLAIN("dealloc_pd", DEALLOC_PD),
	PLAIN("reg_mr", REG_MR),
	PLAIN("rereg_mr", REREG_MR),
	PLAIN("dereg_mr", DEREG_MR),
	PLAIN("create_comp_channel", CREATE_COMP_CHANNEL),
	BOTH("create_cq", CREATE_CQ),
	EXTENDED("modify_cq", MODIFY_CQ),
	PLAIN("resize_cq", RESIZE_CQ),
	PLAIN("destroy_cq", DESTROY_CQ),
	BOTH("create_qp", CREATE_QP),
	PLAIN("query_qp", QUERY_QP),
	BOTH("modify_qp", MODIFY_QP),
	PLAIN("destroy_qp", DESTROY_QP),
	PLAIN("attach_mcast", ATTACH_MCAST),
	PLAIN("detach_mcast", DETACH_MCAST),
	PLAIN("open_qp", OPEN_QP),
	PLAIN("create_srq", CREATE_SRQ),
	PLAIN("create_xsrq", CREATE_XSRQ),
	PLAIN("modify_srq", MODIFY_SRQ),
	PLAIN("query_srq", QUERY_SRQ),
	PLAIN("destroy_srq", DESTROY_SRQ),
	PLAIN("alloc_mw", ALLOC_MW),
	PLAIN("dealloc_mw", DEALLOC_MW),
	PLAIN("open_xrcd", OPEN_XRCD),
	PLAIN("close_xrcd", CLOSE_XRCD),
	EXTENDED("create_wq", CREATE_WQ),
	EXTENDED("modify_wq", MODIFY_WQ),
	EXTENDED("destroy_wq", DESTROY_WQ),
	EXTENDED("create_rwq_ind_tbl", CREATE_RWQ_IND_TBL),
	EXTENDED("destroy_rwq_ind_tbl", DESTROY_RWQ_IND_TBL),
	EXTENDED("create_flow", CREATE_FLOW),
	EXTENDED("destroy_flow", DESTROY_FLOW),
};

/* What a kernel answers with; any other goes by its number. */
static const struct {
	const char *name;
	int err;
} errnos[] = {
#define E(name) { #name, name }
	E(EPERM), E(ENOENT), E(EINTR), E(EIO), E(ENXIO), E(E2BIG), E(EBADF), E(EAGAIN),
	E(ENOMEM), E(EACCES), E(EFAULT), E(EBUSY), E(EEXIST), E(ENODEV), E(EINVAL),
	E(ENFILE), E(EMFILE), E(ENOSPC), E(ERANGE), E(ENOSYS), E(EPROTO), E(EOVERFLOW),
	E(EOPNOTSUPP), E(EPROTONOSUPPORT), E(ETIMEDOUT), E(ENOBUFS), E(ECANCELED),
#undef E
};

const struct vmlx4_fault_command *
vmlx4_fault_command_get(unsigned int index)
{
	return index < sizeof(commands) / sizeof(commands[0]) ? &commands[index] : NULL;
}

const char *
vmlx4_fault_errno_name(int err)
{
	size_t i;

	for (i = 0; i < sizeof(errnos) / sizeof(errnos[0]); i++)
		if (errnos[i].err == err)
			return errnos[i].name;
	return NULL;
}

int
vmlx4_fault_errno_find(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(errnos) / sizeof(errnos[0]); i++)
		if (strcmp(errnos[i].name, name) == 0)
			return errnos[i].err;
	return 0;
}

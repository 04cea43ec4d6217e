/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VMLX4_UVERBS_H_
#define VMLX4_UVERBS_H_

/*
 * The kernel's half of the verbs interface: commands written to the device
 * file, in the layouts of <rdma/ib_user_verbs.h> and <rdma/mlx4-abi.h>.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../hca/hca.h"

/* ---- fds.c: which file descriptors are ours ---- */

#define VMLX4_FDS 65536 /* a descriptor beyond is never handed out */

enum vmlx4_fd_kind {
	VMLX4_FD_NONE,
	VMLX4_FD_CONTEXT,
	VMLX4_FD_CHANNEL,
	VMLX4_FD_FOREIGN, /* of the adapter of another process, which passed it on */
};

/* Kind per descriptor; the hot question, answered by one byte load. */
extern _Atomic uint8_t vmlx4_fd_kinds[VMLX4_FDS];

static inline enum vmlx4_fd_kind
vmlx4_fd_kind(int fd)
{
	if ((unsigned int)fd >= VMLX4_FDS)
		return VMLX4_FD_NONE;
	return (enum vmlx4_fd_kind)atomic_load_explicit(&vmlx4_fd_kinds[fd],
		memory_order_relaxed);
}

/* The adapter is locked. set() with NONE forgets the descriptor. */
int vmlx4_fd_set(int fd, enum vmlx4_fd_kind kind, void *object);
void *vmlx4_fd_get(int fd, enum vmlx4_fd_kind kind);
/* A descriptor that names the object, or -1. */
int vmlx4_fd_of(const void *object);

/* ---- what the interposed functions call; the adapter is not locked ---- */

/* A new descriptor of the device, or a negative errno. */
int vmlx4_uverbs_open(struct vmlx4_adapter *adapter, int flags);
/* One command; the number of bytes taken, or a negative errno. */
ssize_t vmlx4_uverbs_write(struct vmlx4_adapter *adapter, int fd, const void *buffer,
	size_t count);
/*
 * The program closes one of our descriptors; the caller closes it for real. The
 * last one of an object ends it.
 */
void vmlx4_uverbs_close(struct vmlx4_adapter *adapter, int fd);
/* One of our descriptors has a copy now. */
void vmlx4_uverbs_dup(struct vmlx4_adapter *adapter, int fd, int copy);
/* A descriptor came in a message: is it one of ours, or of another adapter's? */
void vmlx4_uverbs_received(struct vmlx4_adapter *adapter, int fd);

/* ---- uverbs.c: a command and its reply ---- */

struct vmlx4_cmd {
	const void *in;     /* core part */
	size_t in_len;
	const void *drv_in; /* mlx4's part */
	size_t drv_in_len;
	void *out;
	size_t out_len;
	void *drv_out;
	size_t drv_out_len;
};

/*
 * Copy a request. A shorter one is filled up with zeroes; a longer one may only
 * carry zeroes in what we do not know: -EOPNOTSUPP otherwise.
 */
int vmlx4_cmd_in(const struct vmlx4_cmd *cmd, void *request, size_t size);
/* The core part must be zero from there on: -EOPNOTSUPP otherwise. */
int vmlx4_cmd_rest_zero(const struct vmlx4_cmd *cmd, size_t from);
/* The same for mlx4's part, which must be there in full: -EINVAL otherwise. */
int vmlx4_cmd_drv_in(const struct vmlx4_cmd *cmd, void *request, size_t size);
/* mlx4's part must be absent or all zeroes: -EOPNOTSUPP otherwise. */
int vmlx4_cmd_drv_zero(const struct vmlx4_cmd *cmd);
/* Reply with as much as the program has room for; how much that is. */
size_t vmlx4_cmd_out(const struct vmlx4_cmd *cmd, const void *reply, size_t size);
size_t vmlx4_cmd_drv_out(const struct vmlx4_cmd *cmd, const void *reply, size_t size);

/* Interrupt vectors that completion events can be spread over. */
#define VMLX4_COMP_VECTORS 4

typedef int vmlx4_handler(struct vmlx4_context *ctx, const struct vmlx4_cmd *cmd);

vmlx4_handler vmlx4_cmd_get_context;
vmlx4_handler vmlx4_cmd_query_device, vmlx4_cmd_query_device_ex, vmlx4_cmd_query_port;
vmlx4_handler vmlx4_cmd_alloc_pd, vmlx4_cmd_dealloc_pd;
vmlx4_handler vmlx4_cmd_reg_mr, vmlx4_cmd_rereg_mr, vmlx4_cmd_dereg_mr;
vmlx4_handler vmlx4_cmd_create_channel;
vmlx4_handler vmlx4_cmd_create_cq, vmlx4_cmd_create_cq_ex, vmlx4_cmd_resize_cq;
vmlx4_handler vmlx4_cmd_modify_cq, vmlx4_cmd_destroy_cq;
vmlx4_handler vmlx4_cmd_create_qp, vmlx4_cmd_create_qp_ex, vmlx4_cmd_query_qp;
vmlx4_handler vmlx4_cmd_modify_qp, vmlx4_cmd_modify_qp_ex, vmlx4_cmd_destroy_qp;
vmlx4_handler vmlx4_cmd_open_qp;
vmlx4_handler vmlx4_cmd_attach_mcast, vmlx4_cmd_detach_mcast;
vmlx4_handler vmlx4_cmd_create_srq, vmlx4_cmd_create_xsrq, vmlx4_cmd_modify_srq;
vmlx4_handler vmlx4_cmd_query_srq, vmlx4_cmd_destroy_srq;
vmlx4_handler vmlx4_cmd_alloc_mw, vmlx4_cmd_dealloc_mw;
vmlx4_handler vmlx4_cmd_open_xrcd, vmlx4_cmd_close_xrcd;
vmlx4_handler vmlx4_cmd_create_wq, vmlx4_cmd_modify_wq, vmlx4_cmd_destroy_wq;
vmlx4_handler vmlx4_cmd_create_table, vmlx4_cmd_destroy_table;
vmlx4_handler vmlx4_cmd_create_flow, vmlx4_cmd_destroy_flow;

/* ---- objects.c ---- */

/* A zeroed object with a handle, counted and in the context's list; NULL: no memory. */
void *vmlx4_obj_new(struct vmlx4_context *ctx, enum vmlx4_obj_type type, size_t size);
void vmlx4_obj_free(struct vmlx4_obj *obj);
/* Each takes the place of the other: context, handle, and what events name. */
void vmlx4_obj_swap(struct vmlx4_obj *a, struct vmlx4_obj *b);
/* NULL: no such handle, or it names an object of another type. */
void *vmlx4_obj_find(struct vmlx4_context *ctx, uint32_t handle, enum vmlx4_obj_type type);
/* *obj, or -ENOENT, or -EINVAL when the handle names an object of another type. */
int vmlx4_obj_get(struct vmlx4_context *ctx, uint32_t handle, enum vmlx4_obj_type type,
	void *obj);
/* For the destroy commands: the same, or -EBUSY while it is in use. */
int vmlx4_obj_find_idle(struct vmlx4_context *ctx, uint32_t handle,
	enum vmlx4_obj_type type, void *obj);
/* Everything the context still holds. */
void vmlx4_obj_release_all(struct vmlx4_context *ctx);

/* Release one object and its hold on others; one per type. */
void vmlx4_pd_release(struct vmlx4_pd *pd);
void vmlx4_mr_release(struct vmlx4_mr *mr);
void vmlx4_channel_release(struct vmlx4_channel *channel);
void vmlx4_cq_release(struct vmlx4_cq *cq);
void vmlx4_qp_release(struct vmlx4_qp *qp);
void vmlx4_wq_release(struct vmlx4_wq *wq);
void vmlx4_table_release(struct vmlx4_table *table);
void vmlx4_flow_release(struct vmlx4_flow *flow);
void vmlx4_srq_release(struct vmlx4_srq *srq);
void vmlx4_mw_release(struct vmlx4_mw *mw);
void vmlx4_xrcd_release(struct vmlx4_xrcd *xrcd);

/* ---- qp.c, qp_steps.c, qp_attr.c ---- */

struct ib_uverbs_modify_qp;
struct ib_uverbs_query_qp_resp;

/* The QP behind a handle, also one that was opened by its number; NULL: none. */
struct vmlx4_qp *vmlx4_qp_find(struct vmlx4_context *ctx, uint32_t handle);
/* May a QP of this type take the step with these attributes (IBV_QP_*)? */
bool vmlx4_qp_step_legal(unsigned int qp_type, uint32_t from, uint32_t to, uint32_t mask);
/* The attributes of a request that count for the type. */
uint32_t vmlx4_qp_mask(unsigned int qp_type, uint32_t mask);
/* Of a QP with a transport; port is where it will be. *mac: of the path, if there is one. */
int vmlx4_qp_attr_check(const struct vmlx4_qp *qp, const struct ib_uverbs_modify_qp *request,
	uint32_t mask, const struct vmlx4_port *port, uint8_t mac[6]);
void vmlx4_qp_attr_store(struct vmlx4_qp *qp, const struct ib_uverbs_modify_qp *request,
	uint32_t mask, const uint8_t mac[6]);
void vmlx4_qp_attr_report(const struct vmlx4_qp *qp, struct ib_uverbs_query_qp_resp *reply);

/* ---- qp_open.c ---- */

/*
 * The QP goes, or one handle of it: true when that is all, since others have it
 * open. One of them has it from then on.
 */
bool vmlx4_qp_handed_over(struct vmlx4_qp *qp);

/* ---- gid.c ---- */

/*
 * The MAC of the interface with this address, as the kernel of the host would find
 * it: 0, or -EHOSTUNREACH.
 */
int vmlx4_gid_resolve(const struct vmlx4_port *port, const uint8_t gid[VMLX4_GID_SIZE],
	uint8_t mac[6]);

/* ---- mcast.c ---- */

void vmlx4_mcast_leave_all(struct vmlx4_qp *qp);

/* ---- mw.c ---- */

/* Windows that are bound to the region, or of type 2 by the QP, are so no more. */
void vmlx4_mw_unbind_mr(struct vmlx4_mr *mr);
void vmlx4_mw_unbind_qp(struct vmlx4_qp *qp);

/* ---- flow_dont_trap.c ---- */

struct ib_uverbs_flow_attr;

/* Is it a rule that the card can have as a copy? Else EOPNOTSUPP. */
bool vmlx4_flow_may_copy(const struct vmlx4_adapter *adapter,
	const struct ib_uverbs_flow_attr *attr);
/* Make it one, from its one spec or none. */
int vmlx4_flow_copy(const struct ib_uverbs_flow_attr *attr, const uint8_t *specs,
	struct vmlx4_flow *flow);

/* ---- numbers.c: QPNs, CQNs, MR keys ---- */

#define VMLX4_QPN_FIRST 0x200u  /* firmware keeps the lowest ones */
#define VMLX4_CQN_FIRST 0x80u
#define VMLX4_SRQN_FIRST 0x40u
#define VMLX4_MPT_FIRST 0x100u  /* 1 is the key 0x100 that ends a list of segments */

struct vmlx4_numbers *vmlx4_numbers_new(void);
void vmlx4_numbers_free(struct vmlx4_numbers *numbers);
/*
 * count numbers (a power of two) aligned to count. bf_safe: bits 7:6 are zero,
 * so that a number that BlueFlame wrote over the VLAN bits of a control segment
 * asks for no VLAN tag.
 */
int vmlx4_qpn_alloc(struct vmlx4_adapter *adapter, uint32_t count, bool bf_safe,
	uint32_t *first);
void vmlx4_qpn_free(struct vmlx4_adapter *adapter, uint32_t first, uint32_t count);
int vmlx4_cqn_alloc(struct vmlx4_adapter *adapter, uint32_t *cqn);
int vmlx4_srqn_alloc(struct vmlx4_adapter *adapter, uint32_t *srqn);
/* An index of the MR table with a key byte that its last user did not have. */
int vmlx4_mr_key_alloc(struct vmlx4_adapter *adapter, uint32_t *lkey);

/* ---- memory.c ---- */

/* -EFAULT unless all of [start, start + length) is mapped; and may it be written? */
int vmlx4_memory_look(uint64_t start, uint64_t length, bool *writable);
/* -EFAULT unless all of it is mapped and may be written. */
int vmlx4_memory_check(uint64_t start, uint64_t length);
/* Of a queue buffer: also page aligned, -EINVAL. */
int vmlx4_memory_check_queue(uint64_t start, uint64_t length);
/* Of a doorbell record: also aligned to its size, -EINVAL. */
int vmlx4_memory_check_db(uint64_t start, uint64_t length);

/* ---- privileges.c: does nothing without --memlock ---- */

/*
 * -ENOMEM when these pages, and the one with the doorbell record (0: none), are
 * more than may be pinned; instead: in place of what this object has now, or NULL.
 */
int vmlx4_pin_check(struct vmlx4_context *ctx, uint64_t start, uint64_t length, uint64_t db,
	const struct vmlx4_obj *instead);
/* The object has them from now on, and gives them back when it goes. */
void vmlx4_obj_pin(struct vmlx4_obj *obj, uint64_t start, uint64_t length, uint64_t db);
void vmlx4_obj_unpin(struct vmlx4_obj *obj);

/* ---- events.c ---- */

/* A pair of event descriptors; [0] is the program's, [2] our copy of it. */
int vmlx4_event_fds(int fd[3]);
/*
 * Drop the async events of an object that the program did not read yet; how
 * many there were. codes is a mask of 1 << IBV_EVENT_*: which are this kind's.
 */
unsigned int vmlx4_async_drop(struct vmlx4_context *ctx, uint64_t element, uint32_t codes);
unsigned int vmlx4_comp_drop(struct vmlx4_cq *cq);

#define VMLX4_CQ_EVENT_CODES (1u << 0)
#define VMLX4_QP_EVENT_CODES (0xfeu | 1u << 16)
#define VMLX4_SRQ_EVENT_CODES (1u << 14 | 1u << 15)

/* ---- wq.c ---- */

static inline uint32_t
vmlx4_round_up_pow2(uint32_t value)
{
	uint32_t power = 1;

	while (power < value)
		power <<= 1;
	return power;
}

/* RSS QP: RESET -> INIT brings its queues up on a port, the way back down. */
int vmlx4_table_up(struct vmlx4_table *table, struct vmlx4_port *port);
void vmlx4_table_down(struct vmlx4_table *table);
/* Rounds max_wr and max_sge up as the kernel does and fills the sizes of rq. */
int vmlx4_rq_size(struct vmlx4_rq *rq, uint32_t *max_wr, uint32_t *max_sge,
	const struct vmlx4_profile *profile);

/* ---- rss_qp.c ---- */

/* The hash that an RSS QP asks for. */
int vmlx4_rss_parse(struct vmlx4_qp *qp, const struct vmlx4_cmd *cmd);
/* The longest frame that a receive WQE takes in place of its list. */
uint32_t vmlx4_max_inline_receive(const struct vmlx4_profile *profile);
/* Is the hash of a tunnel's inner packet to be had? */
bool vmlx4_rss_inner_offered(const struct vmlx4_adapter *adapter);

/* ---- link.c ---- */

/* Until every port has its link, or options.wait_link_ms are over. Not locked. */
void vmlx4_wait_link(struct vmlx4_adapter *adapter);

/* ---- clock.c ---- */

/* Offset in the clock page that QUERY_DEVICE reports. */
#define VMLX4_CLOCK_OFFSET 0x10u

#endif /* VMLX4_UVERBS_H_ */

/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VMLX4_TRACE_H_
#define VMLX4_TRACE_H_

/*
 * The trace of a run (format.h). Everything here is called with the adapter
 * locked. The inline functions are what the data path calls: with the trace off
 * each is one branch that is never taken.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../hca/hca.h"
#include "format.h"

struct vmlx4_cmd;
struct vmlx4_hw_cqe;
struct vmlx4_hw_data;

#define vmlx4_traced(adapter) __builtin_expect((adapter)->trace != NULL, 0)

/*
 * Start the trace that the options ask for, if any. On error write one line that
 * names the option, the file and the cure and return a negative errno.
 */
int vmlx4_trace_open(struct vmlx4_adapter *adapter, char *error, size_t error_size);
/* End it; harmless without one. */
void vmlx4_trace_close(struct vmlx4_adapter *adapter);

/* ---- the cold half of the functions below ---- */

void vmlx4_trace_write_command(struct vmlx4_context *ctx, uint32_t command,
	const struct vmlx4_cmd *cmd);
void vmlx4_trace_write_result(struct vmlx4_context *ctx, uint32_t command,
	const struct vmlx4_cmd *cmd, int result);
void vmlx4_trace_write_close(struct vmlx4_context *ctx);
void vmlx4_trace_write_doorbell(struct vmlx4_context *ctx, enum vmlx4_trace_bell what,
	uint32_t word, uint32_t index);
void vmlx4_trace_write_wqe(struct vmlx4_qp *qp, const uint8_t *wqe, uint32_t size);
void vmlx4_trace_write_rqe(struct vmlx4_port *port, const struct vmlx4_rq *rq,
	const struct vmlx4_hw_data *wqe, size_t length);
void vmlx4_trace_write_cqe(const struct vmlx4_cq *cq, const struct vmlx4_hw_cqe *cqe);
void vmlx4_trace_write_frame(struct vmlx4_port *port, enum vmlx4_trace_direction direction,
	const uint8_t *frame, size_t length);
void vmlx4_trace_write_async(struct vmlx4_context *ctx, unsigned int type, uint64_t element);
void vmlx4_trace_write_completion(struct vmlx4_cq *cq);
void vmlx4_trace_write_link(struct vmlx4_port *port);
void vmlx4_trace_write_violation(struct vmlx4_adapter *adapter, const char *rule,
	const char *queue, uint32_t number, uint32_t index, const char *text);
void vmlx4_trace_write_fault(struct vmlx4_adapter *adapter, const char *text);
void vmlx4_trace_write_counters(struct vmlx4_adapter *adapter);

/* ---- commands ---- */

/* A command came; cmd is NULL when it could not be taken apart. */
static inline void
vmlx4_trace_command(struct vmlx4_context *ctx, uint32_t command, const struct vmlx4_cmd *cmd)
{
	if (vmlx4_traced(ctx->adapter))
		vmlx4_trace_write_command(ctx, command, cmd);
}

/* And what became of it: 0 or a negative errno. */
static inline void
vmlx4_trace_result(struct vmlx4_context *ctx, uint32_t command, const struct vmlx4_cmd *cmd,
	int result)
{
	if (vmlx4_traced(ctx->adapter))
		vmlx4_trace_write_result(ctx, command, cmd, result);
}

/* The context is about to go. */
static inline void
vmlx4_trace_context_close(struct vmlx4_context *ctx)
{
	if (vmlx4_traced(ctx->adapter))
		vmlx4_trace_write_close(ctx);
}

/* ---- queues ---- */

/* A word was taken from the UAR or BlueFlame page. */
static inline void
vmlx4_trace_doorbell(struct vmlx4_context *ctx, enum vmlx4_trace_bell what, uint32_t word,
	uint32_t index)
{
	if (vmlx4_traced(ctx->adapter))
		vmlx4_trace_write_doorbell(ctx, what, word, index);
}

/* A send WQE of size bytes, contiguous, is about to be executed. */
static inline void
vmlx4_trace_wqe(struct vmlx4_qp *qp, const uint8_t *wqe, uint32_t size)
{
	if (vmlx4_traced(qp->obj.ctx->adapter))
		vmlx4_trace_write_wqe(qp, wqe, size);
}

/* A frame of length bytes takes this receive WQE. */
static inline void
vmlx4_trace_rqe(struct vmlx4_port *port, const struct vmlx4_rq *rq,
	const struct vmlx4_hw_data *wqe, size_t length)
{
	if (vmlx4_traced(port->adapter))
		vmlx4_trace_write_rqe(port, rq, wqe, length);
}

/* A CQE was written; cq->pi is its index. */
static inline void
vmlx4_trace_cqe(const struct vmlx4_cq *cq, const struct vmlx4_hw_cqe *cqe)
{
	if (vmlx4_traced(cq->obj.ctx->adapter))
		vmlx4_trace_write_cqe(cq, cqe);
}

/* ---- ports ---- */

/* A frame is about to leave, or has just come. */
static inline void
vmlx4_trace_frame(struct vmlx4_port *port, enum vmlx4_trace_direction direction,
	const uint8_t *frame, size_t length)
{
	if (vmlx4_traced(port->adapter))
		vmlx4_trace_write_frame(port, direction, frame, length);
}

/* The state of the port changed to what it is now. */
static inline void
vmlx4_trace_link(struct vmlx4_port *port)
{
	if (vmlx4_traced(port->adapter))
		vmlx4_trace_write_link(port);
}

/* Drops since the last look; every record looks first, and so does a pass at its end. */
static inline void
vmlx4_trace_counters(struct vmlx4_adapter *adapter)
{
	if (vmlx4_traced(adapter))
		vmlx4_trace_write_counters(adapter);
}

/* ---- what the program is told, and what is done to it ---- */

static inline void
vmlx4_trace_async(struct vmlx4_context *ctx, unsigned int type, uint64_t element)
{
	if (vmlx4_traced(ctx->adapter))
		vmlx4_trace_write_async(ctx, type, element);
}

static inline void
vmlx4_trace_completion(struct vmlx4_cq *cq)
{
	if (vmlx4_traced(cq->obj.ctx->adapter))
		vmlx4_trace_write_completion(cq);
}

static inline void
vmlx4_trace_violation(struct vmlx4_adapter *adapter, const char *rule, const char *queue,
	uint32_t number, uint32_t index, const char *text)
{
	if (vmlx4_traced(adapter))
		vmlx4_trace_write_violation(adapter, rule, queue, number, index, text);
}

/* One line about a fault that was injected on purpose. */
static inline void
vmlx4_trace_fault(struct vmlx4_adapter *adapter, const char *text)
{
	if (vmlx4_traced(adapter))
		vmlx4_trace_write_fault(adapter, text);
}

#endif /* VMLX4_TRACE_H_ */

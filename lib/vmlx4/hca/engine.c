/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "../check/state.h"
#include "../check/uar_check.h"
#include "../profile.h"
#include "../sysfs/sysfs.h"
#include "../uverbs/uverbs.h"
#include "../wire/wire.h"
#include "internal.h"
#include "turns.h"

#define SQ_BUDGET 64u          /* WQEs of one queue before the next has its turn */
#define WIRE_BUDGET 64u        /* frames of one wire */
#define PASS_BUDGET 512u       /* so that a command waits some ten microseconds at most */
#define PASSES_PER_LOCK 16

#define NAP_NS 20000
#define SLEEP_NS 500000
#define ASIDE_NS 1000000u      /* how long a command may take to come for the lock */

#define AUDIT_NS 100000000u    /* how often queues are looked at without a doorbell */
#define GRACE_NS 500000000u    /* from there on an unannounced WQE is a fault */
#define PASSES_PER_CLOCK 64u   /* passes between looks at the clock */

/* The CPUs the process started with: a thread that EAL pinned may start ours. */
static cpu_set_t initial_cpus;
static bool initial_known;

static void __attribute__((constructor))
engine_remember_cpus(void)
{
	initial_known = sched_getaffinity(0, sizeof(initial_cpus), &initial_cpus) == 0;
}

uint64_t
vmlx4_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void
vmlx4_engine_kick(struct vmlx4_context *ctx)
{
	struct vmlx4_qp *qp;

	TAILQ_FOREACH(qp, &ctx->sqs, sq_next)
		qp->sq.pending = true;
	ctx->scan = true;
}

/* ---- doorbells ---- */

/* Take a word that the program stores to; 0: nothing new. */
static uint32_t
take32(uint32_t *word)
{
	if (likely(__atomic_load_n(word, __ATOMIC_RELAXED) == 0))
		return 0;
	/* After this, everything stored before the doorbell is seen. */
	return be32toh(__atomic_exchange_n(word, 0, __ATOMIC_ACQUIRE));
}

/*
 * BlueFlame: the program copied the WQE here too, but the one in the ring is
 * as good. The second dword holds the QPN; it uses two buffers in turn.
 */
static uint32_t
take_blueflame(struct vmlx4_context *ctx)
{
	unsigned int half = ctx->adapter->profile->bf_reg_size / 2;
	uint8_t *page = ctx->pages + VMLX4_PAGE;
	uint32_t a, b;

	if (half == 0)
		return 0;
	a = take32((uint32_t *)(void *)(page + 4));
	b = take32((uint32_t *)(void *)(page + half + 4));
	if (unlikely(a != 0))
		vmlx4_trace_doorbell(ctx, VMLX4_TRACE_BELL_BLUEFLAME, a, 0);
	if (unlikely(b != 0))
		vmlx4_trace_doorbell(ctx, VMLX4_TRACE_BELL_BLUEFLAME, b, 0);
	if (unlikely(vmlx4_strict(ctx->adapter)))
		vmlx4_uar_check_blueflame(ctx, a, b);
	return a | b;
}

static void
take_doorbells(struct vmlx4_context *ctx)
{
	uint32_t sent = take32((uint32_t *)(void *)(ctx->pages + VMLX4_HW_UAR_SEND));
	uint32_t copied;
	uint64_t *arm_word = (uint64_t *)(void *)(ctx->pages + VMLX4_HW_UAR_ARM);

	if (sent != 0)
		vmlx4_trace_doorbell(ctx, VMLX4_TRACE_BELL_SEND, sent, 0);
	if (sent != 0 && unlikely(vmlx4_strict(ctx->adapter)))
		vmlx4_uar_check_send(ctx, sent);
	copied = take_blueflame(ctx); /* in any case: none may outlive a command */
	/* Several queues share the word: whichever rang, all may have work. */
	if (sent != 0 || copied != 0)
		vmlx4_engine_kick(ctx);
	if (unlikely(__atomic_load_n(arm_word, __ATOMIC_RELAXED) != 0))
		vmlx4_cq_arm_doorbell(ctx, be64toh(__atomic_exchange_n(arm_word, 0,
			__ATOMIC_ACQUIRE)));
}

void
vmlx4_engine_doorbells(struct vmlx4_context *ctx)
{
	take_doorbells(ctx);
}

/* ---- queues that nobody announced ---- */

/* Has the queue stood still, at the same WQE, for the grace period? */
static bool
sq_is_idle(struct vmlx4_adapter *adapter, struct vmlx4_sq *sq, uint32_t dw0, uint64_t now)
{
	if (sq->idle.since == 0 || sq->idle.ci != sq->ci || sq->idle.dw0 != dw0) {
		sq->idle.ci = sq->ci;
		sq->idle.dw0 = dw0;
		sq->idle.since = now;
		sq->idle.looks = 1;
		return false;
	}
	sq->idle.looks++;
	return adapter->options.step || now - sq->idle.since >= GRACE_NS;
}

static void
sq_audit(struct vmlx4_qp *qp, uint64_t now)
{
	struct vmlx4_sq *sq = &qp->sq;
	uint8_t *wqe = sq->buf + ((size_t)(sq->ci & (sq->wqe_cnt - 1)) << sq->stride_shift);
	uint32_t dw0 = vmlx4_load_be32((const uint32_t *)(const void *)wqe);

	if (sq->pending || !sq_is_idle(qp->obj.ctx->adapter, sq, dw0, now))
		return;
	if (sq->live && vmlx4_strict(qp->obj.ctx->adapter))
		vmlx4_sq_check_idle(qp);
	if ((dw0 >> 31) == ((sq->ci & sq->wqe_cnt) != 0) &&
	    vmlx4_unknowns(qp->obj.ctx->adapter)->tx_lazy_executes) {
		sq->pending = true;
		qp->obj.ctx->scan = true;
	}
}

static void
object_audit(struct vmlx4_obj *obj)
{
	struct vmlx4_cq *cq = (struct vmlx4_cq *)(void *)obj;
	struct vmlx4_wq *wq = (struct vmlx4_wq *)(void *)obj;
	struct vmlx4_qp *qp = (struct vmlx4_qp *)(void *)obj;

	if (obj->type == VMLX4_CQ && vmlx4_strict(obj->ctx->adapter))
		vmlx4_cq_check_look(cq);
	else if (obj->type == VMLX4_WQ && wq->rq.live)
		vmlx4_rq_check_look(&wq->rq);
	else if (obj->type == VMLX4_QP && qp->rq.live)
		vmlx4_rq_check_look(&qp->rq);
	else if (obj->type == VMLX4_WQ && wq->rq.error)
		vmlx4_rq_error(&wq->rq);
	else if (obj->type == VMLX4_QP && qp->rq.error)
		vmlx4_rq_error(&qp->rq);
}

static void
engine_audit(struct vmlx4_adapter *adapter, uint64_t now)
{
	struct vmlx4_context *ctx;
	struct vmlx4_obj *obj;
	struct vmlx4_qp *qp;

	TAILQ_FOREACH(ctx, &adapter->contexts, next) {
		/* Its program may have freed the queues: no command tells of that any more. */
		if (ctx->dead)
			continue;
		TAILQ_FOREACH(qp, &ctx->sqs, sq_next)
			sq_audit(qp, now);
		TAILQ_FOREACH(obj, &ctx->objs, next)
			object_audit(obj);
		if (vmlx4_strict(adapter))
			vmlx4_uar_check_look(ctx);
	}
	if (adapter->check != NULL)
		adapter->check->audits++;
}

static void
audit_run(void *adapter)
{
	engine_audit(adapter, vmlx4_time(adapter));
}

void
vmlx4_engine_audit(struct vmlx4_adapter *adapter)
{
	vmlx4_guarded(adapter, audit_run, adapter);
}

static void
engine_clock(struct vmlx4_adapter *adapter)
{
	struct vmlx4_engine *engine = adapter->engine;
	uint64_t now;

	vmlx4_clock_update(adapter);
	if (adapter->options.step)
		return; /* a step ends with an audit of its own */
	now = vmlx4_now_ns();
	if (now < engine->audit_at)
		return;
	engine->audit_at = now + AUDIT_NS;
	vmlx4_counters_refresh(adapter, now);
	vmlx4_engine_audit(adapter); /* guarded: the idle thread comes here without a pass */
}

/* ---- a pass ---- */

static unsigned int
run_queues(struct vmlx4_context *ctx, unsigned int budget)
{
	struct vmlx4_qp *qp;
	unsigned int done = 0, share;
	bool left = false;

	TAILQ_FOREACH(qp, &ctx->sqs, sq_next) {
		if (!qp->sq.pending)
			continue;
		share = budget - done;
		if (share > SQ_BUDGET)
			share = SQ_BUDGET;
		ctx->adapter->tx_active = qp;
		if (share != 0)
			done += unlikely(qp->ib != NULL) ? vmlx4_ib_sq_run(qp, share) :
				vmlx4_sq_run(qp, share);
		ctx->adapter->tx_active = NULL;
		left |= qp->sq.pending;
	}
	ctx->scan = left;
	return done;
}

static unsigned int
poll_wires(struct vmlx4_adapter *adapter, unsigned int budget)
{
	unsigned int i, done = 0;

	for (i = 0; i < adapter->options.ports && done < budget; i++) {
		struct vmlx4_wire *wire = adapter->ports[i].wire;
		unsigned int share = budget - done;

		if (wire != NULL && wire->ops->poll != NULL)
			done += wire->ops->poll(wire, share < WIRE_BUDGET ? share : WIRE_BUDGET);
	}
	return done;
}

unsigned int
vmlx4_engine_pass_unguarded(struct vmlx4_adapter *adapter, unsigned int budget)
{
	struct vmlx4_engine *engine = adapter->engine;
	struct vmlx4_context *ctx;
	unsigned int done = 0;

	if (budget == 0 || budget > PASS_BUDGET)
		budget = PASS_BUDGET;
	if (engine->passes++ % PASSES_PER_CLOCK == 0)
		engine_clock(adapter);
	if (unlikely(adapter->time.next != VMLX4_NEVER))
		done += vmlx4_timers_run(adapter);
	TAILQ_FOREACH(ctx, &adapter->contexts, next) {
		if (unlikely(ctx->dead))
			continue;
		take_doorbells(ctx);
		if (ctx->scan && done < budget)
			done += run_queues(ctx, budget - done);
	}
	if (done < budget)
		done += poll_wires(adapter, budget - done);
	if (unlikely(!STAILQ_EMPTY(&engine->injected)) && done < budget)
		done += vmlx4_inject_deliver(adapter, budget - done);
	if (unlikely(adapter->ib != NULL))
		done += vmlx4_ib_run(adapter, budget);
	vmlx4_trace_counters(adapter);
	return done;
}

/* ---- the thread ---- */

void
vmlx4_wires_idle(struct vmlx4_adapter *adapter)
{
	unsigned int i;

	for (i = 0; i < adapter->options.ports; i++) {
		struct vmlx4_wire *wire = adapter->ports[i].wire;

		if (wire != NULL && wire->ops->idle != NULL)
			wire->ops->idle(wire);
	}
}

/* Sleep, but not through input from outside. */
static void
engine_sleep(struct vmlx4_adapter *adapter, long ns)
{
	struct pollfd fds[VMLX4_MAX_PORTS];
	struct timespec ts = { .tv_nsec = ns };
	nfds_t n = 0;
	unsigned int i;

	for (i = 0; i < adapter->options.ports; i++) {
		struct vmlx4_wire *wire = adapter->ports[i].wire;

		if (wire != NULL && wire->fd >= 0)
			fds[n++] = (struct pollfd){ .fd = wire->fd,
				.events = POLLIN | wire->events };
	}
	/* A descriptor that is no longer good would wake us at once, for ever. */
	if (n != 0 && ppoll(fds, n, &ts, NULL) > 0) {
		for (i = 0; i < n; i++)
			if ((fds[i].revents & fds[i].events) != 0)
				return;
		nanosleep(&ts, NULL);
	} else if (n == 0) {
		nanosleep(&ts, NULL);
	}
}

/* At most that long, and not past the next timer. */
static uint64_t
engine_nap(struct vmlx4_adapter *adapter, uint64_t longest)
{
	uint64_t next = __atomic_load_n(&adapter->time.next, __ATOMIC_RELAXED);
	uint64_t now;

	if (next == VMLX4_NEVER)
		return longest;
	now = vmlx4_now_ns();
	if (next <= now)
		return 1;
	return next - now < longest ? next - now : longest;
}

static void
engine_rest(struct vmlx4_adapter *adapter, enum vmlx4_rest_kind kind)
{
	struct vmlx4_engine *engine = adapter->engine;
	uint64_t from, to, asked = 0;

	if (kind == VMLX4_REST_SPIN) {
		__builtin_ia32_pause();
		return;
	}
	from = vmlx4_now_ns();
	if (kind == VMLX4_REST_YIELD) {
		sched_yield();
	} else {
		asked = engine_nap(adapter, kind == VMLX4_REST_NAP ? NAP_NS : SLEEP_NS);
		engine_sleep(adapter, (long)asked);
	}
	to = vmlx4_now_ns();
	if (kind == VMLX4_REST_YIELD)
		vmlx4_rest_yielded(&engine->rest, from, to);
	if (engine->placed)
		vmlx4_placement_rested(&engine->placement, from, to, asked);
}

/* What is to be done before the thread rests, still with the lock. */
static void
engine_before_rest(struct vmlx4_adapter *adapter, enum vmlx4_rest_kind before,
	enum vmlx4_rest_kind kind)
{
	if (kind > VMLX4_REST_SPIN && before <= VMLX4_REST_SPIN)
		vmlx4_wires_idle(adapter);
	/* Asleep the clock would stand still between so many passes. */
	if (kind > VMLX4_REST_YIELD)
		engine_clock(adapter);
}

/*
 * Commands go first: the mutex alone would favour the thread that spins on it. But
 * one command, and then a pass: a program that asks without end must not stop the
 * packets, and on a busy machine a waiter may not run for a long time, nor does
 * sched_yield() come back soon.
 */
static void
engine_step_aside(struct vmlx4_adapter *adapter)
{
	unsigned int turns = atomic_load_explicit(&adapter->lock_turns, memory_order_relaxed);
	uint64_t until = 0, now;

	while (atomic_load_explicit(&adapter->lock_waiters, memory_order_relaxed) != 0 &&
	       atomic_load_explicit(&adapter->lock_turns, memory_order_relaxed) == turns) {
		now = vmlx4_now_ns();
		if (until == 0)
			until = now + ASIDE_NS;
		else if (now >= until)
			break;
		sched_yield();
	}
}

/*
 * ThreadSanitizer, if the program has it. It sees what libc does for the engine
 * and not what libmlx4 does with the queues, so that every frame would look like
 * a race. A card's DMA it does not see either.
 */
void AnnotateIgnoreReadsBegin(const char *file, int line) __attribute__((weak));
void AnnotateIgnoreReadsEnd(const char *file, int line) __attribute__((weak));
void AnnotateIgnoreWritesBegin(const char *file, int line) __attribute__((weak));
void AnnotateIgnoreWritesEnd(const char *file, int line) __attribute__((weak));

static void
engine_unseen(bool begin)
{
	if (AnnotateIgnoreReadsBegin == NULL || AnnotateIgnoreReadsEnd == NULL ||
			AnnotateIgnoreWritesBegin == NULL || AnnotateIgnoreWritesEnd == NULL)
		return;
	(begin ? AnnotateIgnoreReadsBegin : AnnotateIgnoreReadsEnd)(__FILE__, __LINE__);
	(begin ? AnnotateIgnoreWritesBegin : AnnotateIgnoreWritesEnd)(__FILE__, __LINE__);
}

static void *
engine_main(void *arg)
{
	struct vmlx4_engine *engine = arg;
	struct vmlx4_adapter *adapter = engine->adapter;
	enum vmlx4_rest_kind kind = VMLX4_REST_NONE, before;
	struct vmlx4_rest *rest = &engine->rest;
	unsigned int done, i;

	engine_unseen(true);
	prctl(PR_SET_NAME, "vmlx4-engine");
	prctl(PR_SET_TIMERSLACK, 1000);
	vmlx4_short_turns();
	while (!atomic_load_explicit(&engine->stop, memory_order_relaxed)) {
		engine_step_aside(adapter);
		pthread_mutex_lock(&adapter->lock);
		done = 0;
		for (i = 0; i < PASSES_PER_LOCK; i++) {
			unsigned int n = vmlx4_engine_pass(adapter, 0);

			done += n;
			if (n == 0 || atomic_load_explicit(&adapter->lock_waiters,
			    memory_order_relaxed) != 0)
				break;
		}
		before = kind;
		kind = vmlx4_rest_next(rest, done != 0, done != 0 ? 0 : vmlx4_now_ns());
		engine_before_rest(adapter, before, kind);
		pthread_mutex_unlock(&adapter->lock);
		if (kind != VMLX4_REST_NONE)
			engine_rest(adapter, kind);
	}
	engine_unseen(false);
	return NULL;
}

static int
engine_spawn(struct vmlx4_engine *engine)
{
	int cpu = engine->adapter->options.engine_cpu;
	pthread_attr_t attr;
	sigset_t all, old;
	cpu_set_t one;
	int ret;

	pthread_attr_init(&attr);
	if (cpu >= 0) {
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		pthread_attr_setaffinity_np(&attr, sizeof(one), &one);
	} else if (initial_known) {
		pthread_attr_setaffinity_np(&attr, sizeof(initial_cpus), &initial_cpus);
		vmlx4_placement_init(&engine->placement, &initial_cpus);
		engine->placed = true;
	}
	/* The program's signals are for its own threads, but for those of guard.c. */
	sigfillset(&all);
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGBUS);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	ret = pthread_create(&engine->thread, &attr, engine_main, engine);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return -ret;
}

int
vmlx4_engine_start(struct vmlx4_adapter *adapter)
{
	struct vmlx4_engine *engine = vmlx4_zalloc(sizeof(*engine));
	int ret;

	if (engine == NULL)
		return -ENOMEM;
	vmlx4_guard_install();
	engine->adapter = adapter;
	STAILQ_INIT(&engine->injected);
	adapter->engine = engine;
	vmlx4_check_start(adapter);
	if (adapter->options.step)
		return 0;
	ret = engine_spawn(engine);
	if (ret < 0) {
		adapter->engine = NULL;
		free(engine);
		return ret;
	}
	engine->threaded = true;
	return 0;
}

void
vmlx4_engine_stop(struct vmlx4_adapter *adapter)
{
	struct vmlx4_engine *engine;

	vmlx4_lock(adapter);
	engine = adapter->engine;
	vmlx4_unlock(adapter);
	if (engine == NULL)
		return;
	atomic_store_explicit(&engine->stop, true, memory_order_relaxed);
	if (engine->threaded)
		pthread_join(engine->thread, NULL);
	vmlx4_lock(adapter);
	adapter->engine = NULL;
	vmlx4_check_stop(adapter);
	vmlx4_wires_idle(adapter);
	vmlx4_inject_drop(engine);
	vmlx4_ib_stop(adapter);
	vmlx4_unlock(adapter);
	free(engine);
}

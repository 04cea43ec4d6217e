/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TEST_RAW_PACKET_H_
#define TEST_RAW_PACKET_H_

/*
 * A raw-packet program as users write them: plain verbs, ibv_post_send() and
 * ibv_poll_cq(), between the two ports of one adapter. It knows nothing of the
 * virtual adapter but how to step it, and that only when it must.
 */

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <infiniband/verbs.h>

#define AREA (4u << 20)
#define RX_AT (2u << 20)       /* receive buffers are in the upper half */
#define SLOT 2048u
#define SEND_WR 64
#define RECV_WR 256
#define MAX_SGE 16
#define MAX_INLINE 188
#define WAIT_SECONDS 10

/* One port with all that it takes to send and receive. */
struct end {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_comp_channel *channel;
	struct ibv_cq *send_cq, *recv_cq;
	struct ibv_qp *qp;
	struct ibv_flow *flow;
	uint8_t *area;
	uint8_t mac[6];
	uint8_t port;
	uint32_t max_inline;
};

/* A line about the trial that runs, and the end of the program. */
__attribute__((noreturn, format(printf, 2, 3)))
void fail(int line, const char *format, ...);

#define CHECK(cond)                                                  \
	do {                                                         \
		if (!(cond))                                         \
			fail(__LINE__, "%s (errno: %s)", #cond,      \
				strerror(errno));                    \
	} while (0)

#define CHECK_EQ(got, want)                                          \
	do {                                                         \
		long long got_ = (got), want_ = (want);              \
		if (got_ != want_)                                   \
			fail(__LINE__, "%s is %lld, not %lld", #got, \
				got_, want_);                        \
	} while (0)

/* Verbs return a positive errno. */
#define CHECK_OK(call)                                               \
	do {                                                         \
		int ret_ = (call);                                   \
		if (ret_ != 0)                                       \
			fail(__LINE__, "%s: %s", #call,              \
				strerror(ret_));                     \
	} while (0)

/* Let the adapter work a little. */
void advance(void);

/* ---- frames ---- */

uint32_t next_random(uint32_t *state);
/* To an end, of a local experimental type, with seeded bytes. */
void fill(uint8_t *frame, size_t length, const struct end *to, uint32_t seed);
/* Frames below 60 B may come padded. */
void compare(int line, const uint8_t *got, size_t got_length, const uint8_t *want,
	size_t length);

/* ---- ends ---- */

void open_end(struct end *end, struct ibv_device *device, uint8_t port);
void close_end(struct end *end);
void to_ready(struct end *end);
void to_reset(struct end *end);
struct ibv_flow *steer(struct end *end, const uint8_t mac[6]);

/* ---- work ---- */

/* Exactly n completions. */
void wait_completions(int line, struct ibv_cq *cq, struct ibv_wc *wc, int n);
#define WAIT(cq, wc, n) wait_completions(__LINE__, cq, wc, n)

uint8_t *rx_slot(struct end *end, unsigned int slot);
void post_recv(struct end *end, unsigned int slot);
void post_send(struct end *end, struct ibv_sge *sge, int n, unsigned int flags);
/* The completions of one frame from a to b, and its bytes. */
void expect_frame(int line, struct end *a, struct end *b, const uint8_t *frame,
	size_t length);
#define EXPECT(a, b, frame, length) expect_frame(__LINE__, a, b, frame, length)
/* One plain frame. */
void ping(struct end *a, struct end *b);

/* ---- what is tried ---- */

struct trial {
	const char *name;
	void (*run)(struct end *a, struct end *b);
	bool violates;    /* the contract checker ends it: runs only when named */
};

/* Each ends with an entry without a name. */
extern const struct trial send_trials[], receive_trials[], fault_trials[];

/* What main() decides: the trial that runs, and who moves the adapter. */
extern const char *running;
extern bool stepped;
extern int (*step_adapter)(unsigned int budget);

#endif /* TEST_RAW_PACKET_H_ */

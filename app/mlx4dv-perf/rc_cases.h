/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef PERF_RC_CASES_H_
#define PERF_RC_CASES_H_

/*
 * The cases of a subject on a reliable connection, which are the same of each. Included
 * where the functions are that they measure.
 */

static const char *driver_name(void);

static const char *
open_case(const struct perf_case *one, const struct perf_options *options)
{
	return rc_open(one, options, &library);
}

#define CASE(name_, burst_, what, n_, srq_) { .name = name_, .open = open_case, \
	.prepare = rc_prepare, .burst = burst_, .finish = rc_finish, .close = rc_close, \
	.kind = RC_KIND(what, n_, srq_) }

static const struct perf_case cases[] = {
	CASE("send", send_singly, RC_SEND, RC_CHAIN_MAX, 0),
	CASE("send_chain16", send_in_chain, RC_SEND, 16u, 0),
	CASE("send_chain32", send_in_chain, RC_SEND, 32u, 0),
	CASE("recv_post", post_singly, RC_RECV_POST, RC_CHAIN_MAX, 0),
	CASE("recv_post16", post, RC_RECV_POST, 16u, 0),
	CASE("srq_post", post_srq_singly, RC_RECV_POST, RC_CHAIN_MAX, RC_SRQ),
	CASE("srq_post16", post, RC_RECV_POST, 16u, RC_SRQ),
	CASE("poll16", poll_received, RC_POLL, 16u, 0),
	CASE("poll16_srq", poll_received, RC_POLL, 16u, RC_SRQ),
};

#endif /* PERF_RC_CASES_H_ */

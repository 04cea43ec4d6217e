/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TEST_PMD_SEQUENCE_H_
#define TEST_PMD_SEQUENCE_H_

/*
 * Random sequences of ethdev's calls, and beside the port a model of what it has been
 * told. Each step draws from a number of its own, made of the seed and its place: steps
 * can be left out of a sequence, and the others stay what they were.
 */

#include "harness.h"

#define SEQ_QUEUES 6
#define SEQ_MACS 12           /* in the model's list, the default one first */
#define SEQ_MC 6
#define SEQ_RETA 16           /* entries for SEQ_QUEUES queues at most */
#define SEQ_FLOWS 8
#define SEQ_MIN_MTU 68
#define SEQ_MAX_MTU 9900
#define SEQ_VLAN_REACH 22     /* bytes of a first segment in which VLAN offloads look */

struct seq_pool {
	struct rte_mempool *mp;
	uint32_t room;            /* without headroom */
};

struct seq_rxq {
	bool set_up, deferred, running;
	bool split;
	uint16_t first_room;      /* of a split queue: bytes of its first segment */
	uint16_t segments;        /* of a split queue: listed */
	const struct seq_pool *pool; /* the last one of a split queue */
	const struct seq_pool *first_pool;
	uint16_t posted;          /* segments of a WQE since the start; 0: no ring */
	uint64_t own;             /* offloads of the queue alone */
};

struct seq_txq {
	bool set_up, deferred, running;
	uint64_t own;
};

/* A rule of the application, as far as the model looks into frames. */
struct seq_flow {
	struct rte_flow *handle;
	uint32_t priority;
	bool everything;          /* no address */
	struct rte_ether_addr dst;
	bool vlan, udp;
	uint16_t vlan_id, udp_port;
	bool drop;
	uint64_t queues;          /* bits: where its frames may go */
	uint16_t nb_rxq;          /* of the port when the rule was made */
	uint16_t queue;           /* of a rule for one queue, else SEQ_QUEUES */
};

struct seq {
	uint64_t seed;
	struct rng rng;           /* of the step */
	unsigned int step;
	bool quiet;

	/* A fault that is armed for the call: its errno, and how many there were before. */
	int fault;
	uint64_t injected;
	/* A command that frees failed: what the adapter keeps is not the driver's to say; ever. */
	bool leaky, lost;

	struct seq_pool pools[4];
	uint16_t port;
	bool open, configured, started, gone;
	uint16_t nb_rxq, nb_txq;
	uint64_t rx_offloads, tx_offloads; /* of the port */
	bool rss, rx_intr;
	uint64_t hf;
	uint8_t key[40];
	uint16_t reta[SEQ_RETA], reta_size;
	uint16_t layout[SEQ_RETA]; /* which queue each ring is of; reta is a run of it */
	struct seq_rxq rxq[SEQ_QUEUES];
	struct seq_txq txq[SEQ_QUEUES];
	uint16_t mtu;
	bool promisc, allmulti, isolated;
	struct rte_ether_addr mac[SEQ_MACS], mc[SEQ_MC];
	unsigned int nb_mac, nb_mc;
	uint64_t vlan_ids;        /* of the first 64 */
	struct seq_flow flows[SEQ_FLOWS];
	unsigned int nb_flows;
};

extern struct seq seq;

/* ---- sequence.c ---- */

static inline uint32_t
seq_below(uint32_t below)
{
	return rng_below(&seq.rng, below);
}

static inline bool
seq_chance(uint32_t one_in)
{
	return seq_below(one_in) == 0;
}

/* Each of @n flags with a chance of one in so many. */
static inline uint64_t
seq_some_of(const uint64_t *flags, unsigned int n, uint32_t one_in)
{
	uint64_t some = 0;
	unsigned int i;

	for (i = 0; i < n; i++)
		if (seq_chance(one_in))
			some |= flags[i];
	return some;
}

/* What is about to be called; printed, so that the last line before a crash names it. */
__attribute__((format(printf, 1, 2)))
void seq_call(const char *format, ...);
/*
 * The call returned: want, or other, or what an injected fault or a device that is gone
 * explains; else the test fails. True when it returned 0.
 */
bool seq_either(int ret, int want, int other);
static inline bool
seq_done(int ret, int want)
{
	return seq_either(ret, want, want);
}
/* Did the fault that is armed happen? */
bool seq_hit(void);
/* Disarm the fault of this step. */
void seq_disarm(void);

/* ---- sequence_state.c: what a port says of itself ---- */

struct seq_state;
struct seq_state *seq_state_take(void);
/* Frees both. What an attempt to start leaves in a queue is its size, and segments. */
#define SEQ_OBJECTS 1         /* of the adapter */
#define SEQ_RINGS 2
void seq_state_same(struct seq_state *before, struct seq_state *after, unsigned int but);
/* Does the port say what the model has? */
void seq_state_check(void);

/* ---- what steps do; each file's own ---- */

void seq_bring_up(void);
void seq_open(void);
void seq_configure(void);
void seq_start(void);
void seq_stop(void);
void seq_close(void);
void seq_reset(void);
void seq_remove(void);
/* Drawn; now and then with one that no port of ours has. */
uint64_t seq_types(void);
uint64_t seq_effective_types(uint64_t hf);

void seq_rx_setup(void);
void seq_tx_setup(void);
void seq_set_up_all(void);
bool seq_queues_fit(uint16_t nb_rxq, uint64_t offloads);
void seq_rx_queue_state(void);
void seq_tx_queue_state(void);
uint64_t seq_rx_offloads(void);
uint64_t seq_tx_offloads(void);
/* Rings that a queue has while the port runs. */
unsigned int seq_rings(unsigned int q);
/* Have the pools more mbufs than all rings can take? Packets are sent, too. */
bool seq_pools_suffice(void);

void seq_mtu(void);
void seq_mac(void);
void seq_mc_list(void);
void seq_modes(void);
void seq_vlan_filter(void);
void seq_vlan_offload(void);
void seq_rss(void);
void seq_reta(void);
void seq_link(void);
void seq_rx_intr(void);
void seq_strip(void);
void seq_ask(void);

void seq_flow_create(void);
void seq_flow_destroy(void);
void seq_flow_isolate(void);
/* Can the port be started with the rules that there are? */
bool seq_flows_fit(void);

/* A frame as rules see it. */
struct seq_frame {
	struct rte_ether_addr dst;
	bool vlan, udp;
	uint16_t vlan_id, udp_port;
};

/*
 * Where the application's rules lead a frame: the queues it may come to, and whether it
 * may be dropped, or go on to the port's own rules.
 */
struct seq_fate {
	uint64_t queues;
	bool dropped, passed;
};
struct seq_fate seq_flows_lead(const struct seq_frame *frame);

void seq_receive(void);
void seq_send(void);
void seq_fail_queue(void);

/* Addresses that the steps share, so that they meet. */
const struct rte_ether_addr *seq_address(unsigned int i);
#define SEQ_ADDRESSES 6
#define SEQ_VLAN_ID(i) (5 + (i))
#define SEQ_UDP_PORT(i) (4000 + (i))

/* Segments that frames of the MTU take in a queue; 0: too many. */
uint16_t seq_segments(const struct seq_rxq *rxq, uint16_t mtu);

#endif /* TEST_PMD_SEQUENCE_H_ */

/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef NFV_CHAIN_H_
#define NFV_CHAIN_H_

/* What all stages share, in memory that all processes see at the same address. */

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <rte_ip.h>
#include <rte_lpm.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "config.h"

#define BURST 32u           /* packets that a stage takes at once */
#define RING_SIZE 1024u     /* between two stages */

enum stage_id { STAGE_RX, STAGE_ACL, STAGE_NAT, STAGE_ROUTE, STAGE_TX, STAGES };

/* Why a packet ends here: the name that it is counted under. */
#define DROPS(X) \
	X(NONE, "-") \
	/* rx */ \
	X(MALFORMED, "malformed") X(OTHER_MAC, "other_mac") X(ARP, "arp") \
	X(NOT_IPV4, "not_ipv4") X(FRAGMENT, "fragment") X(CHECKSUM, "bad_checksum") \
	/* acl */ \
	X(DENIED, "denied") X(NO_RULE, "no_rule") \
	/* nat */ \
	X(NO_TRANSLATION, "no_translation") X(NOT_TRANSLATED, "not_translated") \
	X(NAT_PROTOCOL, "nat_protocol") X(NAT_ICMP, "nat_icmp") X(NO_PORT, "no_free_port") \
	/* route */ \
	X(NO_ROUTE, "no_route") X(NO_NEIGHBOUR, "no_neighbour") X(TO_ROUTER, "to_router") \
	X(TTL, "ttl_expired") X(TOO_BIG, "too_big") \
	/* tx */ \
	X(PORT_REFUSED, "port_refused") X(PORT_FULL, "port_full") \
	/* any whose process died */ \
	X(STAGE_LOST, "stage_lost")

#define DROP_ENUM(id, name) DROP_ ## id,
enum drop { DROPS(DROP_ENUM) DROP_CAUSES };
#undef DROP_ENUM

/* Of one writer, and read by all. */
typedef _Atomic uint64_t counter_t;

static inline void
count(counter_t *counter, uint64_t n)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n,
		memory_order_relaxed);
}

static inline uint64_t
counted(const counter_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

/* Life of a stage. LOST: its process died, and the primary empties its ring. */
enum phase { PHASE_FREE, PHASE_TAKEN, PHASE_READY, PHASE_LOST, PHASE_DONE };

struct stage {
	alignas(RTE_CACHE_LINE_SIZE) struct rte_ring *in; /* NULL: from the ports */
	struct rte_ring *out;                             /* NULL: to the ports */
	_Atomic int phase;
	_Atomic pid_t owner;
	alignas(RTE_CACHE_LINE_SIZE) counter_t taken;
	counter_t passed;
	counter_t drops[DROP_CAUSES];
};

/* Where a packet goes next; the routing table holds the index. */
enum hop_kind { HOP_LOCAL, HOP_NO_NEIGHBOUR, HOP_NEIGHBOUR };

struct hop {
	enum hop_kind kind;
	uint16_t port;
	struct rte_ether_addr mac;
};

#define HOP_OF_PORT 1u                       /* 0 is local; a port's subnet follows */
#define HOP_OF_NEIGHBOUR (HOP_OF_PORT + PORTS_MAX)
#define HOPS (HOP_OF_NEIGHBOUR + NEIGHBOURS_MAX)

struct chain {
	_Atomic bool go;    /* all stages are there */
	_Atomic bool stop;
	struct stage stages[STAGES];
	_Atomic pid_t lcores[RTE_MAX_LCORE]; /* an lcore id is one process's: mempool caches */

	/* Written by the primary, before there is a stage. */
	struct config config;
	struct rte_mempool *pool;
	struct rte_lpm *lpm;
	struct hop hops[HOPS];
	struct rte_ether_addr mac[PORTS_MAX];
	uint16_t mtu[PORTS_MAX];
	bool tx_ip_cksum, tx_l4_cksum;       /* every port computes them */

	counter_t nat_used, nat_expired;     /* translations */
};

/* What a stage does: one of the files rx.c, acl.c, nat.c, route.c and tx.c. */
struct stage_ops {
	const char *name;
	/* In the process that has the stage, before the first packet. 0, or told why not. */
	int (*open)(struct chain *chain, struct stage *stage);
	void (*close)(void);
	/* Keep the packets that go on at the front, in order, and return their number. */
	unsigned int (*filter)(struct stage *stage, struct rte_mbuf **pkts, unsigned int n);
	/* In place of filter, for the ends of the chain: returns what moved. */
	unsigned int (*poll)(struct stage *stage);
	/* Each round, with packets or without. */
	void (*tick)(void);
	/* Does it hold packets of its own? */
	bool (*holds)(void);
};

extern const struct stage_ops rx_ops, acl_ops, nat_ops, route_ops, tx_ops;
extern const struct stage_ops *const stage_ops[STAGES];

/* ---- chain.c ---- */
struct chain *chain_create(const struct config *config, unsigned int mbufs);
struct chain *chain_attach(void);
unsigned int chain_free(struct chain *chain); /* returns the mbufs that are not back */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- stage.c ---- */
void stage_drop(struct stage *stage, struct rte_mbuf *m, enum drop cause);
bool stages_round(struct chain *chain, unsigned int lcore); /* false: all are done */
bool stage_fed(const struct chain *chain, unsigned int id); /* may its ring still fill? */
void stages_place(unsigned int mask, unsigned int idle_us);
int stages_run(void *chain);  /* on an lcore, until its stages are done */
bool stages_on(unsigned int lcore);
void stages_abandon(void);    /* no more rounds here */

/* ---- processes.c ---- */
int stages_take(struct chain *chain, unsigned int mask);
void stages_give_back(struct chain *chain);
bool stages_done(const struct chain *chain, bool all);
bool stages_ready(const struct chain *chain, char *missing, size_t size);
bool stages_adopt(struct chain *chain); /* whether a process that had one has died */

/* ---- routes.c ---- */
int routes_build(struct chain *chain);

/* ---- ports.c ---- */
int ports_start(struct chain *chain, unsigned int descriptors);
void ports_drain(struct chain *chain);
void ports_stop(struct chain *chain);

/* ---- counters.c ---- */
void counters_print(struct chain *chain, double seconds);

/* ---- packets ---- */
static inline struct rte_ipv4_hdr *
packet_ip(struct rte_mbuf *m)
{
	return rte_pktmbuf_mtod_offset(m, struct rte_ipv4_hdr *, m->l2_len);
}

/* Of TCP, UDP and ICMP the header is there: rx.c sees to that. */
static inline void *
packet_l4(struct rte_mbuf *m)
{
	return rte_pktmbuf_mtod_offset(m, void *, m->l2_len + m->l3_len);
}

#endif /* NFV_CHAIN_H_ */

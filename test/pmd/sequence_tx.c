/* SPDX-License-Identifier: BSD-3-Clause */

/* Packets that go out: each is seen on the wire, or counted; and queues that fail. */

#include <netinet/in.h>

#include "sequence.h"

#define MAX_PACKETS 40
#define MAX_SEGS 31
#define MIN_PACKET 80
#define ALIVE_MS 30000

struct packet {
	bool good, tso;
	uint16_t length;          /* on the wire */
	uint32_t number;          /* its last bytes */
};

static struct packet packets[MAX_PACKETS];

/* ---- one packet ---- */

/* Cut into segments; NULL: the pool has not enough. */
static struct rte_mbuf *
chain(const uint8_t *bytes, uint16_t length, unsigned int segs)
{
	struct rte_mempool *pool = seq.pools[0].mp;
	uint16_t lengths[MAX_SEGS + 2], left = length;
	unsigned int i;

	if (rte_mempool_avail_count(pool) < 2 * (MAX_SEGS + 2))
		return NULL;
	for (i = 0; i < segs; i++) {
		uint16_t most = RTE_MIN(left, seq.pools[0].room);

		lengths[i] = i + 1 == segs ? left : RTE_MIN(left / (segs - i), most);
		left -= lengths[i];
	}
	/* What a buffer cannot hold takes another one. */
	if (lengths[segs - 1] > seq.pools[0].room)
		return NULL;
	return mbuf_chain(pool, lengths, segs, bytes);
}

static void
want_checksums(struct rte_mbuf *m, uint64_t offloads)
{
	m->l2_len = 14;
	m->l3_len = 20;
	m->ol_flags |= RTE_MBUF_F_TX_IPV4;
	if ((offloads & RTE_ETH_TX_OFFLOAD_IPV4_CKSUM) != 0)
		m->ol_flags |= RTE_MBUF_F_TX_IP_CKSUM;
	if ((offloads & RTE_ETH_TX_OFFLOAD_UDP_CKSUM) != 0)
		m->ol_flags |= RTE_MBUF_F_TX_UDP_CKSUM;
}

static void
want_tso(struct rte_mbuf *m, struct packet *p)
{
	m->l2_len = 14;
	m->l3_len = 20;
	m->l4_len = 20;
	/* Sometimes what cannot be cut so. */
	m->tso_segsz = seq_chance(10) ? 0 : RTE_MIN(1 + seq_below(1400), seq.mtu - 40u);
	m->ol_flags |= RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_TCP_SEG |
		RTE_MBUF_F_TX_TCP_CKSUM;
	p->tso = true;
}

static struct rte_mbuf *
make(struct packet *p, uint64_t offloads)
{
	static uint8_t bytes[65536];
	bool udp = seq_chance(2), tso;
	struct frame_flow flow;
	unsigned int segs = seq_chance(2) ? 1 : 1 + seq_below(seq_chance(4) ? MAX_SEGS : 5);
	struct rte_mbuf *m;

	memset(p, 0, sizeof(*p));
	tso = (offloads & RTE_ETH_TX_OFFLOAD_TCP_TSO) != 0 && seq_chance(4);
	flow = flow_make(false, tso ? IPPROTO_TCP : IPPROTO_UDP, rng_next(&seq.rng));
	p->good = !seq_chance(12);
	p->length = tso ? 200 + seq_below(8000) : MIN_PACKET + seq_below(RTE_MAX(1,
		seq.mtu + 14 + 1 - MIN_PACKET));
	if (!p->good && seq_chance(3))
		p->length = 1 + seq_below(13);
	else if (!p->good && seq_chance(2))
		p->length = seq.mtu + 14 + 50;
	else if (!p->good)
		segs = MAX_SEGS + 1;
	segs = RTE_MAX(segs, (p->length + seq.pools[0].room - 1) / seq.pools[0].room);
	p->number = rng_next(&seq.rng);
	if (p->length >= MIN_PACKET && (udp || tso))
		frame_flow(bytes, p->length, mac_foreign, &flow);
	else
		frame_make(bytes, p->length, mac_foreign, p->number);
	if (p->good)
		memcpy(bytes + p->length - 4, &p->number, 4);
	m = chain(bytes, p->length, segs);
	if (m == NULL)
		return NULL;
	if (tso && p->length >= MIN_PACKET)
		want_tso(m, p);
	else if (udp && p->length >= MIN_PACKET && seq_chance(2))
		want_checksums(m, offloads);
	if (!p->tso && (offloads & RTE_ETH_TX_OFFLOAD_VLAN_INSERT) != 0 && p->good &&
	    seq_chance(3)) {
		m->ol_flags |= RTE_MBUF_F_TX_VLAN;
		m->vlan_tci = SEQ_VLAN_ID(1);
		p->length += 4;
	}
	return m;
}

/* ---- a burst ---- */

static bool
can_send(uint16_t q)
{
	return q < seq.nb_txq && seq.txq[q].set_up && seq.started;
}

static void
finish(void)
{
	unsigned int q;

	settle();
	for (q = 0; q < seq.nb_txq; q++)
		if (can_send(q))
			CHECK(rte_eth_tx_done_cleanup(seq.port, q, 0) >= 0);
}

/* With packets to be cut among them only the sum is compared. */
static void
check_wire(unsigned int sent)
{
	unsigned int i, k = 0;
	bool cut = false;
	const uint8_t *bytes;
	size_t length;

	for (i = 0; i < sent; i++)
		cut |= packets[i].tso;
	for (i = 0; i < sent && !cut; i++) {
		if (!packets[i].good)
			continue;
		bytes = capture_frame(seq.port, k++, &length);
		CHECK_EQ(length, packets[i].length);
		CHECK_MSG(memcmp(bytes + length - 4, &packets[i].number, 4) == 0,
			"packet %u is not the one on the wire", i);
	}
	CHECK_MSG(cut || capture_count(seq.port) == k,
		"%u frames on the wire, not %u",
		capture_count(seq.port), k);
}

/* It refuses what a burst would drop, and nothing else. */
static void
check_prepare(uint16_t q, struct rte_mbuf **pkts, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		bool ok = packets[i].good && !(packets[i].tso && pkts[i]->tso_segsz == 0);

		/* What is too long for a frame is cut. */
		if (packets[i].tso && !packets[i].good)
			continue;
		CHECK_MSG(rte_eth_tx_prepare(seq.port, q, &pkts[i], 1) == ok,
			"tx_prepare %s packet %u of %u bytes in %u segments, flags 0x%" PRIx64,
			ok ? "refuses" : "takes", i, pkts[i]->pkt_len, pkts[i]->nb_segs,
			pkts[i]->ol_flags);
	}
}

static void
send_burst(uint16_t q, unsigned int n, bool wait)
{
	struct rte_eth_stats before, after;
	struct rte_mbuf *pkts[MAX_PACKETS];
	unsigned int i, sent;

	finish();
	for (i = 0; i < n; i++) {
		pkts[i] = make(&packets[i], seq.txq[q].own | seq.tx_offloads);
		if (pkts[i] == NULL)
			break;
	}
	n = i;
	before = stats_of(seq.port);
	capture_start(seq.port);
	capture_clear(seq.port);
	/* How long a frame may be a queue learns when it is started. */
	if (seq.txq[q].running && seq_chance(2))
		check_prepare(q, pkts, n);
	sent = rte_eth_tx_burst(seq.port, q, pkts, n);
	CHECK(sent <= n && (sent == 0 || seq.txq[q].running));
	free_mbufs(pkts + sent, n - sent);
	if (!wait)
		return;
	finish();
	after = stats_of(seq.port);
	CHECK_MSG(after.opackets - before.opackets + after.oerrors - before.oerrors == sent,
		"%u packets taken, %" PRIu64 " sent and %" PRIu64
		" errors", sent, after.opackets - before.opackets,
		after.oerrors - before.oerrors);
	check_wire(sent);
	/* A ring that nothing is in takes a burst that it has room for. */
	CHECK(sent != 0 || n == 0 || !seq.txq[q].running);
}

void
seq_send(void)
{
	uint16_t q = seq_below(SEQ_QUEUES);
	unsigned int n = 1 + seq_below(MAX_PACKETS);
	bool wait = !seq_chance(6);

	seq_call("%u packets to queue %u%s", n, q, wait ? "" : ", and no wait");
	seq_done(0, 0);
	if (can_send(q) && !seq.gone)
		send_burst(q, n, wait);
}

/* ---- a queue that fails comes back ---- */

void
seq_fail_queue(void)
{
	uint16_t q = seq_below(SEQ_QUEUES);
	struct rte_mbuf *m;
	uint8_t frame[100];
	uint64_t before;

	seq_call("queue %u fails", q);
	seq_done(0, 0);
	if (!can_send(q) || seq.gone || !seq.txq[q].running)
		return;
	finish();
	before = xstat_of(seq.port, "tx_queue_recoveries");
	frame_make(frame, sizeof(frame), mac_foreign, 1);
	if (rte_mempool_avail_count(seq.pools[0].mp) == 0)
		return;
	m = mbuf_frame(seq.pools[0].mp, frame, RTE_MIN(seq.mtu + 14u, sizeof(frame)));
	CHECK_OK(vmlx4_fail_next(VMLX4_FAULT_TX, 1, 1, 0x04));
	CHECK_EQ(rte_eth_tx_burst(seq.port, q, &m, 1), 1);
	settle();
	WAIT_FOR((finish(), rte_eth_tx_burst(seq.port, q, &m, 0),
		xstat_of(seq.port, "tx_queue_recoveries")) > before, ALIVE_MS);
}

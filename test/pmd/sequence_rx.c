/* SPDX-License-Identifier: BSD-3-Clause */

/* Frames that come in: each is with one of the queues it may come to, or counted. */

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>

#include "sequence.h"

#define MAX_FRAMES 40
#define MIN_FRAME 80          /* UDP over IPv4, a tag, and a number */
#define ROOM 10240

struct frame {
	struct seq_frame as_rules_see;
	uint8_t *bytes;
	uint16_t length;
	uint64_t queues;          /* where it may come to */
	bool must, may;           /* come to one of them */
	unsigned int copies;
};

struct counts {
	uint64_t received, filtered, nombuf, errors;
	struct vmlx4_port_stats wire;
};

static struct frame frames[MAX_FRAMES];

/* ---- what is to become of a frame ---- */

static bool
is_ours(const struct rte_ether_addr *dst)
{
	unsigned int i;

	if (seq.isolated)
		return false;
	if (seq.promisc || rte_is_broadcast_ether_addr(dst))
		return true;
	if (rte_is_multicast_ether_addr(dst) && seq.allmulti)
		return true;
	for (i = 0; i < seq.nb_mac; i++)
		if (rte_is_same_ether_addr(&seq.mac[i], dst))
			return true;
	for (i = 0; i < seq.nb_mc; i++)
		if (rte_is_same_ether_addr(&seq.mc[i], dst))
			return true;
	return false;
}

static uint64_t
port_queues(void)
{
	uint64_t queues = 0;
	unsigned int i;

	for (i = 0; i < (seq.rss ? seq.reta_size : 1u); i++)
		queues |= UINT64_C(1) << seq.reta[i];
	return queues;
}

static bool
all_run(uint64_t queues)
{
	unsigned int q;

	for (q = 0; q < SEQ_QUEUES; q++)
		if ((queues & (UINT64_C(1) << q)) != 0 &&
		    (!seq.rxq[q].running || seq.rxq[q].posted == 0))
			return false;
	return queues != 0;
}

/* May a queue lose a frame that it has, by its filter? */
static bool
is_filtered(const struct seq_frame *frame)
{
	unsigned int q;

	if (!frame->vlan)
		return false;
	for (q = 0; q < seq.nb_rxq; q++)
		if ((seq.rxq[q].own & RTE_ETH_RX_OFFLOAD_VLAN_FILTER) != 0)
			return true;
	return (seq.rx_offloads & RTE_ETH_RX_OFFLOAD_VLAN_FILTER) != 0;
}

static void
judge(struct frame *f)
{
	struct seq_fate fate = seq_flows_lead(&f->as_rules_see);
	bool ours = is_ours(&f->as_rules_see.dst) && seq.nb_rxq != 0;

	f->queues = fate.queues;
	f->must = !fate.dropped && (fate.queues != 0 || ours) && f->length <= seq.mtu + 14u &&
		!is_filtered(&f->as_rules_see);
	/* Copies of multicast may also go to the port's own rules. */
	if (ours && (fate.passed || rte_is_multicast_ether_addr(&f->as_rules_see.dst)))
		f->queues |= port_queues();
	f->may = f->queues != 0;
	f->must = f->must && all_run(f->queues);
}

static void
make(struct frame *f, uint32_t number)
{
	struct frame_flow flow = flow_make(false, IPPROTO_UDP, rng_next(&seq.rng));
	const struct rte_ether_addr *dst = seq_chance(3) ? &seq.mac[seq_below(seq.nb_mac)] :
		seq_address(seq_below(SEQ_ADDRESSES));
	unsigned int kind = seq_below(4);

	memset(f, 0, offsetof(struct frame, bytes));
	f->copies = 0;
	f->as_rules_see.dst = *dst;
	f->length = MIN_FRAME + seq_below(RTE_MAX(1, seq.mtu + 14 + 1 - MIN_FRAME));
	if (seq_chance(40))
		f->length = seq.mtu + 14 + 30;
	frame_make(f->bytes, f->length, dst->addr_bytes, number);
	if (kind == 0) {
		f->as_rules_see.vlan = true;
		f->as_rules_see.vlan_id = SEQ_VLAN_ID(seq_below(4));
		f->bytes[12] = 0x81;
		f->bytes[13] = 0;
		f->bytes[14] = 0;
		f->bytes[15] = f->as_rules_see.vlan_id;
	} else if (kind < 3) {
		f->as_rules_see.udp = true;
		f->as_rules_see.udp_port = flow.dst_port = SEQ_UDP_PORT(seq_below(4));
		frame_flow(f->bytes, f->length, dst->addr_bytes, &flow);
	}
	memcpy(f->bytes + f->length - sizeof(number), &number, sizeof(number));
	judge(f);
}

/* ---- what became of it ---- */

static void
check_bytes(const struct rte_mbuf *m, const struct frame *f)
{
	static uint8_t whole[ROOM];
	const uint8_t *got = rte_pktmbuf_read(m, 0, m->pkt_len, whole);
	uint32_t cut = (m->ol_flags & (RTE_MBUF_F_RX_VLAN_STRIPPED |
		RTE_MBUF_F_RX_QINQ_STRIPPED)) != 0 ? 4 : 0;
	const char *reason;

	CHECK_MSG(rte_mbuf_check(m, 1, &reason) == 0, "bad mbuf: %s", reason);
	CHECK_EQ(m->port, seq.port);
	CHECK_EQ(m->pkt_len, f->length - cut);
	CHECK(cut == 0 || f->as_rules_see.vlan);
	CHECK(memcmp(got, f->bytes, 12) == 0);
	CHECK(memcmp(got + 12, f->bytes + 12 + cut, f->length - cut - 12) == 0);
}

static void
take(struct rte_mbuf *m, uint16_t q, unsigned int n)
{
	uint32_t number;
	const uint8_t *at = rte_pktmbuf_read(m, m->pkt_len - sizeof(number), sizeof(number),
		&number);

	memcpy(&number, at, sizeof(number));
	CHECK_MSG(number < n, "a frame that was not sent");
	check_bytes(m, &frames[number]);
	frames[number].copies++;
	CHECK_MSG(seq.leaky || (frames[number].queues & (UINT64_C(1) << q)) != 0,
		"frame %u came to queue %u, not to one of 0x%" PRIx64, number, q,
		frames[number].queues);
	rte_pktmbuf_free(m);
}

/* A burst of nothing but what the filter takes is empty, and more may be behind it. */
static bool
has_more(uint16_t q)
{
	return seq.rxq[q].running && rte_eth_rx_queue_count(seq.port, q) > 0;
}

static unsigned int
poll_all(unsigned int n)
{
	struct rte_mbuf *pkts[32];
	unsigned int sum = 0, got, i;
	uint16_t q;

	settle();
	for (q = 0; q < seq.nb_rxq; q++)
		do {
			got = rx_all(seq.port, q, pkts, 1 + seq_below(32));
			CHECK(got == 0 || seq.rxq[q].running);
			for (i = 0; i < got; i++)
				if (n != 0)
					take(pkts[i], q, n);
				else
					rte_pktmbuf_free(pkts[i]);
			sum += got;
		} while (got != 0 || has_more(q));
	return sum;
}

static struct counts
count(void)
{
	return (struct counts){
		.received = stats_of(seq.port).ipackets,
		.filtered = xstat_of(seq.port, "rx_vlan_filtered_packets"),
		.nombuf = xstat_of(seq.port, "rx_nombuf_packets"),
		.errors = stats_of(seq.port).ierrors,
		.wire = wire_stats(seq.port),
	};
}

#define GREW(what) (b->what - a->what)

static void
check_counts(const struct counts *a, const struct counts *b, unsigned int received,
	unsigned int unicast, unsigned int multicast)
{
	uint64_t accounted = GREW(wire.rx_frames) + GREW(wire.rx_no_rule) +
		GREW(wire.rx_no_wqe) + GREW(wire.rx_oversize) + GREW(wire.rx_dropped_by_rule) +
		GREW(wire.rx_cq_overrun) + GREW(wire.rx_link_down) + GREW(wire.rx_errors);

	CHECK_EQ(GREW(received), received);
	CHECK_MSG(received + GREW(filtered) + GREW(nombuf) + GREW(errors) == GREW(wire.rx_frames),
		"the card wrote %" PRIu64 " frames; %u received, %" PRIu64
		" filtered, %" PRIu64 " without buffer, %" PRIu64 " errors",
		GREW(wire.rx_frames), received, GREW(filtered), GREW(nombuf), GREW(errors));
	CHECK_MSG(multicast != 0 ? accounted >= unicast + multicast : accounted == unicast,
		"%u + %u frames came in, %" PRIu64 " are accounted for", unicast, multicast,
		accounted);
}

/* What the card and the driver dropped, for a message. */
static const char *
drops(const struct counts *a, const struct counts *b)
{
	static char text[200];

	snprintf(text, sizeof(text), "%" PRIu64 " had no rule, %" PRIu64 " no WQE, %" PRIu64
		" were too long, %" PRIu64 " dropped by rule, %" PRIu64 " by the filter, %" PRIu64
		" had no buffer", GREW(wire.rx_no_rule), GREW(wire.rx_no_wqe),
		GREW(wire.rx_oversize), GREW(wire.rx_dropped_by_rule), GREW(filtered),
		GREW(nombuf));
	return text;
}

static void
check_frames(const struct counts *before, const struct counts *after, unsigned int n,
	bool one_by_one)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		const struct frame *f = &frames[i];
		bool multicast = rte_is_multicast_ether_addr(&f->as_rules_see.dst);

		CHECK_MSG(multicast || f->copies <= 1, "frame %u came "
			"%u times", i, f->copies);
		/* At once they may be more than a ring holds. */
		CHECK_MSG(f->copies > 0 || !f->must || !one_by_one,
			"frame %u of %u bytes to %02x:…:%02x%s%s never "
			"came to one of 0x%" PRIx64 "; %s", i, f->length,
			f->as_rules_see.dst.addr_bytes[0], f->as_rules_see.dst.addr_bytes[5],
			f->as_rules_see.vlan ? ", tagged," : "",
			f->as_rules_see.udp ? ", UDP," : "", f->queues, drops(before, after));
	}
}

void
seq_receive(void)
{
	unsigned int n = 1 + seq_below(MAX_FRAMES), unicast = 0, received = 0, i;
	bool one_by_one = !seq_chance(3), read = !seq_chance(6);
	struct counts before, after;

	seq_call("%u frames come in%s%s", n, one_by_one ? ", one by one" : "",
		read ? "" : ", and are not read");
	seq_done(0, 0);
	if (!seq.started || seq.gone)
		return;
	poll_all(0);
	before = count();
	for (i = 0; i < n; i++) {
		if (frames[i].bytes == NULL)
			frames[i].bytes = malloc(ROOM);
		CHECK(frames[i].bytes != NULL);
		make(&frames[i], i);
		unicast += rte_is_unicast_ether_addr(&frames[i].as_rules_see.dst);
		wire_inject(seq.port, frames[i].bytes, frames[i].length);
		if (one_by_one && read)
			received += poll_all(n);
	}
	if (!read) {
		settle();
		return;
	}
	received += poll_all(n);
	after = count();
	/* The rules that the adapter has are not all the driver's. */
	if (seq.leaky)
		return;
	check_counts(&before, &after, received, unicast, n - unicast);
	check_frames(&before, &after, n, one_by_one && after.nombuf == before.nombuf);
}

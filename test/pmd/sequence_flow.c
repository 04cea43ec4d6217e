/* SPDX-License-Identifier: BSD-3-Clause */

/* The application's flow rules, and where they lead. */

#include <errno.h>
#include <stdlib.h>

#include <rte_common.h>
#include <rte_errno.h>
#include <rte_flow.h>

#include "sequence.h"

/* A rule as it is put to the port. */
struct rule {
	struct rte_flow_attr attr;
	struct rte_flow_item pattern[6];
	struct rte_flow_action actions[3];
	struct rte_flow_item_eth eth, eth_mask;
	struct rte_flow_item_vlan vlan, vlan_mask;
	struct rte_flow_item_udp udp, udp_mask;
	struct rte_flow_action_queue queue;
	struct rte_flow_action_rss rss;
	uint16_t queues[SEQ_QUEUES];
	struct seq_flow flow;
	bool wrong;               /* nobody can take it */
};

static struct rte_flow_item *
add_item(struct rule *r, enum rte_flow_item_type type, const void *spec, const void *mask)
{
	struct rte_flow_item *item = r->pattern;

	while (item->type != RTE_FLOW_ITEM_TYPE_END)
		item++;
	item->type = type;
	item->spec = spec;
	item->mask = mask;
	item[1].type = RTE_FLOW_ITEM_TYPE_END;
	return item;
}

static void
draw_pattern(struct rule *r)
{
	unsigned int kind = seq_below(8);

	r->pattern[0].type = RTE_FLOW_ITEM_TYPE_END;
	if (kind == 0) {
		add_item(r, RTE_FLOW_ITEM_TYPE_ETH, NULL, NULL);
		r->flow.everything = true;
		return;
	}
	r->flow.dst = r->eth.dst = *seq_address(seq_below(SEQ_ADDRESSES));
	memset(&r->eth_mask.dst, 0xff, sizeof(r->eth_mask.dst));
	add_item(r, RTE_FLOW_ITEM_TYPE_ETH, &r->eth, &r->eth_mask);
	if (kind == 1 || kind == 2) {
		r->flow.vlan = true;
		r->flow.vlan_id = SEQ_VLAN_ID(seq_below(3));
		r->vlan.tci = rte_cpu_to_be_16(r->flow.vlan_id);
		r->vlan_mask.tci = RTE_BE16(0x0fff);
		add_item(r, RTE_FLOW_ITEM_TYPE_VLAN, &r->vlan, &r->vlan_mask);
	} else if (kind == 3 || kind == 4) {
		r->flow.udp = true;
		r->flow.udp_port = SEQ_UDP_PORT(seq_below(3));
		r->flow.priority = r->attr.priority = 0;
		r->udp.hdr.dst_port = rte_cpu_to_be_16(r->flow.udp_port);
		r->udp_mask.hdr.dst_port = RTE_BE16(0xffff);
		add_item(r, RTE_FLOW_ITEM_TYPE_IPV4, NULL, NULL);
		add_item(r, RTE_FLOW_ITEM_TYPE_UDP, &r->udp, &r->udp_mask);
	} else if (seq_chance(12)) {
		r->wrong = true;
		if (seq_chance(2))
			add_item(r, RTE_FLOW_ITEM_TYPE_IPV6, NULL, NULL);
		else
			memset(&r->eth_mask.src, 0xff, sizeof(r->eth_mask.src));
	}
}

static void
draw_rss(struct rule *r)
{
	unsigned int i, n = seq_chance(2) ? seq.nb_rxq : 1u << seq_below(3), first = 0;

	n = RTE_MIN(n, (unsigned int)SEQ_QUEUES);
	if (n != seq.nb_rxq)
		first = seq_below(SEQ_QUEUES / n) * n;
	for (i = 0; i < n; i++) {
		r->queues[i] = first + i;
		r->wrong |= first + i >= seq.nb_rxq;
		r->flow.queues |= UINT64_C(1) << (first + i);
	}
	r->wrong |= n == 0;
	r->rss.queue = r->queues;
	r->rss.queue_num = n;
	r->actions[0].type = RTE_FLOW_ACTION_TYPE_RSS;
	r->actions[0].conf = &r->rss;
}

static void
draw_actions(struct rule *r)
{
	r->flow.queue = SEQ_QUEUES;
	r->flow.nb_rxq = seq.nb_rxq;
	r->actions[1].type = RTE_FLOW_ACTION_TYPE_END;
	switch (seq_below(seq_chance(10) ? 5 : 3)) {
	case 0:
		r->actions[0].type = RTE_FLOW_ACTION_TYPE_DROP;
		r->flow.drop = true;
		break;
	case 1:
		draw_rss(r);
		break;
	case 2:
		r->queue.index = seq_below(seq_chance(10) ? SEQ_QUEUES : RTE_MAX(seq.nb_rxq, 1));
		r->actions[0].type = RTE_FLOW_ACTION_TYPE_QUEUE;
		r->actions[0].conf = &r->queue;
		r->flow.queue = r->queue.index;
		r->flow.queues = UINT64_C(1) << r->queue.index;
		r->wrong |= r->queue.index >= seq.nb_rxq;
		break;
	case 3:
		r->actions[0].type = RTE_FLOW_ACTION_TYPE_COUNT;
		r->wrong = true;
		break;
	default:
		r->actions[0].type = RTE_FLOW_ACTION_TYPE_END;
		r->wrong = true;
	}
}

/* The answers that may be given to a rule by one who can take only some. */
static bool
is_refusal(int ret)
{
	return ret == -EEXIST || ret == -ENOTSUP || ret == -EINVAL;
}

static void
create(struct rule *r)
{
	struct rte_flow_error error = { .type = RTE_FLOW_ERROR_TYPE_NONE };
	struct seq_state *before = seq_state_take();
	int valid = rte_flow_validate(seq.port, &r->attr, r->pattern, r->actions, &error);

	CHECK_MSG(valid == 0 || is_refusal(valid) || (seq.gone && valid == -EIO),
		"flow_validate returned %d", valid);
	CHECK(valid != 0 || !r->wrong);
	seq_call("flow_create priority %u, %s%s%s to %02x:…:%02x, action %d (queues 0x%" PRIx64
		"), valid %d", r->attr.priority, r->flow.everything ? "everything" : "some",
		r->flow.vlan ? " vlan" : "", r->flow.udp ? " udp" : "", r->flow.dst.addr_bytes[0],
		r->flow.dst.addr_bytes[5], r->actions[0].type, r->flow.queues, valid);
	r->flow.handle = rte_flow_create(seq.port, &r->attr, r->pattern, r->actions, &error);
	if (seq_done(r->flow.handle != NULL ? 0 : -rte_errno, valid)) {
		free(before);
		seq.flows[seq.nb_flows++] = r->flow;
		return;
	}
	seq_state_same(before, seq_state_take(), 0);
}

static void
flush(void)
{
	struct rte_flow_error error;
	int ret;

	seq_call("flow_flush");
	ret = rte_flow_flush(seq.port, &error);
	if (seq_hit()) {
		/* Some may be gone: it is tried again, without the fault. */
		seq.leaky = true;
		seq_disarm();
		ret = rte_flow_flush(seq.port, &error);
	}
	/* What is left of a device that is gone goes with the port. */
	if (seq_done(ret, 0))
		seq.nb_flows = 0;
}

void
seq_flow_create(void)
{
	struct rule r;

	if (seq.nb_flows == SEQ_FLOWS) {
		flush();
		return;
	}
	memset(&r, 0, sizeof(r));
	r.attr.ingress = 1;
	r.attr.priority = r.flow.priority = seq_below(3);
	draw_pattern(&r);
	draw_actions(&r);
	create(&r);
}

static void
query(const struct seq_flow *flow)
{
	struct rte_flow_action action = { .type = RTE_FLOW_ACTION_TYPE_QUEUE };
	struct rte_flow_action_queue queue = { .index = UINT16_MAX };
	struct rte_flow_error error;

	if (flow->queue == SEQ_QUEUES || seq.gone)
		return;
	CHECK_OK(rte_flow_query(seq.port, flow->handle, &action, &queue, &error));
	CHECK_EQ(queue.index, flow->queue);
}

void
seq_flow_destroy(void)
{
	struct rte_flow_error error;
	struct seq_state *before;
	unsigned int i;

	if (seq.nb_flows == 0)
		return;
	if (seq_chance(6)) {
		flush();
		return;
	}
	i = seq_below(seq.nb_flows);
	query(&seq.flows[i]);
	before = seq_state_take();
	seq_call("flow_destroy of %u", i);
	if (seq_done(rte_flow_destroy(seq.port, seq.flows[i].handle, &error), 0)) {
		seq.flows[i] = seq.flows[--seq.nb_flows];
		free(before);
		return;
	}
	seq_state_same(before, seq_state_take(), 0);
}

void
seq_flow_isolate(void)
{
	struct seq_state *before = seq_state_take();
	struct rte_flow_error error;
	bool on = seq_chance(2);

	seq_call("flow_isolate %s", on ? "on" : "off");
	if (seq_done(rte_flow_isolate(seq.port, on, &error), 0)) {
		seq.isolated = on;
		free(before);
		return;
	}
	seq_state_same(before, seq_state_take(), 0);
}

/* ---- where rules lead ---- */

/* The queues follow when the port is configured anew, if they are a run of its table. */
bool
seq_flows_fit(void)
{
	unsigned int i;

	for (i = 0; i < seq.nb_flows; i++) {
		const struct seq_flow *flow = &seq.flows[i];
		unsigned int n = __builtin_popcountll(flow->queues);

		if (flow->queues >> seq.nb_rxq != 0 ||
		    (n != 0 && !rte_is_power_of_2(n) && flow->nb_rxq != seq.nb_rxq))
			return false;
	}
	return true;
}

static bool
matches(const struct seq_flow *flow, const struct seq_frame *frame)
{
	/* Of broadcast the adapter asks the rules for its address alone. */
	if (flow->everything)
		return !rte_is_broadcast_ether_addr(&frame->dst);
	return rte_is_same_ether_addr(&flow->dst, &frame->dst) &&
		(!flow->vlan || (frame->vlan && frame->vlan_id == flow->vlan_id)) &&
		(!flow->udp || (frame->udp && frame->udp_port == flow->udp_port));
}

struct seq_fate
seq_flows_lead(const struct seq_frame *frame)
{
	bool all = rte_is_multicast_ether_addr(&frame->dst); /* may be copied to all of them */
	struct seq_fate fate = { .passed = true };
	uint32_t best = UINT32_MAX;
	unsigned int i;

	for (i = 0; i < seq.nb_flows; i++)
		if (matches(&seq.flows[i], frame))
			best = RTE_MIN(best, seq.flows[i].priority);
	for (i = 0; i < seq.nb_flows; i++) {
		const struct seq_flow *flow = &seq.flows[i];

		if (!matches(flow, frame) || (!all && flow->priority != best))
			continue;
		/* Which of several of one priority is asked first is the card's. */
		fate.queues |= flow->queues;
		fate.dropped |= flow->drop;
		fate.passed = all;
	}
	return fate;
}

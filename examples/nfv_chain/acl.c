/* SPDX-License-Identifier: BSD-3-Clause */

#include <rte_acl.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_tcp.h>

#include "chain.h"

/* ACL: the first rule that fits a packet decides. Packets are as they came, before NAT. */

/* What rte_acl looks at, in network byte order: options do not move it. */
struct acl_key {
	uint8_t proto;
	uint8_t zero[3];
	uint32_t src, dst;
	uint16_t sport, dport;
};

enum { PROTO, SRC, DST, SPORT, DPORT, FIELDS };

#define FIELD(index, kind, member, group) [index] = { \
	.type = RTE_ACL_FIELD_TYPE_ ## kind, .field_index = index, .input_index = group, \
	.size = sizeof(((struct acl_key *)NULL)->member), \
	.offset = offsetof(struct acl_key, member), \
}

/* The first is one byte, the others come in groups of four. */
static const struct rte_acl_field_def fields[FIELDS] = {
	FIELD(PROTO, BITMASK, proto, 0),
	FIELD(SRC, MASK, src, 1),
	FIELD(DST, MASK, dst, 2),
	FIELD(SPORT, RANGE, sport, 3),
	FIELD(DPORT, RANGE, dport, 3),
};

RTE_ACL_RULE_DEF(acl_rule, FIELDS);

enum { NO_RULE, PERMIT, DENY }; /* what a rule says; 0: none fits */

static struct rte_acl_ctx *rules;

static void
fill(struct acl_rule *rule, const struct config_rule *from, unsigned int index)
{
	*rule = (struct acl_rule){
		.data = {
			.category_mask = 1,
			.priority = RTE_ACL_MAX_PRIORITY - (int32_t)index,
			.userdata = from->permit ? PERMIT : DENY,
		},
		.field = {
			[PROTO] = { .value.u8 = from->proto, .mask_range.u8 = from->proto_mask },
			[SRC] = { .value.u32 = from->src.address,
				  .mask_range.u32 = from->src.depth },
			[DST] = { .value.u32 = from->dst.address,
				  .mask_range.u32 = from->dst.depth },
			[SPORT] = { .value.u16 = from->sport.first,
				    .mask_range.u16 = from->sport.last },
			[DPORT] = { .value.u16 = from->dport.first,
				    .mask_range.u16 = from->dport.last },
		},
	};
}

static int
add_rules(const struct config *config)
{
	struct acl_rule rule;
	unsigned int i;
	int ret;

	for (i = 0; i < config->n_rules; i++) {
		fill(&rule, &config->rules[i], i);
		ret = rte_acl_add_rules(rules, (struct rte_acl_rule *)&rule, 1);
		if (ret != 0) {
			complain("%s:%u: rte_acl_add_rules: %s", config->file,
				config->rules[i].line, rte_strerror(-ret));
			return ret;
		}
	}
	return 0;
}

static void
acl_close(void)
{
	rte_acl_free(rules);
	rules = NULL;
}

static int
acl_open(struct chain *chain, struct stage *stage)
{
	const struct rte_acl_param param = {
		.name = "nfv_chain",
		.socket_id = (int)rte_socket_id(),
		.rule_size = RTE_ACL_RULE_SZ(FIELDS),
		.max_rule_num = chain->config.n_rules,
	};
	struct rte_acl_config build = { .num_categories = 1, .num_fields = FIELDS };
	int ret;

	(void)stage;
	memcpy(build.defs, fields, sizeof(fields));
	rules = rte_acl_create(&param);
	if (rules == NULL) {
		complain("rte_acl_create: %s; give the EAL more memory (-m)",
			rte_strerror(rte_errno));
		return -1;
	}
	ret = add_rules(&chain->config);
	if (ret == 0) {
		ret = rte_acl_build(rules, &build);
		if (ret != 0)
			complain("rte_acl_build, %u rules: %s", chain->config.n_rules,
				rte_strerror(-ret));
	}
	if (ret != 0)
		acl_close();
	return ret;
}

static void
make_key(struct rte_mbuf *m, struct acl_key *key)
{
	const struct rte_ipv4_hdr *ip = packet_ip(m);
	const struct rte_tcp_hdr *tcp = packet_l4(m); /* its ports are where UDP's are */
	bool ported = ip->next_proto_id == IPPROTO_TCP || ip->next_proto_id == IPPROTO_UDP;

	*key = (struct acl_key){
		.proto = ip->next_proto_id,
		.src = ip->src_addr,
		.dst = ip->dst_addr,
		.sport = ported ? tcp->src_port : 0,
		.dport = ported ? tcp->dst_port : 0,
	};
}

static unsigned int
acl_filter(struct stage *stage, struct rte_mbuf **pkts, unsigned int n)
{
	struct acl_key keys[BURST];
	const uint8_t *data[BURST];
	uint32_t said[BURST];
	unsigned int i, left = 0;

	for (i = 0; i < n; i++) {
		make_key(pkts[i], &keys[i]);
		data[i] = (const uint8_t *)&keys[i];
	}
	rte_acl_classify(rules, data, said, n, 1);
	for (i = 0; i < n; i++) {
		if (said[i] == PERMIT)
			pkts[left++] = pkts[i];
		else
			stage_drop(stage, pkts[i], said[i] == DENY ? DROP_DENIED : DROP_NO_RULE);
	}
	return left;
}

const struct stage_ops acl_ops = {
	.name = "acl", .open = acl_open, .close = acl_close, .filter = acl_filter,
};

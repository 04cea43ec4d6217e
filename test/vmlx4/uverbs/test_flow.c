/* SPDX-License-Identifier: BSD-3-Clause */

/* Flow rules: what is accepted, in what order faults are found. */

#include <arpa/inet.h>
#include <errno.h>

#include "device.h"

#define ENOTSUPP 524 /* of the kernel's own; mlx4 lets it out */

struct rule {
	struct ibv_flow_attr attr;
	union {
		struct ibv_flow_spec_eth eth;
		struct ibv_flow_spec_ipv4 ipv4;
		struct ibv_flow_spec_tcp_udp l4;
		uint8_t bytes[256];
	} specs;
};

static struct rule
rule_eth(void)
{
	struct rule rule = {
		.attr = { .type = IBV_FLOW_ATTR_NORMAL, .size = sizeof(rule.attr),
			.num_of_specs = 1, .port = 1 },
		.specs.eth = {
			.type = IBV_FLOW_SPEC_ETH,
			.size = sizeof(rule.specs.eth),
			.val = { .dst_mac = { 2, 0, 0, 0, 0, 1 } },
			.mask = { .dst_mac = { 255, 255, 255, 255, 255, 255 } },
		},
	};

	rule.attr.size += sizeof(rule.specs.eth);
	return rule;
}

static struct ibv_flow_spec_ipv4
spec_ipv4(void)
{
	struct ibv_flow_spec_ipv4 spec = {
		.type = IBV_FLOW_SPEC_IPV4,
		.size = sizeof(spec),
		.val.dst_ip = htonl(0x0a000001),
		.mask.dst_ip = 0xffffffff,
	};

	return spec;
}

static struct ibv_flow_spec_tcp_udp
spec_l4(enum ibv_flow_spec_type type)
{
	struct ibv_flow_spec_tcp_udp spec = {
		.type = type,
		.size = sizeof(spec),
		.val.dst_port = htons(80),
		.mask.dst_port = 0xffff,
	};

	return spec;
}

static void
rule_add(struct rule *rule, const void *spec, size_t size)
{
	memcpy(rule->specs.bytes + rule->attr.size - sizeof(rule->attr), spec, size);
	rule->attr.size += size;
	rule->attr.num_of_specs++;
}

/* errno of the rule, 0 when it was created (and destroyed again). */
static int
try_rule(struct ibv_qp *qp, struct rule rule)
{
	struct ibv_flow *flow;

	errno = 0;
	flow = ibv_create_flow(qp, &rule.attr);
	if (flow == NULL)
		return errno;
	assert_int_equal(ibv_destroy_flow(flow), 0);
	return 0;
}

static void
test_attributes(void **state)
{
	struct device *device = *state;
	struct ibv_cq *cq = device_cq(device, 15);
	struct ibv_qp *qp = device_qp(device, cq);
	struct rule rule;

	assert_int_equal(try_rule(qp, rule_eth()), 0);
#define ATTR(member, value, error) do { \
	rule = rule_eth(); \
	rule.attr.member = value; \
	assert_int_equal(try_rule(qp, rule), error); \
} while (0)
	ATTR(port, 0, EINVAL);
	ATTR(port, 3, EINVAL);
	ATTR(port, 2, 0);
	ATTR(priority, 0xfff, 0);
	ATTR(priority, 0x1000, EINVAL);
	ATTR(flags, IBV_FLOW_ATTR_FLAGS_EGRESS, EOPNOTSUPP);
	ATTR(flags, 8, EINVAL);
	ATTR(type, 4, EINVAL);
	ATTR(num_of_specs, 0, EINVAL); /* matches everything, yet is no default rule */
	/* The port is looked at before the flags. */
	rule = rule_eth();
	rule.attr.port = 9;
	rule.attr.flags = IBV_FLOW_ATTR_FLAGS_EGRESS;
	assert_int_equal(try_rule(qp, rule), EINVAL);
#undef ATTR
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static void
test_types(void **state)
{
	struct device *device = *state;
	struct ibv_cq *cq = device_cq(device, 15);
	struct ibv_qp *qp = device_qp(device, cq);
	struct rule rule = { .attr = { .size = sizeof(rule.attr), .port = 1 } };
	int type;

	for (type = IBV_FLOW_ATTR_ALL_DEFAULT; type <= IBV_FLOW_ATTR_SNIFFER; type++) {
		rule.attr.type = type;
		assert_int_equal(try_rule(qp, rule), 0);
	}
	rule.attr.type = IBV_FLOW_ATTR_ALL_DEFAULT;
	rule.attr.flags = IBV_FLOW_ATTR_FLAGS_DONT_TRAP;
	assert_int_equal(try_rule(qp, rule), EINVAL);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

/* Copies, at priority 0, of all frames or of what the multicast bit says. */
static void
test_dont_trap(void **state)
{
	struct device *device = *state;
	struct ibv_cq *cq = device_cq(device, 15);
	struct ibv_qp *qp = device_qp(device, cq);
	struct rule good = rule_eth(), rule;
	struct ibv_flow_spec_ipv4 ipv4 = spec_ipv4();

	good.attr.flags = IBV_FLOW_ATTR_FLAGS_DONT_TRAP;
	memset(good.specs.eth.mask.dst_mac, 0, 6);
	assert_int_equal(try_rule(qp, good), 0);
	good.specs.eth.mask.dst_mac[0] = 1;
	assert_int_equal(try_rule(qp, good), 0);
	good.specs.eth.val.dst_mac[0] = 1;
	assert_int_equal(try_rule(qp, good), 0);
	rule = good;
	rule.attr.num_of_specs = 0;
	rule.attr.size = sizeof(rule.attr);
	assert_int_equal(try_rule(qp, rule), 0);
	assert_int_equal(try_rule(qp, rule_eth()), 0);
	rule = rule_eth();
	rule.attr.flags = IBV_FLOW_ATTR_FLAGS_DONT_TRAP;
	assert_int_equal(try_rule(qp, rule), EINVAL); /* the whole address */
	rule = good;
	rule.attr.priority = 1;
	assert_int_equal(try_rule(qp, rule), EOPNOTSUPP);
	rule = good;
	rule.attr.type = IBV_FLOW_ATTR_SNIFFER;
	assert_int_equal(try_rule(qp, rule), EOPNOTSUPP);
	rule = good;
	rule_add(&rule, &ipv4, sizeof(ipv4));
	assert_int_equal(try_rule(qp, rule), EOPNOTSUPP);
	rule = good;
	rule.specs.eth.type = IBV_FLOW_SPEC_IPV4;
	assert_int_equal(try_rule(qp, rule), EINVAL);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static void
test_eth_masks(void **state)
{
	struct device *device = *state;
	struct ibv_cq *cq = device_cq(device, 15);
	struct ibv_qp *qp = device_qp(device, cq);
	struct rule rule = rule_eth();

	rule.specs.eth.mask.dst_mac[5] = 0xf0;
	assert_int_equal(try_rule(qp, rule), EINVAL);
	memset(rule.specs.eth.mask.dst_mac, 0, 6);
	assert_int_equal(try_rule(qp, rule), 0);
	rule = rule_eth();
	rule.specs.eth.mask.vlan_tag = htons(0x0fff);
	assert_int_equal(try_rule(qp, rule), 0);
	rule.specs.eth.mask.vlan_tag = htons(0x00ff);
	assert_int_equal(try_rule(qp, rule), EINVAL);
	/* mlx4 looks at neither of these. */
	rule = rule_eth();
	rule.specs.eth.mask.src_mac[0] = 0x0f;
	rule.specs.eth.mask.ether_type = htons(0x0f00);
	assert_int_equal(try_rule(qp, rule), 0);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static void
test_upper_layers(void **state)
{
	struct device *device = *state;
	struct ibv_cq *cq = device_cq(device, 15);
	struct ibv_qp *qp = device_qp(device, cq);
	struct ibv_flow_spec_ipv4 ip = spec_ipv4(), partial = ip;
	struct ibv_flow_spec_tcp_udp tcp = spec_l4(IBV_FLOW_SPEC_TCP);
	struct ibv_flow_spec_tcp_udp udp = spec_l4(IBV_FLOW_SPEC_UDP);
	struct rule rule = rule_eth();

	rule_add(&rule, &ip, sizeof(ip));
	assert_int_equal(try_rule(qp, rule), 0);
	rule_add(&rule, &tcp, sizeof(tcp));
	assert_int_equal(try_rule(qp, rule), 0);
	rule = rule_eth();
	rule_add(&rule, &udp, sizeof(udp));
	assert_int_equal(try_rule(qp, rule), EINVAL); /* no IPv4 in front */
	rule = rule_eth();
	partial.mask.dst_ip = htonl(0xffffff00);
	rule_add(&rule, &partial, sizeof(partial));
	assert_int_equal(try_rule(qp, rule), EINVAL);
	rule = rule_eth();
	rule_add(&rule, &ip, sizeof(ip));
	udp.mask.dst_port = htons(0xff00);
	rule_add(&rule, &udp, sizeof(udp));
	assert_int_equal(try_rule(qp, rule), EINVAL);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

/* A rule with one IPv4 spec, as the kernel's interface has it. */
static int
try_raw(struct device *device, const struct ib_uverbs_create_flow *core,
	const struct ib_uverbs_flow_spec_ipv4 *ip, const void *driver, size_t size)
{
	uint8_t rule[sizeof(*core) + sizeof(*ip)];
	struct ib_uverbs_create_flow_resp reply;
	struct ib_uverbs_destroy_flow destroy = { 0 };
	int ret;

	memcpy(rule, core, sizeof(*core));
	memcpy(rule + sizeof(*core), ip, sizeof(*ip));
	ret = write_ex(device->ctx, IB_USER_VERBS_EX_CMD_CREATE_FLOW, rule, sizeof(rule),
		driver, size, &reply, sizeof(reply));
	if (ret != 0)
		return ret;
	destroy.flow_handle = reply.flow_handle;
	return write_ex(device->ctx, IB_USER_VERBS_EX_CMD_DESTROY_FLOW, &destroy,
		sizeof(destroy), NULL, 0, NULL, 0);
}

static void
test_raw_rules(void **state)
{
	struct device *device = *state;
	struct ibv_cq *cq = device_cq(device, 15);
	struct ibv_qp *qp = device_qp(device, cq);
	struct ib_uverbs_flow_spec_ipv4 ip = { .type = IBV_FLOW_SPEC_IPV4,
		.size = sizeof(ip) };
	struct ib_uverbs_create_flow core = { .qp_handle = qp->handle };
	struct ib_uverbs_flow_attr *attr = &core.flow_attr;
	uint64_t driver = 0;

	attr->size = sizeof(ip);
	attr->num_of_specs = 1;
	attr->port = 1;
#define REFUSES(member, value, error) do { \
	uint64_t good = member; \
	member = value; \
	assert_int_equal(try_raw(device, &core, &ip, NULL, 0), error); \
	member = good; \
} while (0)
	assert_int_equal(try_raw(device, &core, &ip, NULL, 0), 0);
	assert_int_equal(try_raw(device, &core, &ip, &driver, 8), 0);
	driver = 1;
	assert_int_equal(try_raw(device, &core, &ip, &driver, 8), EOPNOTSUPP);
	REFUSES(core.comp_mask, 1, EINVAL);
	REFUSES(core.qp_handle, 999, EINVAL);
	REFUSES(attr->size, sizeof(ip) + 8, ENOSPC); /* more than the command has */
	REFUSES(attr->size, sizeof(ip) - 8, EINVAL);
	REFUSES(attr->num_of_specs, 2, EINVAL);
	REFUSES(attr->num_of_specs, 11, EINVAL);
	REFUSES(attr->reserved[0], 1, EINVAL);
	REFUSES(ip.size, sizeof(ip) - 8, EINVAL); /* what is left is no spec */
	REFUSES(ip.size, 4, EINVAL);
	REFUSES(ip.type, IBV_FLOW_SPEC_IPV6, EINVAL);
	REFUSES(ip.type, IBV_FLOW_SPEC_VXLAN_TUNNEL, EINVAL);
	REFUSES(ip.type, IBV_FLOW_SPEC_IPV4 | IBV_FLOW_SPEC_INNER, EINVAL);
	REFUSES(ip.mask.proto, 255, ENOTSUPP);
	REFUSES(ip.mask.tos, 1, ENOTSUPP);
#undef REFUSES
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static void
test_in_use(void **state)
{
	struct device *device = *state;
	struct ibv_cq *cq = device_cq(device, 15);
	struct ibv_qp *qp = device_qp(device, cq);
	struct rule rule = rule_eth();
	struct ibv_flow *flow = ibv_create_flow(qp, &rule.attr);
	struct ib_uverbs_destroy_flow destroy = { .flow_handle = 999 };

	assert_non_null(flow);
	assert_int_equal(ibv_destroy_qp(qp), EBUSY);
	assert_int_equal(write_ex(device->ctx, IB_USER_VERBS_EX_CMD_DESTROY_FLOW, &destroy,
		sizeof(destroy), NULL, 0, NULL, 0), ENOENT);
	assert_int_equal(ibv_destroy_flow(flow), 0);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_device(test_attributes),
		cmocka_unit_test_device(test_types),
		cmocka_unit_test_device(test_dont_trap),
		cmocka_unit_test_device(test_eth_masks),
		cmocka_unit_test_device(test_upper_layers),
		cmocka_unit_test_device(test_raw_rules),
		cmocka_unit_test_device(test_in_use),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * GIDs, and where they lead. Runs with --ip1 10.0.0.1,fd00::1 --ip2 10.0.1.1
 * --neighbour1 10.0.0.2@00:02:c9:06:00:01,fd00::2@00:02:c9:06:00:02: what libibverbs
 * finds out of getifaddrs() and of the routing tables.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "device.h"

static union ibv_gid
gid_of(const char *text)
{
	union ibv_gid gid;

	assert_int_equal(inet_pton(AF_INET6, text, &gid), 1);
	return gid;
}

/* The index of an address of a kind in the table of a port; -1: none. */
static int
find(struct device *device, uint32_t port, const char *text, enum ibv_gid_type kind)
{
	struct ibv_gid_entry entries[64];
	union ibv_gid gid = gid_of(text);
	ssize_t count = ibv_query_gid_table(device->ctx, entries, 64, 0);
	ssize_t i;

	assert_true(count > 0);
	for (i = 0; i < count; i++) {
		if (entries[i].port_num != port || entries[i].gid_type != kind ||
				memcmp(&entries[i].gid, &gid, sizeof(gid)) != 0)
			continue;
		assert_int_equal(entries[i].ndev_ifindex,
			if_nametoindex(port == 1 ? "vmlx4p1" : "vmlx4p2"));
		return (int)entries[i].gid_index;
	}
	return -1;
}

/* Each address is there for both kinds of RoCE that a Pro speaks. */
static void
test_table(void **state)
{
	struct device *device = *state;

	assert_int_equal(find(device, 1, "fe80::202:c9ff:fe05:1", IBV_GID_TYPE_ROCE_V1), 0);
	assert_int_equal(find(device, 1, "fe80::202:c9ff:fe05:1", IBV_GID_TYPE_ROCE_V2), 1);
	assert_int_equal(find(device, 1, "::ffff:10.0.0.1", IBV_GID_TYPE_ROCE_V1), 2);
	assert_int_equal(find(device, 1, "::ffff:10.0.0.1", IBV_GID_TYPE_ROCE_V2), 3);
	assert_int_equal(find(device, 1, "fd00::1", IBV_GID_TYPE_ROCE_V2), 5);
	assert_int_equal(find(device, 2, "::ffff:10.0.1.1", IBV_GID_TYPE_ROCE_V1), 2);
	assert_int_equal(find(device, 2, "fd00::1", IBV_GID_TYPE_ROCE_V1), -1);
}

static int
resolve(struct device *device, int index, const char *text, uint8_t mac[6])
{
	struct ibv_ah_attr attr = {
		.is_global = 1, .port_num = 1,
		.grh = { .dgid = gid_of(text), .sgid_index = (uint8_t)index },
	};
	struct ibv_ah *ah = ibv_create_ah(device->pd, &attr);
	uint16_t vlan = 0;

	if (ah == NULL)
		return -1;
	assert_int_equal(ibv_destroy_ah(ah), 0);
	/* libmlx4 keeps what it found to itself: the same once more. */
	assert_int_equal(ibv_resolve_eth_l2_from_gid(device->ctx, &attr, mac, &vlan), 0);
	assert_int_equal(vlan, 0xffff);
	return 0;
}

static void
leads_to(struct device *device, int index, const char *text, unsigned int byte3, unsigned int byte5)
{
	const uint8_t expected[6] = { 0, 2, 0xc9, (uint8_t)byte3, 0, (uint8_t)byte5 };
	uint8_t mac[6] = { 0 };

	assert_int_equal(resolve(device, index, text, mac), 0);
	assert_memory_equal(mac, expected, 6);
}

static void
test_address_handles(void **state)
{
	struct device *device = *state;
	static const uint8_t group[6] = { 0x33, 0x33, 0, 0, 0, 1 };
	uint8_t mac[6];

	leads_to(device, 0, "fe80::202:c9ff:fe05:1", 5, 1);
	leads_to(device, 0, "fe80::202:c9ff:fe05:2", 5, 2);
	leads_to(device, 0, "fe80::202:c9ff:fe77:7", 0x77, 7);
	leads_to(device, 2, "::ffff:10.0.0.1", 5, 1);
	leads_to(device, 2, "::ffff:10.0.0.2", 6, 1);
	leads_to(device, 4, "fd00::2", 6, 2);
	assert_int_equal(resolve(device, 0, "ff02::1", mac), 0);
	assert_memory_equal(mac, group, 6);
	/* Nobody has told of it. */
	assert_int_equal(resolve(device, 2, "::ffff:10.0.0.9", mac), -1);
	assert_int_equal(resolve(device, 4, "fd00::9", mac), -1);
}

/* The kernel resolves the address of a connection itself; so does the adapter. */
static void
test_connections(void **state)
{
	static const struct {
		const char *to;
		uint8_t index;
		int error;
	} tries[] = {
		{ "fe80::202:c9ff:fe05:2", 0, 0 },
		{ "::ffff:10.0.0.1", 3, 0 },
		{ "::ffff:10.0.1.1", 3, 0 },
		{ "::ffff:10.0.0.2", 3, 0 },
		{ "fd00::2", 5, 0 },
		{ "fd00::9", 5, EHOSTUNREACH },
		{ "fd00::2", 6, ENODATA },
		{ "fd00::2", 127, ENODATA },
		{ "fd00::2", 128, EINVAL },
	};
	struct device *device = *state;
	struct ibv_cq *cq = device_cq(device, 15);
	struct ibv_qp *qp = device_transport(device, cq, IBV_QPT_UC);
	struct ibv_qp_attr attr;
	size_t i;

	for (i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		assert_int_equal(transport_to_init(qp, 1), 0);
		transport_attr(&attr, 1, qp->qp_num);
		attr.ah_attr.grh.dgid = gid_of(tries[i].to);
		attr.ah_attr.grh.sgid_index = tries[i].index;
		assert_int_equal(ibv_modify_qp(qp, &attr, transport_mask(qp, IBV_QPS_RTR)),
			tries[i].error);
		assert_int_equal(qp_to(qp, IBV_QPS_RESET, 0), 0);
	}
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

/* With another MAC the interface has another link-local address, and that is a GID. */
static void
test_another_mac(void **state)
{
	struct device *device = *state;
	struct ifreq ifr = { .ifr_name = "vmlx4p1" };
	struct ibv_async_event event;
	uint8_t mac[6];
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	assert_int_equal(ioctl(fd, SIOCGIFHWADDR, &ifr), 0);
	ifr.ifr_hwaddr.sa_data[5] = 0x77;
	assert_int_equal(ioctl(fd, SIOCSIFHWADDR, &ifr), 0);
	assert_int_equal(ibv_get_async_event(device->ctx, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_GID_CHANGE);
	assert_int_equal(event.element.port_num, 1);
	ibv_ack_async_event(&event);
	assert_int_equal(find(device, 1, "fe80::202:c9ff:fe05:77", IBV_GID_TYPE_ROCE_V2), 1);
	assert_int_equal(find(device, 1, "fe80::202:c9ff:fe05:1", IBV_GID_TYPE_ROCE_V1), -1);
	assert_int_equal(resolve(device, 0, "fe80::202:c9ff:fe05:77", mac), 0);
	ifr.ifr_hwaddr.sa_data[5] = 1;
	assert_int_equal(ioctl(fd, SIOCSIFHWADDR, &ifr), 0);
	close(fd);
}

/* Interface addresses, beside those of the machine. */
static void
test_interfaces(void **state)
{
	unsigned int links = 0, ipv4 = 0, ipv6 = 0, others = 0;
	struct ifaddrs *list, *ifa;

	(void)state;
	assert_int_equal(getifaddrs(&list), 0);
	for (ifa = list; ifa != NULL; ifa = ifa->ifa_next) {
		if (strncmp(ifa->ifa_name, "vmlx4p", 6) != 0) {
			others++;
			continue;
		}
		assert_true((ifa->ifa_flags & IFF_UP) != 0);
		links += ifa->ifa_addr->sa_family == AF_PACKET;
		ipv4 += ifa->ifa_addr->sa_family == AF_INET;
		ipv6 += ifa->ifa_addr->sa_family == AF_INET6;
	}
	freeifaddrs(list);
	assert_int_equal(links, 2);
	assert_int_equal(ipv4, 2);
	assert_int_equal(ipv6, 3);
	assert_true(others > 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_device(test_table),
		cmocka_unit_test_device(test_address_handles),
		cmocka_unit_test_device(test_connections),
		cmocka_unit_test_device(test_another_mac),
		cmocka_unit_test_device(test_interfaces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

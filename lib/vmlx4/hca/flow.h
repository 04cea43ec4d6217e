/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VMLX4_FLOW_H_
#define VMLX4_FLOW_H_

/* The rules of flow steering: a part of the object model, included by hca.h. */

enum vmlx4_flow_type {
	VMLX4_FLOW_NORMAL,
	VMLX4_FLOW_ALL_DEFAULT,
	VMLX4_FLOW_MC_DEFAULT,
	VMLX4_FLOW_SNIFFER,
	VMLX4_FLOW_DONT_TRAP, /* a copy; the frame goes on to further rules */
};

/*
 * What a rule matches. Masks are all zeroes or all ones (the VLAN id: 0x0fff);
 * all values in network order.
 */
struct vmlx4_match {
	bool eth, ipv4, tcp, udp;  /* layers the rule names */
	bool vxlan;                /* tunnelled packets only; the rest is about the outer headers */
	uint8_t dst_mac[6], dst_mac_mask[6];
	uint16_t vlan_tag, vlan_mask;
	uint32_t src_ip, src_ip_mask, dst_ip, dst_ip_mask;
	uint16_t src_port, src_port_mask, dst_port, dst_port_mask;
};

struct vmlx4_flow {
	struct vmlx4_obj obj;
	enum vmlx4_flow_type flow_type;
	uint16_t priority;     /* lower wins; then the older rule */
	bool copy_unicast, copy_multicast; /* what a DONT_TRAP rule is about */
	uint8_t mac_index;     /* its entry of the port's MAC table, or VMLX4_MAC_OWN */
	struct vmlx4_flow *twin; /* second rule that the kernel adds for tunnels, or NULL */
	struct vmlx4_match match;
	struct vmlx4_port *port;
	struct vmlx4_qp *qp;
	TAILQ_ENTRY(vmlx4_flow) port_next;
};
TAILQ_HEAD(vmlx4_flow_list, vmlx4_flow);

#define VMLX4_DESTINATIONS 64u

/* The one rule that gets the frames to an address, remembered while no rule looks further. */
struct vmlx4_destination {
	uint64_t mac;            /* 48 bits, first byte highest */
	struct vmlx4_flow *flow; /* NULL: nothing is known */
	uint8_t mac_index;       /* of a unicast address, in the port's MAC table */
};

#endif /* VMLX4_FLOW_H_ */

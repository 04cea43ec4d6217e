/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VMLX4_UNKNOWNS_H_
#define VMLX4_UNKNOWNS_H_

/*
 * What no public source states about the hardware. Each such behaviour has a
 * name and a default here and nowhere else, so that it can become an option of
 * the model once somebody measures a card: X(name, default, what it decides).
 */

#define VMLX4_UNKNOWNS(X) \
	X(tx_min_frame, 60, \
	  "bytes a frame is padded to with zeroes before it leaves; 0: not padded") \
	X(tx_oversize_error, 0, \
	  "a frame longer than the port passes: 0 counted and completed, 1 LOC_LEN") \
	X(tx_empty_error, 1, \
	  "a frame of no bytes: 1 LOC_LEN, 0 completed and not sent") \
	X(tx_cq_full_stalls, 0, \
	  "a send CQ without room: 0 overruns it, 1 the SQ waits") \
	X(tx_vlan_both, 1, \
	  "both insertion bits set: 1 inserts an S-VLAN tag, 0 a C-VLAN tag") \
	X(tx_lazy_executes, 1, \
	  "WQEs that no doorbell announced: 1 run after the grace period, 0 sit") \
	X(vendor_other, 0, \
	  "vendor_err beside syndromes other than LOC_PROT (0x57 on silicon)") \
	X(rx_oversize_syndrome, VMLX4_HW_SYN_LOC_LEN, \
	  "frame longer than the receive WQE") \
	X(rx_oversize_fatal, 0, \
	  "…and the queue then: 0 lives on, 1 goes to the error state") \
	X(rx_prot_syndrome, VMLX4_HW_SYN_LOC_PROT, \
	  "receive buffer that its lkey does not cover (0x04 or 0x11)") \
	X(rx_prot_fatal, 1, \
	  "…and the queue then: 0 lives on, 1 goes to the error state") \
	X(rx_l4_without_ip, 1, \
	  "L4 is verified although the IPv4 header checksum is wrong") \
	X(rx_ipv6_ipok, 1, \
	  "IPv6 packets carry the IPOK bit") \
	X(rx_sl_vid_unstripped, 1, \
	  "sl_vid and the VLAN bits are reported although the tag stays in the data") \
	X(rx_hash_when_none, 0, \
	  "hash field of a packet that is not hashed") \
	X(default_takes_broadcast, 0, \
	  "ALL_DEFAULT and MC_DEFAULT rules take ff:ff:ff:ff:ff:ff (drivers add a rule)") \
	X(arm_fires_on_pending, 1, \
	  "an arm whose consumer index is behind the producer fires at once") \
	X(arm_ignores_used_sn, 1, \
	  "an arm with the sn of a delivered event is ignored")

/*
 * Not in the table, because the model has one way only: internal loopback
 * (the destination MAC of the control segment and the FL bit are ignored:
 * frames go to the wire); hardware MAC-table index in the CQE (always 0);
 * counter of a receive queue after its RSS QP is re-created (restarts at 0);
 * rules of equal priority (older first, whatever their type).
 */

struct vmlx4_unknowns {
#define VMLX4_UNKNOWN_FIELD(name, value, text) unsigned int name;
	VMLX4_UNKNOWNS(VMLX4_UNKNOWN_FIELD)
#undef VMLX4_UNKNOWN_FIELD
};

extern struct vmlx4_unknowns vmlx4_unknowns;

#endif /* VMLX4_UNKNOWNS_H_ */

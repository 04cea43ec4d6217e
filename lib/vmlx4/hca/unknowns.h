/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VMLX4_UNKNOWNS_H_
#define VMLX4_UNKNOWNS_H_

#include <stddef.h>
#include <stdint.h>

/*
 * What no public source states about the hardware. Each such behaviour has a
 * name and a default here and nowhere else, and is an option of the model, so
 * that whoever measured a card can have it so:
 * X(name, default, least, most, what it decides).
 */

#define VMLX4_UNKNOWNS(X) \
	X(tx_min_frame, 60, 0, 256, \
	  "bytes a frame is padded to with zeroes before it leaves; 0: not padded") \
	X(tx_oversize_error, 0, 0, 1, \
	  "a frame longer than the port passes: 0 counted and completed, 1 LOC_LEN") \
	X(tx_empty_error, 1, 0, 1, \
	  "a frame of no bytes: 1 LOC_LEN, 0 completed and not sent") \
	X(tx_cq_full_stalls, 0, 0, 1, \
	  "a send CQ without room: 0 overruns it, 1 the SQ waits") \
	X(tx_vlan_both, 1, 0, 1, \
	  "both insertion bits set: 1 inserts an S-VLAN tag, 0 a C-VLAN tag") \
	X(tx_lazy_executes, 1, 0, 1, \
	  "WQEs that no doorbell announced: 1 run after the grace period, 0 sit") \
	X(tx_lso_needs_blh, 0, 0, 1, \
	  "1: LSO headers that run over 64 bytes need bit 6 of the first dword, else LOC_QP_OP") \
	X(loopback_unicast, 1, 0, 2, \
	  "a control segment with the MAC of a rule of the port: 0 wire, 1 loopback, 2 both") \
	X(loopback_multicast, 1, 0, 1, \
	  "a control segment with a multicast MAC: 1 the port's rules get a copy, 0 wire only") \
	X(loopback_needs_link, 0, 0, 1, \
	  "1: a port without link loops nothing back") \
	X(tx_pause_when_starved, 0, 0, 1, \
	  "1: a frame without a receive WQE makes the port send a pause frame (ethtool -A tx)") \
	X(cq_count_needs_period, 0, 0, 1, \
	  "moderation by count and no period: 0 waits for the count, 1 for nothing") \
	X(vxlan_port, 4789, 0, UINT16_MAX, \
	  "UDP port by which a Pro card knows VXLAN (mlx4_en sets it); 0: it parses no tunnels") \
	X(vendor_other, 0, 0, 0xff, \
	  "vendor_err beside syndromes other than LOC_PROT (0x57 on silicon)") \
	X(rx_oversize_syndrome, VMLX4_HW_SYN_LOC_LEN, 1, 0xff, \
	  "syndrome of a frame longer than the receive WQE") \
	X(rx_oversize_fatal, 0, 0, 1, \
	  "the queue after such a frame: 0 lives on, 1 goes to the error state") \
	X(rx_prot_syndrome, VMLX4_HW_SYN_LOC_PROT, 1, 0xff, \
	  "syndrome of a receive buffer that its lkey does not cover (4 or 0x11)") \
	X(rx_prot_fatal, 1, 0, 1, \
	  "the queue after such a buffer: 0 lives on, 1 goes to the error state") \
	X(rx_l4_without_ip, 1, 0, 1, \
	  "1: L4 is verified although the IPv4 header checksum is wrong") \
	X(rx_ipv6_ipok, 1, 0, 1, \
	  "1: IPv6 packets carry the IPOK bit") \
	X(rx_sl_vid_unstripped, 1, 0, 1, \
	  "1: sl_vid and VLAN bits are reported although the tag stays in the data") \
	X(rx_hash_when_none, 0, 0, UINT32_MAX, \
	  "hash field of a packet that is not hashed") \
	X(rx_tunnel_no_sum_ok, 1, 0, 1, \
	  "1: a tunnel whose outer UDP packet has no checksum carries the bit of a good one") \
	X(rx_timestamp_carry, 0, 0, 1, \
	  "1: bits 47:16 of a timestamp are one behind when bits 15:0 are 0") \
	X(rss_function, 0, 0, 2, \
	  "hash of RSS QPs: 0 Toeplitz; 1, 2 the XOR that mlx4_en can choose, of 8 or 32 bits") \
	X(rss_inner_addresses, 0, 0, 1, \
	  "1: INNER hashes addresses only, as the name of the card's mode may mean") \
	X(rx_mac_index_none, 0, 0, 0x7f, \
	  "MAC table index in the CQE of a frame whose destination is not in the table") \
	X(steer_mac_table, 1, 0, 1, \
	  "1: a rule for a unicast MAC takes one of 128 entries of the port, 0: it takes none") \
	X(steer_udp_port_first, 1, 0, 1, \
	  "1: a rule with a UDP destination port counts as one of priority 0") \
	X(steer_tunnel_needs_rule, 0, 0, 1, \
	  "1: on a Pro card VXLAN packets see only rules of a MAC alone, and default rules") \
	X(steer_dont_trap, 1, 0, 1, \
	  "1: the firmware has the UC/MC sniffer that DONT_TRAP takes") \
	X(default_takes_broadcast, 0, 0, 1, \
	  "1: ALL_DEFAULT and MC_DEFAULT rules take ff:ff:ff:ff:ff:ff without a rule of its own") \
	X(srq_limit_at_once, 1, 0, 1, \
	  "a limit above what is posted when it is set: 1 the event at once, 0 with the next WQE") \
	X(rc_timeout_factor, 4, 1, 4, \
	  "an answer of an RC QP is missed after this many times its timeout") \
	X(ud_error_fatal, 1, 0, 1, \
	  "a UD QP whose receive WQE is too short or has a bad key: 1 error state, 0 lives on") \
	X(arm_fires_on_pending, 1, 0, 1, \
	  "1: an arm whose consumer index is behind the producer fires at once") \
	X(arm_ignores_used_sn, 1, 0, 1, \
	  "1: an arm with the sn of a delivered event is ignored")

/*
 * Not in the table, because the model has one way only: counter of a receive
 * queue after its RSS QP is re-created (restarts at 0); rules of equal priority
 * (older first, whatever their type); frames that loop back are not padded.
 */

/* Part of the options: read anew by every adapter, and by every test. */
struct vmlx4_unknowns {
#define VMLX4_UNKNOWN_FIELD(name, value, least, most, text) unsigned int name;
	VMLX4_UNKNOWNS(VMLX4_UNKNOWN_FIELD)
#undef VMLX4_UNKNOWN_FIELD
};

/* What an option or a list has to know of one of them. */
struct vmlx4_unknown {
	const char *name;
	unsigned int value;  /* default */
	unsigned int least, most;
	const char *text;
	size_t offset;       /* in struct vmlx4_unknowns */
};

extern const struct vmlx4_unknowns vmlx4_unknown_defaults;

const struct vmlx4_unknown *vmlx4_unknown_get(unsigned int index); /* NULL: end */

/*
 * Set one from "NAME=VALUE". On error write the cure to error and return
 * -EINVAL.
 */
int vmlx4_unknown_set(struct vmlx4_unknowns *unknowns, const char *text, char *error,
	size_t error_size);

#endif /* VMLX4_UNKNOWNS_H_ */

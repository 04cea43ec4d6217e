/* SPDX-License-Identifier: BSD-3-Clause */

#include <arpa/inet.h>
#include <endian.h>
#include <stdio.h>
#include <string.h>

#include "hca/parse.h"
#include "show.h"

static unsigned int
be16(const uint8_t *bytes)
{
	return (unsigned int)bytes[0] << 8 | bytes[1];
}

static void
print_mac(const uint8_t *mac)
{
	printf("%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
}

static void
print_address(const uint8_t *address, bool ipv6, const uint8_t *port)
{
	char text[INET6_ADDRSTRLEN];

	inet_ntop(ipv6 ? AF_INET6 : AF_INET, address, text, sizeof(text));
	printf(ipv6 && port != NULL ? "[%s]" : "%s", text);
	if (port != NULL)
		printf(":%u", be16(port));
}

static void
print_packet(const uint8_t *frame, const struct vmlx4_parsed *parsed)
{
	bool ipv6 = parsed->l3 == VMLX4_L3_IPV6;
	const uint8_t *l3 = frame + parsed->l3_offset, *ports = NULL;

	if (parsed->l4 != VMLX4_L4_NONE)
		ports = frame + parsed->l4_offset;
	printf(" %s ", parsed->l4 == VMLX4_L4_TCP ? "TCP" : parsed->l4 == VMLX4_L4_UDP ? "UDP" :
		ipv6 ? "IPv6" : "IPv4");
	print_address(l3 + (ipv6 ? 8 : 12), ipv6, ports);
	printf(" > ");
	print_address(l3 + (ipv6 ? 24 : 16), ipv6, ports != NULL ? ports + 2 : NULL);
	if (ports == NULL)
		printf(" protocol %u%s", parsed->ip_protocol, parsed->fragment ? " fragment" : "");
}

void
print_frame(const struct show *show, const struct record *record)
{
	struct vmlx4_trace_frame head;
	const uint8_t *frame = (const uint8_t *)record->payload + sizeof(head);
	struct vmlx4_parsed parsed;
	uint32_t length, kept;

	memcpy(&head, record->payload, sizeof(head));
	length = le32toh(head.length);
	kept = le32toh(head.kept);
	printf("port %u %s %u B", record->port, head.direction == VMLX4_TRACE_OUT ? "out" : "in ",
		length);
	if ((head.flags & VMLX4_TRACE_FRAME_DOWN) != 0)
		printf(" while down");
	if (kept >= 14) {
		/* Of a frame that is cut off it may tell less. */
		vmlx4_parse(frame, kept, &parsed);
		putchar(' ');
		print_mac(frame + 6);
		printf(" > ");
		print_mac(frame);
		if (parsed.vlans != 0)
			printf(" vlan 0x%04x", parsed.vlan_tci);
		if (parsed.l3 != VMLX4_L3_NONE)
			print_packet(frame, &parsed);
		else
			printf(" type 0x%04x", parsed.ethertype);
	}
	if (kept < length)
		printf(" (%u B kept)", kept);
	if (show->hex)
		print_bytes(frame, kept);
}

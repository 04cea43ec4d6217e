/* SPDX-License-Identifier: BSD-3-Clause */

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>

#include "../hca/hca.h"
#include "backends.h"
#include "gso.h"

/*
 * A packet socket on an interface of the host, e.g. one end of a veth. What the
 * host's stack leaves to a network card is made up for before the port sees a
 * frame: the VLAN tag that the kernel took out is put back, a checksum is
 * completed, a chain of segments is cut. Without that a peer that uses its
 * usual offloads cannot exchange TCP through the port.
 */

#define BATCH 32
#define TX_QUEUE 256
#define TX_HOLD 64               /* from there on only what a TSO still brings */
#define TX_FRAME 10240           /* above the largest MTU and its headers */
#define RX_ROOM 4                /* in front of a frame: for its VLAN tag */
#define RX_FRAME (65536 + 256)   /* a GSO frame */
#define SOCKET_BUFFER (8 << 20)

struct rx_slot {
	struct virtio_net_hdr vnet;
	struct sockaddr_ll from;
	struct iovec part[2];
	uint64_t control[CMSG_SPACE(sizeof(struct tpacket_auxdata)) / 8 + 1];
	uint8_t frame[RX_ROOM + RX_FRAME];
};

struct packet {
	struct vmlx4_wire wire;
	struct vmlx4_netif netif;
	/* Frames [tx_head, tx_tail) wait to be sent. */
	unsigned int tx_head, tx_tail;
	struct mmsghdr tx[TX_QUEUE];
	struct iovec tx_part[TX_QUEUE][2];
	struct virtio_net_hdr no_offload;
	uint8_t tx_frame[TX_QUEUE][TX_FRAME];
	struct mmsghdr rx[BATCH];
	struct rx_slot rx_slot[BATCH];
	uint8_t scratch[RX_ROOM + RX_FRAME];
	unsigned int delivered;  /* by the poll at hand, in segments */
};

/* A queued frame that was counted as sent did not reach the interface. */
static void
tx_drop(struct packet *packet)
{
	struct vmlx4_port_stats *stats = &packet->wire.port->stats;

	stats->tx_frames--;
	stats->tx_bytes -= packet->tx_part[packet->tx_head][1].iov_len;
	stats->tx_wire_drops++;
	packet->tx_head++;
}

static void
tx_flush(struct packet *packet)
{
	while (packet->tx_head < packet->tx_tail) {
		int sent = sendmmsg(packet->wire.fd, &packet->tx[packet->tx_head],
			packet->tx_tail - packet->tx_head, MSG_DONTWAIT);

		if (sent > 0) {
			packet->tx_head += sent;
			continue;
		}
		if (errno == EINTR)
			continue;
		/* No room at the moment: keep them, the queue bounds how many. */
		if (errno == EAGAIN || errno == ENOBUFS)
			return;
		tx_drop(packet);
	}
	packet->tx_head = 0;
	packet->tx_tail = 0;
}

static bool
packet_send(struct vmlx4_wire *wire, const uint8_t *frame, size_t length)
{
	struct packet *packet = (struct packet *)wire;
	unsigned int i;

	if (length > TX_FRAME)
		return false;
	if (packet->tx_tail >= TX_HOLD)
		tx_flush(packet);
	if (packet->tx_tail >= TX_HOLD) {
		vmlx4_wire_hold(wire);
		wire->events = POLLOUT;
	}
	if (packet->tx_tail == TX_QUEUE || (wire->deaf && packet->tx_tail >= TX_HOLD))
		return false;
	i = packet->tx_tail++;
	memcpy(packet->tx_frame[i], frame, length);
	packet->tx_part[i][1].iov_len = length;
	if (packet->tx_tail - packet->tx_head >= BATCH)
		tx_flush(packet);
	return true;
}

static void
packet_idle(struct vmlx4_wire *wire)
{
	tx_flush((struct packet *)wire);
}

static void
deliver(void *arg, uint8_t *frame, size_t length)
{
	struct packet *packet = arg;

	vmlx4_wire_deliver(&packet->wire, frame, length);
	packet->delivered++;
}

/* Put the tag that the kernel keeps beside the frame back behind the addresses. */
static uint8_t *
insert_vlan(uint8_t *frame, size_t *length, const struct tpacket_auxdata *aux)
{
	uint16_t tpid = ETH_P_8021Q;

	if ((aux->tp_status & TP_STATUS_VLAN_VALID) == 0 || *length < 12)
		return frame;
	if ((aux->tp_status & TP_STATUS_VLAN_TPID_VALID) != 0)
		tpid = aux->tp_vlan_tpid;
	memmove(frame - 4, frame, 12);
	frame[8] = tpid >> 8;
	frame[9] = tpid;
	frame[10] = aux->tp_vlan_tci >> 8;
	frame[11] = aux->tp_vlan_tci;
	*length += 4;
	return frame - 4;
}

static const struct tpacket_auxdata *
find_auxdata(struct msghdr *msg)
{
	struct cmsghdr *cmsg;

	for (cmsg = CMSG_FIRSTHDR(msg); cmsg != NULL; cmsg = CMSG_NXTHDR(msg, cmsg))
		if (cmsg->cmsg_level == SOL_PACKET && cmsg->cmsg_type == PACKET_AUXDATA)
			return (const struct tpacket_auxdata *)CMSG_DATA(cmsg);
	return NULL;
}

static void
receive_one(struct packet *packet, struct rx_slot *slot, struct mmsghdr *message)
{
	struct vmlx4_port_stats *stats = &packet->wire.port->stats;
	const struct tpacket_auxdata *aux = find_auxdata(&message->msg_hdr);
	const struct virtio_net_hdr *vnet = &slot->vnet;
	struct vmlx4_offload offload = {
		.partial = (vnet->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) != 0,
		.csum_start = vnet->csum_start,
		.csum_offset = vnet->csum_offset,
		.gso_type = vnet->gso_type & ~VIRTIO_NET_HDR_GSO_ECN,
		.gso_size = vnet->gso_size,
	};
	uint8_t *frame = slot->frame + RX_ROOM, *whole = frame;
	size_t length;

	if (slot->from.sll_pkttype == PACKET_OUTGOING)
		return;
	if (message->msg_len <= sizeof(*vnet) || (message->msg_hdr.msg_flags & MSG_TRUNC) != 0) {
		stats->rx_oversize++;
		return;
	}
	length = message->msg_len - sizeof(*vnet);
	if (aux != NULL)
		frame = insert_vlan(frame, &length, aux);
	offload.csum_start += whole - frame;
	if (offload.gso_type != VIRTIO_NET_HDR_GSO_NONE) {
		/* What cannot be cut stays longer than the port takes. */
		if (vmlx4_gso_segment(frame, length, &offload, packet->scratch, deliver,
				packet) < 0)
			stats->rx_oversize++;
		return;
	}
	if (vmlx4_csum_complete(frame, length, &offload))
		deliver(packet, frame, length);
	else
		stats->rx_wire_bad++;
}

static void
rx_arm(struct packet *packet, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		struct msghdr *msg = &packet->rx[i].msg_hdr;

		msg->msg_namelen = sizeof(packet->rx_slot[i].from);
		msg->msg_controllen = sizeof(packet->rx_slot[i].control);
		msg->msg_flags = 0;
	}
}

/* Frames that the socket had no room for never get to the port. */
static void
count_socket_drops(struct packet *packet)
{
	struct tpacket_stats drops;
	socklen_t size = sizeof(drops);

	/* Reading resets them. */
	if (getsockopt(packet->wire.fd, SOL_PACKET, PACKET_STATISTICS, &drops, &size) == 0)
		packet->wire.port->stats.rx_wire_drops += drops.tp_drops;
}

/* 0, or -1 with errno set and *what naming the step. */
static int
listen_on(int fd, int ifindex, const char **what)
{
	struct packet_mreq promiscuous = {
		.mr_ifindex = ifindex,
		.mr_type = PACKET_MR_PROMISC,
	};
	struct sockaddr_ll address = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ALL),
		.sll_ifindex = ifindex,
	};

	*what = "PACKET_ADD_MEMBERSHIP";
	if (setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &promiscuous,
			sizeof(promiscuous)) < 0)
		return -1;
	*what = "bind";
	return bind(fd, (struct sockaddr *)&address, sizeof(address));
}

/* Another interface has the name of the one that went: the cable is plugged in there. */
static void
follow(struct packet *packet)
{
	const char *what;

	packet->netif.returned = false;
	/* Gone again already: then it is looked for again. */
	if (listen_on(packet->wire.fd, packet->netif.ifindex, &what) < 0)
		packet->netif.ifindex = 0;
}

static unsigned int
packet_poll(struct vmlx4_wire *wire, unsigned int budget)
{
	struct packet *packet = (struct packet *)wire;
	unsigned int want = budget < BATCH ? budget : BATCH;
	int count, i;

	tx_flush(packet);
	if (vmlx4_wire_waits(wire)) {
		vmlx4_wire_room(wire, packet->tx_tail == 0);
		wire->events = vmlx4_wire_waits(wire) ? POLLOUT : 0;
	}
	if (vmlx4_netif_watch(&packet->netif, wire->port, IFF_UP | IFF_RUNNING, false))
		count_socket_drops(packet);
	if (packet->netif.returned)
		follow(packet);
	packet->delivered = 0;
	rx_arm(packet, want);
	count = recvmmsg(wire->fd, packet->rx, want, MSG_DONTWAIT, NULL);
	/* EINVAL: a frame whose offload the kernel cannot describe; it is gone. */
	if (count < 0 && errno == EINVAL)
		wire->port->stats.rx_wire_bad++;
	for (i = 0; i < count; i++)
		receive_one(packet, &packet->rx_slot[i], &packet->rx[i]);
	return packet->delivered;
}

static void
packet_close(struct vmlx4_wire *wire)
{
	struct packet *packet = (struct packet *)wire;

	if (wire->fd >= 0) {
		if (wire->port != NULL) {
			tx_flush(packet);
			count_socket_drops(packet);
		}
		close(wire->fd);
	}
	vmlx4_netif_close(&packet->netif);
	free(packet);
}

static const struct vmlx4_wire_ops packet_ops = {
	.send = packet_send,
	.poll = packet_poll,
	.idle = packet_idle,
	.close = packet_close,
};

static void
link_buffers(struct packet *packet)
{
	unsigned int i;

	for (i = 0; i < BATCH; i++) {
		struct rx_slot *slot = &packet->rx_slot[i];
		struct msghdr *msg = &packet->rx[i].msg_hdr;

		slot->part[0].iov_base = &slot->vnet;
		slot->part[0].iov_len = sizeof(slot->vnet);
		slot->part[1].iov_base = slot->frame + RX_ROOM;
		slot->part[1].iov_len = RX_FRAME;
		msg->msg_name = &slot->from;
		msg->msg_iov = slot->part;
		msg->msg_iovlen = 2;
		msg->msg_control = slot->control;
	}
	for (i = 0; i < TX_QUEUE; i++) {
		struct msghdr *msg = &packet->tx[i].msg_hdr;

		packet->tx_part[i][0].iov_base = &packet->no_offload;
		packet->tx_part[i][0].iov_len = sizeof(packet->no_offload);
		packet->tx_part[i][1].iov_base = packet->tx_frame[i];
		msg->msg_iov = packet->tx_part[i];
		msg->msg_iovlen = 2;
	}
}

/* 0, or -1 with errno set and *what naming the step. */
static int
set_up_socket(int fd, int ifindex, const char **what)
{
	int on = 1, size = SOCKET_BUFFER;

	*what = "PACKET_VNET_HDR";
	if (setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof(on)) < 0)
		return -1;
	*what = "PACKET_AUXDATA";
	if (setsockopt(fd, SOL_PACKET, PACKET_AUXDATA, &on, sizeof(on)) < 0)
		return -1;
	/* Spares the copies; older kernels hand them over and receive_one() skips them. */
	setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof(on));
	/* Above the system's limit only with CAP_NET_ADMIN; a smaller one works, too. */
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) < 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)) < 0)
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	return listen_on(fd, ifindex, what);
}

/* 0 or a negative errno with the error line written. */
static int
packet_attach(struct packet *packet, const char *name, char *error, size_t error_size)
{
	const char *what;
	int err;

	err = vmlx4_netif_open(&packet->netif, name);
	if (err == -ENODEV) {
		snprintf(error, error_size, "wire packet:%s: no such interface here: name one "
			"that \"ip link\" shows, or make it first", name);
		return err;
	}
	if (err < 0) {
		snprintf(error, error_size, "wire packet:%s: socket: %s", name, strerror(-err));
		return err;
	}
	/* Protocol 0 until it is bound: no frame of another interface gets in. */
	packet->wire.fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (packet->wire.fd < 0) {
		err = errno;
		snprintf(error, error_size, "wire packet:%s: packet socket: %s: %s", name,
			strerror(err), err == EPERM || err == EACCES ?
			"needs CAP_NET_RAW: run as root or use a wire without privileges" :
			"use another wire");
		return -err;
	}
	if (set_up_socket(packet->wire.fd, packet->netif.ifindex, &what) < 0) {
		err = errno;
		snprintf(error, error_size, "wire packet:%s: %s: %s: use an Ethernet interface "
			"of this machine", name, what, strerror(err));
		return -err;
	}
	return 0;
}

struct vmlx4_wire *
vmlx4_wire_packet_open(const struct vmlx4_wire_spec *spec, struct vmlx4_port *port,
	char *error, size_t error_size)
{
	struct packet *packet = calloc(1, sizeof(*packet));
	int flags;

	if (packet == NULL) {
		snprintf(error, error_size, "wire packet:%s: %s", spec->ifname, strerror(ENOMEM));
		return NULL;
	}
	packet->wire.ops = &packet_ops;
	packet->wire.port = port;
	packet->wire.fd = -1;
	packet->netif.socket = -1;
	link_buffers(packet);
	if (packet_attach(packet, spec->ifname, error, error_size) < 0) {
		packet_close(&packet->wire);
		return NULL;
	}
	if (port != NULL) {
		flags = vmlx4_netif_flags(&packet->netif);
		packet->netif.running = flags > 0 && (flags & IFF_UP) != 0 &&
			(flags & IFF_RUNNING) != 0;
		port->carrier = packet->netif.running;
	}
	return &packet->wire;
}

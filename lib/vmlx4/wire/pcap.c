/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <pcap/pcap.h>

#include "../hca/hca.h"
#include "backends.h"
#include "capture.h"

/*
 * Capture files. in= is replayed once, out= takes what the port sends.
 *
 * A real wire has no flow control, but a replay that loses frames is useless
 * as test input. So the sender of a replay is polite:
 * - It starts when the link is up and the port has had the same flow rules for
 *   SETTLE_NS: a driver adds them one by one.
 * - A frame whose receive queue has no WQE is tried again later and not counted
 *   in rx_no_wqe.
 * - A frame that no rule wants is tried again while the rules are younger than
 *   PATIENCE_NS: the rule for it (promiscuous mode) may be yet to come. Then it
 *   is lost and counted in rx_no_rule, as on any wire.
 * With stepping the caller decides the moment: no rule is too young.
 */

#define SETTLE_NS 200000000ull
#define PATIENCE_NS 10000000000ull /* testpmd waits 9 s for its links first */

struct pcap_wire {
	struct vmlx4_wire wire;
	struct vmlx4_capture *in;
	struct vmlx4_burst frames; /* read… */
	unsigned int at;           /* …and from here on not delivered yet */
	const struct vmlx4_flow *first, *last; /* the rules when last looked at */
	uint64_t changed;          /* ns: when they were seen to change */
	bool settled;
	pcap_t *out;
	pcap_dumper_t *dump;
	uint64_t time_of_day;      /* at the adapter's time 0, ns */
	bool dirty;                /* written and not flushed */
	bool broken;               /* a write failed: everything is dropped */
	char name[PATH_MAX];       /* of the out file */
};

/* What is to be added to the model's time for the time of day. */
static uint64_t
time_of_day(const struct vmlx4_adapter *adapter)
{
	struct timespec now;

	/* The time of a stepped adapter is its own, and a run repeats to the byte. */
	if (adapter->options.step)
		return 0;
	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec - vmlx4_time(adapter);
}

static void
out_failed(struct pcap_wire *pw)
{
	if (!pw->broken)
		fprintf(stderr, "vmlx4: wire pcap:out=%s: %s: frames are dropped from here on\n",
			pw->name, strerror(errno));
	pw->broken = true;
}

static bool
pcap_wire_send(struct vmlx4_wire *wire, const uint8_t *frame, size_t length)
{
	struct pcap_wire *pw = (struct pcap_wire *)wire;
	uint64_t now = vmlx4_time(wire->port->adapter) + pw->time_of_day;
	struct pcap_pkthdr header = {
		/* A file of nanosecond precision holds them in place of microseconds. */
		.ts = { .tv_sec = now / 1000000000, .tv_usec = now % 1000000000 },
		.caplen = length,
		.len = length,
	};

	/* Without out= the cable ends in the open: what is sent there is gone. */
	if (pw->dump == NULL)
		return true;
	if (pw->broken)
		return false;
	pcap_dump((u_char *)pw->dump, &header, frame);
	pw->dirty = true;
	if (ferror(pcap_dump_file(pw->dump)) != 0) {
		out_failed(pw);
		return false;
	}
	return true;
}

static void
pcap_wire_idle(struct vmlx4_wire *wire)
{
	struct pcap_wire *pw = (struct pcap_wire *)wire;

	if (!pw->dirty || pw->broken)
		return;
	pw->dirty = false;
	if (pcap_dump_flush(pw->dump) != 0)
		out_failed(pw);
}

/* May the replay go on? */
static bool
receiver_ready(struct pcap_wire *pw)
{
	struct vmlx4_port *port = pw->wire.port;
	const struct vmlx4_flow *first = TAILQ_FIRST(&port->flows);
	const struct vmlx4_flow *last = TAILQ_LAST(&port->flows, vmlx4_flow_list);

	if (first == NULL || !port->active) {
		pw->first = NULL;
		return false;
	}
	if (port->adapter->options.step)
		return true;
	if (first != pw->first || last != pw->last) {
		pw->first = first;
		pw->last = last;
		pw->changed = vmlx4_time(port->adapter);
		pw->settled = false;
		return false;
	}
	if (!pw->settled)
		pw->settled = vmlx4_time(port->adapter) - pw->changed >= SETTLE_NS;
	return pw->settled;
}

/* Does the frame have to wait? Then its failed delivery counts nowhere. */
static bool
undelivered(struct pcap_wire *pw, const struct vmlx4_port_stats *before)
{
	struct vmlx4_port *port = pw->wire.port;

	/* When one of several receivers took it, a second try would repeat it. */
	if (port->stats.rx_frames != before->rx_frames)
		return false;
	if (port->stats.rx_no_wqe != before->rx_no_wqe) {
		/* A sniffer's queue is full: no other rule wanted the frame either. */
		port->stats.rx_no_wqe = before->rx_no_wqe;
		port->stats.rx_no_rule = before->rx_no_rule;
		return true;
	}
	if (port->stats.rx_no_rule == before->rx_no_rule || port->adapter->options.step ||
			vmlx4_time(port->adapter) - pw->changed >= PATIENCE_NS)
		return false;
	port->stats.rx_no_rule = before->rx_no_rule;
	return true;
}

/* What is read and not delivered yet, and if that is nothing the next of the file. */
static bool
frames_there(struct pcap_wire *pw)
{
	const char *fault;

	if (pw->at < pw->frames.count)
		return true;
	pw->at = 0;
	if (vmlx4_capture_read(pw->in, &pw->frames, &fault))
		return true;
	/* Only a pipe gets here with a fault: a file was checked when it was opened. */
	if (fault != NULL) {
		pw->wire.port->stats.rx_wire_bad++;
		fprintf(stderr, "vmlx4: wire pcap:in=: frame %lu: %s: the replay ends here\n",
			vmlx4_capture_number(pw->in), fault);
	}
	vmlx4_capture_close(pw->in);
	pw->in = NULL;
	return false;
}

/* Those that go by the burst, from the next on; with a rate they come one by one. */
static unsigned int
deliver_burst(struct pcap_wire *pw, unsigned int budget)
{
	unsigned int left = pw->frames.count - pw->at;

	if (pw->wire.shaper != NULL)
		return 0;
	return vmlx4_port_receive_plain(pw->wire.port, &pw->frames, pw->at,
		left < budget ? left : budget);
}

/* Any frame, if a receiver is there for it. */
static bool
deliver_one(struct pcap_wire *pw)
{
	const struct vmlx4_port_stats before = pw->wire.port->stats;
	uint32_t length = pw->frames.length[pw->at];

	vmlx4_port_receive(pw->wire.port, pw->frames.frame[pw->at], length);
	if (undelivered(pw, &before)) {
		vmlx4_shape_pause(&pw->wire);
		return false;
	}
	vmlx4_shape_came(&pw->wire, length);
	return true;
}

static unsigned int
pcap_wire_poll(struct vmlx4_wire *wire, unsigned int budget)
{
	struct pcap_wire *pw = (struct pcap_wire *)wire;
	unsigned int count = 0;

	if (pw->in == NULL || !receiver_ready(pw))
		return 0;
	while (count < budget && frames_there(pw) && vmlx4_shape_may_come(wire)) {
		unsigned int n = deliver_burst(pw, budget - count);

		if (n == 0 && deliver_one(pw))
			n = 1;
		if (n == 0)
			break;
		pw->at += n;
		count += n;
	}
	return count;
}

static void
pcap_wire_close(struct vmlx4_wire *wire)
{
	struct pcap_wire *pw = (struct pcap_wire *)wire;

	pcap_wire_idle(wire);
	if (pw->dump != NULL)
		pcap_dump_close(pw->dump);
	if (pw->out != NULL)
		pcap_close(pw->out);
	vmlx4_capture_close(pw->in);
	free(pw);
}

static const struct vmlx4_wire_ops pcap_ops = {
	.send = pcap_wire_send,
	.poll = pcap_wire_poll,
	.idle = pcap_wire_idle,
	.close = pcap_wire_close,
};

/* Could the file be written? Leaves a present one as it is, an absent one absent. */
static int
check_out(const char *name)
{
	bool present = access(name, F_OK) == 0;
	int fd = open(name, O_WRONLY | O_CREAT | O_NONBLOCK | O_CLOEXEC, 0666);

	/* ENXIO: a pipe whose reader is yet to come. */
	if (fd < 0)
		return errno == ENXIO ? 0 : -errno;
	close(fd);
	if (!present)
		unlink(name);
	return 0;
}

static int
open_out(struct pcap_wire *pw, const char *name, char *error, size_t error_size)
{
	/*
	 * A program may close its last context and open the device again: that is
	 * the same run, so the file goes on.
	 */
	static char begun[VMLX4_MAX_PORTS][PATH_MAX];
	int ret = check_out(name);
	char *last;

	if (ret < 0) {
		snprintf(error, error_size, "wire pcap:out=%s: %s: give a file in a folder that "
			"you may write", name, strerror(-ret));
		return ret;
	}
	if (pw->wire.port == NULL)
		return 0;
	strcpy(pw->name, name);
	pw->out = pcap_open_dead_with_tstamp_precision(DLT_EN10MB, 262144,
		PCAP_TSTAMP_PRECISION_NANO);
	if (pw->out == NULL) {
		snprintf(error, error_size, "wire pcap:out=%s: %s", name, strerror(ENOMEM));
		return -ENOMEM;
	}
	last = begun[pw->wire.port->number - 1];
	pw->dump = strcmp(last, name) == 0 ? pcap_dump_open_append(pw->out, name) :
		pcap_dump_open(pw->out, name);
	if (pw->dump == NULL) {
		snprintf(error, error_size, "wire pcap:out=%s: %s", name, pcap_geterr(pw->out));
		return -EIO;
	}
	strcpy(last, name);
	return 0;
}

struct vmlx4_wire *
vmlx4_wire_pcap_open(const struct vmlx4_wire_spec *spec, struct vmlx4_port *port, char *error,
	size_t error_size)
{
	struct pcap_wire *pw = calloc(1, sizeof(*pw));

	if (pw == NULL) {
		snprintf(error, error_size, "wire pcap: %s", strerror(ENOMEM));
		return NULL;
	}
	pw->wire.ops = &pcap_ops;
	pw->wire.port = port;
	pw->wire.fd = -1;
	if ((spec->pcap_in[0] != '\0' &&
			vmlx4_capture_open(port != NULL ? &pw->in : NULL, spec->pcap_in, error,
			error_size) < 0) ||
			(spec->pcap_out[0] != '\0' &&
			open_out(pw, spec->pcap_out, error, error_size) < 0)) {
		pcap_wire_close(&pw->wire);
		return NULL;
	}
	if (port != NULL) {
		pw->time_of_day = time_of_day(port->adapter);
		port->carrier = true;
	}
	return &pw->wire;
}

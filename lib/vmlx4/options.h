/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VMLX4_OPTIONS_H_
#define VMLX4_OPTIONS_H_

#include <limits.h>
#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fault/spec.h"
#include "hca/unknowns.h"

#define VMLX4_MAX_PORTS 2

/* The launcher validates the options and hands them to the library here. */
#define VMLX4_OPTIONS_ENV "VMLX4_OPTIONS"

#define VMLX4_WIRE_NAME_MAX 108 /* what a socket's address takes */

enum vmlx4_wire_kind {
	VMLX4_WIRE_PEER,   /* back to back with the other port */
	VMLX4_WIRE_LOOP,   /* back to the same port */
	VMLX4_WIRE_PCAP,
	VMLX4_WIRE_TAP,
	VMLX4_WIRE_PACKET, /* AF_PACKET on an existing interface */
	VMLX4_WIRE_UNIX,   /* to an adapter in another process: over a socket… */
	VMLX4_WIRE_SHM,    /* …or shared memory */
};

/* How a wire is slowed down; zeroes: not at all. */
struct vmlx4_shape {
	uint64_t rate;           /* bit/s, preamble and gap included */
	bool rate_of_port;       /* the profile's speed instead */
	uint64_t delay, jitter;  /* ns */
};

struct vmlx4_wire_spec {
	enum vmlx4_wire_kind kind;
	char ifname[IFNAMSIZ];   /* tap, packet */
	char pcap_in[PATH_MAX];  /* "" for none */
	char pcap_out[PATH_MAX];
	char name[VMLX4_WIRE_NAME_MAX]; /* unix, shm */
	struct vmlx4_shape shape;
};

enum vmlx4_strict {
	VMLX4_STRICT_OFF,
	VMLX4_STRICT_REPORT, /* print and count */
	VMLX4_STRICT_FATAL,  /* print and end the run */
};

enum vmlx4_memlock {
	VMLX4_MEMLOCK_NONE,
	VMLX4_MEMLOCK_BYTES,
	VMLX4_MEMLOCK_HOST, /* that of the process */
};

enum vmlx4_module {
	VMLX4_MODULE_DEFAULT,             /* what fits the speed */
	VMLX4_MODULE_QSFP,
	VMLX4_MODULE_SFP,
	VMLX4_MODULE_NONE,
};

#define VMLX4_GID_BYTES 16
#define VMLX4_ADDRESSES_MAX 8

/* Somebody on the network of a port. */
struct vmlx4_neighbour {
	uint8_t gid[VMLX4_GID_BYTES];
	uint8_t mac[6];
};

/* IP addresses of a port's interface, as GIDs, beside its link-local one. */
struct vmlx4_addresses {
	uint8_t own[VMLX4_ADDRESSES_MAX][VMLX4_GID_BYTES];
	struct vmlx4_neighbour neighbour[VMLX4_ADDRESSES_MAX];
	unsigned int owns, neighbours;
};

struct vmlx4_options {
	const struct vmlx4_profile *profile;
	unsigned int ports;
	struct vmlx4_wire_spec wire[VMLX4_MAX_PORTS];
	bool infiniband[VMLX4_MAX_PORTS]; /* link layer of the port */
	char pci_address[16];             /* "0000:05:00.0" */
	bool step;                        /* no engine thread */
	int engine_cpu;                   /* -1: leave it to the scheduler */
	enum vmlx4_strict strict;
	uint64_t completion_lag_ns;       /* from a send WQE to its CQE, when strict */
	char stats_file[PATH_MAX];        /* JSON written when the adapter goes */
	char sysfs[PATH_MAX];             /* root of the fake tree, set by the launcher */
	unsigned int cqe_size;            /* 32 or 64 */
	bool deny_open;                   /* opening the device gives EACCES */
	bool no_net_raw, no_net_admin;    /* the user lacks these capabilities */
	enum vmlx4_memlock memlock;       /* is there a limit on pinned memory */
	uint64_t memlock_bytes;
	unsigned int mtu;                 /* initial MTU of the netdevs */
	struct vmlx4_addresses addresses[VMLX4_MAX_PORTS];
	unsigned int link_delay_ms;       /* from both ends up to a link… */
	unsigned int wait_link_ms;        /* for which opening the device waits for them */
	unsigned int carrier_delay_ms;    /* …and from there to the netdev's carrier */
	enum vmlx4_module module;         /* the plug of every cable */
	struct vmlx4_unknowns unknowns;   /* what no public source states */
	uint64_t seed;                    /* of everything that the model draws by lot */
	char trace_file[PATH_MAX];        /* "": no trace */
	unsigned int trace_snaplen;       /* bytes of a frame that the trace keeps */
	bool trace_raw;                   /* addresses as they are */
	char faults[VMLX4_FAULTS_MAX];    /* a file, or the faults themselves */
	char faults_log[PATH_MAX];        /* "-" for stderr */
};

#define VMLX4_SEED_DEFAULT 1u
#define VMLX4_TRACE_SNAPLEN_MAX 65535

/* Limits of the MTU as mlx4_en reports them. */
#define VMLX4_MTU_MIN 46
#define VMLX4_MTU_MAX 9900

/*
 * Fill options from a string of the form "name=value name=value …"; a
 * backslash takes the next character (a space, a backslash) as it is. On error
 * write one line that names the option, the value and the cure to error and
 * return -EINVAL.
 */
int vmlx4_options_parse(const char *text, struct vmlx4_options *options,
	char *error, size_t error_size);

/* Write "name=value" with backslashes; returns what snprintf() would. */
int vmlx4_options_quote(char *buffer, size_t size, const char *name, const char *value);

/* Is there an option of this name, and does it stand without a value? */
bool vmlx4_options_known(const char *name, bool *flag);

/* The one-paragraph help of each option, for "vmlx4 exec --help". */
void vmlx4_options_help(void);

#endif /* VMLX4_OPTIONS_H_ */

/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VMLX4_MEET_H_
#define VMLX4_MEET_H_

/*
 * How the adapters of two processes find each other by a name, whichever starts
 * first. Who finds nobody listens (the host); who finds a listener is its guest.
 * When the host goes, the guest takes its place. A third one is refused.
 *
 * A socket in the file system (unix:PATH, and any name with a slash) that a dead
 * process left there is recognised and replaced. Other names (shm:NAME and
 * unix:@NAME) are in the abstract name space, which the kernel clears by itself.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#define VMLX4_MEET_VERSION 2u /* 2: with the MAC address */
#define VMLX4_MEET_CALLERS 4 /* that were accepted and have not said who they are */

enum vmlx4_meet_kind {
	VMLX4_MEET_UNIX = 1,
	VMLX4_MEET_SHM = 2,
};

enum vmlx4_meet_what {
	VMLX4_MEET_JOIN = 1,
	VMLX4_MEET_PROBE = 2, /* only asks whether there is room */
	VMLX4_MEET_ANSWER = 3,
};

enum vmlx4_meet_status {
	VMLX4_MEET_WELCOME = 0,
	VMLX4_MEET_TAKEN = 1,
	VMLX4_MEET_VERSION_DIFFERS = 2,
	VMLX4_MEET_KIND_DIFFERS = 3,
};

/* The first message either way. magic and version stay where they are for ever. */
struct vmlx4_hello {
	char magic[8];
	uint32_t version;
	uint32_t kind;
	uint32_t what;
	uint32_t status;
	uint8_t mac[6]; /* of the port of who speaks */
	uint8_t zero[2];
};
#define VMLX4_MEET_MAGIC "vmlx4wir"
_Static_assert(sizeof(struct vmlx4_hello) == 32, "the same in every build");

enum vmlx4_meet_state {
	VMLX4_MEET_ALONE,
	VMLX4_MEET_ASKED,  /* guest, the host has not answered yet */
	VMLX4_MEET_JOINED,
};

struct vmlx4_meet {
	enum vmlx4_meet_kind kind;
	enum vmlx4_meet_state state;
	bool host;
	int listener;          /* of the host, or -1 */
	int peer;              /* socket to the other end, or -1 */
	int memory;            /* memfd: of a host to pass on, of a guest that came; or -1 */
	int caller[VMLX4_MEET_CALLERS];
	struct sockaddr_un address;
	socklen_t address_size;
	dev_t dev;             /* of our socket in the file system */
	ino_t ino;
	uint64_t next_look;    /* ns */
	uid_t stranger;        /* the user at the other end when it may not be there */
	uint8_t mac[6], peer_mac[6]; /* of our port, and of the other end's when joined */
	bool told;             /* a refusal was printed already */
	/* A host makes what memory holds for a new guest; 0 or a negative errno. */
	int (*prepare)(struct vmlx4_meet *meet);
	char title[sizeof(((struct sockaddr_un *)NULL)->sun_path) + 16]; /* "wire shm:NAME" */
};

/*
 * Look for the other end, wait for the answer of a host for a moment. 0, also
 * when there is nobody yet; a negative errno with the error line written. With
 * probe only find out what would become of it, and leave no trace.
 */
int vmlx4_meet_open(struct vmlx4_meet *meet, enum vmlx4_meet_kind kind, const char *name,
	bool probe, char *error, size_t error_size);
/* Serve the name. True: the other end is there, since just now. */
bool vmlx4_meet_poll(struct vmlx4_meet *meet, bool look_now);
/* The other end has gone, or is to go: forget it and look for another. */
void vmlx4_meet_lost(struct vmlx4_meet *meet);
void vmlx4_meet_close(struct vmlx4_meet *meet);
/* In a child that inherited the descriptors: release them, tell nobody. */
void vmlx4_meet_forget(struct vmlx4_meet *meet);
/* Readable when vmlx4_meet_poll() or the wire has something to do. */
int vmlx4_meet_fd(const struct vmlx4_meet *meet);

#endif /* VMLX4_MEET_H_ */

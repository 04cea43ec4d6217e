/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends.h"
#include "far.h"
#include "ring.h"

/*
 * A ring each way in memory that two processes share. The host makes it when a
 * guest comes, as an unnamed file that can neither grow nor shrink: nothing is
 * left behind, and a guest cannot make the host fault by cutting it. The
 * socket of the meeting carries what is rare: the state of the port, wake-ups,
 * and by its end, that the other process has gone.
 */

#define SHOW_AT 32u              /* frames */
#define FREE_AT (64u << 10)      /* bytes */
#define HOLD_BELOW (512u << 10)  /* bytes: a TSO of 256 KiB cannot wait half-way */
#define IDLE_BEFORE_LOOK 64u     /* passes without a frame */
#define MAGIC 0x766d6c7834736866ull

/* What the file holds. Ring 0 is the host's to write, ring 1 the guest's. */
struct shared {
	uint64_t magic;
	uint32_t version;
	uint32_t ring_bytes;
	/* Each side's wishes, on lines of their own: bits of VMLX4_WANT_*. */
	struct {
		_Alignas(128) uint32_t wants;
	} side[2];
	struct vmlx4_ring ring[2];
};

struct shm_wire {
	struct vmlx4_far far;
	struct shared *shared;   /* NULL while nobody is there */
	unsigned int own;        /* our side */
	unsigned int pending;    /* frames appended and not shown */
	unsigned int quiet;      /* passes without a frame */
	bool ended;              /* the other process has gone: what it sent is left */
	struct vmlx4_ring_view tx, rx;
	uint8_t frame[VMLX4_RING_FRAME_MAX];
};

/* ---- the memory ---- */

static struct shared *
map(int fd)
{
	void *p = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* The host's part, before it answers a guest. */
static int
prepare(struct vmlx4_meet *meet)
{
	struct shared *shared;
	int fd = memfd_create("vmlx4-wire", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, sizeof(struct shared)) < 0 || fcntl(fd, F_ADD_SEALS,
			F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0 ||
			(shared = map(fd)) == NULL) {
		int ret = -errno;

		fprintf(stderr, "vmlx4: %s: %s\n", meet->title, strerror(errno));
		close(fd);
		return ret;
	}
	shared->magic = MAGIC;
	shared->version = VMLX4_MEET_VERSION;
	shared->ring_bytes = VMLX4_RING_BYTES;
	munmap(shared, sizeof(*shared));
	if (meet->memory >= 0)
		close(meet->memory);
	meet->memory = fd;
	return 0;
}

/* Why the memory cannot be used, or NULL. */
static const char *
attach(struct shm_wire *shm)
{
	struct vmlx4_meet *meet = &shm->far.meet;
	struct stat st;
	int seals = fcntl(meet->memory, F_GET_SEALS);

	if (meet->memory < 0 || seals < 0 || (seals & F_SEAL_SHRINK) == 0)
		return "no sealed memory";
	if (fstat(meet->memory, &st) < 0 || st.st_size != sizeof(struct shared))
		return "memory of another size";
	shm->shared = map(meet->memory);
	if (shm->shared == NULL)
		return strerror(errno);
	if (shm->shared->magic != MAGIC || shm->shared->version != VMLX4_MEET_VERSION ||
			shm->shared->ring_bytes != VMLX4_RING_BYTES)
		return "memory of another layout";
	shm->own = meet->host ? 0 : 1;
	memset(&shm->tx, 0, sizeof(shm->tx));
	memset(&shm->rx, 0, sizeof(shm->rx));
	shm->tx.ring = &shm->shared->ring[shm->own];
	shm->rx.ring = &shm->shared->ring[shm->own ^ 1];
	shm->pending = 0;
	shm->quiet = 0;
	shm->ended = false;
	return NULL;
}

static void
detach(struct shm_wire *shm)
{
	if (shm->shared != NULL)
		munmap(shm->shared, sizeof(*shm->shared));
	shm->shared = NULL;
}

/* What the reader has not taken is lost, and what it has not been shown, too. */
static void
count_lost(struct shm_wire *shm)
{
	struct vmlx4_port_stats *stats = &shm->far.wire.port->stats;
	uint64_t head;

	if (shm->shared == NULL)
		return;
	head = __atomic_load_n(&shm->tx.ring->head, __ATOMIC_ACQUIRE);
	if (shm->tx.tail - head > VMLX4_RING_BYTES)
		head = shm->tx.head; /* it lies */
	while (head != shm->tx.tail) {
		size_t at = head & (VMLX4_RING_BYTES - 1);
		struct vmlx4_record record;

		memcpy(&record, shm->tx.ring->bytes + at, sizeof(record));
		if (record.length == VMLX4_RECORD_SKIP) {
			head += VMLX4_RING_BYTES - at;
			continue;
		}
		if (vmlx4_record_size(record.length) > shm->tx.tail - head)
			break;
		stats->tx_frames--;
		stats->tx_bytes -= record.length;
		stats->tx_wire_drops++;
		head += vmlx4_record_size(record.length);
	}
}

static void
shm_lost(struct shm_wire *shm, const char *why)
{
	count_lost(shm);
	detach(shm);
	vmlx4_far_lost(&shm->far, why);
}

static void
shm_joined(struct shm_wire *shm)
{
	const char *why = attach(shm);

	if (why != NULL)
		shm_lost(shm, why);
}

/* ---- wake-ups ---- */

/* After something was handed over: does the other side sleep for it? */
static void
wake(struct shm_wire *shm, uint32_t want)
{
	uint32_t *wants = &shm->shared->side[shm->own ^ 1].wants;

	/* Orders: the index, before the look whether anybody waits for it. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if ((__atomic_load_n(wants, __ATOMIC_RELAXED) & want) == 0)
		return;
	__atomic_and_fetch(wants, ~want, __ATOMIC_RELAXED);
	vmlx4_far_tell(&shm->far, VMLX4_FAR_WAKE);
}

static void
want(struct shm_wire *shm, uint32_t bit)
{
	__atomic_or_fetch(&shm->shared->side[shm->own].wants, bit, __ATOMIC_SEQ_CST);
}

/* ---- frames ---- */

static void
tx_show(struct shm_wire *shm)
{
	shm->pending = 0;
	if (vmlx4_ring_show(&shm->tx))
		wake(shm, VMLX4_WANT_FRAMES);
}

/* Is there room for whatever a send queue's next entry may bring? */
static bool
tx_room(struct shm_wire *shm)
{
	return vmlx4_ring_room(&shm->tx, HOLD_BELOW) >= (int64_t)HOLD_BELOW;
}

static bool
shm_send(struct vmlx4_wire *wire, const uint8_t *frame, size_t length)
{
	struct shm_wire *shm = (struct shm_wire *)wire;

	if (shm->shared == NULL || length == 0 || length > VMLX4_RING_FRAME_MAX)
		return false;
	if (!tx_room(shm)) {
		if ((wire->port->tx_hold & VMLX4_HOLD_WIRE) == 0) {
			tx_show(shm);
			want(shm, VMLX4_WANT_ROOM);
			vmlx4_wire_hold(wire);
		}
		if (wire->deaf)
			return false;
	}
	if (!vmlx4_ring_put(&shm->tx, frame, length))
		return false;
	if (++shm->pending >= SHOW_AT)
		tx_show(shm);
	return true;
}

/* Messages of the socket, and its end. */
static void
hear(struct shm_wire *shm)
{
	unsigned int i;
	char message[2];

	for (i = 0; i < 64 && shm->shared != NULL; i++) {
		ssize_t got = recv(shm->far.meet.peer, message, sizeof(message),
			MSG_DONTWAIT | MSG_TRUNC);

		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (got <= 0) {
			shm->ended = true;
			return;
		}
		if (got != 1 || !vmlx4_far_hear(&shm->far, message[0]))
			shm_lost(shm, "a message of no known kind");
		/* One that was meant for an earlier sleep has used our wish up. */
		else if (message[0] == VMLX4_FAR_WAKE && shm->far.watchful)
			want(shm, VMLX4_WANT_FRAMES);
	}
}

static unsigned int
receive(struct shm_wire *shm, unsigned int budget)
{
	struct vmlx4_far *far = &shm->far;
	unsigned int count = 0;
	int length = 0;

	while (count < budget) {
		length = vmlx4_ring_get(&shm->rx, shm->frame);
		if (length <= 0)
			break;
		vmlx4_wire_deliver(&far->wire, shm->frame, length);
		count++;
	}
	if (length < 0) {
		far->wire.port->stats.rx_wire_bad++;
		shm_lost(shm, "a record that is none");
		return count;
	}
	if ((length == 0 || shm->rx.head - shm->rx.shown >= FREE_AT) &&
			vmlx4_ring_free(&shm->rx))
		wake(shm, VMLX4_WANT_ROOM);
	return count;
}

/* The socket costs a system call: it is left alone while there are frames. */
static bool
time_to_hear(struct shm_wire *shm, unsigned int count)
{
	shm->quiet = count != 0 ? 0 : shm->quiet + 1;
	if (count != 0)
		shm->far.watchful = false;
	return shm->far.watchful || shm->quiet % IDLE_BEFORE_LOOK == IDLE_BEFORE_LOOK - 1 ||
		shm->far.passes % IDLE_BEFORE_LOOK == 0 ||
		shm->far.wire.port->adapter->options.step;
}

static unsigned int
shm_poll(struct vmlx4_wire *wire, unsigned int budget)
{
	struct shm_wire *shm = (struct shm_wire *)wire;
	unsigned int count;

	if (vmlx4_far_poll(&shm->far))
		shm_joined(shm);
	if (shm->shared == NULL)
		return 0;
	tx_show(shm);
	if (vmlx4_wire_waits(wire)) {
		int64_t room = vmlx4_ring_room(&shm->tx, HOLD_BELOW);

		if (room < 0) {
			shm_lost(shm, "an index ahead of ours");
			return 0;
		}
		vmlx4_wire_room(wire, room >= (int64_t)HOLD_BELOW);
		if (vmlx4_wire_waits(wire))
			want(shm, VMLX4_WANT_ROOM);
	}
	count = receive(shm, budget);
	if (shm->ended && count == 0 && shm->shared != NULL)
		shm_lost(shm, NULL);
	if (shm->shared != NULL && time_to_hear(shm, count))
		hear(shm);
	return count;
}

/* The engine may go to sleep: from here on a frame comes with a message. */
static void
shm_idle(struct vmlx4_wire *wire)
{
	struct shm_wire *shm = (struct shm_wire *)wire;

	if (shm->shared == NULL)
		return;
	tx_show(shm);
	shm->far.watchful = true;
	want(shm, VMLX4_WANT_FRAMES);
}

static void
shm_close(struct vmlx4_wire *wire)
{
	struct shm_wire *shm = (struct shm_wire *)wire;

	if (shm->shared != NULL)
		tx_show(shm);
	detach(shm);
	vmlx4_far_close(&shm->far);
	free(shm);
}

static void
shm_forked(struct vmlx4_wire *wire)
{
	vmlx4_meet_forget(&((struct shm_wire *)wire)->far.meet);
}

static const struct vmlx4_wire_ops shm_ops = {
	.send = shm_send,
	.poll = shm_poll,
	.idle = shm_idle,
	.close = shm_close,
	.forked = shm_forked,
};

struct vmlx4_wire *
vmlx4_wire_shm_open(const struct vmlx4_wire_spec *spec, struct vmlx4_port *port, char *error,
	size_t error_size)
{
	struct shm_wire *shm = vmlx4_zalloc(sizeof(*shm));
	const char *why;

	if (shm == NULL) {
		snprintf(error, error_size, "wire shm:%s: %s", spec->name, strerror(ENOMEM));
		return NULL;
	}
	shm->far.wire.ops = &shm_ops;
	shm->far.meet.prepare = prepare;
	if (vmlx4_far_open(&shm->far, spec, VMLX4_MEET_SHM, port, error, error_size) < 0) {
		free(shm);
		return NULL;
	}
	if (port == NULL || !vmlx4_far_joined(&shm->far))
		return &shm->far.wire;
	why = attach(shm);
	if (why == NULL)
		return &shm->far.wire;
	snprintf(error, error_size, "wire shm:%s: the other end offers %s: use the same vmlx4 for "
		"both", spec->name, why);
	shm_close(&shm->far.wire);
	return NULL;
}

/* SPDX-License-Identifier: BSD-3-Clause */

/*
 *	lossy [--step] FRAMES
 *
 * Sends frames from one port to the other with plain verbs and takes what comes:
 * losses, copies, damage, errors, after which it takes its queue through RESET.
 * Tells at the end how it went. Run by test_faults.py under --faults.
 */

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "raw_packet.h"

#define SLOTS 128u

const char *running = "lossy";
bool stepped;
int (*step_adapter)(unsigned int budget);

static struct {
	unsigned long posted, done; /* sends; RESET ends them all */
	unsigned long sent, failed, received, damaged, resets, refused;
	uint32_t digest; /* of all that was received, in order */
} seen;

static void
start(struct end *b)
{
	unsigned int slot;

	for (slot = 0; slot < SLOTS; slot++)
		post_recv(b, slot);
}

/* After an error: through RESET and up again. */
static void
revive(struct end *end, bool receives)
{
	seen.resets++;
	to_reset(end);
	to_ready(end);
	if (receives)
		start(end);
}

static void
look(const uint8_t *got, uint32_t length, const struct end *to)
{
	uint8_t want[SLOT];
	uint32_t number, i;

	memcpy(&number, got + 14, sizeof(number));
	fill(want, length, to, number);
	memcpy(want + 14, &number, sizeof(number));
	seen.received++;
	seen.damaged += memcmp(got, want, length) != 0;
	for (i = 0; i < length; i++)
		seen.digest = (seen.digest ^ got[i]) * 16777619u;
}

static void
poll_sender(struct end *a)
{
	bool error = false;
	struct ibv_wc wc;

	while (ibv_poll_cq(a->send_cq, 1, &wc) == 1) {
		seen.done++;
		seen.sent += wc.status == IBV_WC_SUCCESS;
		seen.failed += wc.status != IBV_WC_SUCCESS && wc.status != IBV_WC_WR_FLUSH_ERR;
		error |= wc.status != IBV_WC_SUCCESS;
	}
	if (!error)
		return;
	revive(a, false);
	seen.done = seen.posted;
}

static void
poll_receiver(struct end *b)
{
	bool error = false;
	struct ibv_wc wc;

	while (ibv_poll_cq(b->recv_cq, 1, &wc) == 1) {
		if (wc.status == IBV_WC_SUCCESS) {
			look(rx_slot(b, wc.wr_id), wc.byte_len, b);
			post_recv(b, wc.wr_id);
			continue;
		}
		seen.failed += wc.status != IBV_WC_WR_FLUSH_ERR;
		error = true;
	}
	if (error)
		revive(b, true);
}

static void
send_one(struct end *a, const struct end *b, uint32_t number)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)a->area + SLOT * (number % SEND_WR),
		.length = 64 + number % 1000,
		.lkey = a->mr->lkey,
	};
	uint8_t *frame = a->area + SLOT * (number % SEND_WR);

	fill(frame, sge.length, b, number);
	memcpy(frame + 14, &number, sizeof(number));
	post_send(a, &sge, 1, IBV_SEND_SIGNALED);
	seen.posted++;
}

/* A command that may fail. */
static void
ask(struct end *end)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	seen.refused += ibv_query_qp(end->qp, &attr, IBV_QP_STATE, &init) != 0;
}

static void
run(struct ibv_device *device, unsigned long frames)
{
	struct end a = { 0 }, b = { 0 };
	unsigned long i;

	open_end(&a, device, 1);
	open_end(&b, device, 2);
	start(&b);
	for (i = 0; i < frames; i++) {
		if (i % 50 == 0)
			ask(&a);
		send_one(&a, &b, (uint32_t)i);
		/* Late completions: no more in flight than the queue holds. */
		do {
			advance();
			poll_sender(&a);
			poll_receiver(&b);
		} while (seen.posted - seen.done >= SEND_WR / 2);
	}
	for (i = 0; i < 5000; i++) {
		advance();
		poll_sender(&a);
		poll_receiver(&b);
	}
	close_end(&b);
	close_end(&a);
}

int
main(int argc, char **argv)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	if (argc != 3 || strcmp(argv[1], "--step") != 0 || list == NULL || list[0] == NULL)
		return 2;
	step_adapter = (int (*)(unsigned int))dlsym(RTLD_DEFAULT, "vmlx4_step");
	CHECK(step_adapter != NULL);
	stepped = true;
	run(list[0], strtoul(argv[2], NULL, 10));
	ibv_free_device_list(list);
	printf("sent %lu, failed %lu, received %lu, damaged %lu, resets %lu, refused %lu, "
		"digest %08x\n",
		seen.sent, seen.failed, seen.received, seen.damaged, seen.resets,
		seen.refused, seen.digest);
	return EXIT_SUCCESS;
}

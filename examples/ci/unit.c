/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Tests in the same process, linked with libvmlx4: every step of the adapter is
 * the test's, so that nothing depends on timing.
 */

#undef NDEBUG
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <vmlx4.h>

#include "reflect.h"

static const uint8_t mac[6] = { 0x02, 0, 0, 0, 0, 0x01 };
static const uint8_t frame[60] = {
	0x02, 0, 0, 0, 0, 0x01, 0x02, 0, 0, 0, 0, 0x99, 0x88, 0xb5, 'p', 'i', 'n', 'g',
};
static const uint8_t answer[60] = {
	0x02, 0, 0, 0, 0, 0x99, 0x02, 0, 0, 0, 0, 0x01, 0x88, 0xb5, 'p', 'i', 'n', 'g',
};

static unsigned int answers;

static void
see_answer(void *arg, const void *bytes, size_t length)
{
	(void)arg;
	assert(length == sizeof(answer) && memcmp(bytes, answer, length) == 0);
	answers++;
}

/* Steps alternate with the program's polls until nothing happens any more. */
static int
settle(struct reflector *reflector)
{
	int moved, sent = 0, n;

	do {
		moved = vmlx4_step(0);
		n = reflector_poll(reflector);
		if (n < 0)
			return n;
		sent += n;
	} while (moved != 0 || n != 0);
	return sent;
}

static void
reflects(struct reflector *reflector)
{
	struct vmlx4_port_stats stats;
	int i;

	assert(vmlx4_set_tx_tap(1, see_answer, NULL) == 0);
	for (i = 0; i < 200; i++)
		assert(vmlx4_inject(1, frame, sizeof(frame)) == 0 && settle(reflector) == 1);
	assert(answers == 200);
	assert(vmlx4_port_stats(1, &stats) == 0);
	assert(stats.rx_frames == 200 && stats.tx_frames == 200);
}

static void
leaves_frames_of_others_alone(struct reflector *reflector)
{
	uint8_t other[60];
	unsigned int before = answers;

	memcpy(other, frame, sizeof(other));
	other[5] = 0x77;
	assert(vmlx4_inject(1, other, sizeof(other)) == 0 && settle(reflector) == 0);
	assert(answers == before);
}

static void
reports_a_failed_send(struct reflector *reflector)
{
	assert(vmlx4_fail_next(VMLX4_FAULT_TX, 1, 1, 0x04) == 0);
	assert(vmlx4_inject(1, frame, sizeof(frame)) == 0 && settle(reflector) < 0);
}

int
main(void)
{
	struct vmlx4_object_counts counts;
	struct ibv_device **devices;
	struct reflector *reflector;
	int ret = vmlx4_start("step strict wire=loop");

	assert(ret == 0 || ret == -EALREADY);
	devices = ibv_get_device_list(NULL);
	assert(devices != NULL && devices[0] != NULL);
	reflector = reflector_open(devices[0], 1, mac);
	assert(reflector != NULL);
	reflects(reflector);
	leaves_frames_of_others_alone(reflector);
	reports_a_failed_send(reflector);
	reflector_close(reflector);
	assert(vmlx4_object_counts(&counts) == -ENODEV || counts.mrs == 0);
	ibv_free_device_list(devices);
	puts("ok");
	return 0;
}

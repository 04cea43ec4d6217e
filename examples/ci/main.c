/* SPDX-License-Identifier: BSD-3-Clause */

/* Sends back the frames for a MAC that arrive at a port, until it has sent COUNT. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reflect.h"

int
main(int argc, char **argv)
{
	struct ibv_device **devices = ibv_get_device_list(NULL);
	struct reflector *reflector;
	long count, sent = 0;
	uint8_t mac[6];
	int n = 0;

	if (argc != 4 || sscanf(argv[2], "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", &mac[0], &mac[1],
	    &mac[2], &mac[3], &mac[4], &mac[5]) != 6) {
		fprintf(stderr, "usage: reflect PORT MAC COUNT\n");
		return 2;
	}
	count = atol(argv[3]);
	if (devices == NULL || devices[0] == NULL) {
		fprintf(stderr, "reflect: no verbs device\n");
		return 1;
	}
	reflector = reflector_open(devices[0], (uint8_t)atoi(argv[1]), mac);
	ibv_free_device_list(devices);
	if (reflector == NULL) {
		fprintf(stderr, "reflect: %s\n", strerror(errno));
		return 1;
	}
	while (sent < count && (n = reflector_poll(reflector)) >= 0)
		sent += n;
	reflector_close(reflector);
	printf("sent %ld\n", sent);
	return n < 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */

#include <byteswap.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <pcap/pcap.h>

#include "capture.h"

/*
 * libpcap opens, judges, and knows all formats. It hands out a frame at a time, for a
 * quarter of what a quick replay costs altogether; so the frames of the one format that
 * nearly all captures have are read here once it is content with the file.
 */

#define FRAME_MAX 65535u
#define BUFFER_SIZE (256u << 10) /* a few frames of any length, many of the common ones */

/* The classic format, version 2.4. */
struct file_header {
	uint32_t magic;
	uint16_t major, minor;
	uint32_t zone, accuracy;
	uint32_t longest;      /* frame that the capturing program kept whole */
	uint32_t link_type;
};

struct record_header {
	uint32_t seconds, fraction;
	uint32_t captured, length;
};

#define MAGIC_MICROSECONDS 0xa1b2c3d4u
#define MAGIC_NANOSECONDS 0xa1b23c4du

struct vmlx4_capture {
	pcap_t *pcap;          /* NULL: the frames are read here */
	int fd;                /* then; else -1 */
	bool swapped;          /* written on a machine of the other byte order */
	bool stream;
	const char *fault;     /* behind the frames that were read */
	unsigned long number;
	size_t at, used;       /* of the buffer: what was read and not handed out */
	uint8_t buffer[BUFFER_SIZE];
};

/* ---- open ---- */

static pcap_t *
open_pcap(const char *name, char *error, size_t error_size)
{
	char reason[PCAP_ERRBUF_SIZE];
	pcap_t *pcap;

	if (access(name, R_OK) < 0) {
		snprintf(error, error_size, "wire pcap:in=%s: %s: give a capture file that you "
			"may read", name, strerror(errno));
		return NULL;
	}
	pcap = pcap_open_offline_with_tstamp_precision(name, PCAP_TSTAMP_PRECISION_NANO, reason);
	if (pcap == NULL) {
		snprintf(error, error_size, "wire pcap:in=%s: no capture file: %s: give one "
			"that tcpdump -r reads", name, reason);
		return NULL;
	}
	if (pcap_datalink(pcap) != DLT_EN10MB) {
		const char *type = pcap_datalink_val_to_name(pcap_datalink(pcap));

		snprintf(error, error_size, "wire pcap:in=%s: link type %s: give a capture of "
			"Ethernet frames (taken on one interface, not on \"any\")", name,
			type != NULL ? type : "unknown");
		pcap_close(pcap);
		return NULL;
	}
	return pcap;
}

/* Why a captured frame cannot be replayed, or NULL. */
static const char *
frame_fault(uint32_t captured, uint32_t length)
{
	if (captured < length)
		return "capture whole frames (tcpdump -s 0)";
	if (captured > FRAME_MAX)
		return "no frame is longer than 65535 bytes";
	if (captured == 0)
		return "no frame is empty";
	return NULL;
}

static int
check_all(const char *name, char *error, size_t error_size)
{
	pcap_t *pcap = open_pcap(name, error, error_size);
	struct pcap_pkthdr *header;
	const u_char *frame;
	unsigned long number = 0;
	int ret;

	if (pcap == NULL)
		return -EINVAL;
	while ((ret = pcap_next_ex(pcap, &header, &frame)) == 1) {
		const char *fault = frame_fault(header->caplen, header->len);

		number++;
		if (fault == NULL)
			continue;
		snprintf(error, error_size, "wire pcap:in=%s: frame %lu: %u of %u bytes were "
			"captured: %s", name, number, header->caplen, header->len, fault);
		pcap_close(pcap);
		return -EINVAL;
	}
	if (ret == PCAP_ERROR)
		snprintf(error, error_size, "wire pcap:in=%s: behind frame %lu: %s: give a whole "
			"capture file", name, number, pcap_geterr(pcap));
	pcap_close(pcap);
	return ret == PCAP_ERROR ? -EINVAL : 0;
}

/* A pipe, and what is like one, can be read only once. */
static bool
is_stream(const char *name)
{
	struct stat st;

	return stat(name, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

static uint32_t
word(const struct vmlx4_capture *capture, uint32_t value)
{
	return capture->swapped ? bswap_32(value) : value;
}

static bool
is_magic(uint32_t value)
{
	return value == MAGIC_MICROSECONDS || value == MAGIC_NANOSECONDS;
}

/* Of the classic format, and so that no frame had to be cut? Then on to its frames. */
static bool
open_classic(struct vmlx4_capture *capture, const char *name)
{
	struct file_header header;
	uint16_t major, minor;

	capture->fd = open(name, O_RDONLY | O_CLOEXEC);
	if (capture->fd < 0)
		return false;
	if (read(capture->fd, &header, sizeof(header)) == sizeof(header)) {
		capture->swapped = is_magic(bswap_32(header.magic));
		major = capture->swapped ? bswap_16(header.major) : header.major;
		minor = capture->swapped ? bswap_16(header.minor) : header.minor;
		if ((capture->swapped || is_magic(header.magic)) && major == 2 && minor == 4 &&
		    word(capture, header.longest) >= FRAME_MAX)
			return true;
	}
	close(capture->fd);
	capture->fd = -1;
	return false;
}

int
vmlx4_capture_open(struct vmlx4_capture **result, const char *name, char *error,
	size_t error_size)
{
	struct vmlx4_capture *capture;
	bool stream = is_stream(name);
	/* The frames of a stream are checked by nobody. */
	int ret = stream ? 0 : check_all(name, error, error_size);

	if (ret < 0 || result == NULL)
		return ret;
	capture = malloc(sizeof(*capture));
	if (capture == NULL) {
		snprintf(error, error_size, "wire pcap:in=%s: %s", name, strerror(ENOMEM));
		return -ENOMEM;
	}
	memset(capture, 0, offsetof(struct vmlx4_capture, buffer));
	capture->fd = -1;
	capture->stream = stream;
	if (stream || !open_classic(capture, name))
		capture->pcap = open_pcap(name, error, error_size);
	if (capture->pcap == NULL && capture->fd < 0) {
		free(capture);
		return -EINVAL;
	}
	*result = capture;
	return 0;
}

void
vmlx4_capture_close(struct vmlx4_capture *capture)
{
	if (capture == NULL)
		return;
	if (capture->pcap != NULL)
		pcap_close(capture->pcap);
	if (capture->fd >= 0)
		close(capture->fd);
	free(capture);
}

/* ---- read ---- */

static void
add(struct vmlx4_burst *burst, const uint8_t *frame, uint32_t length)
{
	burst->frame[burst->count] = frame;
	burst->length[burst->count++] = length;
}

/* What libpcap hands out is gone with its next frame. */
static void
read_pcap(struct vmlx4_capture *capture, struct vmlx4_burst *burst)
{
	unsigned int most = capture->stream ? 1 : VMLX4_BURST;
	struct pcap_pkthdr *header;
	const u_char *frame;
	size_t used = 0;
	int ret;

	while (burst->count < most && sizeof(capture->buffer) - used >= FRAME_MAX) {
		ret = pcap_next_ex(capture->pcap, &header, &frame);
		if (ret == PCAP_ERROR)
			capture->fault = pcap_geterr(capture->pcap);
		if (ret != 1)
			return;
		capture->number++;
		capture->fault = frame_fault(header->caplen, header->len);
		if (capture->fault != NULL)
			return;
		memcpy(capture->buffer + used, frame, header->caplen);
		add(burst, capture->buffer + used, header->caplen);
		used += header->caplen;
	}
}

/* Room for what is left, and as much of the file behind it as fits. */
static bool
fill(struct vmlx4_capture *capture)
{
	ssize_t got;

	memmove(capture->buffer, capture->buffer + capture->at, capture->used - capture->at);
	capture->used -= capture->at;
	capture->at = 0;
	do {
		got = read(capture->fd, capture->buffer + capture->used,
			sizeof(capture->buffer) - capture->used);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		capture->fault = strerror(errno);
	if (got <= 0)
		return false;
	capture->used += got;
	return true;
}

/* The next frame if all of it is in the buffer. */
static bool
take_record(struct vmlx4_capture *capture, struct vmlx4_burst *burst)
{
	size_t left = capture->used - capture->at;
	struct record_header header;
	uint32_t captured;

	if (left < sizeof(header))
		return false;
	memcpy(&header, capture->buffer + capture->at, sizeof(header));
	captured = word(capture, header.captured);
	capture->fault = frame_fault(captured, word(capture, header.length));
	if (capture->fault == NULL && left - sizeof(header) < captured)
		return false;
	capture->number++;
	if (capture->fault != NULL)
		return false;
	add(burst, capture->buffer + capture->at + sizeof(header), captured);
	capture->at += sizeof(header) + captured;
	return true;
}

static void
read_classic(struct vmlx4_capture *capture, struct vmlx4_burst *burst)
{
	/* Only with none handed out may the buffer move. */
	do {
		while (burst->count < VMLX4_BURST && take_record(capture, burst))
			;
		if (burst->count != 0 || capture->fault != NULL)
			return;
	} while (fill(capture));
	if (capture->fault == NULL && capture->used != 0)
		capture->fault = "the file ends in the middle of a frame";
}

bool
vmlx4_capture_read(struct vmlx4_capture *capture, struct vmlx4_burst *burst, const char **fault)
{
	burst->count = 0;
	if (capture->fault == NULL && capture->pcap != NULL)
		read_pcap(capture, burst);
	else if (capture->fault == NULL)
		read_classic(capture, burst);
	*fault = burst->count == 0 ? capture->fault : NULL;
	return burst->count != 0;
}

unsigned long
vmlx4_capture_number(const struct vmlx4_capture *capture)
{
	return capture->number;
}

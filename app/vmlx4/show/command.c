/* SPDX-License-Identifier: BSD-3-Clause */

#include <endian.h>
#include <infiniband/verbs.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "show.h"

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/* ---- names ---- */

static void
print_name(const char *const *names, size_t count, uint64_t value)
{
	if (value < count && names[value] != NULL)
		printf("%s", names[value]);
	else
		printf("%" PRIu64, value);
}

static void
print_qp_state(uint64_t value)
{
	static const char * const names[] = { "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR" };

	print_name(names, ARRAY_SIZE(names), value);
}

static void
print_qp_type(uint64_t value)
{
	static const char * const names[] = {
		[IBV_QPT_RC] = "RC", [IBV_QPT_UC] = "UC", [IBV_QPT_UD] = "UD",
		[IBV_QPT_RAW_PACKET] = "RAW_PACKET", [IBV_QPT_XRC_SEND] = "XRC_SEND",
		[IBV_QPT_XRC_RECV] = "XRC_RECV",
	};

	print_name(names, ARRAY_SIZE(names), value);
}

static void
print_wq_state(uint64_t value)
{
	static const char * const names[] = { "RESET", "RDY", "ERR" };

	print_name(names, ARRAY_SIZE(names), value);
}

static void
print_flow_type(uint64_t value)
{
	static const char * const names[] = { "NORMAL", "ALL_DEFAULT", "MC_DEFAULT", "SNIFFER" };

	print_name(names, ARRAY_SIZE(names), value);
}

static void
print_port_state(uint64_t value)
{
	static const char * const names[] = {
		"NOP", "DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER",
	};

	print_name(names, ARRAY_SIZE(names), value);
}

static void
print_layer(uint64_t value)
{
	static const char * const names[] = { "UNSPECIFIED", "INFINIBAND", "ETHERNET" };

	print_name(names, ARRAY_SIZE(names), value);
}

/* ---- fields ---- */

static void
print_address(const struct show *show, uint64_t value)
{
	/* Without the page, which differs from run to run. */
	if ((show->trace.flags & VMLX4_TRACE_RAW) != 0)
		printf("0x%" PRIx64, value);
	else
		printf("page+0x%" PRIx64, value);
}

/* Known by its number, which queues and segments use, rather than by its handle. */
static void
print_object(enum vmlx4_field_kind kind, uint64_t value)
{
	uint32_t number = (uint32_t)(value >> 32);
	bool numbered = kind == VMLX4_FIELD_MR || kind == VMLX4_FIELD_CQ ||
		kind == VMLX4_FIELD_QP || kind == VMLX4_FIELD_WQ ||
		kind == VMLX4_FIELD_SRQ || kind == VMLX4_FIELD_MW;

	if (number != VMLX4_TRACE_NO_NUMBER)
		printf(numbered ? "0x%x" : "%u", number);
	else if ((uint32_t)value == UINT32_MAX)
		printf("none");
	else
		printf("none(handle %u)", (uint32_t)value);
}

static void
print_value(const struct show *show, enum vmlx4_field_kind kind, uint64_t value)
{
	switch (kind) {
	case VMLX4_FIELD_NUMBER:
		printf("%" PRIu64, value);
		break;
	case VMLX4_FIELD_HEX:
	case VMLX4_FIELD_MASK:
		printf("0x%" PRIx64, value);
		break;
	case VMLX4_FIELD_ADDRESS:
		print_address(show, value);
		break;
	case VMLX4_FIELD_QP_STATE:
		print_qp_state(value);
		break;
	case VMLX4_FIELD_QP_TYPE:
		print_qp_type(value);
		break;
	case VMLX4_FIELD_WQ_STATE:
		print_wq_state(value);
		break;
	case VMLX4_FIELD_FLOW_TYPE:
		print_flow_type(value);
		break;
	case VMLX4_FIELD_PORT_STATE:
		print_port_state(value);
		break;
	case VMLX4_FIELD_LAYER:
		print_layer(value);
		break;
	default:
		print_object(kind, value);
		break;
	}
}

static void
print_fields(const struct show *show, const struct command *command)
{
	unsigned int i, n = 0;

	if (command->entry == NULL)
		return;
	for (i = 0; i < command->entry->count; i++) {
		const struct vmlx4_command_field *field = &command->entry->fields[i];

		if ((command->present & 1u << i) == 0)
			continue;
		printf(" %s=", field->name);
		print_value(show, (enum vmlx4_field_kind)field->kind, command_value(command, n++));
	}
}

/* ---- what has no fixed size ---- */

static uint32_t
load(const uint8_t *bytes, size_t size)
{
	uint32_t value = 0;

	memcpy(&value, bytes, size);
	return value;
}

static bool
is_zero(const uint8_t *bytes, size_t size)
{
	for (; size > 0; size--)
		if (*bytes++ != 0)
			return false;
	return true;
}

static void
print_hex(const uint8_t *bytes, size_t size)
{
	for (; size > 0; size--)
		printf("%02x", *bytes++);
}

/* "name value", with the mask behind a slash unless it is all ones. */
static void
print_match(const char *name, const uint8_t *value, const uint8_t *mask, size_t size)
{
	static const uint8_t ones[16] = {
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	};

	if (is_zero(mask, size))
		return;
	printf(" %s ", name);
	print_hex(value, size);
	if (memcmp(mask, ones, size) == 0)
		return;
	putchar('/');
	print_hex(mask, size);
}

/* Offsets behind the head of 8 bytes: the value, and the mask that follows it. */
struct spec_member {
	const char *name;
	uint16_t at, size;
};

static const struct spec {
	uint32_t type;
	const char *name;
	uint16_t half;              /* bytes of value and of mask each */
	struct spec_member members[5];
} specs[] = {
	{ IBV_FLOW_SPEC_ETH, "eth", 16, {
		{ "dst", 0, 6 }, { "src", 6, 6 }, { "type", 12, 2 }, { "vlan", 14, 2 } } },
	{ IBV_FLOW_SPEC_IPV4, "ipv4", 12, {
		{ "src", 0, 4 }, { "dst", 4, 4 }, { "proto", 8, 1 }, { "tos", 9, 1 } } },
	{ IBV_FLOW_SPEC_IPV6, "ipv6", 40, {
		{ "src", 0, 16 }, { "dst", 16, 16 }, { "next", 36, 1 } } },
	{ IBV_FLOW_SPEC_TCP, "tcp", 4, { { "dst", 0, 2 }, { "src", 2, 2 } } },
	{ IBV_FLOW_SPEC_UDP, "udp", 4, { { "dst", 0, 2 }, { "src", 2, 2 } } },
	{ IBV_FLOW_SPEC_VXLAN_TUNNEL, "vxlan", 4, { { "vni", 0, 4 } } },
};

static const struct spec *
spec_find(uint32_t type)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(specs); i++)
		if (specs[i].type == type)
			return &specs[i];
	return NULL;
}

static void
print_specs(const uint8_t *bytes, size_t size)
{
	while (size >= 8) {
		uint32_t type = load(bytes, 4), length = load(bytes + 4, 2);
		const struct spec *spec = spec_find(type);
		size_t i;

		if (length < 8 || length > size)
			break;
		if (spec != NULL)
			printf(" | %s", spec->name);
		else
			printf(" | spec 0x%x", type);
		for (i = 0; spec != NULL && i < ARRAY_SIZE(spec->members); i++) {
			const struct spec_member *member = &spec->members[i];

			if (member->name == NULL || 8u + 2u * spec->half > length)
				break;
			print_match(member->name, bytes + 8 + member->at,
				bytes + 8 + spec->half + member->at, member->size);
		}
		bytes += length;
		size -= length;
	}
	if (size > 0)
		printf(" | %zu B that are no spec", size);
}

static void
print_wqs(const uint8_t *bytes, size_t size)
{
	size_t i;

	printf(" wqs=");
	for (i = 0; i + 4 <= size; i += 4) {
		uint32_t number = le32toh(load(bytes + i, 4));

		if (i > 0)
			putchar(',');
		print_object(VMLX4_FIELD_WQ, (uint64_t)number << 32 | UINT32_MAX);
	}
}

static void
print_result(const struct show *show)
{
	struct record record;
	struct command result;
	const char *name;

	if (!trace_result(&show->trace, &record)) {
		printf(" = did not return");
		return;
	}
	record_command(&record, &result);
	if (result.result >= 0) {
		printf(" = ok");
		print_fields(show, &result);
		return;
	}
	name = strerrorname_np(-result.result);
	if (name != NULL)
		printf(" = %s", name);
	else
		printf(" = error %d", -result.result); /* of the kernel alone, as ENOTSUPP */
}

void
print_command(const struct show *show, const struct record *record)
{
	struct command command;

	record_command(record, &command);
	printf("ctx %u ", record->context);
	if (command.entry != NULL)
		printf("%s", command.entry->name);
	else
		printf("command 0x%x", command.number);
	print_fields(show, &command);
	if (command.entry != NULL && command.entry->blob == VMLX4_BLOB_FLOW_SPECS)
		print_specs(command.blob, command.blob_size);
	else if (command.entry != NULL && command.entry->blob == VMLX4_BLOB_WQS)
		print_wqs(command.blob, command.blob_size);
	print_result(show);
}

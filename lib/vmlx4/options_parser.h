/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VMLX4_OPTIONS_PARSER_H_
#define VMLX4_OPTIONS_PARSER_H_

/* What the files that parse options share. */

#include <stdbool.h>

#include "options.h"

struct option_parser {
	struct vmlx4_options *options;
	const char *name;          /* of the option at hand */
	bool wire_set[VMLX4_MAX_PORTS];
	bool wire_both;
	struct vmlx4_wire_spec both;
	char *error;
	size_t error_size;
};

/*
 * Parsers of one option: they fill parser->options, or write one line that names
 * the option, the value and the cure, and return -EINVAL.
 */

/* "option wire: "tap:" is wrong: cure"; returns -EINVAL. */
int option_fail(struct option_parser *parser, const char *value, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

int option_number(struct option_parser *parser, const char *value, long min, long max,
	long *number);
int option_path(struct option_parser *parser, const char *value, char *path);

/* ---- options_wire.c ---- */

int option_wire(struct option_parser *parser, const char *value);
int option_wire1(struct option_parser *parser, const char *value);
int option_wire2(struct option_parser *parser, const char *value);
int option_link_delay(struct option_parser *parser, const char *value);
int option_carrier_delay(struct option_parser *parser, const char *value);
int option_module(struct option_parser *parser, const char *value);
int option_wait_link(struct option_parser *parser, const char *value);
/* After all options: what follows for the wires that were not named. */
int option_wires_settle(struct option_parser *parser);

/* ---- options_address.c ---- */

int option_ip1(struct option_parser *parser, const char *value);
int option_ip2(struct option_parser *parser, const char *value);
int option_neighbour1(struct option_parser *parser, const char *value);
int option_neighbour2(struct option_parser *parser, const char *value);
/* After all options: has each address a port with an interface? */
int option_addresses_settle(struct option_parser *parser);

/* ---- options_trace.c ---- */

int option_seed(struct option_parser *parser, const char *value);
int option_trace(struct option_parser *parser, const char *value);
int option_trace_snaplen(struct option_parser *parser, const char *value);
int option_trace_raw(struct option_parser *parser, const char *value);

/* ---- fault/options.c ---- */

int option_faults(struct option_parser *parser, const char *value);
int option_faults_log(struct option_parser *parser, const char *value);

/* ---- options_check.c ---- */

int option_completion_lag(struct option_parser *parser, const char *value);

#endif /* VMLX4_OPTIONS_PARSER_H_ */

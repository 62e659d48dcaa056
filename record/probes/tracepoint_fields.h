/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of a tracepoint's record, as tracefs describes them. */
#ifndef RECORD_PROBES_TRACEPOINT_FIELDS_H
#define RECORD_PROBES_TRACEPOINT_FIELDS_H

#include "record/sampling/sampler.h"

struct reel_tracepoint_field {
	char name[REEL_SAMPLER_NAME_MAX];
	/* Kind REEL_BPF_VALUE_NONE: not a number or a text. */
	struct reel_bpf_value value;
};

/* Reads a line of a `format` file; false if it does not describe one of the event's own fields. */
bool reel_tracepoint_field_parse(const char *line, struct reel_tracepoint_field *ret);

/*
 * Finds a field by its name or, from 1, its number.  NOT_FOUND lists all.  *number_ret is 0 for a
 * name.
 */
struct reel_error *reel_tracepoint_field_find(const struct reel_sampler_event *event,
					      const char *name, size_t size,
					      struct reel_tracepoint_field *ret,
					      unsigned *number_ret) REEL_MUST_CHECK;

#endif

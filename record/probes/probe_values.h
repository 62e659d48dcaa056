/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The values of a probe that samples have as labels arg1 … arg6: --arg N[:TYPE].  At a function's
 * start, its N-th argument, if it is an integer or a pointer (psABIs pass them in registers); at its
 * return, 1 is the result; at a static probe, the N-th argument of its note; at a tracepoint, its
 * field of that number or name.
 */
#ifndef RECORD_PROBES_PROBE_VALUES_H
#define RECORD_PROBES_PROBE_VALUES_H

#include "record/sampling/sampler.h"

/* Reads "N[:TYPE]" of a probe that is not a tracepoint. */
struct reel_error *reel_probe_value_parse(const struct reel_sampler_event *event,
					  const char *specification, unsigned *number_ret,
					  struct reel_bpf_value *ret) REEL_MUST_CHECK;

/* ---- fields of tracepoints, by their format in tracefs ---- */

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

/* ---- values ---- */

/* Adds a value to a resolved event. */
struct reel_error *reel_probe_value_add(struct reel_sampler_event *event,
					const char *specification) REEL_MUST_CHECK;

/*
 * Reads the operand of a static probe's argument, such as "-4@-20(%rbp)" on x86-64 or "8@[sp, 16]"
 * on arm64; false if it is unknown.
 */
bool reel_probe_operand_read(const char *machine, const char *operand, struct reel_bpf_value *ret);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of variables that were kept when their sample was scrubbed: labels of the sample (SPEC.md,
 * section 6.6).
 */
#ifndef REPLAY_TRACES_KEPT_VALUES_H
#define REPLAY_TRACES_KEPT_VALUES_H

#include "format/record.h"
#include "include/commands.h"

/* Of a function and an expression together: a label has room for the longest value as well. */
#define REEL_KEPT_NAMES_MAX 160

/* ---- writing ------------------------------------------------------------------------ */

/* An empty one is all zero. */
struct reel_kept_writer {
	struct reel_buffer texts; /* of the last sample's labels */
	uint64_t *counts;	  /* of values so far that are known, by request */
	uint64_t left_out;	  /* values that a sample has no room for */
};

void reel_kept_writer_free(struct reel_kept_writer *writer);
/*
 * Appends the trace's values, which answer `requests`, to the sample's labels: `labels` has
 * REEL_LABELS_MAX items, of which *n are used.  The texts live until the next call.
 * INVALID: a value is a structure or an array.
 */
struct reel_error *reel_kept_values_write(struct reel_kept_writer *writer,
					  const struct reel_trace *trace,
					  const struct reel_value_request *requests,
					  size_t n_requests, struct reel_sample_label *labels,
					  size_t *n) REEL_MUST_CHECK;

/* ---- reading ------------------------------------------------------------------------ */

struct reel_kept_value {
	struct reel_bytes function, expression;
	uint64_t frame; /* of the stack, from the innermost one */
	uint64_t level; /* of the functions inlined there, from the innermost one */
	enum reel_value_state state;
	bool is_number, is_signed;
	uint64_t number;
	struct reel_bytes text;
};

struct reel_kept_reader {
	const struct reel_sample *sample;
	size_t next_label;
	struct reel_bytes function, expression, rest;
};

bool reel_kept_values_exist(const struct reel_sample *sample);
/* The next value of reader->sample; false after the last one.  What is malformed is skipped. */
bool reel_kept_values_next(struct reel_kept_reader *reader, struct reel_kept_value *ret);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --filter: which hits of a tracepoint or a probe are samples.  The syntax is the kernel's, of its event
 * filter (Documentation/trace/events.rst): FIELD OP NUMBER with ==, !=, <, <=, >, >= and &; FIELD OP
 * "TEXT" with ==, != and ~ (a pattern of * and ?); !, &&, || and parentheses.  That filter does
 * not help here: it runs after BPF programs (include/trace/perf.h, perf_trace_run_bpf_submit).
 * A probe's fields are arg1, arg2 …, also with a type of --arg: arg1:s32.
 */
#ifndef RECORD_PROBES_FILTER_H
#define RECORD_PROBES_FILTER_H

#include "record/sampling/sampler.h"

/* Sets the filter of a resolved event.  Errors name the place in the expression. */
struct reel_error *reel_filter_set(struct reel_sampler_event *event,
				   const char *expression) REEL_MUST_CHECK;

#endif

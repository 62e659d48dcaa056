/* SPDX-License-Identifier: Apache-2.0 */
/* The data of a capture's pictures: its stacks by event, and the threads and times of stacks. */
#ifndef CLI_FLAMEGRAPH_FLAME_PROFILE_H
#define CLI_FLAMEGRAPH_FLAME_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/flamegraph/flame_frames.h"
#include "cli/flamegraph/flame_labels.h"
#include "cli/profile/call_tree.h"
#include "cli/profile/profile.h"
#include "cli/session/session.h"

/* The resolution of samples' times, in ns. */
#define FLAME_STEP_FIRST UINT64_C(1000000)

/*
 * The stacks of threads over time: a span is a thread's stack in a step of time; the order within a
 * step is dropped. Steps get wider when there are too many spans, so that memory is bounded.
 */
struct flame_span {
	uint64_t bin; /* the step's number since the beginning */
	uint32_t event, thread, node;
	uint32_t labels; /* a set of flame_labels */
	uint8_t state;	 /* enum reel_state */
	struct amount amount;
};

struct flame_spans {
	struct flame_span *items;
	size_t n, capacity;
	uint64_t step; /* ns */
};

void flame_spans_init(struct flame_spans *spans);
void flame_spans_free(struct flame_spans *spans);
/* Here `span.bin` is a time, in ns since the beginning. */
void flame_spans_add(struct flame_spans *spans, struct flame_span span);
/* Merges and sorts spans by step, event, thread, node, state and labels. */
void flame_spans_merge(struct flame_spans *spans);
/* Doubles the steps of merged spans; false if there is only one step. */
bool flame_spans_widen(struct flame_spans *spans);

/* The source of pictures. */
struct flame_source {
	const char *path;
	const struct quality *quality;
	/* NULL for a profile that `stackreel aggregate' made, from `captures` captures: these have
	 * no times, threads, lines or guesses. */
	const struct reel_capture_info *info;
	uint64_t captures;
};

struct flame_event {
	/* NULL if the capture does not define it. */
	const struct reel_event_info *event;
	/* Weights are ns; otherwise they are counts, or (where all were 0) samples. */
	bool is_time;
	/* The weight of the first sample; all samples of a clock share it. */
	uint64_t period;
	struct call_tree tree; /* of flame_frames */
};

struct flame_thread {
	struct symbol *thread, *process; /* "name (tid)" */
	uint32_t pid, tid;
	uint32_t count; /* of threads that this one represents (flame_profile_limit) */
};

/* A frame of the previous stack. */
struct flame_step {
	const struct reel_frame *frame;
	uint8_t step;
	struct flame_place *place;
	uint32_t node;
};

struct flame_profile {
	struct flame_event *events;
	size_t n_events;
	struct flame_frames frames;
	struct groups by_thread, by_process;
	/* The first frames of all stacks; none unless flame_profile_group was called. */
	struct groups groups[GROUP_KEYS_MAX];
	size_t n_groups;
	struct flame_thread *threads;
	size_t n_threads;
	struct pointer_map thread_numbers; /* from 1 on, by symbol */
	struct flame_spans spans;
	bool keeps_labels; /* set this before adding samples */
	struct flame_labels labels;
	uint64_t start; /* of the capture: the first sample's time */
	/* The previous stack, root first: the next one mostly begins with the same frames. */
	struct flame_step *path;
	size_t path_length, path_capacity;
	uint32_t path_event, path_start;
	/* Samples of stacks whose ends were removed (flame_profile_limit). */
	uint64_t pruned;
};

/* `start`: the first sample's time.  `by_line`: nodes are lines of functions. */
void flame_profile_init(struct flame_profile *profile, uint64_t start, bool by_line);
void flame_profile_free(struct flame_profile *profile);
/* Begin stacks with these groups of their samples; call this before adding samples. */
void flame_profile_group(struct flame_profile *profile, const struct grouping *grouping);
/* For session_visit; `context` is the profile. */
bool flame_profile_add(void *context, const struct reel_trace *trace,
		       const struct reel_event_info *event);
/* Alternatively adds the stacks of finished profiles by function; borrows their symbols. */
void flame_profile_add_all(struct flame_profile *profile, const struct profiles *profiles);
/* Sums up. */
void flame_profile_finish(struct flame_profile *profile);

struct flame_limits {
	uint64_t step; /* steps of time are at least so wide */
	size_t nodes;
	/* The threads with the fewest samples become one for each process. */
	size_t threads;
	/* Of a label, the values with the fewest samples become one. */
	size_t values;
};

/*
 * Shrinks a finished profile.  The rarest calls become one per caller, "[rare calls, left out]", so
 * that no other numbers change; steps of time get wider.
 */
void flame_profile_limit(struct flame_profile *profile, const struct flame_limits *limits);

#endif

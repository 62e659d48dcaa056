/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The samples of a capture, stored so that they can be summed up in any way without another read:
 * for each event a tree whose first nodes are threads.
 */
#ifndef CLI_BROWSE_SAMPLES_H
#define CLI_BROWSE_SAMPLES_H

#include "cli/profile/profile.h"

/* A thread, for as long as it keeps one name. */
struct lane {
	struct reel_trace who; /* from one of its samples: the grouping fields, without frames */
	/* The zoom depth that hid the thread; 0: it is shown. */
	unsigned int hidden;
	struct lane *next; /* the same thread under another name */
};

struct sampled_event {
	const struct reel_event_info *event;
	/* Keys: lanes, then marks or frames; a guessed frame's key is one higher. */
	struct call_tree tree;
};

struct samples {
	struct sampled_event *events;
	size_t n_events;

	struct lane **lanes;
	size_t n_lanes, capacity;
	struct pointer_map by_thread; /* struct lane, by the symbol of `threads` */
	struct groups threads;
	struct symbol_table symbols; /* of these */

	const struct reel_frame **path;
	size_t path_capacity;
};

void samples_init(struct samples *samples);
void samples_free(struct samples *samples);
/* For session_visit; `context` is the samples, and the session must outlive them. */
bool samples_add(void *context, const struct reel_trace *trace,
		 const struct reel_event_info *event);
struct lane *samples_lane(struct samples *samples, const struct reel_trace *trace);

/* Samples of one event, summed up. */
struct sums {
	struct profiles profiles; /* of one event */
	struct profile *profile;
	/* A frame of each symbol that has one. */
	struct pointer_map frames;
};

/* Sums up the lanes that are not hidden. */
void sums_make(struct sums *sums, const struct samples *samples, size_t event, enum symbols_by by,
	       enum grouping grouping);
void sums_free(struct sums *sums);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The samples of a capture, stored so that they can be summed up in any way without another read:
 * for each event a tree whose first nodes are lanes.
 */
#ifndef CLI_BROWSE_SAMPLES_H
#define CLI_BROWSE_SAMPLES_H

#include "cli/profile/profile.h"
#include "cli/profile/course.h"

/* Samples that no grouping tells apart: of a thread under one name, in one state … */
struct lane {
	struct reel_trace who; /* from one of its samples: the grouping fields, without frames */
	struct reel_label *labels; /* of `who`, with their texts */
	struct reel_frame_value *values;
	/* The zoom depth that hid the lane; 0: it is shown. */
	unsigned int hidden;
};

struct sampled_event {
	const struct reel_event_info *event;
	/* Keys: lanes, then marks or frames; a guessed frame's key is one higher. */
	struct call_tree tree;
	struct course_log log; /* of the tree's stacks */
};

struct samples {
	struct sampled_event *events;
	size_t n_events;

	/* Lanes keep these labels and CPUs apart; keeping all would take a lane for each sample. */
	struct grouping kept;
	struct lane **lanes;
	size_t n_lanes, capacity;
	/* Each lane is a path: its thread, name and state, then the kept keys' groups. */
	struct call_tree lane_paths;
	struct lane **by_path; /* by the number of the path's last node; NULL: none */
	size_t n_by_path;
	struct groups threads, groups[GROUP_KEYS_MAX];
	struct symbol_table symbols; /* of these */

	struct sample_counts labels; /* by key */

	const struct reel_frame **path;
	size_t path_capacity;
};

/* `kept`: keys that a grouping may have besides the keys that samples_suffice() always accepts. */
void samples_init(struct samples *samples, const struct grouping *kept);
void samples_free(struct samples *samples);
/* For session_visit; `context` is the samples, and the session must outlive them. */
bool samples_add(void *context, const struct reel_trace *trace,
		 const struct reel_event_info *event);
/* Samples with these keys kept can be summed up by the grouping. */
bool samples_suffice(const struct grouping *kept, const struct grouping *grouping);
/* Adds the keys of `more` to those kept. */
void samples_keep_more(struct grouping *kept, const struct grouping *more);
struct lane *samples_lane(struct samples *samples, const struct reel_trace *trace);

/* Keys for marks: cut traces, and traces without a frame. */
extern const char samples_stops[REEL_STOP_COUNT], samples_no_frames;

#endif

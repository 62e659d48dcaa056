/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The samples of a view: of a capture, or of the newest parts of a stream, each of which is a
 * capture. A live view drops the oldest part for each new one, so that each sample is read once.
 */
#ifndef CLI_BROWSE_PARTS_H
#define CLI_BROWSE_PARTS_H

#include "cli/profile/profile.h"
#include "cli/profile/course.h"

/*
 * The samples of a capture are stored so that they can be summed up in any way without another read:
 * for each event a tree whose first nodes are lanes.
 */

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

struct part {
	struct session *session;
	bool owns_session;
	struct samples samples;
	/* Of a stream: its first block of samples, and when these began and ended to arrive (ns,
	 * CLOCK_MONOTONIC). */
	uint64_t first_block, begin, end;
	struct reel_live_part stream;
};

struct parts {
	struct part *items; /* oldest first */
	size_t n, capacity;
	/* Of all parts, dropped ones too; their own copies. */
	struct reel_event_info **events;
	size_t n_events;
};

/* Takes ownership of the part's members; replaces a last part that begins with the same block. */
void parts_add(struct parts *parts, const struct part *part);
/* Moves all parts of `from` to the end of `parts`. */
void parts_append(struct parts *parts, struct parts *from);
/* Drops parts that ended before this time, but never the newest; true if one was dropped. */
bool parts_drop_older(struct parts *parts, uint64_t time);
void parts_free(struct parts *parts);
void part_free(struct part *part);
/* Of a stream, in the parts, bytes of samples read and of all that arrived. */
uint64_t parts_bytes_read(const struct parts *parts, uint64_t *all_ret);
/* Of all parts, by key, the most frequent first; the caller frees it. */
struct sample_counts parts_labels(const struct parts *parts);
struct quality parts_quality(const struct parts *parts);
/* As session->missing; the caller frees it. */
struct sample_counts parts_missing(const struct parts *parts);
/* Reads the part's capture again for `visit`, as session_visit does, and keeps its counts. */
bool part_read_again(const struct part *part,
		     bool (*visit)(void *context, const struct reel_trace *trace,
				   const struct reel_event_info *event),
		     void *context);

/* Samples of one event, summed up. */
struct sums {
	struct profiles profiles; /* of one event */
	struct profile *profile;
	/* A frame of each symbol that has one. */
	struct pointer_map frames;
	/* When the profile's nodes had samples, and what tree_courses_make makes of it when
	 * sums_courses is called. */
	struct course_log log;
	struct tree_courses courses;
};

/* Sums up the lanes that are not hidden. The parts must outlive the sums. */
void sums_make(struct sums *sums, const struct parts *parts, size_t event, const struct by *by);
/* The courses of the profile's nodes. */
const struct tree_courses *sums_courses(struct sums *sums);
void sums_free(struct sums *sums);

#endif

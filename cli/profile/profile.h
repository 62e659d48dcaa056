/* SPDX-License-Identifier: Apache-2.0 */
/* The traces of a capture summed up: a call tree for each event. */
#ifndef CLI_PROFILE_PROFILE_H
#define CLI_PROFILE_PROFILE_H

#include "cli/profile/by.h"
#include "cli/profile/course.h"
#include "cli/session/session.h"

struct profile {
	/* NULL if the capture does not define it. */
	const struct reel_event_info *event;
	bool owns_event;
	/* Weights are ns; otherwise they are counts, or (where all were 0) samples. */
	bool is_time;
	/* Keys are symbols. */
	struct call_tree tree;
	/* Of the tree's nodes, for tables; NULL: not wanted. Not owned. */
	const struct tree_courses *courses;
	/* Of aggregates; a single capture's quality is in its session. */
	struct quality quality;
	struct amount sum;
};

/* False on 64-bit overflow: the sum is unchanged then. */
bool profile_add_sum(struct profile *profile, struct amount amount);

struct profiles {
	struct profile *items;
	size_t count;
	struct symbol_table symbols;
	/* One for each key of the grouping: the tree's first levels. */
	struct groups groups[GROUP_KEYS_MAX];
	size_t n_groups;
	bool has_symbol_rows;	 /* a table has rows for symbols, within groups if there are any */
	struct courses *courses; /* of functions; NULL: not wanted */
	/* Traces that end too early get a root that marks them. */
	bool mark_cut;
};

void profiles_init(struct profiles *profiles, const struct by *by, bool mark_cut);
void profiles_free(struct profiles *profiles);
/* For session_visit; `context` is the profiles. */
bool profiles_add(void *context, const struct reel_trace *trace,
		  const struct reel_event_info *event);
/* The node of a trace's groups in an event's tree; makes it if missing. */
uint32_t profiles_enter_groups(struct profiles *profiles, struct call_tree *tree,
			       const struct reel_trace *trace, const struct reel_event_info *event);
/* The event's profile; makes it if missing. */
struct profile *profiles_get(struct profiles *profiles, const struct reel_event_info *event);
/* From now on nothing points into the capture: it may be closed, and traces of another one
 * added. */
void profiles_leave_capture(struct profiles *profiles);
/* Keeps only the profiles of events of this name. */
void profiles_keep(struct profiles *profiles, const char *event);
/* Of all of them together. */
struct quality profiles_quality(const struct profiles *profiles);
/* Sums up, except for symbols by name: their trees are only linked. */
void profiles_finish(struct profiles *profiles);

/* The quantity that a profile's weights measure, as a column heading: "time", "count". */
const char *profile_unit(const struct profile *profile);
struct short_text profile_format(const struct profile *profile, uint64_t weight);
/* Merged captures may have sampled the same event at different rates. */
bool profile_is_same_event(const struct reel_event_info *a, const struct reel_event_info *b);
/* Outlives its capture, with its numbers and names only; NULL for NULL. */
struct reel_event_info *event_copy(const struct reel_event_info *event);
void event_free(struct reel_event_info *event);

#endif

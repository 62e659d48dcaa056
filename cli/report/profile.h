/* SPDX-License-Identifier: Apache-2.0 */
/* The traces of a capture summed up: a call tree for each event. */
#ifndef CLI_REPORT_PROFILE_H
#define CLI_REPORT_PROFILE_H

#include "cli/report/groups.h"
#include "cli/session/session.h"

struct profile {
	/* NULL if the capture does not define it. */
	const struct reel_event_info *event;
	bool owns_event;
	/* Weights are ns; otherwise they are counts, or (where all were 0) samples. */
	bool is_time;
	/* Keys are symbols. */
	struct call_tree tree;
	/* Of aggregates; what is of a capture alone, its session has. */
	struct quality quality;
	struct amount sum;
};

/* False where that is more than 64 bits hold: then it is as before. */
bool profile_add_sum(struct profile *profile, struct amount amount);

struct profiles {
	struct profile *items;
	size_t count;
	struct symbol_table symbols;
	struct groups groups;
	/* Traces that end too early have a root that says so. */
	bool mark_cut;
};

void profiles_init(struct profiles *profiles, enum grouping grouping, enum symbols_by by,
		   bool mark_cut);
void profiles_free(struct profiles *profiles);
/* For session_visit; `context` is the profiles. */
bool profiles_add(void *context, const struct reel_trace *trace,
		  const struct reel_event_info *event);
/* That of the event, made if there is none. */
struct profile *profiles_get(struct profiles *profiles, const struct reel_event_info *event);
/* Nothing points into the capture from now on, which may be closed, and traces of another one
 * added. */
void profiles_leave_capture(struct profiles *profiles);
/* Only those of events of this name stay. */
void profiles_keep(struct profiles *profiles, const char *event);
/* Of all of them together. */
struct quality profiles_quality(const struct profiles *profiles);
/* Sums up, but for symbols by name: their trees are only linked. */
void profiles_finish(struct profiles *profiles);

/* What a profile's weights are of, as the heading of a column: "time", "count". */
const char *profile_unit(const struct profile *profile);
struct short_text profile_format(const struct profile *profile, uint64_t weight);
/* Captures that were merged may have sampled the same at other rates. */
bool profile_is_same_event(const struct reel_event_info *a, const struct reel_event_info *b);
const char *event_name(const struct reel_event_info *event);

#endif

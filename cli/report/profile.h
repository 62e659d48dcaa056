/* SPDX-License-Identifier: Apache-2.0 */
/* The traces of a capture summed up: a call tree for each event. */
#ifndef CLI_REPORT_PROFILE_H
#define CLI_REPORT_PROFILE_H

#include "cli/report/groups.h"
#include "cli/session/session.h"

struct profile {
	/* NULL if the capture does not define it. */
	const struct reel_event_info *event;
	/* Weights are ns; otherwise they are counts, or (where all were 0) samples. */
	bool is_time;
	/* Keys are symbols. */
	struct call_tree tree;
};

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
/* Sums up, but for symbols by name: their trees are only linked. */
void profiles_finish(struct profiles *profiles);

/* What a profile's weights are of, as the heading of a column: "time", "count". */
const char *profile_unit(const struct profile *profile);
struct short_text profile_format(const struct profile *profile, uint64_t weight);
/* Captures that were merged may have sampled the same at other rates. */
bool profile_is_same_event(const struct reel_event_info *a, const struct reel_event_info *b);
const char *event_name(const struct reel_event_info *event);

#endif

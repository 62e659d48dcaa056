/* SPDX-License-Identifier: Apache-2.0 */
/* Who calls a function: `stackreel report --callers`. */
#ifndef CLI_REPORT_REPORT_CALLERS_H
#define CLI_REPORT_REPORT_CALLERS_H

#include "cli/print/output.h"
#include "cli/profile/pointer_map.h"
#include "cli/profile/profile.h"

/* The matching functions. */
struct callees {
	struct pointer_map symbols; /* to themselves */
	size_t count;
};

/*
 * Finds functions of that name, with or without parameters; otherwise those whose names contain
 * `text`. If no name matches, reports it and returns false.
 */
bool callees_find(const struct profiles *profiles, const char *text, struct callees *ret);
void callees_free(struct callees *callees);

/*
 * A finished tree: below each function its callers, below these their callers. The caller frees it.
 * `ends` (or NULL): for each node of the profile, the node that has its total as its self, or NONE.
 */
void callers_make(const struct profiles *profiles, const struct profile *profile,
		  const struct callees *callees, struct call_tree *ret, uint32_t *ends);

/*
 * Prints each function's callers, heaviest first, with the callers of callers below. A stack with
 * the function several times counts once, at the outermost. Branches below `limit` percent of these
 * functions' total are skipped.
 */
void report_callers_print(const struct profiles *profiles, const struct profile *profile,
			  const struct callees *callees, uint64_t limit,
			  const struct output *output);

#endif

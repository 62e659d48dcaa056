/* SPDX-License-Identifier: Apache-2.0 */
/* Who calls a function: `stackreel report --callers`. */
#ifndef CLI_REPORT_REPORT_CALLERS_H
#define CLI_REPORT_REPORT_CALLERS_H

#include "cli/print/output.h"
#include "cli/report/pointer_map.h"
#include "cli/report/profile.h"

/* The functions that are meant. */
struct callees {
	struct pointer_map symbols; /* to themselves */
	size_t count;
};

/*
 * Those of that name, with or without parameters; if there are none, those that have `text` in
 * their name.  If there are none either, says so and gives false.
 */
bool callees_find(const struct profiles *profiles, const char *text, struct callees *ret);
void callees_free(struct callees *callees);

/*
 * A finished tree: below each of them those that call it, below these their callers.  To be freed.
 */
void callers_make(const struct profiles *profiles, const struct profile *profile,
		  const struct callees *callees, struct call_tree *ret);

/*
 * From each of them upwards, the heaviest first: callers of callers stand below.  A stack counts
 * once for a function that it has several times, at the outermost.  Branches below `limit` percent
 * of what these functions have in total are left out.
 */
void report_callers_print(const struct profiles *profiles, const struct profile *profile,
			  const struct callees *callees, uint64_t limit,
			  const struct output *output);

#endif

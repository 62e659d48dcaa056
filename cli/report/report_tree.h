/* SPDX-License-Identifier: Apache-2.0 */
/* The call tree and the stacks of `stackreel report`. */
#ifndef CLI_REPORT_REPORT_TREE_H
#define CLI_REPORT_REPORT_TREE_H

#include "cli/print/output.h"
#include "cli/report/profile.h"

/* Of what shares are, and how small one may be. */
struct tree_shares {
	uint64_t all;	   /* weight: shares that are shown are of this */
	uint64_t limit;	   /* in PERCENT */
	uint64_t limit_of; /* weight */
};

/* What stands before a name instead of the share. */
struct tree_columns {
	void (*print)(void *context, uint32_t node, const struct output *output);
	void *context;
	size_t width; /* of what is printed */
};

/* The node's parent calls nothing else and has no samples of its own: the node needs no branch and
 * no share of its own. The root's children need them. */
bool tree_continues_parent(const struct call_tree *tree, uint32_t node);

/* A finished tree of symbols, children by their share; branches below the limit are left out.
 * `columns` may be NULL. */
void tree_draw(const struct call_tree *tree, const struct tree_shares *shares,
	       const struct tree_columns *columns, const struct output *output);
/* From the root down, children by their share; branches below `limit` percent are left out. */
void report_tree_print(const struct profile *profile, uint64_t limit, const struct output *output);
/* "80% main();foo();bar()" for each stack, the largest share first. */
void report_residency_print(const struct profile *profile, uint64_t limit,
			    const struct output *output);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The call tree and the stacks of `stackreel report`. */
#ifndef CLI_REPORT_REPORT_TREE_H
#define CLI_REPORT_REPORT_TREE_H

#include "cli/print/output.h"
#include "cli/profile/profile.h"

/* The base of shares, and the smallest share to show. */
struct tree_shares {
	uint64_t all;	   /* weight: base of the shown shares */
	uint64_t limit;	   /* in PERCENT */
	uint64_t limit_of; /* weight */
	/* In a tree of callers, where samples end at the root, has no meaning. */
	bool without_self;
};

/* The columns before the branches, instead of shares and samples. */
struct tree_columns {
	/* A node that `continues` its parent has no branch, and the parent's total. */
	void (*print)(void *context, uint32_t node, bool continues, const struct output *output);
	void *context;
	size_t width; /* of the printed text */
};

/* The node's parent calls nothing else and has no samples of its own: the node needs neither branch
 * nor share. The root's children need both. */
bool tree_continues_parent(const struct call_tree *tree, uint32_t node);

/* The headings of a tree's columns, without a newline: shares, samples where there is room, and
 * `name`. */
void tree_print_head(const struct tree_shares *shares, const char *name,
		     const struct output *output);
/* Their width, without the name's. */
size_t tree_numbers_width(const struct tree_shares *shares, const struct output *output);
/* A node's numbers, below these; those that are 0 or its parent's are blank. */
void tree_print_numbers(const struct call_tree *tree, const struct tree_shares *shares,
			uint32_t node, bool continues, const struct output *output);

/* A finished tree of symbols, children by their share; branches below the limit are skipped. With
 * `columns` NULL, there are columns of shares and samples, and `head` is above the names. */
void tree_draw(const struct call_tree *tree, const struct tree_shares *shares,
	       const struct tree_columns *columns, const char *head, const struct output *output);
/* From the root down, children by their share; branches below `limit` percent are skipped. */
void report_tree_print(const struct profiles *profiles, const struct profile *profile,
		       uint64_t limit, const struct output *output);
/* "80% main();foo();bar()" for each stack, the largest share first. */
void report_residency_print(const struct profile *profile, uint64_t limit,
			    const struct output *output);

#endif

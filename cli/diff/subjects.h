/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The subjects of a comparison: functions, identified across builds, and for trees paths of calls,
 * from the root to a function; and callers of functions.
 */
#ifndef CLI_DIFF_SUBJECTS_H
#define CLI_DIFF_SUBJECTS_H

#include "base/hash_index.h"
#include "cli/profile/call_tree.h"
#include "cli/profile/symbols.h"

/* A subject's two counts: alone, and including its callees. */
enum diff_part {
	PART_SELF,
	PART_TOTAL,
	PARTS,
};

enum diff_side {
	SIDE_OLD,
	SIDE_NEW,
	SIDES,
};

enum diff_kind {
	KIND_FUNCTION,
	KIND_PATH,
	KINDS,
};

/* A function, or a path that ends in it. */
struct diff_item {
	struct diff_function *function;
	size_t number; /* among its kind */
	double weight[SIDES][PARTS];
	uint64_t samples[SIDES][PARTS];
	size_t newest; /* for diff_cells_get */
};

/* Whether both sides together have enough samples to compare it. */
bool diff_item_has_enough(const struct diff_item *item, enum diff_part part);

struct diff_function {
	struct diff_item item;
	struct symbol symbol;	/* for output; its name and module are escaped */
	char *raw, *raw_module; /* as they are */
	/* The part of the total inlined into a caller. */
	double inlined[SIDES];
	struct diff_function *same; /* the function it was joined into, which emptied it; or NULL */
	uint64_t trace;		    /* the last trace with it in the current capture */
};

/* A function's weights by caller. */
struct diff_edge {
	struct diff_function *function, *caller;
	double weight[SIDES][PARTS];
};

struct diff_items {
	struct diff_item **items;
	size_t n, capacity;
};

struct diff_subjects {
	struct diff_items kinds[KINDS];
	struct reel_hash_index functions; /* of their kind's items, by name */
	struct diff_edge **edges;
	size_t n_edges, edges_capacity;
	struct reel_hash_index edges_index; /* by function and caller */
	/* Of paths; a node's number is its path's, and its key a function's symbol. The root is
	 * that of all samples. */
	struct call_tree tree;
};

void diff_subjects_init(struct diff_subjects *subjects);
void diff_subjects_free(struct diff_subjects *subjects);

/* Makes missing ones. A function without code is a mark of cut traces. */
struct diff_function *diff_function_get(struct diff_subjects *subjects, const char *name,
					const char *module, bool is_mark);
struct diff_edge *diff_edge_get(struct diff_subjects *subjects, struct diff_function *function,
				struct diff_function *caller);
/* CALL_TREE_ROOT is the caller's path of the first frame. */
struct diff_item *diff_path_get(struct diff_subjects *subjects, size_t caller,
				struct diff_function *function);

/* ---- weights by subject and time ------------------------------------------------------------ */

struct diff_cell {
	size_t item;
	uint64_t block; /* of time */
	double weight[PARTS];
};

/* Several cells may have the same subject and block, until they are merged. */
struct diff_cells {
	struct diff_cell *items;
	size_t n, capacity;
};

void diff_cells_free(struct diff_cells *cells);
/*
 * The cell at *newest, if it has that subject and block, or a new one: samples are nearly in order of
 * time, so a subject's newest cell is mostly the right one.  Valid until the next call.
 */
struct diff_cell *diff_cells_get(struct diff_cells *cells, size_t item, uint64_t block,
				 size_t *newest);
/* Sorts by subject, then by block, and merges equal ones. */
void diff_cells_merge(struct diff_cells *cells);
/* Moves the cells of subject i to numbers[i]. */
void diff_cells_renumber(struct diff_cells *cells, const size_t *numbers);
/* Merges 2^shift blocks into one. */
void diff_cells_coarsen(struct diff_cells *cells, unsigned int shift);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What text, Markdown, JSON and trees of a comparison have in common. */
#ifndef CLI_DIFF_DIFF_VIEW_H
#define CLI_DIFF_DIFF_VIEW_H

#include "cli/diff/diff_print.h"

#define DIFF_CALLERS_MAX 3

extern const char *const diff_part_names[PARTS];

/* What values are printed in. */
struct diff_unit {
	double scale;
	const char *name; /* "%", "us", or "" of counts */
	char of[48];	  /* "share of all", "per 1000 counts of" */
};

struct diff_unit diff_unit_of(const struct diff_counts *counts);
/* Of a side, in what values are measured by: 1 where these are shares. */
double diff_all_of(const struct diff_counts *counts, enum diff_side side);

/* Whether a difference is less than everything there was: a larger bound says nothing. */
bool diff_is_meaningful(const struct diff_counts *counts, double difference);

/* Not less than result->limit: less is of no interest. */
bool diff_is_worth(const struct diff_result *result, const struct diff_change *change);
/*
 * The sure changes of one part of functions, largest first; of totals, those that are not the
 * function's own work, which is listed already. To be freed.
 */
const struct diff_change **diff_sorted(const struct diff_result *result, enum diff_part part,
				       size_t *n_ret, size_t *hidden);

struct diff_caller {
	const struct diff_function *function;
	double difference;
};

/* Through whom most of a change came, the first most; gives how many there are. */
size_t diff_find_callers(const struct diff_counts *counts, const struct diff_change *change,
			 struct diff_caller ret[DIFF_CALLERS_MAX]);
/* What else is to be said of a function, " (is inlined now)"; "" for nothing. */
const char *diff_remark(const struct diff_counts *counts, const struct diff_function *function);

/* Red for more, green for less, "" where colours are off. */
const char *diff_color(const struct diff_change *change, const struct output *output);
/* What was compared, and how, each line after `start`. */
void diff_print_head(const struct diff_result *result, const struct diff_unit *unit,
		     const char *start, FILE *file);
/* What can be said of all that is not listed. Names are printed by `print_name`. */
void diff_print_rest(const struct diff_result *result, const struct diff_unit *unit, size_t hidden,
		     bool any, void (*print_name)(const char *name, FILE *file), FILE *file);

#endif

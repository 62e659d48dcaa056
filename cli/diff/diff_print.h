/* SPDX-License-Identifier: Apache-2.0 */
/* The output of `stackreel diff`: text and trees for people, Markdown for a pull request, JSON and
 * stacks for programs. */
#ifndef CLI_DIFF_DIFF_PRINT_H
#define CLI_DIFF_DIFF_PRINT_H

#include "cli/diff/gate.h"
#include "cli/print/output.h"

struct diff_result {
	struct diff_counts *counts;
	const struct diff_changes *changes; /* of functions */
	const struct diff_changes *paths;   /* NULL if not wanted */
	/* As given. */
	const struct string_list *files[SIDES];
	const struct diff_gate *gates;
	size_t n_gates;
	struct diff_doubts doubts;
	double limit;		/* only count changes below this share of all; in percent */
	bool has_distributions; /* draw those of the changes in the text */
	uint64_t tree_limit;	/* skip branches below this; in PERCENT */
};

void diff_print_text(const struct diff_result *result, const struct output *output);
/* Finishes the call tree with the weights of both sides, so that it is sorted and can be cut. */
void diff_tree_weigh(const struct diff_result *result);
/* Prints the finished call tree, with its amounts on both sides. */
void diff_print_tree(const struct diff_result *result, const struct output *output);
/* "a;b;c 10 12", a line for each stack: as FlameGraph's difffolded.pl -n, so that the old number is
 * of as much as the new one, in what weights are of. */
void diff_print_folded(const struct diff_result *result, FILE *file);
void diff_print_markdown(const struct diff_result *result, const struct output *output);
void diff_print_json(const struct diff_result *result, FILE *file);
/* "parse: total +7.1 % (limit total(parse)>+5%)", a line for each change that exceeds a gate, each
 * after `start`; returns their number. */
size_t diff_print_exceeded(const struct diff_result *result, const char *start, FILE *file);

/* ---- shared by all of these ------------------------------------------------------------------ */

#define DIFF_CALLERS_MAX 3

extern const char *const diff_part_names[PARTS];

/* The unit of printed values. */
struct diff_unit {
	double scale;
	const char *name; /* "%", "us", or "" of counts */
	char of[48];	  /* "share of all", "per 1000 counts of" */
};

/* Functions with significant changes whose short names are equal get their full ones. */
void diff_tell_apart(const struct diff_result *result);
/* The heading of the subjects: "FUNCTION", "MODULE" or "GROUP". */
const char *diff_subject_head(const struct diff_counts *counts);
struct diff_unit diff_unit_of(const struct diff_counts *counts);
/* A side's total, in the values' unit: 1 for shares. */
double diff_all_of(const struct diff_counts *counts, enum diff_side side);

/* Whether a difference is less than the total: a larger bound is meaningless. */
bool diff_is_meaningful(const struct diff_counts *counts, double difference);

/* Not below result->limit; smaller changes are not interesting. */
bool diff_is_worth(const struct diff_result *result, const struct diff_change *change);
/*
 * The sure changes of one part of functions, largest first, and of only a share last; of
 * totals, those that are not the function's own work and follow from no other change in the lists.
 * The caller frees them.
 */
const struct diff_change **diff_sorted(const struct diff_result *result, enum diff_part part,
				       size_t *n_ret, size_t *hidden);
/* Totals that follow from a change, largest first. The caller frees them. */
const struct diff_change **diff_find_following(const struct diff_result *result,
					       const struct diff_change *cause, size_t *n_ret);
/* The largest sure change that follows from no other; NULL: none, or groups were compared. */
const struct diff_change *diff_find_cause(const struct diff_result *result);

struct diff_caller {
	const struct diff_function *function;
	double difference;
};

/* The callers with most of a change, largest first; returns their number. */
size_t diff_find_callers(const struct diff_counts *counts, const struct diff_change *change,
			 struct diff_caller ret[DIFF_CALLERS_MAX]);
/* A remark on a changed function, " (now inlined)"; "" for none. */
const char *diff_remark(const struct diff_counts *counts, const struct diff_change *change);

/* Red for more, green for less, "" without colours. */
const char *diff_color(const struct diff_change *change, const struct output *output);
/* The compared captures and the method, each line after `start`. */
void diff_print_head(const struct diff_result *result, const struct diff_unit *unit,
		     const char *start, FILE *file);
/* The likely cause and its change, after `start`; nothing if none is known. */
void diff_print_cause(const struct diff_result *result, const struct diff_unit *unit,
		      const char *start, void (*print_name)(const char *name, FILE *file),
		      const struct output *output);
/* Facts about everything not listed. `print_name` prints names. */
void diff_print_rest(const struct diff_result *result, const struct diff_unit *unit, size_t hidden,
		     bool any, void (*print_name)(const char *name, FILE *file),
		     const struct output *output);

#endif

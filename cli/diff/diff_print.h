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

#endif

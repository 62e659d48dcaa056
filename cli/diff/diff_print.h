/* SPDX-License-Identifier: Apache-2.0 */
/* What `stackreel diff` prints: text for people, Markdown for a pull request, JSON for programs. */
#ifndef CLI_DIFF_DIFF_PRINT_H
#define CLI_DIFF_DIFF_PRINT_H

#include "cli/diff/gate.h"
#include "cli/print/output.h"

struct diff_result {
	const struct diff_counts *counts;
	const struct diff_changes *changes;
	/* As given. */
	const struct string_list *files[SIDES];
	const struct diff_gate *gates;
	size_t n_gates;
	struct diff_doubts doubts;
	/* Changes of less, of all, are only counted; in percent. */
	double limit;
};

void diff_print_text(const struct diff_result *result, const struct output *output);
void diff_print_markdown(const struct diff_result *result, FILE *file);
void diff_print_json(const struct diff_result *result, FILE *file);
/* "parse: total +7.1 % (limit total(parse)>+5%)", a line for each change that exceeds a gate, each
 * after `start`; how many there are. */
size_t diff_print_exceeded(const struct diff_result *result, const char *start, FILE *file);

#endif

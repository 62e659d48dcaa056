/* SPDX-License-Identifier: Apache-2.0 */
/* The text of `stackreel diff`, and the Markdown. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>

#include "cli/diff/diff_print.h"
#include "cli/diff/distribution.h"
#include "cli/print/text.h"

static void print_callers(const struct diff_result *result, const struct diff_change *change,
			  const struct diff_unit *unit, const struct output *output)
{
	struct diff_caller callers[DIFF_CALLERS_MAX];
	size_t n = diff_find_callers(result->counts, change, callers);

	for (size_t i = 0; i < n; i++)
		fprintf(output->file, "%s%21s%+9.2f %-2s%24sby %s%s\n", color_dim(output), "",
			callers[i].difference * unit->scale, unit->name, "",
			symbol_shown(&callers[i].function->symbol, output->short_names),
			color_end(output));
}

static void print_following(const struct diff_result *result, const struct diff_change *cause,
			    const struct diff_unit *unit, const struct output *output)
{
	size_t n;
	_cleanup_free_ const struct diff_change **list = diff_find_following(result, cause, &n);

	for (size_t i = 0; i < n; i++)
		fprintf(output->file, "%s%21s%+9.2f %-2s%24sso total of %s%s\n", color_dim(output),
			"", list[i]->difference * unit->scale, unit->name, "",
			symbol_shown(&list[i]->item->function->symbol, output->short_names),
			color_end(output));
}

static void print_change(const struct diff_result *result, const struct diff_change *change,
			 const struct diff_unit *unit, const struct output *output)
{
	double relative = 100 * diff_change_relative(change, change->difference);
	char percent[16] = "new";

	if (!isinf(relative))
		snprintf(percent, sizeof(percent), "%+.1f %%", fmin(relative, 99999));
	fprintf(output->file, "%8.2f %-2s%8.2f %s%+9.2f %-2s%s %+8.2f .. %+-8.2f %9s  %s%s",
		change->value[SIDE_OLD] * unit->scale, "->", change->value[SIDE_NEW] * unit->scale,
		diff_color(change, output), change->difference * unit->scale, unit->name,
		color_end(output), change->low * unit->scale, change->high * unit->scale, percent,
		symbol_shown(&change->item->function->symbol, output->short_names),
		diff_remark(result->counts, change));
	if (*change->item->function->symbol.module)
		fprintf(output->file, "  %s", change->item->function->symbol.module);
	fputc('\n', output->file);
	print_callers(result, change, unit, output);
	print_following(result, change, unit, output);
	if (result->has_distributions)
		diff_print_distribution(result, change, unit, output);
}

static size_t print_part(const struct diff_result *result, enum diff_part part,
			 const struct diff_unit *unit, size_t *hidden, const struct output *output)
{
	const char *what = result->counts->is_time ? "time" : "count";
	size_t n;
	const struct diff_change **list = diff_sorted(result, part, &n, hidden);

	if (n)
		fprintf(output->file,
			"\n%sSignificant changes in %s %s%s:\n%8s   %8s %9s %23s %11s  %s%s\n",
			color_bold(output), diff_part_names[part], what,
			part == PART_TOTAL ? " (with callees)" : "", "OLD", "NEW", "CHANGE",
			"95 % INTERVAL", "RELATIVE", diff_subject_head(result->counts),
			color_end(output));
	for (size_t i = 0; i < n; i++)
		print_change(result, list[i], unit, output);
	free(list);
	return n;
}

static void print_plain(const char *name, FILE *file)
{
	fputs(name, file);
}

void diff_print_text(const struct diff_result *result, const struct output *output)
{
	struct diff_unit unit = diff_unit_of(result->counts);
	size_t hidden = 0, n = 0;

	diff_tell_apart(result);
	diff_print_head(result, &unit, "# ", output->file);
	diff_print_cause(result, &unit, "\nLikely cause: ", print_plain, output);
	for (int part = 0; part < PARTS; part++)
		n += print_part(result, (enum diff_part)part, &unit, &hidden, output);
	fputc('\n', output->file);
	diff_print_rest(result, &unit, hidden, n > 0, print_plain, output);
}

/* ---- Markdown ------------------------------------------------------------------------------- */

/* Prints a name literally: anything that could be Markdown, HTML or a link is written as a number;
 * forges do not expand names (@somebody) within code. */
static void print_code(const char *text, FILE *file)
{
	fputs("<code>", file);
	for (; *text; text++) {
		if (ispunct((unsigned char)*text))
			fprintf(file, "&#%d;", *text);
		else
			fputc(*text, file);
	}
	fputs("</code>", file);
}

static void markdown_callers(const struct diff_result *result, const struct diff_change *change,
			     const struct diff_unit *unit, const struct output *output)
{
	FILE *file = output->file;
	struct diff_caller callers[DIFF_CALLERS_MAX];
	size_t n = diff_find_callers(result->counts, change, callers);

	for (size_t i = 0; i < n; i++) {
		fputs(i ? ", " : "", file);
		print_code(symbol_shown(&callers[i].function->symbol, output->short_names), file);
		fprintf(file, " %+.2f %s", callers[i].difference * unit->scale, unit->name);
	}
}

static void markdown_following(const struct diff_result *result, const struct diff_change *cause,
			       const struct diff_unit *unit, const struct output *output)
{
	size_t n;
	_cleanup_free_ const struct diff_change **list = diff_find_following(result, cause, &n);

	for (size_t i = 0; i < n; i++) {
		fputs(i ? ", " : "; so total of ", output->file);
		print_code(symbol_shown(&list[i]->item->function->symbol, output->short_names),
			   output->file);
		fprintf(output->file, " %+.2f %s", list[i]->difference * unit->scale, unit->name);
	}
}

static void markdown_change(const struct diff_result *result, const struct diff_change *change,
			    const struct diff_unit *unit, const struct output *output)
{
	FILE *file = output->file;

	fputs("| ", file);
	print_code(symbol_shown(&change->item->function->symbol, output->short_names), file);
	fprintf(file, "%s | %.2f %s | %.2f %s | %+.2f %s | %+.2f .. %+.2f | ",
		diff_remark(result->counts, change), change->value[SIDE_OLD] * unit->scale,
		unit->name, change->value[SIDE_NEW] * unit->scale, unit->name,
		change->difference * unit->scale, unit->name, change->low * unit->scale,
		change->high * unit->scale);
	markdown_callers(result, change, unit, output);
	markdown_following(result, change, unit, output);
	fputs(" |\n", file);
}

static size_t markdown_part(const struct diff_result *result, enum diff_part part,
			    const struct diff_unit *unit, size_t *hidden,
			    const struct output *output)
{
	FILE *file = output->file;
	size_t n;
	const struct diff_change **list = diff_sorted(result, part, &n, hidden);

	if (n)
		fprintf(file,
			"| %s | old | new | change | 95 %% | by |\n"
			"|---|--:|--:|--:|--:|---|\n",
			diff_part_names[part]);
	for (size_t i = 0; i < n; i++)
		markdown_change(result, list[i], unit, output);
	if (n)
		fputc('\n', file);
	free(list);
	return n;
}

void diff_print_markdown(const struct diff_result *result, const struct output *output)
{
	FILE *file = output->file;
	struct diff_unit unit = diff_unit_of(result->counts);
	size_t exceeded = diff_print_exceeded(result, "", NULL), hidden = 0, shown = 0;

	diff_tell_apart(result);
	if (result->n_gates)
		fprintf(file, "**%s the limits**\n\n", exceeded ? "Outside" : "Within");
	if (exceeded) {
		fputs("```\n", file);
		diff_print_exceeded(result, "", file);
		fputs("```\n\n", file);
	}
	diff_print_cause(result, &unit, "Likely cause: ", print_code, output);
	fputc('\n', file);
	for (int part = 0; part < PARTS; part++)
		shown += markdown_part(result, (enum diff_part)part, &unit, &hidden, output);
	diff_print_rest(result, &unit, hidden, shown > 0, print_code, output);
	fputs("\n```\n", file);
	diff_print_head(result, &unit, "", file);
	fputs("```\n", file);
}

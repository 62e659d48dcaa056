/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/diff/diff_print.h"
#include "cli/print/json.h"
#include "cli/print/text.h"

#define CALLERS_MAX 3
/* Of a change, for a caller to be named. */
#define CALLER_SHARE 0.1

static const char *const part_names[PARTS] = { "self", "total" };

/* ---- units ---------------------------------------------------------------------------------- */

/* What values are printed in. */
struct unit {
	double scale;
	const char *name, *of;
};

static double all_of(const struct diff_counts *counts, enum diff_side side)
{
	return counts->weight[side] / counts->base[side];
}

static struct unit unit_of(const struct diff_counts *counts)
{
	static const char *const times[] = { "ns", "us", "ms", "s" };
	static const char *const bases[] = {
		[PER_ALL] = "share of all",
		[PER_SECOND] = "per second",
		[PER_REQUEST] = "per request",
		[PER_EVENT] = "per count of",
	};
	struct unit unit = { 1, "", bases[counts->per] };
	double most = fmax(all_of(counts, SIDE_OLD), all_of(counts, SIDE_NEW));
	size_t i = 0;

	if (counts->per == PER_ALL)
		return (struct unit){ 100, "%", unit.of };
	if (!counts->is_time)
		return unit;
	if (counts->per == PER_SECOND)
		return (struct unit){ 100 / 1e9, "%", "share of a CPU" };
	for (; i < 3 && most * unit.scale >= 10000; i++)
		unit.scale /= 1000;
	unit.name = times[i];
	return unit;
}

/* ---- which, and in what order ------------------------------------------------------------------
 */

/* A change of less is of no interest: `limit` percent of all there was. */
static bool is_worth(const struct diff_result *result, const struct diff_change *change)
{
	return fabs(change->difference) * 100 >= result->limit * all_of(result->counts, SIDE_OLD);
}

static const struct diff_change *other_part(const struct diff_changes *changes,
					    const struct diff_change *change)
{
	return &changes->items[change->function->number * PARTS +
			       (change->part == PART_SELF ? PART_TOTAL : PART_SELF)];
}

static int compare_changes(const void *a, const void *b)
{
	const struct diff_change *const *x = a, *const *y = b;
	double left = fabs((*x)->difference), right = fabs((*y)->difference);

	if (left != right)
		return left > right ? -1 : 1;
	return ((*x)->function->number > (*y)->function->number) -
	       ((*x)->function->number < (*y)->function->number);
}

/*
 * The sure changes of one part, largest first; of totals, those that are not the function's own
 * work, which is listed already. NULL-terminated; to be freed.
 */
static const struct diff_change **sorted(const struct diff_result *result, enum diff_part part,
					 size_t *n_ret, size_t *hidden)
{
	const struct diff_changes *changes = result->changes;
	const struct diff_change **list = memory_get((changes->n + 1) * sizeof(*list));
	size_t n = 0;

	for (size_t i = 0; i < changes->n; i++) {
		const struct diff_change *change = &changes->items[i], *other;

		if (!change->is_sure || change->part != part)
			continue;
		other = other_part(changes, change);
		if (part == PART_TOTAL && other->is_sure &&
		    fabs(other->difference - change->difference) <
			    fabs(change->difference) * CALLER_SHARE)
			continue;
		if (is_worth(result, change))
			list[n++] = change;
		else
			(*hidden)++;
	}
	if (n)
		qsort(list, n, sizeof(*list), compare_changes);
	*n_ret = n;
	return list;
}

struct caller {
	const struct diff_function *function;
	double difference;
};

static int compare_callers(const void *a, const void *b)
{
	const struct caller *x = a, *y = b;
	double left = fabs(x->difference), right = fabs(y->difference);

	return left != right ? (left > right ? -1 : 1) : 0;
}

/* Through whom most of a change came; at most CALLERS_MAX. */
static size_t find_callers(const struct diff_counts *counts, const struct diff_change *change,
			   struct caller ret[CALLERS_MAX + 1])
{
	size_t n = 0;

	for (size_t i = 0; i < counts->n_edge_buckets; i++) {
		for (const struct diff_edge *edge = counts->edges[i]; edge; edge = edge->next) {
			double difference;

			if (edge->function != change->function)
				continue;
			difference = edge->weight[SIDE_NEW][change->part] / counts->base[SIDE_NEW] -
				     edge->weight[SIDE_OLD][change->part] / counts->base[SIDE_OLD];
			/* The other way, or too little to matter. */
			if (difference * change->difference <= 0 ||
			    fabs(difference) < fabs(change->difference) * CALLER_SHARE)
				continue;
			ret[n < CALLERS_MAX ? n++ : CALLERS_MAX] =
				(struct caller){ edge->caller, difference };
			qsort(ret, n == CALLERS_MAX ? n + 1 : n, sizeof(*ret), compare_callers);
		}
	}
	return n;
}

/* What else is to be said of a function; "" for nothing. */
static const char *remark(const struct diff_function *function)
{
	double inlined[SIDES];

	for (int side = 0; side < SIDES; side++) {
		double total = function->weight[side][PART_TOTAL];

		inlined[side] = total > 0 ? function->inlined[side] / total : -1;
	}
	if (inlined[SIDE_OLD] < 0)
		return " (not in old)";
	if (inlined[SIDE_NEW] < 0)
		return " (not in new)";
	if (inlined[SIDE_OLD] > 0.9 && inlined[SIDE_NEW] < 0.1)
		return " (was inlined)";
	if (inlined[SIDE_OLD] < 0.1 && inlined[SIDE_NEW] > 0.9)
		return " (is inlined now)";
	return "";
}

/* ---- text ------------------------------------------------------------------------------------ */

static void print_side(const struct diff_result *result, enum diff_side side, FILE *file)
{
	const struct diff_counts *counts = result->counts;
	_cleanup_free_ char *name = text_escape(result->files[side]->items[0], "");

	fprintf(file, "%s: %s", side == SIDE_OLD ? "old" : "new", name);
	if (result->files[side]->count > 1)
		fprintf(file, " and %zu more", result->files[side]->count - 1);
	fprintf(file, ": %s samples in %.1f s, %s of the traces complete",
		format_count(counts->samples[side]).text, counts->seconds[side],
		format_share(counts->complete[side], counts->unwound[side]).text);
}

static const char one_run[] = "one capture on a side does not tell how much runs of the same "
			      "program differ; give several of each (OLD... --new NEW...)";

static void print_head(const struct diff_result *result, const struct unit *unit, const char *start,
		       FILE *file)
{
	const struct diff_counts *counts = result->counts;
	_cleanup_free_ char *event = text_escape(counts->event, "");

	for (int side = 0; side < SIDES; side++) {
		fputs(start, file);
		print_side(result, (enum diff_side)side, file);
		fputc('\n', file);
	}
	fprintf(file, "%s%s: %s%s%s; intervals of 95 %%; of the sure changes %g %% may be chance\n",
		start, event, unit->of, counts->per == PER_EVENT ? " " : "",
		counts->per == PER_EVENT ? counts->per_event : "", 100 * result->doubts.false_rate);
	if (result->changes->is_one_run)
		fprintf(file, "%snote: %g %% are assumed (--run-noise): %s\n", start,
			100 * result->doubts.run_noise, one_run);
}

static const char *color_of(const struct diff_change *change, const struct output *output)
{
	if (!output->color)
		return "";
	return change->difference > 0 ? "\033[31m" : "\033[32m";
}

static void print_callers(const struct diff_result *result, const struct diff_change *change,
			  const struct unit *unit, const struct output *output)
{
	struct caller callers[CALLERS_MAX + 1];
	size_t n = find_callers(result->counts, change, callers);

	for (size_t i = 0; i < n; i++)
		fprintf(output->file, "%s%21s%+9.2f %-2s%24sby %s%s\n", color_dim(output), "",
			callers[i].difference * unit->scale, unit->name, "",
			callers[i].function->name, color_end(output));
}

static void print_change(const struct diff_result *result, const struct diff_change *change,
			 const struct unit *unit, const struct output *output)
{
	double relative = 100 * diff_change_relative(change, change->difference);
	char percent[16] = "new";

	if (!isinf(relative))
		snprintf(percent, sizeof(percent), "%+.1f %%", fmin(relative, 99999));
	fprintf(output->file, "%8.2f %-2s%8.2f %s%+9.2f %-2s%s %+8.2f .. %+-8.2f %9s  %s%s",
		change->value[SIDE_OLD] * unit->scale, "->", change->value[SIDE_NEW] * unit->scale,
		color_of(change, output), change->difference * unit->scale, unit->name,
		color_end(output), change->low * unit->scale, change->high * unit->scale, percent,
		change->function->name, remark(change->function));
	if (*change->function->module)
		fprintf(output->file, "  %s", change->function->module);
	fputc('\n', output->file);
	print_callers(result, change, unit, output);
}

static size_t print_part(const struct diff_result *result, enum diff_part part,
			 const struct unit *unit, size_t *hidden, const struct output *output)
{
	static const char *const titles[PARTS] = {
		[PART_SELF] = "Changed for sure, by themselves:",
		[PART_TOTAL] = "Changed for sure, with what they call:",
	};
	size_t n;
	const struct diff_change **list = sorted(result, part, &n, hidden);

	if (n)
		fprintf(output->file, "\n%s%s\n%8s   %8s %9s %23s %11s  %s%s\n", color_bold(output),
			titles[part], "OLD", "NEW", "CHANGE", "INTERVAL", "RELATIVE", "FUNCTION",
			color_end(output));
	for (size_t i = 0; i < n; i++)
		print_change(result, list[i], unit, output);
	free(list);
	return n;
}

static void print_rest(const struct diff_result *result, const struct unit *unit, size_t hidden,
		       bool any, FILE *file)
{
	const struct diff_changes *changes = result->changes;

	if (hidden)
		fprintf(file,
			"%zu sure change%s of less than %g %% of all not shown "
			"(--percent-limit)\n",
			hidden, hidden == 1 ? " is" : "s are", result->limit);
	if (!changes->n_tested) {
		fputs("No function has enough samples to be compared.\n", file);
		return;
	}
	fprintf(file, "%s changed by more than %.2f %s", any || hidden ? "Nothing else" : "Nothing",
		changes->rest * unit->scale, unit->name);
	if (changes->widest)
		fprintf(file, " (widest interval: %s of %s)", part_names[changes->widest->part],
			changes->widest->function->name);
	fprintf(file, ".\nA change of %.2f %s would have been seen in any function.\n",
		changes->visible * unit->scale, unit->name);
}

size_t diff_print_exceeded(const struct diff_result *result, const char *start, FILE *file)
{
	size_t n = 0;

	for (size_t i = 0; i < result->n_gates; i++) {
		const struct diff_gate *gate = &result->gates[i];

		for (size_t j = 0; j < result->changes->n; j++) {
			const struct diff_change *change = &result->changes->items[j];

			if (!diff_gate_is_exceeded(gate, change) || !is_worth(result, change))
				continue;
			n++;
			if (!file)
				continue;
			fprintf(file, "%s%s of %s: %+.1f %% (%+.1f .. %+.1f), limit %s\n", start,
				part_names[change->part], change->function->name,
				100 * diff_change_relative(change, change->difference),
				100 * diff_change_relative(change, change->low),
				100 * diff_change_relative(change, change->high), gate->text);
		}
	}
	return n;
}

void diff_print_text(const struct diff_result *result, const struct output *output)
{
	struct unit unit = unit_of(result->counts);
	size_t hidden = 0, n = 0;

	print_head(result, &unit, "# ", output->file);
	for (int part = 0; part < PARTS; part++)
		n += print_part(result, (enum diff_part)part, &unit, &hidden, output);
	fputc('\n', output->file);
	print_rest(result, &unit, hidden, n > 0, output->file);
}

/* ---- Markdown ---------------------------------------------------------------------------------
 */

/* In a cell of a table: no character of the name's is Markdown's. */
static void print_cell(const char *text, FILE *file)
{
	for (; *text; text++) {
		if (strchr("\\`*_{}[]<>()#+-.!|~&", *text))
			fprintf(file, "&#%d;", *text);
		else
			fputc(*text, file);
	}
}

void diff_print_markdown(const struct diff_result *result, FILE *file)
{
	struct unit unit = unit_of(result->counts);
	size_t exceeded = diff_print_exceeded(result, "", NULL), hidden = 0, shown = 0;

	if (result->n_gates)
		fprintf(file, "**%s**\n\n", exceeded ? "Too slow" : "Within the limits");
	if (exceeded) {
		fputs("```\n", file);
		diff_print_exceeded(result, "", file);
		fputs("```\n\n", file);
	}
	for (int part = 0; part < PARTS; part++) {
		size_t n;
		const struct diff_change **list = sorted(result, (enum diff_part)part, &n, &hidden);

		if (n)
			fprintf(file,
				"| %s | old | new | change | 95 %% |\n|---|--:|--:|--:|--:|\n",
				part_names[part]);
		for (size_t i = 0; i < n; i++) {
			fputs("| ", file);
			print_cell(list[i]->function->name, file);
			fprintf(file, "%s | %.2f %s | %.2f %s | %+.2f %s | %+.2f .. %+.2f |\n",
				remark(list[i]->function), list[i]->value[SIDE_OLD] * unit.scale,
				unit.name, list[i]->value[SIDE_NEW] * unit.scale, unit.name,
				list[i]->difference * unit.scale, unit.name,
				list[i]->low * unit.scale, list[i]->high * unit.scale);
		}
		if (n)
			fputc('\n', file);
		shown += n;
		free(list);
	}
	print_rest(result, &unit, hidden, shown > 0, file);
	fputs("\n```\n", file);
	print_head(result, &unit, "", file);
	fputs("```\n", file);
}

/* ---- JSON
 * ---------------------------------------------------------------------------------------- */

static void print_string(const char *text, FILE *file)
{
	json_string((const uint8_t *)text, strlen(text), file);
}

static void print_member(const char *name, const char *text, FILE *file)
{
	fprintf(file, "\"%s\": ", name);
	print_string(text, file);
}

static void json_side(const struct diff_result *result, enum diff_side side, FILE *file)
{
	const struct diff_counts *counts = result->counts;

	fprintf(file, "  \"%s\": {\"captures\": [", side == SIDE_OLD ? "old" : "new");
	for (size_t i = 0; i < result->files[side]->count; i++) {
		fputs(i ? ", " : "", file);
		print_string(result->files[side]->items[i], file);
	}
	fprintf(file,
		"], \"samples\": %" PRIu64 ", \"weight\": %.17g, \"seconds\": %.17g, "
		"\"complete_traces\": %" PRIu64 ", \"traces\": %" PRIu64 ", \"base\": %.17g},\n",
		counts->samples[side], counts->weight[side], counts->seconds[side],
		counts->complete[side], counts->unwound[side], counts->base[side]);
}

static void json_change(const struct diff_change *change, const struct unit *unit, FILE *file)
{
	double relative = diff_change_relative(change, change->difference);

	fprintf(file,
		"\"%s\": {\"old\": %.9g, \"new\": %.9g, \"change\": %.9g, \"low\": %.9g, "
		"\"high\": %.9g, \"relative\": ",
		part_names[change->part], change->value[SIDE_OLD] * unit->scale,
		change->value[SIDE_NEW] * unit->scale, change->difference * unit->scale,
		change->low * unit->scale, change->high * unit->scale);
	if (isinf(relative))
		fputs("null", file);
	else
		fprintf(file, "%.9g", relative);
	fprintf(file, ", \"probability\": %.9g, \"tested\": %s, \"sure\": %s}", change->probability,
		change->is_tested ? "true" : "false", change->is_sure ? "true" : "false");
}

static void json_function(const struct diff_result *result, size_t i, const struct unit *unit,
			  FILE *file)
{
	const struct diff_change *changes = &result->changes->items[i * PARTS];
	const struct diff_function *function = result->counts->functions[i];

	fputs(i ? ",\n    {" : "\n    {", file);
	print_member("name", function->raw, file);
	fputs(", ", file);
	print_member("module", function->module, file);
	for (int part = 0; part < PARTS; part++) {
		fputs(", ", file);
		json_change(&changes[part], unit, file);
	}
	fputc('}', file);
}

static void json_gates(const struct diff_result *result, FILE *file)
{
	size_t n = 0;

	fputs("  \"exceeded\": [", file);
	for (size_t i = 0; i < result->n_gates; i++) {
		for (size_t j = 0; j < result->changes->n; j++) {
			const struct diff_change *change = &result->changes->items[j];

			if (!diff_gate_is_exceeded(&result->gates[i], change) ||
			    !is_worth(result, change))
				continue;
			fputs(n++ ? ", {" : "{", file);
			print_member("limit", result->gates[i].text, file);
			fputs(", ", file);
			print_member("name", change->function->raw, file);
			fprintf(file, ", \"part\": \"%s\"}", part_names[change->part]);
		}
	}
	fputs("],\n", file);
}

void diff_print_json(const struct diff_result *result, FILE *file)
{
	const struct diff_changes *changes = result->changes;
	struct unit unit = unit_of(result->counts);

	fputs("{\n  \"schema\": \"stackreel-diff-1\",\n  ", file);
	print_member("event", result->counts->event, file);
	fputs(",\n  ", file);
	print_member("measure", unit.of, file);
	fputs(", ", file);
	print_member("unit", unit.name, file);
	fprintf(file, ",\n  \"false_rate\": %.9g,\n", result->doubts.false_rate);
	for (int side = 0; side < SIDES; side++)
		json_side(result, (enum diff_side)side, file);
	fprintf(file,
		"  \"several_runs\": %s, \"tested\": %zu, \"sure\": %zu, \"visible\": %.9g, "
		"\"rest\": %.9g,\n",
		changes->is_one_run ? "false" : "true", changes->n_tested, changes->n_sure,
		changes->visible * unit.scale, changes->rest * unit.scale);
	json_gates(result, file);
	fputs("  \"functions\": [", file);
	for (size_t i = 0; i < result->counts->n_functions; i++) {
		if (!result->counts->functions[i]->same)
			json_function(result, i, &unit, file);
	}
	fputs("\n  ]\n}\n", file);
}

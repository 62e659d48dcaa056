/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON of `stackreel diff`: docs/diff.schema.json describes it. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli/diff/diff_print.h"
#include "cli/print/json.h"

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

static void print_name(const struct diff_function *function, FILE *file)
{
	print_member("name", function->raw, file);
	fputs(", ", file);
	print_member("module", function->raw_module, file);
}

static void json_callers(const struct diff_result *result, const struct diff_change *change,
			 const struct diff_unit *unit, FILE *file)
{
	struct diff_caller callers[DIFF_CALLERS_MAX];
	size_t n = diff_find_callers(result->counts, change, callers);

	fputs(", \"callers\": [", file);
	for (size_t i = 0; i < n; i++) {
		fputs(i ? ", {" : "{", file);
		print_name(callers[i].function, file);
		fprintf(file, ", \"change\": %.9g}", callers[i].difference * unit->scale);
	}
	fputc(']', file);
}

static void json_cause(const struct diff_change *cause, FILE *file)
{
	fputs("\"cause\": {", file);
	print_name(cause->item->function, file);
	fprintf(file, ", \"part\": \"%s\"}", diff_part_names[cause->part]);
}

static void json_change(const struct diff_result *result, const struct diff_change *change,
			const struct diff_unit *unit, FILE *file)
{
	double relative = diff_change_relative(change, change->difference);

	fprintf(file,
		"\"%s\": {\"old\": %.9g, \"new\": %.9g, \"change\": %.9g, \"low\": %.9g, "
		"\"high\": %.9g, \"relative\": ",
		diff_part_names[change->part], change->value[SIDE_OLD] * unit->scale,
		change->value[SIDE_NEW] * unit->scale, change->difference * unit->scale,
		change->low * unit->scale, change->high * unit->scale);
	if (isinf(relative))
		fputs("null", file);
	else
		fprintf(file, "%.9g", relative);
	fprintf(file, ", \"probability\": %.9g, \"tested\": %s, \"sure\": %s", change->probability,
		change->is_tested ? "true" : "false", change->is_sure ? "true" : "false");
	if (change->is_share_only)
		fputs(", \"share_only\": true", file);
	if (change->cause && change->cause != change) {
		fputs(", ", file);
		json_cause(change->cause, file);
	}
	/* Finding them is slow. */
	if (change->is_sure)
		json_callers(result, change, unit, file);
	fputc('}', file);
}

static double inlined_part(const struct diff_function *function, enum diff_side side)
{
	double total = function->item.weight[side][PART_TOTAL];

	return total > 0 ? function->inlined[side] / total : 0;
}

static void json_function(const struct diff_result *result, size_t i, const struct diff_unit *unit,
			  FILE *file)
{
	const struct diff_change *changes = &result->changes->items[i * PARTS];
	const struct diff_function *function = changes->item->function;

	print_name(function, file);
	fprintf(file, ", \"inlined\": {\"old\": %.9g, \"new\": %.9g}",
		inlined_part(function, SIDE_OLD), inlined_part(function, SIDE_NEW));
	for (int part = 0; part < PARTS; part++) {
		fputs(", ", file);
		json_change(result, &changes[part], unit, file);
	}
}

/* All functions with samples; those joined with another function have none. */
static void json_functions(const struct diff_result *result, const struct diff_unit *unit,
			   FILE *file)
{
	const char *start = "\n    {";

	fputs("  \"functions\": [", file);
	for (size_t i = 0; i < result->changes->n / PARTS; i++) {
		const struct diff_item *item = result->changes->items[i * PARTS].item;

		if (!item->samples[SIDE_OLD][PART_TOTAL] && !item->samples[SIDE_NEW][PART_TOTAL])
			continue;
		fputs(start, file);
		json_function(result, i, unit, file);
		fputc('}', file);
		start = ",\n    {";
	}
	fputs("\n  ]\n", file);
}

static void json_gates(const struct diff_result *result, FILE *file)
{
	size_t n = 0;

	fputs("  \"exceeded\": [", file);
	for (size_t i = 0; i < result->n_gates; i++) {
		for (size_t j = 0; j < result->changes->n; j++) {
			const struct diff_change *change = &result->changes->items[j];

			if (!diff_gate_is_exceeded(&result->gates[i], change) ||
			    !diff_is_worth(result, change))
				continue;
			fputs(n++ ? ", {" : "{", file);
			print_member("limit", result->gates[i].text, file);
			fputs(", ", file);
			print_member("name", change->item->function->raw, file);
			fprintf(file, ", \"part\": \"%s\"}", diff_part_names[change->part]);
		}
	}
	fputs("],\n", file);
}

/* null: not enough data. */
static void print_bound(const struct diff_result *result, const char *name, double bound,
			const struct diff_unit *unit, FILE *file)
{
	fprintf(file, ", \"%s\": ", name);
	if (diff_is_meaningful(result->counts, bound))
		fprintf(file, "%.9g", bound * unit->scale);
	else
		fputs("null", file);
}

void diff_print_json(const struct diff_result *result, FILE *file)
{
	const struct diff_changes *changes = result->changes;
	const struct diff_change *cause = diff_find_cause(result);
	struct diff_unit unit = diff_unit_of(result->counts);

	fputs("{\n  \"schema\": \"stackreel-diff-1\",\n  ", file);
	print_member("event", result->counts->event, file);
	fputs(",\n  ", file);
	print_member("measure", unit.of, file);
	if (result->counts->per == PER_EVENT) {
		fputs(", ", file);
		print_member("per_event", result->counts->per_event, file);
	}
	fputs(", ", file);
	print_member("unit", unit.name, file);
	fprintf(file, ",\n  \"false_rate\": %.9g,\n", result->doubts.false_rate);
	for (int side = 0; side < SIDES; side++)
		json_side(result, (enum diff_side)side, file);
	fprintf(file, "  \"several_runs\": %s, \"tested\": %zu, \"sure\": %zu",
		changes->is_one_run ? "false" : "true", changes->n_tested, changes->n_sure);
	print_bound(result, "visible", changes->visible, &unit, file);
	print_bound(result, "rest", changes->rest, &unit, file);
	if (cause) {
		fputs(",\n  ", file);
		json_cause(cause, file);
	}
	fputs(",\n", file);
	json_gates(result, file);
	json_functions(result, &unit, file);
	fputs("}\n", file);
}

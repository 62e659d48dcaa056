/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/diff/diff_print.h"
#include "cli/print/text.h"

/* A caller's minimum share of a change to be listed. */
#define CALLER_SHARE 0.1

const char *const diff_part_names[PARTS] = { "self", "total" };

/* ---- units ---------------------------------------------------------------------------------- */

double diff_all_of(const struct diff_counts *counts, enum diff_side side)
{
	return counts->weight[side] / counts->base[side];
}

bool diff_is_meaningful(const struct diff_counts *counts, double difference)
{
	return difference < fmax(diff_all_of(counts, SIDE_OLD), diff_all_of(counts, SIDE_NEW));
}

static struct diff_unit unit_of_shares(const char *of, double scale)
{
	struct diff_unit unit = { .scale = scale, .name = "%" };

	snprintf(unit.of, sizeof(unit.of), "%s", of);
	return unit;
}

static struct diff_unit unit_of_time(double most, const char *of)
{
	static const char *const names[] = { "ns", "us", "ms", "s" };
	struct diff_unit unit = { .scale = 1 };
	size_t i = 0;

	for (; i < 3 && most * unit.scale >= 10000; i++)
		unit.scale /= 1000;
	unit.name = names[i];
	snprintf(unit.of, sizeof(unit.of), "%s", of);
	return unit;
}

/* Scales rare counts so that digits are visible. */
static struct diff_unit unit_of_counts(double most, const char *what)
{
	struct diff_unit unit = { .scale = 1, .name = "" };

	while (most * unit.scale < 10 && unit.scale < 1e12)
		unit.scale *= 1000;
	if (unit.scale > 1)
		snprintf(unit.of, sizeof(unit.of), "per %.0f %ss", unit.scale, what);
	else
		snprintf(unit.of, sizeof(unit.of), "per %s", what);
	return unit;
}

/* Time per second of the recording: threads that wait need no CPU. */
static const char *share_per_second(const struct diff_counts *counts)
{
	return counts->event && !strcmp(counts->event, "off-cpu") ? "share of a thread's time"
								  : "share of a CPU";
}

struct diff_unit diff_unit_of(const struct diff_counts *counts)
{
	double most = fmax(diff_all_of(counts, SIDE_OLD), diff_all_of(counts, SIDE_NEW));

	switch (counts->per) {
	case PER_SECOND:
		if (counts->is_time)
			return unit_of_shares(share_per_second(counts), 100 / 1e9);
		return unit_of_counts(most, "second");
	case PER_REQUEST:
		return counts->is_time ? unit_of_time(most, "per request")
				       : unit_of_counts(most, "request");
	case PER_EVENT:
		return counts->is_time ? unit_of_time(most, "per count")
				       : unit_of_counts(most, "count");
	case PER_ALL:
		break;
	}
	return unit_of_shares("share of all", 100);
}

const char *diff_subject_head(const struct diff_counts *counts)
{
	if (!by_has_symbol_rows(&counts->by))
		return "GROUP";
	return counts->by.symbols == SYMBOLS_BY_MODULE ? "MODULE" : "FUNCTION";
}

void diff_tell_apart(const struct diff_result *result)
{
	const struct diff_changes *changes = result->changes;
	_cleanup_free_ const struct symbol **symbols =
		memory_resize(NULL, changes->n + 1, sizeof(*symbols));
	size_t n = 0;

	for (size_t i = 0; i < changes->n; i++) {
		if (changes->items[i].is_sure)
			symbols[n++] = &changes->items[i].item->function->symbol;
	}
	symbols_tell_apart(symbols, n);
}

/* ---- which, and in what order --------------------------------------------------------------- */

bool diff_is_worth(const struct diff_result *result, const struct diff_change *change)
{
	return fabs(change->difference) * 100 >=
	       result->limit * diff_all_of(result->counts, SIDE_OLD);
}

static const struct diff_change *other_part(const struct diff_changes *changes,
					    const struct diff_change *change)
{
	return &changes->items[change->item->number * PARTS +
			       (change->part == PART_SELF ? PART_TOTAL : PART_SELF)];
}

static int compare_changes(const void *a, const void *b)
{
	const struct diff_change *const *x = a, *const *y = b;
	double left = fabs((*x)->difference), right = fabs((*y)->difference);

	if ((*x)->is_share_only != (*y)->is_share_only)
		return (*x)->is_share_only - (*y)->is_share_only;
	if (left != right)
		return left > right ? -1 : 1;
	return ((*x)->item->number > (*y)->item->number) -
	       ((*x)->item->number < (*y)->item->number);
}

/* Whether a total is the function's own work, which is listed already. */
static bool is_own_work(const struct diff_changes *changes, const struct diff_change *change)
{
	const struct diff_change *other = other_part(changes, change);

	return change->part == PART_TOTAL && other->is_sure &&
	       fabs(other->difference - change->difference) <
		       fabs(change->difference) * CALLER_SHARE;
}

/* Whether a total is listed with its cause, unless that is too small to be listed. */
static bool follows(const struct diff_result *result, const struct diff_change *change)
{
	return change->cause && change->cause != change && diff_is_worth(result, change->cause);
}

const struct diff_change **diff_sorted(const struct diff_result *result, enum diff_part part,
				       size_t *n_ret, size_t *hidden)
{
	const struct diff_changes *changes = result->changes;
	const struct diff_change **list = memory_get((changes->n + 1) * sizeof(*list));
	size_t n = 0;

	for (size_t i = 0; i < changes->n; i++) {
		const struct diff_change *change = &changes->items[i];

		if (!change->is_sure || change->part != part || is_own_work(changes, change))
			continue;
		if (!diff_is_worth(result, change))
			(*hidden)++;
		else if (!follows(result, change))
			list[n++] = change;
	}
	if (n)
		qsort(list, n, sizeof(*list), compare_changes);
	*n_ret = n;
	return list;
}

const struct diff_change **diff_find_following(const struct diff_result *result,
					       const struct diff_change *cause, size_t *n_ret)
{
	const struct diff_changes *changes = result->changes;
	const struct diff_change **list = memory_get((changes->n + 1) * sizeof(*list));
	size_t n = 0;

	for (size_t i = PART_TOTAL; i < changes->n; i += PARTS) {
		const struct diff_change *change = &changes->items[i];

		if (change->cause == cause && change != cause && diff_is_worth(result, change) &&
		    !is_own_work(changes, change))
			list[n++] = change;
	}
	if (n)
		qsort(list, n, sizeof(*list), compare_changes);
	*n_ret = n;
	return list;
}

const struct diff_change *diff_find_cause(const struct diff_result *result)
{
	const struct diff_changes *changes = result->changes;
	const struct diff_change *cause = NULL;

	for (size_t i = 0; i < changes->n && by_has_symbol_rows(&result->counts->by); i++) {
		const struct diff_change *change = &changes->items[i];

		if (change->is_sure && !change->is_share_only && diff_is_worth(result, change) &&
		    !follows(result, change) && (!cause || compare_changes(&change, &cause) < 0))
			cause = change;
	}
	return cause;
}

/* Inserts it among the largest; drops it if it is the smallest. */
static size_t insert_caller(struct diff_caller *list, size_t n, struct diff_caller caller)
{
	size_t at = n;

	while (at > 0 && fabs(list[at - 1].difference) < fabs(caller.difference))
		at--;
	if (at == DIFF_CALLERS_MAX)
		return n;
	n += n < DIFF_CALLERS_MAX;
	memmove(&list[at + 1], &list[at], (n - 1 - at) * sizeof(*list));
	list[at] = caller;
	return n;
}

size_t diff_find_callers(const struct diff_counts *counts, const struct diff_change *change,
			 struct diff_caller ret[DIFF_CALLERS_MAX])
{
	const struct diff_subjects *subjects = &counts->subjects;
	enum diff_part part = change->part;
	size_t n = 0;

	for (size_t i = 0; i < subjects->n_edges; i++) {
		const struct diff_edge *edge = subjects->edges[i];
		struct diff_caller caller = {
			edge->caller,
			edge->weight[SIDE_NEW][part] / counts->base[SIDE_NEW] -
				edge->weight[SIDE_OLD][part] / counts->base[SIDE_OLD],
		};

		/* Skip other functions, the opposite direction, and small changes. */
		if (edge->function == change->item->function &&
		    caller.difference * change->difference > 0 &&
		    fabs(caller.difference) >= fabs(change->difference) * CALLER_SHARE)
			n = insert_caller(ret, n, caller);
	}
	return n;
}

/* That side shows inlined functions of its module, so they are distinguished. */
static bool shows_inlined(const struct diff_counts *counts, const struct diff_function *function,
			  enum diff_side side)
{
	const struct diff_items *functions = &counts->subjects.kinds[KIND_FUNCTION];

	for (size_t i = 0; i < functions->n; i++) {
		const struct diff_function *other = functions->items[i]->function;

		if (other->inlined[side] > 0 &&
		    !strcmp(other->symbol.module, function->symbol.module))
			return true;
	}
	return false;
}

static const char *remark_on_function(const struct diff_counts *counts,
				      const struct diff_function *function)
{
	double inlined[SIDES];

	for (int side = 0; side < SIDES; side++) {
		double total = function->item.weight[side][PART_TOTAL];

		inlined[side] = total > 0 ? function->inlined[side] / total : -1;
	}
	/* Only functions may be inlined. */
	if (function->symbol.pseudo || counts->by.symbols == SYMBOLS_BY_MODULE)
		return inlined[SIDE_OLD] < 0   ? " (not in old)"
		       : inlined[SIDE_NEW] < 0 ? " (not in new)"
					       : "";
	if (inlined[SIDE_OLD] < 0)
		return shows_inlined(counts, function, SIDE_OLD)
			       ? " (not in old)"
			       : " (not in old, or inlined there: no debug information)";
	if (inlined[SIDE_NEW] < 0)
		return shows_inlined(counts, function, SIDE_NEW)
			       ? " (not in new)"
			       : " (not in new, or inlined there: no debug information)";
	if (inlined[SIDE_OLD] > 0.9 && inlined[SIDE_NEW] < 0.1)
		return " (was inlined)";
	if (inlined[SIDE_OLD] < 0.1 && inlined[SIDE_NEW] > 0.9)
		return " (now inlined)";
	return "";
}

const char *diff_remark(const struct diff_counts *counts, const struct diff_change *change)
{
	const char *remark = remark_on_function(counts, change->item->function);

	if (*remark || !change->is_share_only)
		return remark;
	return change->difference < 0 ? " (perhaps only its share: others take more)"
				      : " (perhaps only its share: others take less)";
}

const char *diff_color(const struct diff_change *change, const struct output *output)
{
	if (!output->color)
		return "";
	return change->difference > 0 ? "\033[31m" : "\033[32m";
}

/* ---- lines that all have -------------------------------------------------------------------- */

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

void diff_print_head(const struct diff_result *result, const struct diff_unit *unit,
		     const char *start, FILE *file)
{
	const struct diff_counts *counts = result->counts;
	_cleanup_free_ char *event = text_escape(counts->event, "");
	_cleanup_free_ char *base = text_escape(counts->per_event ? counts->per_event : "", "");

	for (int side = 0; side < SIDES; side++) {
		fputs(start, file);
		print_side(result, (enum diff_side)side, file);
		fputc('\n', file);
	}
	fprintf(file,
		"%s%s: %s%s%s, with 95 %% confidence intervals; up to %g %% of the significant "
		"changes may be chance (--false-rate)\n",
		start, event, unit->of, counts->per == PER_EVENT ? " of " : "",
		counts->per == PER_EVENT ? base : "", 100 * result->doubts.false_rate);
	if (result->changes->is_one_run)
		fprintf(file,
			"%snote: with a single capture on a side, runs of the same program are "
			"assumed to differ by %g %% (--run-noise); use several captures of each to "
			"measure it (OLD... --new NEW...)\n",
			start, 100 * result->doubts.run_noise);
	else if (!diff_counts_are_in_turn(counts))
		fprintf(file,
			"%snote: all captures of one side are older than those of the other: a "
			"change of the machine between them counts as a change of the program; "
			"record both sides in turn\n",
			start);
}

void diff_print_cause(const struct diff_result *result, const struct diff_unit *unit,
		      const char *start, void (*print_name)(const char *name, FILE *file),
		      const struct output *output)
{
	const struct diff_change *cause = diff_find_cause(result);

	if (!cause)
		return;
	fputs(start, output->file);
	print_name(symbol_shown(&cause->item->function->symbol, output->short_names), output->file);
	fprintf(output->file, ", %s %+.2f%s%s\n", diff_part_names[cause->part],
		cause->difference * unit->scale, *unit->name ? " " : "", unit->name);
}

void diff_print_rest(const struct diff_result *result, const struct diff_unit *unit, size_t hidden,
		     bool any, void (*print_name)(const char *name, FILE *file),
		     const struct output *output)
{
	FILE *file = output->file;
	const struct diff_changes *changes = result->changes;
	const char *space = *unit->name ? " " : "";

	if (hidden)
		fprintf(file,
			"%zu more significant change%s below %g %% of the total "
			"(--percent-limit).\n",
			hidden, hidden == 1 ? "" : "s", result->limit);
	if (!changes->n_tested) {
		fputs("Too few samples to compare any function; record longer.\n", file);
		return;
	}
	if (!diff_is_meaningful(result->counts, changes->rest)) {
		fprintf(file,
			"Too little data to limit how much %s changed; record longer, or use more "
			"captures of each side.\n",
			any || hidden ? "other functions" : "any function");
		return;
	}
	fprintf(file, "All %schanges are below %.2f%s%s", any || hidden ? "other " : "",
		changes->rest * unit->scale, space, unit->name);
	if (changes->widest) {
		fprintf(file, " (least certain: %s of ", diff_part_names[changes->widest->part]);
		print_name(
			symbol_shown(&changes->widest->item->function->symbol, output->short_names),
			file);
		fputc(')', file);
	}
	fputs(".\n", file);
	if (diff_is_meaningful(result->counts, changes->visible))
		fprintf(file, "Smallest detectable change: %.2f%s%s.\n",
			changes->visible * unit->scale, space, unit->name);
	else
		fputs("Too little data to state the smallest detectable change; record longer, or "
		      "use more captures of each side.\n",
		      file);
}

size_t diff_print_exceeded(const struct diff_result *result, const char *start, FILE *file)
{
	size_t n = 0;

	for (size_t i = 0; i < result->n_gates; i++) {
		const struct diff_gate *gate = &result->gates[i];
		_cleanup_free_ char *limit = text_escape(gate->text, "");

		for (size_t j = 0; j < result->changes->n; j++) {
			const struct diff_change *change = &result->changes->items[j];

			if (!diff_gate_is_exceeded(gate, change) || !diff_is_worth(result, change))
				continue;
			n++;
			if (!file)
				continue;
			fprintf(file, "%s%s of %s: %+.1f %% (%+.1f .. %+.1f), limit %s\n", start,
				diff_part_names[change->part], change->item->function->symbol.name,
				100 * diff_change_relative(change, change->difference),
				100 * diff_change_relative(change, change->low),
				100 * diff_change_relative(change, change->high), limit);
		}
	}
	return n;
}

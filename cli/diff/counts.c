/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cli/diff/counts.h"
#include "cli/profile/stem.h"
#include "cli/print/text.h"
#include "cli/session/selection.h"

/* Time is counted in grains, which form blocks once their number is known. Longer captures have
 * longer grains, so that the number is limited. */
#define GRAIN_NS   UINT64_C(50000000)
#define GRAINS_MAX 2048
#define SECOND	   1e9
/* For a side's only capture; each of several captures is one block. */
#define BLOCKS 32

/* In the cells of all samples: the event's own weight, and the base. */
#define SUM_ALL	 PART_SELF
#define SUM_BASE PART_TOTAL

/* Functions within one group of each key. */
struct scope {
	char *prefix; /* of their names; "" without groups */
	/* The groups' marks, for paths. */
	struct diff_function *marks[GROUP_KEYS_MAX];
	struct diff_function *all; /* the groups as one subject */
	/* By the number of the frame's function. */
	struct diff_function **by_frame;
	size_t n_by_frame;
};

/* One capture while it is walked. */
struct walk {
	struct diff_counts *counts;
	struct diff_capture *capture;
	struct groups groups[GROUP_KEYS_MAX];
	struct symbol_table symbols;  /* of these */
	struct call_tree scope_paths; /* of these */
	struct scope **scopes;	      /* by the number of the path's last node; NULL: none */
	size_t n_scopes;
	struct scope *plain; /* without groups, for paths */
	uint64_t n_traces, first_time, last_time;
	bool has_grains;
	uint64_t first, last; /* grains, including base-only samples */
	unsigned int shift;   /* a grain is 2^shift of the shortest */
	struct diff_cells sums;
	size_t newest_sum;
};

void diff_counts_init(struct diff_counts *counts)
{
	*counts = (struct diff_counts){ .labels.by_name = true };
	diff_subjects_init(&counts->subjects);
}

void diff_counts_free(struct diff_counts *counts)
{
	for (size_t i = 0; i < counts->n; i++) {
		for (int kind = 0; kind < KINDS; kind++)
			diff_cells_free(&counts->captures[i].cells[kind]);
		free(counts->captures[i].base);
	}
	diff_subjects_free(&counts->subjects);
	free(counts->captures);
	free(counts->event);
	sample_counts_free(&counts->labels);
}

/* ---- groups ------------------------------------------------------------------------------- */

static struct scope *scope_make(struct walk *walk, const struct reel_trace *trace,
				const struct reel_event_info *event)
{
	struct diff_counts *counts = walk->counts;
	struct scope *scope = memory_get(sizeof(*scope));
	size_t n = counts->by.groups.n;

	scope->prefix = memory_print("%s", "");
	for (size_t i = 0; i < n; i++) {
		const struct symbol *group =
			groups_find(&walk->groups[i], &walk->symbols, trace, event);
		_cleanup_free_ char *before = scope->prefix;

		scope->marks[i] = diff_function_get(&counts->subjects, group->name, "", true);
		scope->prefix = memory_print("%s%s / ", before, group->name);
	}
	if (n && !by_has_symbol_rows(&counts->by)) {
		_cleanup_free_ char *name =
			memory_print("%.*s", (int)strlen(scope->prefix) - 3, scope->prefix);

		scope->all = diff_function_get(&counts->subjects, name, "", true);
	}
	return scope;
}

static void scope_free(struct scope *scope)
{
	if (!scope)
		return;
	free(scope->prefix);
	free(scope->by_frame);
	free(scope);
}

static struct scope *scope_of(struct walk *walk, const struct reel_trace *trace,
			      const struct reel_event_info *event)
{
	uint32_t node = CALL_TREE_ROOT;

	for (size_t i = 0; i < walk->counts->by.groups.n; i++)
		node = call_tree_child(&walk->scope_paths, node,
				       groups_find(&walk->groups[i], &walk->symbols, trace, event));
	walk->scopes =
		memory_reserve_zeroed(walk->scopes, &walk->n_scopes, node, sizeof(struct scope *));
	if (!walk->scopes[node])
		walk->scopes[node] = scope_make(walk, trace, event);
	return walk->scopes[node];
}

static void walk_init(struct walk *walk)
{
	const struct grouping *grouping = &walk->counts->by.groups;

	symbol_table_init(&walk->symbols, SYMBOLS_BY_FUNCTION);
	call_tree_init(&walk->scope_paths);
	for (size_t i = 0; i < grouping->n; i++)
		groups_init(&walk->groups[i], grouping->keys[i]);
	walk->plain = memory_get(sizeof(*walk->plain));
	walk->plain->prefix = memory_print("%s", "");
}

static void walk_free(struct walk *walk)
{
	const struct grouping *grouping = &walk->counts->by.groups;

	for (size_t i = 0; i < grouping->n; i++) {
		walk->counts->has_label[i] |= walk->groups[i].n_values;
		groups_free(&walk->groups[i]);
	}
	for (size_t i = 0; i < walk->n_scopes; i++)
		scope_free(walk->scopes[i]);
	free(walk->scopes);
	scope_free(walk->plain);
	call_tree_free(&walk->scope_paths);
	symbol_table_free(&walk->symbols);
	diff_cells_free(&walk->sums);
}

bool diff_counts_check_labels(const struct diff_counts *counts)
{
	struct sample_counts labels = counts->labels;
	_cleanup_free_ char *list = sample_counts_list(&labels, SIZE_MAX);

	for (size_t i = 0; i < counts->by.groups.n; i++) {
		const struct group_key *key = &counts->by.groups.keys[i];

		if (key->kind != GROUP_LABEL || counts->has_label[i])
			continue;
		complain("--by: no sample of either side has the label '%s'%s%s", key->name,
			 *list ? "; labels of these captures: " : "", list);
		return false;
	}
	return true;
}

/* ---- a trace -------------------------------------------------------------------------------- */

/* Without the line, which moves with changes elsewhere in the file. */
static char *python_name(const struct reel_frame *frame)
{
	return *frame->file ? memory_print("%s (%s)", frame->function, path_base(frame->file))
			    : memory_print("%s", frame->function);
}

/* Addresses differ between builds, so all unnamed code of a module is one function. */
static struct diff_function *function_make(struct diff_counts *counts, const struct scope *scope,
					   const struct reel_frame *frame)
{
	_cleanup_free_ char *module = stem_of_module(module_name(frame->module_path));
	_cleanup_free_ char *stem = frame->runtime     ? python_name(frame)
				    : *frame->function ? stem_of(frame->function)
						       : memory_print("[no name]");
	bool by_module = counts->by.symbols == SYMBOLS_BY_MODULE;
	_cleanup_free_ char *name = memory_print("%s%s", scope->prefix,
						 !by_module ? stem
						 : *module  ? module
							    : "[unknown]");

	return diff_function_get(&counts->subjects, name, by_module ? "" : module, false);
}

static struct diff_function *function_of(struct walk *walk, struct scope *scope,
					 const struct reel_frame *frame)
{
	scope->by_frame = memory_reserve_zeroed(scope->by_frame, &scope->n_by_frame,
						frame->function_id, sizeof(*scope->by_frame));
	if (!scope->by_frame[frame->function_id])
		scope->by_frame[frame->function_id] = function_make(walk->counts, scope, frame);
	return scope->by_frame[frame->function_id];
}

static void count_item(struct walk *walk, enum diff_kind kind, struct diff_item *item,
		       enum diff_part part, uint64_t grain, double weight)
{
	enum diff_side side = walk->capture->side;

	diff_cells_get(&walk->capture->cells[kind], item->number, grain, &item->newest)
		->weight[part] += weight;
	item->weight[side][part] += weight;
	item->samples[side][part]++;
}

static void count_function(struct walk *walk, struct diff_function *function,
			   struct diff_function *caller, enum diff_part part, uint64_t grain,
			   double weight)
{
	count_item(walk, KIND_FUNCTION, &function->item, part, grain, weight);
	if (caller)
		diff_edge_get(&walk->counts->subjects, function, caller)
			->weight[walk->capture->side][part] += weight;
}

/* Whether the trace has not had the function yet: of its calls in the trace, this is the outermost. */
static bool is_outermost(const struct walk *walk, struct diff_function *function)
{
	bool is_new = function->trace != walk->n_traces;

	function->trace = walk->n_traces;
	return is_new;
}

/*
 * Goes from the root to the leaf, with each call's caller.  A trace counts once in the total of each
 * of its functions, in however many calls it is: at the outermost one, whose caller is the function's
 * caller.  The self count is the leaf's.
 *
 * Neighbours of the same function are one call, so that no function is its own caller: it called
 * itself, or its parts did, or it was inlined into itself.
 */
static void count_functions(struct walk *walk, struct scope *scope, const struct reel_trace *trace,
			    uint64_t grain, double weight)
{
	struct diff_function *function = NULL, *caller = NULL;

	if (scope->all) {
		count_function(walk, scope->all, NULL, PART_TOTAL, grain, weight);
		count_function(walk, scope->all, NULL, PART_SELF, grain, weight);
		return;
	}
	for (size_t i = trace->n_frames; i-- > 0;) {
		struct diff_function *callee = function_of(walk, scope, trace->frames[i]);

		if (callee == function)
			continue;
		caller = function;
		function = callee;
		if (!is_outermost(walk, function))
			continue;
		count_function(walk, function, caller, PART_TOTAL, grain, weight);
		if (trace->frames[i]->inlined)
			function->inlined[walk->capture->side] += weight;
	}
	if (function)
		count_function(walk, function, caller, PART_SELF, grain, weight);
}

/* The mark at the root of incomplete traces; NULL: none. */
static struct diff_function *mark_of(struct walk *walk, const struct reel_trace *trace)
{
	_cleanup_free_ char *text = NULL;

	if (trace_is_cut(trace))
		text = memory_print("[incomplete: %s]", reel_stop_name(trace->stop));
	else if (!trace->n_frames)
		text = memory_print("[no frames]");
	return text ? diff_function_get(&walk->counts->subjects, text, "", true) : NULL;
}

static void count_path(struct walk *walk, const struct scope *scope, const struct reel_trace *trace,
		       uint64_t grain, double weight)
{
	struct diff_subjects *subjects = &walk->counts->subjects;
	struct diff_item *path = subjects->kinds[KIND_PATH].items[CALL_TREE_ROOT];
	struct diff_function *mark = mark_of(walk, trace);

	for (size_t i = 0; i < walk->counts->by.groups.n; i++) {
		path = diff_path_get(subjects, path->number, scope->marks[i]);
		count_item(walk, KIND_PATH, path, PART_TOTAL, grain, weight);
	}
	if (mark) {
		path = diff_path_get(subjects, path->number, mark);
		count_item(walk, KIND_PATH, path, PART_TOTAL, grain, weight);
	}
	for (size_t i = trace->n_frames; i-- > 0;) {
		struct diff_function *function = function_of(walk, walk->plain, trace->frames[i]);

		if (function == path->function)
			continue;
		path = diff_path_get(subjects, path->number, function);
		count_item(walk, KIND_PATH, path, PART_TOTAL, grain, weight);
	}
	count_item(walk, KIND_PATH, path, PART_SELF, grain, weight);
}

static void count_sum(struct walk *walk, enum diff_part what, uint64_t grain, double weight)
{
	diff_cells_get(&walk->sums, 0, grain, &walk->newest_sum)->weight[what] += weight;
}

/* ---- time ----------------------------------------------------------------------------------- */

static void coarsen(struct walk *walk)
{
	unsigned int shift = 0;

	while ((walk->last >> shift) - (walk->first >> shift) >= GRAINS_MAX)
		shift++;
	for (int kind = 0; kind < KINDS; kind++)
		diff_cells_coarsen(&walk->capture->cells[kind], shift);
	diff_cells_coarsen(&walk->sums, shift);
	walk->shift += shift;
	walk->first >>= shift;
	walk->last >>= shift;
}

/* A side with several captures needs no time within them. */
static bool is_whole(const struct walk *walk)
{
	return walk->counts->n_captures[walk->capture->side] > 1;
}

static uint64_t grain_of(struct walk *walk, uint64_t time)
{
	uint64_t grain = is_whole(walk) ? 0 : time / GRAIN_NS >> walk->shift;

	if (!walk->has_grains)
		walk->first = walk->last = grain;
	walk->has_grains = true;
	if (grain < walk->first)
		walk->first = grain;
	if (grain > walk->last)
		walk->last = grain;
	if (walk->last - walk->first < GRAINS_MAX)
		return grain;
	coarsen(walk);
	return time / GRAIN_NS >> walk->shift;
}

static void record_time(struct walk *walk, uint64_t time)
{
	if (!walk->n_traces++ || time < walk->first_time)
		walk->first_time = time;
	if (time > walk->last_time)
		walk->last_time = time;
}

static bool is_event(const struct reel_event_info *event, const char *name)
{
	return event && name && !strcmp(event->name, name);
}

static bool count_trace(void *context, const struct reel_trace *trace,
			const struct reel_event_info *event)
{
	struct walk *walk = context;
	struct diff_counts *counts = walk->counts;
	enum diff_side side = walk->capture->side;
	double weight = trace->weight ? (double)trace->weight : 1;
	bool is_base = counts->per == PER_EVENT && is_event(event, counts->per_event);
	struct scope *scope;
	uint64_t grain;

	if (!counts->event && event && !is_base)
		counts->event = memory_print("%s", event->name);
	if (!is_base && !is_event(event, counts->event))
		return true;
	grain = grain_of(walk, trace->time);
	if (is_base) {
		count_sum(walk, SUM_BASE, grain, weight);
		return true;
	}
	record_time(walk, trace->time);
	counts->is_time = !strcmp(event->weight_unit, "ns");
	counts->samples[side]++;
	counts->weight[side] += weight;
	if (trace->stop != REEL_STOP_NO_USER_STATE) {
		counts->unwound[side]++;
		counts->complete[side] += trace->stop == REEL_STOP_ROOT;
	}
	count_sum(walk, SUM_ALL, grain, weight);
	scope = scope_of(walk, trace, event);
	count_functions(walk, scope, trace, grain, weight);
	if (counts->has_paths)
		count_path(walk, scope, trace, grain, weight);
	for (size_t i = 0; i < trace->n_labels && counts->by.groups.n; i++)
		sample_counts_add(&counts->labels, 0, trace->labels[i].key);
	return true;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static void make_blocks(struct walk *walk, struct diff_cells *cells, uint64_t grains)
{
	for (size_t i = 0; i < cells->n; i++)
		cells->items[i].block = (cells->items[i].block - walk->first) / grains;
	diff_cells_merge(cells);
}

/*
 * With an event as base, each block has its count of that event; other bases are divided
 * among the blocks by length.
 */
static void set_bases(struct walk *walk, double of_all)
{
	const struct diff_counts *counts = walk->counts;
	struct diff_capture *capture = walk->capture;
	uint64_t n = walk->last - walk->first + 1;
	uint64_t grains = (n + BLOCKS - 1) / BLOCKS;

	capture->n_blocks = (size_t)((n + grains - 1) / grains);
	capture->base = memory_get(capture->n_blocks * sizeof(double));
	for (int kind = 0; kind < KINDS; kind++)
		make_blocks(walk, &capture->cells[kind], grains);
	make_blocks(walk, &walk->sums, grains);
	for (size_t i = 0; i < walk->sums.n && of_all <= 0; i++)
		capture->base[walk->sums.items[i].block] =
			walk->sums.items[i].weight[counts->per == PER_ALL ? SUM_ALL : SUM_BASE];
	for (size_t i = 0; i < capture->n_blocks && of_all > 0; i++) {
		uint64_t size = i + 1 < capture->n_blocks ? grains : n - grains * i;

		capture->base[i] = of_all * (double)size / (double)n;
	}
}

/* False: the base of the weights is 0. */
static bool finish_capture(struct walk *walk)
{
	struct diff_counts *counts = walk->counts;
	struct diff_capture *capture = walk->capture;
	uint64_t time = walk->last_time - walk->first_time;
	double seconds = (double)(time > GRAIN_NS ? time : GRAIN_NS) / SECOND, of_all = 0, sum = 0;

	if (counts->per == PER_SECOND)
		of_all = seconds;
	else if (counts->per == PER_REQUEST)
		of_all = counts->requests[capture->side];
	set_bases(walk, of_all);
	for (size_t i = 0; i < capture->n_blocks; i++)
		sum += capture->base[i];
	counts->seconds[capture->side] += seconds;
	counts->base[capture->side] += sum;
	return sum > 0;
}

static void record_start(struct diff_counts *counts, enum diff_side side, uint64_t start)
{
	if (!counts->first_start[side] || start < counts->first_start[side])
		counts->first_start[side] = start;
	if (start > counts->last_start[side])
		counts->last_start[side] = start;
}

bool diff_counts_are_in_turn(const struct diff_counts *counts)
{
	return counts->first_start[SIDE_OLD] <= counts->last_start[SIDE_NEW] &&
	       counts->first_start[SIDE_NEW] <= counts->last_start[SIDE_OLD];
}

static struct diff_capture *capture_add(struct diff_counts *counts, enum diff_side side)
{
	counts->captures =
		memory_resize(counts->captures, counts->n + 1, sizeof(*counts->captures));
	counts->captures[counts->n] = (struct diff_capture){ .side = side };
	return &counts->captures[counts->n++];
}

bool diff_counts_add(struct diff_counts *counts, struct session *session, enum diff_side side)
{
	struct walk walk = { .counts = counts, .capture = capture_add(counts, side) };
	const struct diff_items *functions = &counts->subjects.kinds[KIND_FUNCTION];
	bool ok;

	for (size_t i = 0; i < functions->n; i++)
		functions->items[i]->function->trace = 0;
	record_start(counts, side, reel_capture_info(session->capture)->start_wall_time);
	walk_init(&walk);
	ok = session_visit(session, count_trace, &walk);
	if (ok && !walk.n_traces) {
		complain("%s: no samples%s%s", session->options->file,
			 counts->event ? " of the event " : "", counts->event ? counts->event : "");
		ok = false;
	}
	if (ok && !finish_capture(&walk)) {
		complain("%s: no samples of %s, the event of --per", session->options->file,
			 counts->per_event);
		ok = false;
	}
	walk_free(&walk);
	return ok;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/diff/counts.h"
#include "cli/diff/stem.h"
#include "cli/print/text.h"
#include "cli/report/symbols.h"

/* Blocks are made of grains of time once it is known how many there are. */
#define GRAIN_NS   UINT64_C(50000000)
#define SECOND	   1e9
#define FIRST_SIZE 256
/* Of a side's only capture; of several, each is one. */
#define BLOCKS	   32
#define GRAINS_MAX (UINT64_C(1) << 24)

/* One capture while it is walked. */
struct walk {
	struct diff_counts *counts;
	struct diff_capture *capture;
	/* By the number of the frame's function. */
	struct diff_function **by_frame;
	size_t n_by_frame;
	uint64_t n_traces, first, last; /* grains */
	/* Of all samples, and of the event that they are measured by: cells of no function. */
	struct diff_cell *sums;
	size_t n_sums, sums_capacity;
};

void diff_counts_init(struct diff_counts *counts)
{
	*counts = (struct diff_counts){ .n_buckets = FIRST_SIZE, .n_edge_buckets = FIRST_SIZE };
	counts->buckets = memory_get(FIRST_SIZE * sizeof(*counts->buckets));
	counts->edges = memory_get(FIRST_SIZE * sizeof(*counts->edges));
}

void diff_counts_free(struct diff_counts *counts)
{
	for (size_t i = 0; i < counts->n; i++) {
		free(counts->captures[i].cells);
		free(counts->captures[i].all);
		free(counts->captures[i].base);
	}
	for (size_t i = 0; i < counts->n_functions; i++) {
		free(counts->functions[i]->raw);
		free(counts->functions[i]->name);
		free(counts->functions[i]->module);
		free(counts->functions[i]);
	}
	for (size_t i = 0; i < counts->n_edge_buckets; i++) {
		for (struct diff_edge *edge = counts->edges[i], *next; edge; edge = next) {
			next = edge->next;
			free(edge);
		}
	}
	free(counts->captures);
	free(counts->functions);
	free(counts->buckets);
	free(counts->edges);
	free(counts->event);
}

/* ---- functions -------------------------------------------------------------------------- */

static uint64_t hash_text(uint64_t hash, const char *text)
{
	do {
		hash = (hash ^ (uint8_t)*text) * 0x100000001b3;
	} while (*text++);
	return hash ^ hash >> 32;
}

static void grow_functions(struct diff_counts *counts)
{
	size_t n = counts->n_buckets * 2;

	free(counts->buckets);
	counts->buckets = memory_get(n * sizeof(*counts->buckets));
	counts->n_buckets = n;
	for (size_t i = 0; i < counts->n_functions; i++) {
		struct diff_function **bucket =
			&counts->buckets[counts->functions[i]->hash & (n - 1)];

		counts->functions[i]->next = *bucket;
		*bucket = counts->functions[i];
	}
}

static struct diff_function *function_intern(struct diff_counts *counts, const char *name,
					     const char *module)
{
	uint64_t hash = hash_text(hash_text(0xcbf29ce484222325, name), module);
	struct diff_function *function = counts->buckets[hash & (counts->n_buckets - 1)];

	while (function && (function->hash != hash || strcmp(function->raw, name) != 0 ||
			    strcmp(function->module, module) != 0))
		function = function->next;
	if (function)
		return function;
	if (counts->n_functions == counts->n_buckets)
		grow_functions(counts);
	if (counts->n_functions == counts->functions_capacity) {
		counts->functions_capacity = counts->functions_capacity * 2 + FIRST_SIZE;
		counts->functions = memory_resize(counts->functions, counts->functions_capacity,
						  sizeof(*counts->functions));
	}
	function = memory_get(sizeof(*function));
	*function = (struct diff_function){
		.raw = memory_print("%s", name),
		.name = text_escape(name, ""),
		.module = memory_print("%s", module),
		.number = counts->n_functions,
		.hash = hash,
		.next = counts->buckets[hash & (counts->n_buckets - 1)],
	};
	counts->buckets[hash & (counts->n_buckets - 1)] = function;
	counts->functions[counts->n_functions++] = function;
	return function;
}

/* Addresses are others in each build: what has no name is one for each module. */
static struct diff_function *function_make(struct diff_counts *counts,
					   const struct reel_frame *frame)
{
	_cleanup_free_ char *module = stem_of_module(frame->module_path);
	_cleanup_free_ char *escaped = text_escape(module, "");
	_cleanup_free_ char *stem = stem_of(*frame->function ? frame->function : "[no name]");

	return function_intern(counts, stem, escaped);
}

static struct diff_function *function_of(struct walk *walk, const struct reel_frame *frame)
{
	if (frame->function_id >= walk->n_by_frame) {
		size_t n = (size_t)frame->function_id * 2 + FIRST_SIZE;

		walk->by_frame = memory_resize(walk->by_frame, n, sizeof(*walk->by_frame));
		memset(walk->by_frame + walk->n_by_frame, 0,
		       (n - walk->n_by_frame) * sizeof(*walk->by_frame));
		walk->n_by_frame = n;
	}
	if (!walk->by_frame[frame->function_id])
		walk->by_frame[frame->function_id] = function_make(walk->counts, frame);
	return walk->by_frame[frame->function_id];
}

/* ---- edges -------------------------------------------------------------------------------- */

static size_t edge_bucket(const struct diff_counts *counts, const struct diff_function *function,
			  const struct diff_function *caller)
{
	uint64_t hash =
		(function->number * 0x9e3779b97f4a7c15 + caller->number) * 0x9e3779b97f4a7c15;

	return (hash >> 32) & (counts->n_edge_buckets - 1);
}

static void grow_edges(struct diff_counts *counts)
{
	struct diff_edge **old = counts->edges;
	size_t n_old = counts->n_edge_buckets;

	counts->n_edge_buckets *= 2;
	counts->edges = memory_get(counts->n_edge_buckets * sizeof(*counts->edges));
	for (size_t i = 0; i < n_old; i++) {
		for (struct diff_edge *edge = old[i], *next; edge; edge = next) {
			size_t bucket = edge_bucket(counts, edge->function, edge->caller);

			next = edge->next;
			edge->next = counts->edges[bucket];
			counts->edges[bucket] = edge;
		}
	}
	free(old);
}

struct diff_edge *diff_counts_edge(struct diff_counts *counts, struct diff_function *function,
				   struct diff_function *caller)
{
	size_t bucket = edge_bucket(counts, function, caller);
	struct diff_edge *edge = counts->edges[bucket];

	while (edge && (edge->function != function || edge->caller != caller))
		edge = edge->next;
	if (edge)
		return edge;
	if (counts->n_edges++ == counts->n_edge_buckets) {
		grow_edges(counts);
		bucket = edge_bucket(counts, function, caller);
	}
	edge = memory_get(sizeof(*edge));
	*edge = (struct diff_edge){ function, caller, .next = counts->edges[bucket] };
	counts->edges[bucket] = edge;
	return edge;
}

/* ---- a trace -------------------------------------------------------------------------------- */

static struct diff_cell *cell_add(struct diff_cell **cells, size_t *n, size_t *capacity,
				  size_t function, uint64_t grain)
{
	if (*n == *capacity) {
		*capacity = *capacity * 2 + FIRST_SIZE;
		*cells = memory_resize(*cells, *capacity, sizeof(**cells));
	}
	(*cells)[*n] = (struct diff_cell){ .function = function, .block = grain };
	return &(*cells)[(*n)++];
}

/* Samples come nearly in order of time: the newest cell of a function is mostly the right one. */
static struct diff_cell *cell_of(struct walk *walk, struct diff_function *function, uint64_t grain)
{
	struct diff_capture *capture = walk->capture;

	if (function->cell < capture->n_cells &&
	    capture->cells[function->cell].function == function->number &&
	    capture->cells[function->cell].block == grain)
		return &capture->cells[function->cell];
	function->cell = capture->n_cells;
	return cell_add(&capture->cells, &capture->n_cells, &capture->cells_capacity,
			function->number, grain);
}

static void count_function(struct walk *walk, struct diff_function *function,
			   struct diff_function *caller, enum diff_part part, uint64_t grain,
			   double weight)
{
	enum diff_side side = walk->capture->side;

	cell_of(walk, function, grain)->weight[part] += weight;
	function->weight[side][part] += weight;
	function->samples[side][part]++;
	if (caller)
		diff_counts_edge(walk->counts, function, caller)->weight[side][part] += weight;
}

/* From the root down: a function that calls itself counts once, by its first caller. */
static void count_frames(struct walk *walk, const struct reel_trace *trace, uint64_t grain,
			 double weight)
{
	struct diff_function *function = NULL, *caller = NULL;

	for (size_t i = trace->n_frames; i-- > 0;) {
		caller = function;
		function = function_of(walk, trace->frames[i]);
		if (function->trace == walk->n_traces)
			continue;
		function->trace = walk->n_traces;
		count_function(walk, function, caller, PART_TOTAL, grain, weight);
		if (trace->frames[i]->inlined)
			function->inlined[walk->capture->side] += weight;
	}
	if (function)
		count_function(walk, function, caller, PART_SELF, grain, weight);
}

static void count_sum(struct walk *walk, enum diff_part what, uint64_t grain, double weight)
{
	struct diff_cell *last = walk->n_sums ? &walk->sums[walk->n_sums - 1] : NULL;

	if (!last || last->block != grain)
		last = cell_add(&walk->sums, &walk->n_sums, &walk->sums_capacity, 0, grain);
	last->weight[what] += weight;
}

/* Of the sums' cells: the event's own weight, and what it is measured by. */
#define SUM_ALL	 PART_SELF
#define SUM_BASE PART_TOTAL

static bool is_event(const struct reel_event_info *event, const char *name)
{
	return event && name && !strcmp(event->name, name);
}

static bool add_trace(void *context, const struct reel_trace *trace,
		      const struct reel_event_info *event)
{
	struct walk *walk = context;
	struct diff_counts *counts = walk->counts;
	enum diff_side side = walk->capture->side;
	uint64_t grain = trace->time / GRAIN_NS;
	double weight = trace->weight ? (double)trace->weight : 1;

	if (counts->per == PER_EVENT && is_event(event, counts->per_event))
		count_sum(walk, SUM_BASE, grain, weight);
	if (!counts->event && event && !is_event(event, counts->per_event)) {
		counts->event = memory_print("%s", event->name);
		counts->is_time = !strcmp(event->weight_unit, "ns");
	}
	if (!is_event(event, counts->event))
		return true;
	if (!walk->n_traces++ || grain < walk->first)
		walk->first = grain;
	if (grain > walk->last)
		walk->last = grain;
	counts->samples[side]++;
	counts->weight[side] += weight;
	if (trace->stop != REEL_STOP_NO_USER_STATE) {
		counts->unwound[side]++;
		counts->complete[side] += trace->stop == REEL_STOP_ROOT;
	}
	count_sum(walk, SUM_ALL, grain, weight);
	count_frames(walk, trace, grain, weight);
	return true;
}

/* ---- blocks -----------------------------------------------------------------------------------
 */

static int compare_cells(const void *a, const void *b)
{
	const struct diff_cell *x = a, *y = b;

	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	return (x->block > y->block) - (x->block < y->block);
}

static void merge_cells(struct diff_capture *capture)
{
	size_t n = 0;

	if (capture->n_cells)
		qsort(capture->cells, capture->n_cells, sizeof(*capture->cells), compare_cells);
	for (size_t i = 0; i < capture->n_cells; i++) {
		struct diff_cell *last = n ? &capture->cells[n - 1] : NULL,
				 *cell = &capture->cells[i];

		if (!last || compare_cells(last, cell) != 0) {
			capture->cells[n++] = *cell;
			continue;
		}
		for (int part = 0; part < PARTS; part++)
			last->weight[part] += cell->weight[part];
	}
	capture->n_cells = n;
}

static uint64_t block_of(const struct walk *walk, uint64_t grain, uint64_t grains)
{
	/* What is only a base may lie outside. */
	grain = grain < walk->first ? walk->first : grain > walk->last ? walk->last : grain;
	return (grain - walk->first) / grains;
}

/* False: there is nothing that weights could be divided by. */
static bool make_blocks(struct walk *walk)
{
	struct diff_counts *counts = walk->counts;
	struct diff_capture *capture = walk->capture;
	uint64_t n = walk->last - walk->first + 1;
	uint64_t wanted = counts->n_captures[capture->side] > 1 ? 1 : BLOCKS;
	uint64_t grains = (n + wanted - 1) / wanted;
	double sum = 0;

	capture->n_blocks = (size_t)((n + grains - 1) / grains);
	capture->all = memory_get(capture->n_blocks * sizeof(double));
	capture->base = memory_get(capture->n_blocks * sizeof(double));
	for (size_t i = 0; i < capture->n_cells; i++)
		capture->cells[i].block = block_of(walk, capture->cells[i].block, grains);
	merge_cells(capture);
	for (size_t i = 0; i < walk->n_sums; i++) {
		size_t block = (size_t)block_of(walk, walk->sums[i].block, grains);

		capture->all[block] += walk->sums[i].weight[SUM_ALL];
		capture->base[block] += walk->sums[i].weight[SUM_BASE];
	}
	for (size_t i = 0; i < capture->n_blocks; i++) {
		uint64_t size = i + 1 < capture->n_blocks ? grains : n - grains * i;
		double seconds = (double)(size * GRAIN_NS) / SECOND;

		counts->seconds[capture->side] += seconds;
		if (counts->per == PER_ALL)
			capture->base[i] = capture->all[i];
		else if (counts->per == PER_SECOND)
			capture->base[i] = seconds;
		else if (counts->per == PER_REQUEST)
			capture->base[i] = counts->requests[capture->side] /
					   (double)counts->n_captures[capture->side] *
					   (double)size / (double)n;
		counts->base[capture->side] += capture->base[i];
		sum += capture->base[i];
	}
	return sum > 0;
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
	bool ok;

	for (size_t i = 0; i < counts->n_functions; i++)
		counts->functions[i]->trace = 0;
	ok = session_visit(session, add_trace, &walk);
	free(walk.by_frame);
	if (ok && !walk.n_traces) {
		complain("%s: no samples%s%s", session->options->file,
			 counts->event ? " of the event " : "", counts->event ? counts->event : "");
		ok = false;
	}
	if (ok && walk.last - walk.first >= GRAINS_MAX) {
		complain("%s: its samples lie more than %" PRIu64 " days apart",
			 session->options->file, GRAINS_MAX * GRAIN_NS / 86400 / 1000000000);
		ok = false;
	}
	if (ok && !make_blocks(&walk)) {
		complain("%s: no samples of %s, by which it is to be measured",
			 session->options->file, counts->per_event);
		ok = false;
	}
	free(walk.sums);
	return ok;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/print/text.h"
#include "cli/profile/course.h"

/* Steps in memory: their length doubles when the time exceeds them, so at least half are used. */
#define STEPS	   (COURSE_COLUMNS * 16)
#define FIRST_STEP 1000 /* ns */
/* Sums of rounded columns are as high as the columns of sums. */
#define SLACK 4

/* ---- both ---------------------------------------------------------------------------------- */

/* The steps of a trace, [first, last]; `halve` adds up pairs of steps. */
static void locate(struct course_time *time, const struct reel_trace *trace,
		   void (*halve)(void *context), void *context, uint64_t *first, uint64_t *last)
{
	uint64_t at = trace->time, length = 0;

	if (!time->step)
		*time = (struct course_time){ .start = at, .last = at, .step = FIRST_STEP };
	/* Samples of different CPUs may be out of order. */
	if (at < time->start)
		at = time->start;
	if (at > time->last)
		time->last = at;
	for (; (at - time->start) / time->step >= STEPS; time->step *= 2)
		halve(context);
	/* A wait's sample is at its end. */
	if (trace->state != REEL_STATE_RUNNING)
		length = trace->weight;
	if (length > at - time->start)
		length = at - time->start;
	*first = (at - length - time->start) / time->step;
	*last = (at - time->start) / time->step;
}

static float weight_of(const struct reel_trace *trace)
{
	return trace->weight ? (float)trace->weight : 1;
}

/* Of the last step, a part is used. */
static double used_steps(const struct course_time *time)
{
	return (double)(time->last - time->start + 1) / (double)time->step;
}

/* Each column has its part of a step: the part from *at to `end`, by which it moves on. */
static double next_part(double *at, double end, double used, size_t *column)
{
	double from = *at, next;

	*column = (size_t)fmin(from * COURSE_COLUMNS / used, COURSE_COLUMNS - 1);
	next = fmin((double)(*column + 1) * used / COURSE_COLUMNS, end);
	*at = next > from ? next : end;
	return *at - from;
}

const char *course_block(double height)
{
	static const char *const blocks[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };

	return blocks[(size_t)ceil(height * 8)];
}

/* ---- of symbols ---------------------------------------------------------------------------- */

static void halve_symbol(void *context, struct symbol *symbol)
{
	float *course = symbol->course;

	(void)context;
	if (!course)
		return;
	for (size_t i = 0; i < STEPS / 2; i++)
		course[i] = course[2 * i] + course[2 * i + 1];
	memset(course + STEPS / 2, 0, STEPS / 2 * sizeof(*course));
}

static void add_to_symbol(struct symbol *symbol, size_t first, size_t last, float weight)
{
	if (!symbol->course) {
		symbol->course = memory_get(STEPS * sizeof(*symbol->course));
		memset(symbol->course, 0, STEPS * sizeof(*symbol->course));
	}
	for (size_t i = first; i <= last; i++)
		symbol->course[i] += weight / (float)(last - first + 1);
}

static void halve_symbols(void *context)
{
	symbol_table_visit(context, halve_symbol, NULL);
}

void courses_add(struct courses *courses, struct symbol_table *symbols,
		 const struct reel_trace *trace)
{
	uint64_t first, last;

	locate(&courses->time, trace, halve_symbols, symbols, &first, &last);
	courses->traces++;
	for (size_t i = 0; i < trace->n_frames; i++) {
		struct symbol *symbol = symbol_of_frame(symbols, trace->frames[i]);

		/* Recursion counts once. */
		if (symbol->course_trace == courses->traces)
			continue;
		symbol->course_trace = courses->traces;
		add_to_symbol(symbol, first, last, weight_of(trace));
	}
}

void course_print(const struct courses *courses, const struct symbol *symbol, FILE *file)
{
	double columns[COURSE_COLUMNS] = { 0 }, most = 0, used = used_steps(&courses->time);

	for (size_t i = 0; symbol->course && i < STEPS; i++) {
		double at = (double)i, end = fmin(at + 1, used), width = end - at;

		while (symbol->course[i] > 0 && at < end) {
			size_t column;
			double part = next_part(&at, end, used, &column);

			columns[column] += symbol->course[i] * part / width;
		}
	}
	for (size_t i = 0; i < COURSE_COLUMNS; i++)
		most = fmax(most, columns[i]);
	for (size_t i = 0; i < COURSE_COLUMNS; i++)
		fputs(course_block(most > 0 ? columns[i] / most : 0), file);
}

/* ---- of a tree: the log ------------------------------------------------------------------------------- */

static int compare_parts(const void *a, const void *b)
{
	const struct course_part *x = a, *y = b;

	if (x->end != y->end)
		return x->end < y->end ? -1 : 1;
	return (x->step > y->step) - (x->step < y->step);
}

static bool join(struct course_part *part, const struct course_part *more)
{
	if (part->end != more->end || part->step != more->step)
		return false;
	part->weight += more->weight;
	return true;
}

/* Joins parts of the same stack and step. */
static void join_parts(struct course_log *log)
{
	size_t n = log->n ? 1 : 0;

	qsort(log->parts, log->n, sizeof(*log->parts), compare_parts);
	for (size_t i = 1; i < log->n; i++) {
		if (!join(&log->parts[n - 1], &log->parts[i]))
			log->parts[n++] = log->parts[i];
	}
	log->n = n;
}

static void add_part(struct course_log *log, struct course_part part)
{
	if (log->n && join(&log->parts[log->n - 1], &part))
		return;
	if (log->n == log->capacity) {
		if (log->n)
			join_parts(log);
		/* The next sort is a while away. */
		if (log->n >= log->capacity / 2)
			log->parts = memory_reserve(log->parts, &log->capacity, log->capacity,
						    sizeof(part));
	}
	log->parts[log->n++] = part;
}

static void halve_parts(void *context)
{
	struct course_log *log = context;

	for (size_t i = 0; i < log->n; i++)
		log->parts[i].step /= 2;
}

void course_log_add(struct course_log *log, const struct reel_trace *trace, uint32_t end)
{
	uint64_t first, last;

	locate(&log->time, trace, halve_parts, log, &first, &last);
	for (uint64_t i = first; i <= last; i++)
		add_part(log, (struct course_part){ end, (uint32_t)i,
						    weight_of(trace) / (float)(last - first + 1) });
}

void course_log_span(struct course_log *log, const struct course_log *more)
{
	struct course_time *time = &log->time;
	const struct course_time *other = &more->time;
	uint64_t step;

	if (!time->step || !other->step) {
		if (other->step)
			*time = *other;
		return;
	}
	if (other->start < time->start)
		time->start = other->start;
	if (other->last > time->last)
		time->last = other->last;
	step = (time->last - time->start) / STEPS + 1;
	time->step = step > time->step ? step : time->step;
	if (other->step > time->step)
		time->step = other->step;
}

void course_log_move(struct course_log *log, const struct course_log *from,
		     const struct course_part *part, uint32_t end)
{
	/* The middle: steps of several logs do not begin together. */
	uint64_t middle = from->time.start + part->step * from->time.step + from->time.step / 2;
	uint64_t at = middle > log->time.last ? log->time.last : middle;

	add_part(log,
		 (struct course_part){ end, (uint32_t)((at - log->time.start) / log->time.step),
				       part->weight });
}

void course_log_free(struct course_log *log)
{
	free(log->parts);
	*log = (struct course_log){ 0 };
}

/* ---- a tree's columns ---------------------------------------------------------------------- */

void tree_course_scale(const float *from, uint16_t *columns)
{
	float most = 0;

	for (size_t i = 0; i < COURSE_COLUMNS; i++)
		most = fmaxf(most, from[i]);
	for (size_t i = 0; i < COURSE_COLUMNS; i++) {
		float height = from[i] > 0 ? from[i] / most * TREE_COURSE_MOST - SLACK : 0;

		/* A small weight is also visible. */
		columns[i] = (uint16_t)(from[i] > 0 ? fmaxf(ceilf(height), 1) : 0);
	}
}

/* Parts by their nodes, and the columns of the nodes that the walk is in. */
struct summing {
	const struct call_tree *tree;
	struct tree_courses *courses;
	const struct course_part *parts;
	uint32_t *first, *order; /* of each node, an index of `order`; of that, one of `parts` */
	double used;		 /* steps, of the last one a part */
	float (*path)[COURSE_COLUMNS];
	size_t capacity;
};

static void add_step(const struct summing *summing, const struct course_part *step, float *columns)
{
	double at = step->step, end = fmin(at + 1, summing->used), width = end - at;

	while (at < end) {
		size_t column;
		double part = next_part(&at, end, summing->used, &column);

		columns[column] += (float)(step->weight * part / width);
	}
}

static int enter(void *context, uint32_t node, size_t depth)
{
	struct summing *summing = context;

	summing->path =
		memory_reserve(summing->path, &summing->capacity, depth, sizeof(*summing->path));
	memset(summing->path[depth], 0, sizeof(*summing->path));
	for (uint32_t i = summing->first[node]; i < summing->first[node + 1]; i++)
		add_step(summing, &summing->parts[summing->order[i]], summing->path[depth]);
	return 1;
}

static void leave(void *context, uint32_t node, size_t depth)
{
	struct summing *summing = context;

	tree_course_scale(summing->path[depth], summing->courses->columns[node]);
	for (size_t i = 0; i < COURSE_COLUMNS; i++)
		summing->path[depth - 1][i] += summing->path[depth][i];
}

static void sort_parts(struct summing *summing, const struct course_part *parts, size_t n)
{
	uint32_t n_nodes = summing->tree->n_nodes, sum = 0;

	summing->first = memory_get(((size_t)n_nodes + 2) * sizeof(*summing->first));
	summing->order = memory_resize(NULL, n + 1, sizeof(*summing->order));
	/* Where a node's parts begin is where they end once all are placed: two entries later. */
	for (size_t i = 0; i < n; i++)
		summing->first[parts[i].end + 2]++;
	for (uint32_t i = 0; i < n_nodes + 2; i++)
		sum = summing->first[i] += sum;
	for (size_t i = 0; i < n; i++)
		summing->order[summing->first[parts[i].end + 1]++] = (uint32_t)i;
}

void tree_courses_make(struct tree_courses *courses, const struct call_tree *tree,
		       const struct course_log *log, const struct course_part *parts, size_t n)
{
	struct summing summing = { .tree = tree, .courses = courses, .parts = parts };

	if (!log->time.step)
		return;
	summing.used = used_steps(&log->time);
	courses->columns = memory_get((size_t)tree->n_nodes * sizeof(*courses->columns));
	sort_parts(&summing, parts, n);
	(void)enter(&summing, CALL_TREE_ROOT, 0);
	call_tree_walk(tree, enter, leave, &summing);
	free(summing.first);
	free(summing.order);
	free(summing.path);
}

void tree_courses_free(struct tree_courses *courses)
{
	free(courses->columns);
	courses->columns = NULL;
}

void tree_courses_sum(const struct tree_courses *courses, const struct call_tree *tree,
		      uint32_t node, float *columns)
{
	const struct amount *total = &tree->nodes[node].total;
	float weight = (float)(total->weight ? total->weight : total->samples), sum = 0;

	for (size_t i = 0; i < COURSE_COLUMNS; i++)
		sum += courses->columns[node][i];
	for (size_t i = 0; i < COURSE_COLUMNS && sum > 0; i++)
		columns[i] += courses->columns[node][i] * weight / sum;
}

void tree_course_print(const uint16_t *columns, FILE *file)
{
	for (size_t i = 0; i < COURSE_COLUMNS; i++)
		fputs(course_block(columns[i] / (double)TREE_COURSE_MOST), file);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/print/memory.h"
#include "cli/profile/tree_course.h"

/* Their length doubles when the time exceeds them, so at least half are used. */
#define STEPS	   (COURSE_COLUMNS * 16)
#define FIRST_STEP 1000 /* ns */
/* Sums of rounded columns are as high as the columns of sums. */
#define SLACK 4

/* ---- the log ------------------------------------------------------------------------------- */

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

static void double_step(struct course_log *log)
{
	log->step *= 2;
	for (size_t i = 0; i < log->n; i++)
		log->parts[i].step /= 2;
}

void course_log_add(struct course_log *log, const struct reel_trace *trace, uint32_t end)
{
	uint64_t time = trace->time, length = 0, first, last;
	float weight = trace->weight ? (float)trace->weight : 1;

	if (!log->step)
		*log = (struct course_log){ .start = time, .last = time, .step = FIRST_STEP };
	/* Samples of different CPUs may be out of order. */
	if (time < log->start)
		time = log->start;
	if (time > log->last)
		log->last = time;
	while ((time - log->start) / log->step >= STEPS)
		double_step(log);
	/* A wait's sample is at its end. */
	if (trace->state != REEL_STATE_RUNNING)
		length = trace->weight;
	if (length > time - log->start)
		length = time - log->start;
	first = (time - length - log->start) / log->step;
	last = (time - log->start) / log->step;
	for (uint64_t i = first; i <= last; i++)
		add_part(log, (struct course_part){ end, (uint32_t)i,
						    weight / (float)(last - first + 1) });
}

void course_log_span(struct course_log *log, const struct course_log *more)
{
	uint64_t step;

	if (!log->step || !more->step) {
		if (more->step)
			*log = (struct course_log){
				more->start, more->last, more->step, NULL, 0, 0
			};
		return;
	}
	if (more->start < log->start)
		log->start = more->start;
	if (more->last > log->last)
		log->last = more->last;
	step = (log->last - log->start) / STEPS + 1;
	log->step = step > log->step ? step : log->step;
	if (more->step > log->step)
		log->step = more->step;
}

void course_log_move(struct course_log *log, const struct course_log *from,
		     const struct course_part *part, uint32_t end)
{
	/* The middle: steps of several logs do not begin together. */
	uint64_t time = from->start + part->step * from->step + from->step / 2;
	uint64_t step = time > log->last ? log->last : time;

	add_part(log, (struct course_part){ end, (uint32_t)((step - log->start) / log->step),
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

/* Each column has its part of the time. */
static void add_step(const struct summing *summing, const struct course_part *part, float *columns)
{
	double at = part->step, end = fmin(at + 1, summing->used), width = end - at;

	while (at < end) {
		size_t column =
			(size_t)fmin(at * COURSE_COLUMNS / summing->used, COURSE_COLUMNS - 1);
		double next = fmin((double)(column + 1) * summing->used / COURSE_COLUMNS, end);

		if (next <= at)
			next = end;
		columns[column] += (float)(part->weight * (next - at) / width);
		at = next;
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

	if (!log->step)
		return;
	summing.used = (double)(log->last - log->start + 1) / (double)log->step;
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

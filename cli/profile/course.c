/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "cli/print/text.h"
#include "cli/profile/course.h"

/* Steps in memory: their length doubles when the time exceeds them, so at least half are used. */
#define STEPS	   (COURSE_COLUMNS * 16)
#define FIRST_STEP 1000 /* ns */

static void halve(void *context, struct symbol *symbol)
{
	float *course = symbol->course;

	(void)context;
	if (!course)
		return;
	for (size_t i = 0; i < STEPS / 2; i++)
		course[i] = course[2 * i] + course[2 * i + 1];
	memset(course + STEPS / 2, 0, STEPS / 2 * sizeof(*course));
}

static void add(struct symbol *symbol, size_t first, size_t last, float weight)
{
	if (!symbol->course) {
		symbol->course = memory_get(STEPS * sizeof(*symbol->course));
		memset(symbol->course, 0, STEPS * sizeof(*symbol->course));
	}
	for (size_t i = first; i <= last; i++)
		symbol->course[i] += weight / (float)(last - first + 1);
}

void courses_add(struct courses *courses, struct symbol_table *symbols,
		 const struct reel_trace *trace)
{
	uint64_t time = trace->time, length = 0;

	if (!courses->step)
		*courses = (struct courses){ .start = time, .last = time, .step = FIRST_STEP };
	/* Samples of different CPUs may be out of order. */
	if (time < courses->start)
		time = courses->start;
	if (time > courses->last)
		courses->last = time;
	for (; (time - courses->start) / courses->step >= STEPS; courses->step *= 2)
		symbol_table_visit(symbols, halve, NULL);
	/* A wait's sample is at its end. */
	if (trace->state != REEL_STATE_RUNNING)
		length = trace->weight;
	if (length > time - courses->start)
		length = time - courses->start;
	courses->traces++;
	for (size_t i = 0; i < trace->n_frames; i++) {
		struct symbol *symbol = symbol_of_frame(symbols, trace->frames[i]);

		/* Recursion counts once. */
		if (symbol->course_trace == courses->traces)
			continue;
		symbol->course_trace = courses->traces;
		add(symbol, (time - length - courses->start) / courses->step,
		    (time - courses->start) / courses->step,
		    trace->weight ? (float)trace->weight : 1);
	}
}

/* Each column has its part of the time. */
static void to_columns(const struct courses *courses, const float *course, double *columns)
{
	double used = (double)(courses->last - courses->start + 1) / (double)courses->step;

	for (size_t i = 0; i < STEPS; i++) {
		double at = (double)i, end = fmin(at + 1, used), width = end - at;

		while (course[i] > 0 && at < end) {
			size_t column =
				(size_t)fmin(at * COURSE_COLUMNS / used, COURSE_COLUMNS - 1);
			double next = fmin((double)(column + 1) * used / COURSE_COLUMNS, end);

			if (next <= at)
				next = end;
			columns[column] += course[i] * (next - at) / width;
			at = next;
		}
	}
}

const char *course_block(double height)
{
	static const char *const blocks[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };

	return blocks[(size_t)ceil(height * 8)];
}

void course_print(const struct courses *courses, const struct symbol *symbol, FILE *file)
{
	double columns[COURSE_COLUMNS] = { 0 }, most = 0;

	if (symbol->course)
		to_columns(courses, symbol->course, columns);
	for (size_t i = 0; i < COURSE_COLUMNS; i++)
		most = fmax(most, columns[i]);
	for (size_t i = 0; i < COURSE_COLUMNS; i++)
		fputs(course_block(most > 0 ? columns[i] / most : 0), file);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/page/page_marks.h"
#include "cli/print/json.h"
#include "cli/print/memory.h"

/* The recorder reports losses of each CPU; a page has room for few marks. */
#define STEP	  UINT64_C(100000000)
#define MARKS_MAX 10000

struct mark {
	uint64_t time, count;
	enum reel_loss cause;
};

struct marks {
	struct mark *items;
	size_t n, capacity;
	uint64_t start;
};

static uint64_t field_of(const struct reel_record_view *record, const char *name)
{
	for (size_t i = 0; i < record->n_fields; i++) {
		if (!strcmp(record->fields[i].name, name))
			return record->fields[i].value;
	}
	return 0;
}

static void marks_add(struct marks *marks, struct mark mark)
{
	/* Losses of other CPUs at this time are close to the end. */
	for (size_t i = marks->n; i && marks->n - i < REEL_LOSS_COUNT; i--) {
		struct mark *last = &marks->items[i - 1];

		if (last->cause == mark.cause && last->time == mark.time) {
			last->count += mark.count;
			return;
		}
	}
	marks->items = memory_reserve(marks->items, &marks->capacity, marks->n, sizeof(mark));
	marks->items[marks->n++] = mark;
}

static bool visit_record(void *context, const struct reel_record_view *record)
{
	struct marks *marks = context;
	struct mark mark = { 0 };

	if (strcmp(record->name, "loss") != 0 && strcmp(record->name, "LOSS") != 0)
		return true;
	mark.time = field_of(record, "time");
	mark.time = mark.time > marks->start ? (mark.time - marks->start) / STEP * STEP : 0;
	mark.cause = (enum reel_loss)field_of(record, "cause");
	mark.count = field_of(record, "count");
	if (mark.count)
		marks_add(marks, mark);
	return marks->n < MARKS_MAX;
}

/* Other causes leave a sample with less data. */
static bool is_sample_missing(enum reel_loss cause)
{
	return cause == REEL_LOSS_RING_FULL || cause == REEL_LOSS_RING_BUSY ||
	       cause == REEL_LOSS_RECORDER || cause == REEL_LOSS_THROTTLED ||
	       cause == REEL_LOSS_MISSED || cause == REEL_LOSS_CPU_NOT_WATCHED;
}

void page_marks_print(struct reel_capture *capture, uint64_t start, FILE *file)
{
	struct marks marks = { .start = start };

	/* Without losses a page is still useful, and commands report damaged files. */
	reel_error_destroy(reel_capture_visit_side_records(capture, visit_record, &marks));
	fputs("\"marks\":[", file);
	for (size_t i = 0; i < marks.n; i++) {
		fprintf(file, "%s[%" PRIu64 ",", i ? "," : "", marks.items[i].time);
		json_escaped_text(reel_loss_name(marks.items[i].cause), file);
		fprintf(file, ",%" PRIu64 ",%d]", marks.items[i].count,
			is_sample_missing(marks.items[i].cause));
	}
	fputs("],\n", file);
	free(marks.items);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/print/memory.h"
#include "cli/session/moments.h"

/* The field origin of a thread whose start was seen. */
#define ORIGIN_FORK 1
/* Execs whose names have not come: these follow closely, among records of other threads. */
#define UNNAMED_MAX 100

struct visit {
	void (*visit)(void *context, const struct moment *moment);
	void *context;
	struct moment unnamed[UNNAMED_MAX]; /* the oldest first */
	size_t n_unnamed;
};

static const struct reel_field *field_of(const struct reel_record_view *record, const char *name)
{
	static const struct reel_field none;

	for (size_t i = 0; i < record->n_fields; i++) {
		if (!strcmp(record->fields[i].name, name))
			return &record->fields[i];
	}
	return &none;
}

static uint64_t number_of(const struct reel_record_view *record, const char *name)
{
	return field_of(record, name)->value;
}

static void end_exec(struct visit *visit, size_t i, const char *program)
{
	struct moment exec = visit->unnamed[i];

	exec.program = program;
	visit->n_unnamed--;
	memmove(&visit->unnamed[i], &visit->unnamed[i + 1],
		(visit->n_unnamed - i) * sizeof(visit->unnamed[0]));
	visit->visit(visit->context, &exec);
}

/* Ends the thread's exec that has no name yet, if there is one. */
static void end_exec_of(struct visit *visit, uint64_t thread, const char *program)
{
	for (size_t i = visit->n_unnamed; i; i--) {
		if (visit->unnamed[i - 1].thread == thread) {
			end_exec(visit, i - 1, program);
			return;
		}
	}
}

static void begin_exec(struct visit *visit, const struct moment *exec)
{
	end_exec_of(visit, exec->thread, NULL);
	if (visit->n_unnamed == UNNAMED_MAX)
		end_exec(visit, 0, NULL);
	visit->unnamed[visit->n_unnamed++] = *exec;
}

static void name_exec(struct visit *visit, const struct reel_record_view *record)
{
	const struct reel_field *comm = field_of(record, "comm");
	_cleanup_free_ char *program =
		memory_print("%.*s", (int)comm->n_bytes, (const char *)comm->bytes);

	end_exec_of(visit, number_of(record, "thread"), program);
}

static bool visit_record(void *context, const struct reel_record_view *record)
{
	struct visit *visit = context;
	struct moment moment = {
		.time = number_of(record, "time"),
		.thread = number_of(record, "thread"),
	};

	if (!strcmp(record->name, "THREAD_COMM")) {
		if (visit->n_unnamed)
			name_exec(visit, record);
		return true;
	}
	if (!strcmp(record->name, "THREAD_EXEC")) {
		moment.kind = MOMENT_EXEC;
		begin_exec(visit, &moment);
		return true;
	}
	if (!strcmp(record->name, "LOSS")) {
		moment.kind = MOMENT_LOSS;
		moment.cause = (enum reel_loss)number_of(record, "cause");
		moment.count = number_of(record, "count");
		moment.cpu = (uint32_t)number_of(record, "cpu");
		/* A time, of waits that other causes count. */
		if (moment.cause == REEL_LOSS_WAITING)
			return true;
	} else if (!strcmp(record->name, "THREAD")) {
		moment.kind = MOMENT_THREAD;
		moment.thread = number_of(record, "id");
		moment.tid = (uint32_t)number_of(record, "tid");
		moment.is_start = number_of(record, "origin") == ORIGIN_FORK;
	} else if (!strcmp(record->name, "THREAD_EXIT")) {
		moment.kind = MOMENT_EXIT;
	} else {
		return true;
	}
	visit->visit(visit->context, &moment);
	return true;
}

static void visit_marks(const struct reel_capture *capture, const struct visit *visit)
{
	size_t n;
	const struct reel_mark_info *marks = reel_capture_marks(capture, &n);

	for (size_t i = 0; i < n; i++) {
		const struct moment mark = { .kind = MOMENT_MARK,
					     .time = marks[i].time,
					     .text = marks[i].text,
					     .name = reel_mark_name(marks[i].kind) };

		/* Each part has two of them. */
		if (marks[i].kind == REEL_MARK_CLOCK)
			continue;
		visit->visit(visit->context, &mark);
	}
}

void moments_visit(struct reel_capture *capture,
		   void (*visit)(void *context, const struct moment *moment), void *context)
{
	struct visit all = { .visit = visit, .context = context };

	reel_error_destroy(reel_capture_visit_side_records(capture, visit_record, &all));
	while (all.n_unnamed)
		end_exec(&all, 0, NULL);
	visit_marks(capture, &all);
}

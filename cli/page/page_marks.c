/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/hash_index.h"
#include "cli/page/page_marks.h"
#include "cli/print/json.h"
#include "cli/print/memory.h"
#include "cli/print/text.h"
#include "cli/session/moments.h"
#include "cli/session/summary.h"

/* The recorder reports losses of each CPU; a page has room for few marks. */
#define STEP	  UINT64_C(100000000)
#define MARKS_MAX 10000
#define EXECS_MAX 10000
#define LIVES_MAX 10000
#define OWN_MAX	  1000
#define UNKNOWN	  UINT64_MAX

struct mark {
	uint64_t time, count;
	enum reel_loss cause;
};

/* A sampled thread that became another program. */
struct exec {
	uint64_t time;
	uint32_t tid;
	char *comm; /* the thread's name from then on, escaped; "" if unknown */
};

struct own_mark {
	uint64_t time;
	const char *name;
	char *text; /* escaped */
};

struct thread {
	uint64_t id;
	uint32_t tid;
	uint64_t start, end; /* UNKNOWN: not within the recording */
};

struct marks {
	const struct flame_profile *profile;
	struct mark *items;
	size_t n, capacity;
	uint64_t step;
	struct exec *execs;
	size_t n_execs, execs_capacity, execs_left_out;
	/* Those that the recorder made. */
	struct own_mark *own;
	size_t n_own, own_capacity, own_left_out;
	/* Threads of the capture that may have been sampled. */
	struct thread *threads;
	size_t n_threads, threads_capacity;
	struct reel_hash_index by_id, by_tid; /* threads; the profile's threads */
};

static uint64_t time_of(const struct marks *marks, const struct moment *moment)
{
	return moment->time > marks->profile->start ? moment->time - marks->profile->start : 0;
}

/* ---- losses --------------------------------------------------------------------------------- */

/* Losses of other CPUs at this time are among the last marks. */
static bool join_mark(struct mark *marks, size_t n, struct mark mark)
{
	for (size_t i = n; i && n - i < REEL_LOSS_COUNT; i--) {
		if (marks[i - 1].cause == mark.cause && marks[i - 1].time == mark.time) {
			marks[i - 1].count += mark.count;
			return true;
		}
	}
	return false;
}

static void widen_steps(struct marks *marks)
{
	size_t n = 0;

	marks->step *= 2;
	for (size_t i = 0; i < marks->n; i++) {
		struct mark mark = marks->items[i];

		mark.time = mark.time / marks->step * marks->step;
		if (!join_mark(marks->items, n, mark))
			marks->items[n++] = mark;
	}
	marks->n = n;
}

static void add_loss(struct marks *marks, const struct moment *moment)
{
	struct mark mark = {
		.time = time_of(marks, moment) / marks->step * marks->step,
		.cause = moment->cause,
		.count = moment->count,
	};

	if (!mark.count || join_mark(marks->items, marks->n, mark))
		return;
	if (marks->n >= MARKS_MAX) {
		widen_steps(marks);
		mark.time = mark.time / marks->step * marks->step;
		if (join_mark(marks->items, marks->n, mark))
			return;
	}
	marks->items = memory_reserve(marks->items, &marks->capacity, marks->n, sizeof(mark));
	marks->items[marks->n++] = mark;
}

/* ---- threads, and programs that they start -------------------------------------------------- */

static bool is_sampled(const struct marks *marks, uint32_t tid)
{
	return REEL_HASH_FIND(&marks->by_tid, tid, i, marks->profile->threads[i].tid == tid) !=
	       REEL_HASH_NONE;
}

static void add_index(struct reel_hash_index *index, uint64_t hash, size_t number)
{
	if (!reel_hash_index_add(index, hash, (uint32_t)number))
		memory_check(NULL);
}

static void add_thread(struct marks *marks, const struct moment *moment)
{
	const struct thread thread = {
		.id = moment->thread,
		.tid = moment->tid,
		.start = moment->is_start && moment->time > marks->profile->start
				 ? time_of(marks, moment)
				 : UNKNOWN,
		.end = UNKNOWN,
	};

	if (!is_sampled(marks, thread.tid))
		return;
	marks->threads = memory_reserve(marks->threads, &marks->threads_capacity, marks->n_threads,
					sizeof(thread));
	marks->threads[marks->n_threads] = thread;
	add_index(&marks->by_id, thread.id, marks->n_threads++);
}

/* Its number, or REEL_HASH_NONE. */
static uint32_t find_thread(const struct marks *marks, const struct moment *moment)
{
	uint64_t id = moment->thread;

	return REEL_HASH_FIND(&marks->by_id, id, i, marks->threads[i].id == id);
}

static void end_thread(struct marks *marks, const struct moment *moment)
{
	uint32_t thread = find_thread(marks, moment);

	if (thread != REEL_HASH_NONE)
		marks->threads[thread].end = time_of(marks, moment);
}

static void add_exec(struct marks *marks, const struct moment *moment)
{
	uint32_t thread = find_thread(marks, moment);

	if (thread == REEL_HASH_NONE)
		return;
	if (marks->n_execs == EXECS_MAX) {
		marks->execs_left_out++;
		return;
	}
	marks->execs = memory_reserve(marks->execs, &marks->execs_capacity, marks->n_execs,
				      sizeof(struct exec));
	marks->execs[marks->n_execs++] =
		(struct exec){ time_of(marks, moment), marks->threads[thread].tid,
			       text_escape(moment->program ? moment->program : "", "") };
}

/* ---- marks of the recorder ------------------------------------------------------------------ */

static void add_own(struct marks *marks, const struct moment *moment)
{
	if (marks->n_own == OWN_MAX) {
		marks->own_left_out++;
		return;
	}
	marks->own = memory_reserve(marks->own, &marks->own_capacity, marks->n_own,
				    sizeof(struct own_mark));
	marks->own[marks->n_own++] = (struct own_mark){ time_of(marks, moment), moment->name,
							text_escape(moment->text, "") };
}

static void print_own(const struct marks *marks, FILE *file)
{
	fputs("\"recorderMarks\":[", file);
	for (size_t i = 0; i < marks->n_own; i++) {
		const struct own_mark *mark = &marks->own[i];

		fprintf(file, "%s[%" PRIu64 ",", i ? "," : "", mark->time);
		json_escaped_text(mark->name, file);
		fputc(',', file);
		json_escaped_text(mark->text, file);
		fputc(']', file);
	}
	fprintf(file, "],\"recorderMarksLeftOut\":%zu,\n", marks->own_left_out);
}

/* ---- all of them ---------------------------------------------------------------------------- */

static void add_moment(void *context, const struct moment *moment)
{
	static void (*const adds[])(struct marks * marks, const struct moment *moment) = {
		[MOMENT_LOSS] = add_loss, [MOMENT_THREAD] = add_thread, [MOMENT_EXIT] = end_thread,
		[MOMENT_EXEC] = add_exec, [MOMENT_MARK] = add_own,
	};

	adds[moment->kind](context, moment);
}

static void print_losses(const struct marks *marks, FILE *file)
{
	fputs("\"marks\":[", file);
	for (size_t i = 0; i < marks->n; i++) {
		fprintf(file, "%s[%" PRIu64 ",", i ? "," : "", marks->items[i].time);
		json_escaped_text(reel_loss_name(marks->items[i].cause), file);
		fprintf(file, ",%" PRIu64 ",%d]", marks->items[i].count,
			loss_is_of_samples(marks->items[i].cause));
	}
	fprintf(file, "],\"markStep\":%" PRIu64 ",\n", marks->step);
}

static void print_execs(const struct marks *marks, FILE *file)
{
	fputs("\"execs\":[", file);
	for (size_t i = 0; i < marks->n_execs; i++) {
		const struct exec *exec = &marks->execs[i];

		fprintf(file, "%s[%" PRIu64 ",%" PRIu32 ",", i ? "," : "", exec->time, exec->tid);
		json_escaped_text(exec->comm, file);
		fputc(']', file);
	}
	fprintf(file, "],\"execsLeftOut\":%zu,\n", marks->execs_left_out);
}

static void print_moment(uint64_t time, FILE *file)
{
	if (time == UNKNOWN)
		fputs("null", file);
	else
		fprintf(file, "%" PRIu64, time);
}

static void print_lives(const struct marks *marks, FILE *file)
{
	size_t n = 0, left_out = 0;

	fputs("\"lives\":[", file);
	for (size_t i = 0; i < marks->n_threads; i++) {
		const struct thread *thread = &marks->threads[i];

		if (thread->start == UNKNOWN && thread->end == UNKNOWN)
			continue;
		if (n == LIVES_MAX) {
			left_out++;
			continue;
		}
		fprintf(file, "%s[%" PRIu32 ",", n++ ? "," : "", thread->tid);
		print_moment(thread->start, file);
		fputc(',', file);
		print_moment(thread->end, file);
		fputc(']', file);
	}
	fprintf(file, "],\"livesLeftOut\":%zu,\n", left_out);
}

void page_marks_print(struct reel_capture *capture, const struct flame_profile *profile, FILE *file)
{
	struct marks marks = { .profile = profile, .step = STEP };

	for (size_t i = 0; i < profile->n_threads; i++)
		add_index(&marks.by_tid, profile->threads[i].tid, i);
	moments_visit(capture, add_moment, &marks);
	print_losses(&marks, file);
	print_execs(&marks, file);
	print_lives(&marks, file);
	print_own(&marks, file);
	for (size_t i = 0; i < marks.n_execs; i++)
		free(marks.execs[i].comm);
	free(marks.execs);
	for (size_t i = 0; i < marks.n_own; i++)
		free(marks.own[i].text);
	free(marks.own);
	free(marks.threads);
	reel_hash_index_free(&marks.by_id);
	reel_hash_index_free(&marks.by_tid);
	free(marks.items);
}

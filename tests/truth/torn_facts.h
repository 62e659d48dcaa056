/* SPDX-License-Identifier: Apache-2.0 */
/* The output of programs/torn.c; included only by torn_check.c. */
#ifndef TESTS_TRUTH_TORN_FACTS_H
#define TESTS_TRUTH_TORN_FACTS_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/truth/programs/torn.h"

enum place {
	TEXT,
	TEXT_END,
	UP,
	UP_STORED,
	UP_NEXT,
	REP,
	PUSH,
	PUSH_MARK,
	PUSH_POP,
	PUSH_END,
	PREAD_DONE,
	MADVISE_DONE,
	PLACES
};
static const char *const place_names[PLACES] = { "text",      "text_end",   "up",
						 "up_stored", "up_next",    "rep",
						 "push",      "push_mark",  "push_pop",
						 "push_end",  "pread_done", "madvise_done" };
static uint64_t places[PLACES];

struct thread {
	unsigned long tid;
	enum torn_mode mode;
	uint64_t time, end, base, words, frame, top;
	/* For `alt`. */
	uint64_t handler_time, handler_base, alternate_top;
	/* The bytes above `frame`. */
	uint8_t *still;
	uint64_t samples;
};
static struct thread threads[TORN_THREADS_MAX];
static size_t n_threads;

static struct thread *thread_find(unsigned long tid)
{
	for (size_t i = 0; i < n_threads; i++) {
		if (threads[i].tid == tid)
			return &threads[i];
	}
	if (n_threads == TORN_THREADS_MAX)
		exit(2);
	threads[n_threads].tid = tid;
	return &threads[n_threads++];
}

static void facts_read(const char *path)
{
	FILE *file = fopen(path, "re");
	char line[512], name[32];
	unsigned long tid;
	uint64_t a, b, c, d, e;

	if (!file) {
		perror(path);
		exit(2);
	}
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "code %31s %" SCNu64, name, &a) == 2) {
			for (size_t i = 0; i < PLACES; i++) {
				if (!strcmp(name, place_names[i]))
					places[i] = a;
			}
		} else if (sscanf(line,
				  "thread %lu %31s %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
				  " %" SCNu64,
				  &tid, name, &a, &b, &c, &d, &e) == 7) {
			struct thread *thread = thread_find(tid);

			thread->mode = torn_mode(name);
			thread->time = a;
			thread->base = b;
			thread->words = c;
			thread->frame = d;
			thread->top = e;
		} else if (sscanf(line, "end %lu %" SCNu64, &tid, &a) == 2) {
			thread_find(tid)->end = a;
		} else if (sscanf(line, "alternate %lu %" SCNu64, &tid, &a) == 2) {
			thread_find(tid)->alternate_top = a;
		} else if (sscanf(line, "handler %lu %" SCNu64 " %" SCNu64, &tid, &a, &b) == 3) {
			thread_find(tid)->handler_time = a;
			thread_find(tid)->handler_base = b;
		}
	}
	fclose(file);
	for (size_t i = 0; i < PLACES; i++) {
		if (!places[i]) {
			fprintf(stderr, "torn_check: %s has no %s\n", path, place_names[i]);
			exit(2);
		}
	}
}

#endif

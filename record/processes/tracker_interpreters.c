/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interpreters that processes run.  A mapped file shows that there is one, but its data is not
 * there before the program has begun it.  So a process with samples is looked at until it is, and
 * samples are taken from the kernel more often meanwhile: many programs end soon, and with them the
 * names of their functions.
 */
#include <string.h>

#include "base/quantity.h"
#include "record/processes/tracker_internal.h"

/* How soon the samples of a program that begins are wanted, and how long it takes to begin. */
#define BEGIN_STEP  (10 * REEL_NS_PER_MS)
#define BEGIN_TIME  REEL_NS_PER_SECOND
#define DELAY_FIRST (2 * REEL_NS_PER_MS)
#define DELAY_MAX   (4 * REEL_NS_PER_SECOND)

void tracker_interpret(struct reel_tracker *tracker, struct process *process,
		       const struct process_interpreter *interpreter)
{
	bool was_known = process->interpreter.is.kind, is_known = interpreter->is.kind;

	process->interpreter = *interpreter;
	if ((was_known || is_known) && tracker->options.interpret)
		tracker->options.interpret(tracker->options.callbacks, (uint32_t)process->entry.id,
					   is_known ? &process->interpreter.is : NULL);
}

void tracker_expect_interpreter(struct reel_tracker *tracker)
{
	tracker->interpreters_begin_until = reel_now() + BEGIN_TIME;
}

void tracker_note_interpreter(struct reel_tracker *tracker, struct process *process,
			      struct reel_runtime_place place)
{
	/* Of several, the first counts. */
	if (!place.kind || process->interpreter.place.kind)
		return;
	tracker_interpret(tracker, process, &(struct process_interpreter){ .place = place });
	tracker_expect_interpreter(tracker);
}

uint64_t reel_tracker_sample_time(const struct reel_tracker *tracker)
{
	uint64_t now = reel_now();

	return now < tracker->interpreters_begin_until ? now + BEGIN_STEP : UINT64_MAX;
}

void tracker_find_interpreter(struct reel_tracker *tracker, struct process *process)
{
	struct process_interpreter found = process->interpreter;
	uint64_t now = reel_now(), end;
	enum reel_runtime_answer answer;

	if (!found.place.kind || found.is.kind || now < found.ask_after ||
	    !tracker_may_ask(tracker, process))
		return;
	answer = reel_inspector_interpreter(tracker->options.inspector, (uint32_t)process->entry.id,
					    &found.place, &found.is);
	end = reel_now();
	found.delay = found.delay ? 2 * found.delay : DELAY_FIRST;
	/* A version that is not known, or a process that changed while it was read. */
	if (answer == REEL_RUNTIME_UNKNOWN)
		found.delay *= 8;
	if (found.delay > DELAY_MAX)
		found.delay = DELAY_MAX;
	found.ask_after = end + found.delay;
	tracker_interpret(tracker, process, &found);
}

struct reel_runtime_place reel_tracker_interpreter(const struct reel_tracker *tracker, uint32_t pid)
{
	const struct process *process = tracker_process_find(tracker, pid);

	return process ? process->interpreter.place : (struct reel_runtime_place){ 0 };
}

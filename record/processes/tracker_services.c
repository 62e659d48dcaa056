/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The services of processes.  The kernel does not report that a process publishes its own, which it
 * does some time after its start, and may change.  So a process with samples is asked at its first
 * one, and again after twice as long each time.
 */
#include <stdlib.h>
#include <string.h>

#include "base/quantity.h"
#include "record/processes/tracker_internal.h"

#define DELAY_FIRST (100 * REEL_NS_PER_MS)
#define DELAY_MAX   (64 * REEL_NS_PER_SECOND)
#define ASK_MAX	    (10 * REEL_NS_PER_MS)

void tracker_forget_service(struct process *process)
{
	free(process->service.is);
	process->service.is = NULL;
	process->service.ask_after = process->service.delay = 0;
}

void tracker_find_service(struct reel_tracker *tracker, struct process *process)
{
	struct reel_proc_service found;
	uint64_t now = reel_now(), end;

	if (now < process->service.ask_after || !tracker_may_ask(tracker, process))
		return;
	if (reel_inspector_service(tracker->options.inspector, (uint32_t)process->entry.id,
				   now + ASK_MAX, &found)) {
		/* Without memory, it stays unknown. */
		if (!process->service.is)
			process->service.is = malloc(sizeof(found));
		if (process->service.is)
			*process->service.is = found;
	}
	end = reel_now();
	process->service.delay = process->service.delay ? 2 * process->service.delay : DELAY_FIRST;
	if (process->service.delay > DELAY_MAX)
		process->service.delay = DELAY_MAX;
	process->service.ask_after = end + process->service.delay;
}

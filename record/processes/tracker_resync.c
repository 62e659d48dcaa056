/* SPDX-License-Identifier: Apache-2.0 */
/*
 * After a loss, reads all processes in turn from /proc.  That takes long if there are many, or some
 * that were made slow to read, and meanwhile the rings fill: so it is done piece by piece, for a
 * fifth of the time at most; the process of the last sample comes first, and a process that took
 * long waits longer for its next turn.
 */
#include <stdlib.h>
#include <string.h>

#include "base/quantity.h"
#include "record/processes/tracker_internal.h"

/* Time to work at once, followed by this many times as long a rest. */
#define WORK_NS	   (5 * REEL_NS_PER_MS)
#define REST_TIMES 4
/* A process is read again after this many times its last reading time. */
#define AGAIN_TIMES 20
/* Between two rounds: after another loss, and for processes with data left out. */
#define LOSS_INTERVAL  (100 * REEL_NS_PER_MS)
#define STALE_INTERVAL REEL_NS_PER_SECOND

void reel_tracker_resync(struct reel_tracker *tracker)
{
	tracker->losses++;
	tracker->resync.is_wanted = true;
}

/* ---- a round ------------------------------------------------------------------------- */

static struct reel_error *add_known(struct reel_tracker *tracker, struct resync *resync)
{
	struct reel_id_entry **entries = reel_id_table_sorted(&tracker->processes);
	size_t count = tracker->processes.count;
	uint32_t *pids = reallocarray(NULL, count + 1, sizeof(*pids));

	if (!pids || (count && !entries)) {
		free(pids);
		free(entries);
		return reel_error_no_memory();
	}
	for (size_t i = 0; i < count; i++)
		pids[i] = (uint32_t)entries[i]->id;
	free(entries);
	resync->pids = pids;
	resync->count = count;
	return NULL;
}

/* Adds all processes in /proc after the known ones. */
static struct reel_error *add_listed(struct reel_tracker *tracker, struct resync *resync)
{
	_cleanup_free_ uint32_t *listed = NULL;
	struct reel_error *error;
	uint32_t *pids;
	size_t count;

	if (!tracker->proc_is_ours ||
	    !(tracker->options.everything || tracker->options.on_first_sample))
		return NULL;
	error = tracker_processes(tracker, &listed, &count);
	if (error || !count)
		return error;
	pids = reallocarray(resync->pids, resync->count + count, sizeof(*pids));
	if (!pids)
		return reel_error_no_memory();
	memcpy(pids + resync->count, listed, count * sizeof(*pids));
	resync->pids = pids;
	resync->count += count;
	return NULL;
}

static struct reel_error *begin_round(struct reel_tracker *tracker)
{
	struct resync *resync = &tracker->resync;
	struct reel_error *error = add_known(tracker, resync);

	if (!error && resync->is_wanted)
		error = add_listed(tracker, resync);
	resync->is_wanted = resync->has_stale = false;
	resync->at = 0;
	return error;
}

static void end_round(struct resync *resync, uint64_t now)
{
	uint64_t pause = resync->is_wanted ? LOSS_INTERVAL : STALE_INTERVAL;

	free(resync->pids);
	resync->pids = NULL;
	if (resync->resume < now + pause)
		resync->resume = now + pause;
}

static struct reel_error *look_at(struct reel_tracker *tracker, uint32_t pid)
{
	struct process *process = tracker_process_find(tracker, pid);

	if (!process)
		return tracker_add_if_new(tracker, pid);
	if (process->losses == tracker->losses && !process->is_stale)
		return NULL;
	if (process->read_after > reel_now()) {
		tracker->resync.has_stale = true;
		return NULL;
	}
	return tracker_rescan(tracker, process);
}

uint64_t reel_tracker_work_time(const struct reel_tracker *tracker)
{
	const struct resync *resync = &tracker->resync;
	bool has_work = resync->pids || resync->is_wanted || resync->has_stale;

	return has_work ? resync->resume : UINT64_MAX;
}

struct reel_error *reel_tracker_work(struct reel_tracker *tracker)
{
	struct resync *resync = &tracker->resync;
	uint64_t start = reel_now(), now = start;
	struct reel_error *error = NULL;

	if (reel_tracker_work_time(tracker) > now)
		return NULL;
	if (!resync->pids)
		error = begin_round(tracker);
	if (!error && resync->sampled)
		error = look_at(tracker, resync->sampled);
	resync->sampled = 0;
	now = reel_now();
	while (!error && resync->at < resync->count && now < start + WORK_NS) {
		error = look_at(tracker, resync->pids[resync->at++]);
		now = reel_now();
	}
	resync->resume = now + REST_TIMES * (now - start);
	if (resync->at == resync->count)
		end_round(resync, now);
	return error;
}

void tracker_was_read(struct reel_tracker *tracker, struct process *process, uint64_t start,
		      bool is_cut)
{
	uint64_t now = reel_now();

	process->losses = tracker->losses;
	process->is_stale = is_cut;
	process->read_after = now + AGAIN_TIMES * (now - start);
	if (!is_cut)
		return;
	/* Wait longer, since the next read will most likely be incomplete as well. */
	process->read_after += REEL_NS_PER_SECOND;
	tracker->left_out++;
	tracker->resync.has_stale = true;
}

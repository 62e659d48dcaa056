/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits of the work and memory that one process may cost the recorder: a process that maps, unmaps
 * and renames as fast as it can must not cost samples of others, or fill memory or the file.
 */
#include <string.h>

#include "base/quantity.h"
#include "record/processes/tracker_internal.h"

/* Bytes of all levels but the last; a mapping takes 64 (format/timeline/mapping_tree.c). */
#define BYTES_MAX     (128u << 20)
#define MAPPING_BYTES 64

/* Cost forgotten per second. */
#define CALM_PER_SECOND 10000

/* A path of the usual length is free; opening a file takes ten times as long as all else. */
#define COST_PATH_BYTES 256
#define COST_OPEN	16

/* What the file always has room for, for each process with samples: some hundred mappings. */
#define FREE_BYTES 16384

/* vm.max_map_count's default, then a count that is enough for most programs. */
static const uint32_t allowances[] = { 65536, 4096, 256, 32, 0 };
#define LEVELS (sizeof(allowances) / sizeof(*allowances))

uint32_t tracker_allowance(const struct reel_tracker *tracker)
{
	uint64_t most = tracker->options.memory;
	uint64_t bytes = reel_timeline_mappings(tracker->timeline) * MAPPING_BYTES +
			 reel_module_table_bytes(tracker->options.modules);
	uint64_t level = bytes / ((most && most < BYTES_MAX ? most : BYTES_MAX) / (LEVELS - 1));

	if (level < tracker->backlog)
		level = tracker->backlog;
	return allowances[level < LEVELS ? level : LEVELS - 1];
}

bool tracker_is_noise(const struct reel_tracker *tracker, struct process *process, uint64_t time,
		      uint64_t cost)
{
	uint64_t calm = 0;

	if (time > process->noise_time) {
		calm = (time - process->noise_time) / (REEL_NS_PER_SECOND / CALM_PER_SECOND);
		/* Keep the remainder for the next time. */
		process->noise_time += calm * (REEL_NS_PER_SECOND / CALM_PER_SECOND);
	}
	process->noise -= calm < process->noise ? calm : process->noise;
	if (process->noise + cost > tracker_allowance(tracker))
		return true;
	process->noise += cost;
	return false;
}

uint64_t tracker_map_cost(const struct reel_tracker *tracker, const struct reel_proc_map *map,
			  const struct reel_build_id *build_id)
{
	uint64_t cost = 1 + strlen(map->path) / COST_PATH_BYTES;

	return reel_module_table_asks(tracker->options.modules, map, build_id) ? cost + COST_OPEN
									       : cost;
}

bool tracker_may_write(const struct reel_tracker *tracker, struct process *process, uint64_t module)
{
	uint64_t bytes =
		REEL_BUDGET_RECORD + reel_module_table_unwritten(tracker->options.modules, module);
	uint32_t pid = (uint32_t)process->entry.id;

	if (process->file_bytes + bytes > FREE_BYTES)
		return reel_budget_charge_bytes(tracker->options.budget, REEL_BUDGET_PLACE_BYTES,
						pid, bytes);
	process->file_bytes += bytes;
	reel_budget_charge(tracker->options.budget, REEL_BUDGET_PLACE_BYTES, pid, bytes);
	return true;
}

bool tracker_may_read(const struct reel_tracker *tracker, uint32_t pid)
{
	return reel_budget_allows(tracker->options.budget, REEL_BUDGET_PLACES, pid);
}

bool tracker_may_ask(const struct reel_tracker *tracker, const struct process *process)
{
	return tracker->proc_is_ours &&
	       reel_budget_allows(tracker->options.budget, REEL_BUDGET_NAMES,
				  (uint32_t)process->entry.id);
}

void tracker_is_outdated(struct reel_tracker *tracker, struct process *process)
{
	process->is_stale = true;
	tracker->resync.has_stale = true;
}

void tracker_leave_out(struct reel_tracker *tracker, struct process *process)
{
	tracker->left_out++;
	tracker_is_outdated(tracker, process);
}

void reel_tracker_set_backlog(struct reel_tracker *tracker, unsigned int level)
{
	tracker->backlog = level;
}

uint64_t reel_tracker_left_out(const struct reel_tracker *tracker)
{
	return tracker->left_out;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "format/schema.h"
#include "format/timeline/timeline.h"

struct reel_error *reel_timeline_create(bool keep_past, struct reel_timeline **ret)
{
	struct reel_timeline *timeline = calloc(1, sizeof(*timeline));

	if (!timeline)
		return reel_error_no_memory();
	timeline->keep_past = keep_past;
	*ret = timeline;
	return NULL;
}

void reel_timeline_destroy(struct reel_timeline *timeline)
{
	if (!timeline)
		return;
	reel_timeline_drop_pending(timeline);
	reel_threads_free(timeline);
	reel_jit_free(timeline);
	reel_spaces_free(timeline);
	reel_modules_free(timeline);
	reel_cgroups_free(timeline);
	reel_mapping_pool_free(&timeline->pool);
	reel_mapping_pool_free(&timeline->code_pool);
	reel_arena_free(&timeline->code_arena);
	free(timeline->pieces);
	free(timeline);
}

struct reel_error *reel_timeline_apply(struct reel_timeline *timeline,
				       const struct reel_record *record)
{
	switch (record->id) {
	case REEL_RECORD_SPACE:
		return reel_space_define(timeline, &record->space);
	case REEL_RECORD_SPACE_EXIT:
		reel_space_end(timeline, record->space_exit.space, record->space_exit.time);
		return NULL;
	case REEL_RECORD_THREAD:
		return reel_thread_define(timeline, &record->thread);
	case REEL_RECORD_THREAD_COMM:
		return reel_thread_rename(timeline, &record->thread_comm);
	case REEL_RECORD_THREAD_EXEC:
		return reel_thread_exec(timeline, &record->thread_exec);
	case REEL_RECORD_THREAD_EXIT:
		reel_thread_end(timeline, record->thread_exit.thread, record->thread_exit.time);
		return NULL;
	case REEL_RECORD_MAP:
		return reel_space_map(timeline, &record->map);
	case REEL_RECORD_UNMAP:
		return reel_space_unmap(timeline, &record->unmap);
	case REEL_RECORD_CODE_END:
		return reel_space_end_code(timeline, &record->code_end);
	case REEL_RECORD_JIT_SYMBOL:
	case REEL_RECORD_JIT_UNWIND:
		return reel_space_add_jit(timeline, record);
	case REEL_RECORD_SPACE_CGROUP:
		return reel_space_set_cgroup(timeline, &record->space_cgroup);
	default:
		return NULL;
	}
}

struct reel_error *reel_timeline_add(struct reel_timeline *timeline,
				     const struct reel_record *record)
{
	const char *problem = reel_record_check(record);

	if (problem)
		return reel_error_create(REEL_ERROR_INVALID, "%s: %s", reel_record_name(record->id),
					 problem);
	if (timeline->sealed)
		return reel_error_create(REEL_ERROR_INVALID,
					 "cannot add a record to a sealed timeline");
	if (record->id == REEL_RECORD_MODULE)
		return reel_module_define(timeline, &record->module);
	if (timeline->keep_past && record->id == REEL_RECORD_JIT_LINE)
		return reel_jit_add_line(timeline, &record->jit_line);
	if (timeline->keep_past && record->id == REEL_RECORD_CGROUP)
		return reel_cgroup_define(timeline, &record->cgroup);
	if (timeline->keep_past)
		return reel_timeline_collect(timeline, record);
	return reel_timeline_apply(timeline, record);
}

struct reel_error *reel_timeline_seal(struct reel_timeline *timeline)
{
	if (!timeline->keep_past || timeline->sealed)
		return NULL;
	timeline->sealed = true;
	reel_modules_sort(timeline);
	TRY(reel_timeline_apply_pending(timeline));
	return reel_jit_seal(timeline);
}

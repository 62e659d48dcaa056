/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cgroups of processes, as their samples show them: a SPACE_CGROUP is written for a space's first
 * sample, and for one that has another cgroup than the file says for its time.
 */
#include <string.h>

#include "base/array.h"
#include "record/processes/tracker_internal.h"

/* The last span of the space that began up to `time`; samples of several rings are not in order. */
static const struct cgroup_span *span_at(const struct process *process, uint64_t space,
					 uint64_t time)
{
	for (size_t i = process->n_cgroups; i-- > 0;) {
		const struct cgroup_span *span = &process->cgroups[i];

		if (span->space == space && span->time <= time)
			return span;
	}
	return NULL;
}

/* Drops spans that no sample to come can be in. */
static void forget_spans(struct process *process, uint64_t horizon)
{
	size_t n = 0;

	while (n + 1 < process->n_cgroups && process->cgroups[n + 1].time <= horizon)
		n++;
	process->n_cgroups -= n;
	memmove(process->cgroups, process->cgroups + n,
		process->n_cgroups * sizeof(*process->cgroups));
}

static struct reel_error *add_span(struct process *process, struct cgroup_span span)
{
	size_t at = process->n_cgroups;

	if (!reel_array_reserve(&process->cgroups, process->n_cgroups, &process->cgroups_capacity,
				sizeof(*process->cgroups)))
		return reel_error_no_memory();
	for (; at && process->cgroups[at - 1].time > span.time; at--)
		process->cgroups[at] = process->cgroups[at - 1];
	process->cgroups[at] = span;
	process->n_cgroups++;
	return NULL;
}

struct reel_error *tracker_write_cgroup(struct reel_tracker *tracker, struct process *process,
					const struct reel_space_state *state,
					const struct reel_bpf_sample *sample)
{
	struct cgroup_span span = {
		.time = sample->time,
		.space = state ? state->id : process->space.id,
		.kernel_id = sample->cgroup,
	};
	const struct cgroup_span *before = span_at(process, span.space, span.time);
	struct reel_record record = { .id = REEL_RECORD_SPACE_CGROUP };

	if (!sample->cgroup || (before && before->kernel_id == sample->cgroup))
		return NULL;
	/* Earlier samples of the space may follow. */
	if (!before)
		span.time = tracker_file_time(tracker, state ? state->start : process->space.time);
	record.space_cgroup = (struct reel_record_space_cgroup){ span.time, span.space, 0 };
	TRY(reel_cgroup_table_write(&tracker->cgroups, sample->cgroup, &tracker->options.sink,
				    &record.space_cgroup.cgroup));
	if (!record.space_cgroup.cgroup)
		tracker->left_out++;
	TRY(tracker_write(tracker, &record));
	forget_spans(process, tracker->horizon);
	return add_span(process, span);
}

struct reel_error *tracker_name_container(struct reel_tracker *tracker,
					  const struct process *process, uint64_t kernel_id)
{
	const char *id = reel_cgroup_table_unnamed(&tracker->cgroups, kernel_id);
	struct reel_container_names names;
	bool found;

	if (!id || !tracker_may_ask(tracker, process))
		return NULL;
	found = reel_inspector_container(tracker->options.inspector,
					 process->alive ? (uint32_t)process->entry.id : 0, id,
					 &names);
	return reel_cgroup_table_name(&tracker->cgroups, kernel_id, found ? &names : NULL,
				      &tracker->options.sink);
}

struct reel_error *reel_tracker_cgroup(struct reel_tracker *tracker,
				       const struct reel_bpf_cgroup *report)
{
	return reel_cgroup_table_add(&tracker->cgroups, report, &tracker->options.sink);
}

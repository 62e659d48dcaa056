/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "cli/doctor/runtimes.h"
#include "cli/doctor/module_stats.h"
#include "cli/print/text.h"

bool module_stats_open(const struct session *session, struct module_stats *ret)
{
	_cleanup_free_ struct reel_module_info *modules = NULL;
	size_t n;

	*ret = (struct module_stats){
		.has_native_only = session->options->runtimes == REEL_RUNTIMES_NATIVE,
	};
	if (!no_error(reel_capture_modules(session->capture, &modules, &n)))
		return false;
	ret->modules = memory_get((n + 1) * sizeof(*ret->modules));
	for (size_t i = 0; i < n; i++)
		ret->modules[i] =
			(struct module_counts){ .id = modules[i].id,
						.is_file = modules[i].kind == REEL_MODULE_FILE,
						.is_jit = modules[i].kind == REEL_MODULE_ANONYMOUS,
						.runtime = runtime_of_path(modules[i].path) };
	ret->n = n;
	return true;
}

void module_stats_free(struct module_stats *stats)
{
	free(stats->modules);
	free(stats->processes);
}

static struct module_counts *counts_of(struct module_stats *stats, uint64_t id)
{
	size_t at = REEL_PARTITION_POINT(stats->n, i, stats->modules[i].id < id);

	return at < stats->n && stats->modules[at].id == id ? &stats->modules[at] : NULL;
}

static void count_once(uint64_t *count, uint64_t *seen, const struct reel_trace *trace)
{
	*count += *seen != trace->id + 1;
	*seen = trace->id + 1;
}

/* For inlined functions, the containing function tells as much. */
static void count_frame(struct module_stats *stats, const struct reel_trace *trace,
			const struct reel_frame *frame)
{
	struct module_counts *counts = counts_of(stats, frame->module_id);

	if (frame->inlined || !counts)
		return;
	counts->has_lines |= *frame->file;
	count_once(&counts->samples, &counts->seen, trace);
	if (!*frame->function)
		count_once(&counts->nameless, &counts->seen_nameless, trace);
	/* Only the builder's host has debug information of the kernel and the vDSO. */
	if (*frame->file || !counts->is_file)
		return;
	stats->lineless++;
	count_once(&counts->lineless, &counts->seen_lineless, trace);
}

/* The other ends concern the stack. */
static bool is_ended_by_module(enum reel_stop stop)
{
	return stop == REEL_STOP_MODULE_MISSING || stop == REEL_STOP_NO_UNWIND_INFO ||
	       stop == REEL_STOP_BAD_UNWIND_INFO;
}

static struct jit_process *process_of(struct module_stats *stats, uint32_t pid)
{
	size_t at = REEL_PARTITION_POINT(stats->n_processes, i, stats->processes[i].pid < pid);

	if (at < stats->n_processes && stats->processes[at].pid == pid)
		return &stats->processes[at];
	stats->processes = memory_reserve(stats->processes, &stats->capacity, stats->n_processes,
					  sizeof(*stats->processes));
	memmove(&stats->processes[at + 1], &stats->processes[at],
		(stats->n_processes++ - at) * sizeof(*stats->processes));
	stats->processes[at] = (struct jit_process){ .pid = pid };
	return &stats->processes[at];
}

static void count_jit(struct module_stats *stats, const struct reel_trace *trace)
{
	struct jit_process *process;
	bool is_nameless = false;
	unsigned found = 0;

	for (size_t i = 0; i < trace->n_frames; i++) {
		const struct reel_frame *frame = trace->frames[i];
		const struct module_counts *counts = counts_of(stats, frame->module_id);

		if (!counts)
			continue;
		if (counts->runtime < RUNTIMES)
			found |= 1u << counts->runtime;
		is_nameless |= counts->is_jit && !*frame->function;
	}
	if (!found && !is_nameless)
		return;
	process = process_of(stats, trace->pid);
	process->runtimes |= found;
	process->nameless += is_nameless;
}

static bool is_interpreter(const struct runtime *runtime, const char *function)
{
	for (size_t i = 0; i < 2 && runtime->interpreters[i]; i++) {
		if (!strncmp(function, runtime->interpreters[i], strlen(runtime->interpreters[i])))
			return true;
	}
	return false;
}

/* Counts the interpreter whose functions are missing, if the trace has no frame of a runtime. */
static void count_interpreter(struct module_stats *stats, const struct reel_trace *trace)
{
	struct module_counts *interpreter = NULL;

	if (stats->has_native_only)
		return;
	for (size_t i = 0; i < trace->n_frames; i++) {
		const struct reel_frame *frame = trace->frames[i];
		struct module_counts *counts = counts_of(stats, frame->module_id);

		if (frame->runtime)
			return;
		if (counts && counts->runtime < RUNTIMES &&
		    is_interpreter(&runtimes[counts->runtime], frame->function))
			interpreter = counts;
	}
	if (interpreter)
		interpreter->interpreting++;
}

bool module_stats_count(void *context, const struct reel_trace *trace,
			const struct reel_event_info *event)
{
	struct module_stats *stats = context;

	(void)event;
	for (size_t i = 0; i < trace->n_frames; i++)
		count_frame(stats, trace, trace->frames[i]);
	count_jit(stats, trace);
	count_interpreter(stats, trace);
	if (trace->n_frames && is_ended_by_module(trace->stop)) {
		struct module_counts *last =
			counts_of(stats, trace->frames[trace->n_frames - 1]->module_id);

		if (last)
			last->ended++;
	}
	return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cli/doctor/runtimes.h"
#include "cli/doctor/ward.h"
#include "cli/session/limits.h"
#include "cli/print/text.h"

bool ward_open(const struct session *session, struct ward *ret)
{
	_cleanup_free_ struct reel_module_info *modules = NULL;
	size_t n;

	*ret = (struct ward){ 0 };
	if (!no_error(reel_capture_modules(session->capture, &modules, &n)))
		return false;
	ret->patients = memory_get((n + 1) * sizeof(*ret->patients));
	for (size_t i = 0; i < n; i++)
		ret->patients[i] =
			(struct patient){ .id = modules[i].id,
					  .is_file = modules[i].kind == REEL_MODULE_FILE,
					  .is_jit = modules[i].kind == REEL_MODULE_ANONYMOUS,
					  .runtime = runtime_of_path(modules[i].path) };
	ret->n = n;
	return true;
}

void ward_free(struct ward *ward)
{
	free(ward->patients);
	free(ward->processes);
}

static struct patient *patient_of(struct ward *ward, uint64_t id)
{
	size_t low = 0, high = ward->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ward->patients[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < ward->n && ward->patients[low].id == id ? &ward->patients[low] : NULL;
}

static void count_once(uint64_t *count, uint64_t *seen, const struct reel_trace *trace)
{
	*count += *seen != trace->id + 1;
	*seen = trace->id + 1;
}

/* For inlined functions, the containing function tells as much. */
static void count_frame(struct ward *ward, const struct reel_trace *trace,
			const struct reel_frame *frame)
{
	struct patient *patient = patient_of(ward, frame->module_id);

	if (frame->inlined || !patient)
		return;
	patient->has_lines |= *frame->file;
	count_once(&patient->samples, &patient->seen, trace);
	if (!*frame->function)
		count_once(&patient->nameless, &patient->seen_nameless, trace);
	/* Only the builder's host has debug information of the kernel and the vDSO. */
	if (*frame->file || !patient->is_file)
		return;
	ward->lineless++;
	count_once(&patient->lineless, &patient->seen_lineless, trace);
}

/* The other ends concern the stack. */
static bool is_ended_by_module(enum reel_stop stop)
{
	return stop == REEL_STOP_MODULE_MISSING || stop == REEL_STOP_NO_UNWIND_INFO ||
	       stop == REEL_STOP_BAD_UNWIND_INFO;
}

static struct jit_process *process_of(struct ward *ward, uint32_t pid)
{
	size_t at = 0, high = ward->n_processes;

	while (at < high) {
		size_t middle = at + (high - at) / 2;

		if (ward->processes[middle].pid < pid)
			at = middle + 1;
		else
			high = middle;
	}
	if (at < ward->n_processes && ward->processes[at].pid == pid)
		return &ward->processes[at];
	ward->processes = memory_reserve(ward->processes, &ward->capacity, ward->n_processes,
					 sizeof(*ward->processes));
	memmove(&ward->processes[at + 1], &ward->processes[at],
		(ward->n_processes++ - at) * sizeof(*ward->processes));
	ward->processes[at] = (struct jit_process){ .pid = pid };
	return &ward->processes[at];
}

static void count_jit(struct ward *ward, const struct reel_trace *trace)
{
	struct jit_process *process;
	bool is_nameless = false;
	unsigned found = 0;

	for (size_t i = 0; i < trace->n_frames; i++) {
		const struct reel_frame *frame = trace->frames[i];
		const struct patient *patient = patient_of(ward, frame->module_id);

		if (!patient)
			continue;
		if (patient->runtime < RUNTIMES)
			found |= 1u << patient->runtime;
		is_nameless |= patient->is_jit && !*frame->function;
	}
	if (!found && !is_nameless)
		return;
	process = process_of(ward, trace->pid);
	process->runtimes |= found;
	process->nameless += is_nameless;
}

bool ward_count(void *context, const struct reel_trace *trace, const struct reel_event_info *event)
{
	struct ward *ward = context;

	(void)event;
	for (size_t i = 0; i < trace->n_frames; i++)
		count_frame(ward, trace, trace->frames[i]);
	count_jit(ward, trace);
	if (trace->n_frames && is_ended_by_module(trace->stop)) {
		struct patient *last =
			patient_of(ward, trace->frames[trace->n_frames - 1]->module_id);

		if (last)
			last->ended++;
	}
	return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* From samples to traces: unwinds and names one sample after the other. */
#include <stdlib.h>

#include "replay/capture.h"

struct weight {
	uint64_t sample, weight;
};

struct reel_traces {
	struct reel_capture *capture;
	struct reel_block_reader *block_reader;
	size_t block; /* the next one to load */
	bool loaded;

	struct reel_filter filter; /* lists are owned */
	uint64_t from, to;	   /* of the capture clock */

	struct reel_code_map *code_map;
	struct reel_unwind_programs **programs; /* by index in reel_arch_all */
	size_t n_programs;
	struct reel_unwind_frames unwound;
	struct weight *weights; /* late ones, ascending by sample */
	size_t n_weights;

	/* The current trace. */
	struct reel_trace trace;
	const struct reel_frame **frames;
	uint64_t *addresses;
	uint8_t *steps;
	size_t capacity;
};

static size_t arch_index(const struct reel_arch *arch)
{
	size_t i = 0;

	while (reel_arch_all[i] && reel_arch_all[i] != arch)
		i++;
	return i;
}

/* ---- filters --------------------------------------------------------------- */

static void *copy_array(const void *array, size_t count, size_t size, struct reel_error **error)
{
	void *copy;

	if (!count || *error)
		return NULL;
	copy = reallocarray(NULL, count, size);
	if (copy)
		memcpy(copy, array, count * size);
	else
		*error = reel_error_no_memory();
	return copy;
}

static struct reel_error *copy_filter(struct reel_traces *traces, const struct reel_filter *from)
{
	struct reel_filter filter = { 0 };
	struct reel_error *error = NULL;
	const char **comms;

	if (from)
		memcpy(&filter, from, from->size < sizeof(filter) ? from->size : sizeof(filter));
	filter.pids = copy_array(filter.pids, filter.n_pids, sizeof(*filter.pids), &error);
	filter.tids = copy_array(filter.tids, filter.n_tids, sizeof(*filter.tids), &error);
	filter.cpus = copy_array(filter.cpus, filter.n_cpus, sizeof(*filter.cpus), &error);
	comms = copy_array(filter.comms, filter.n_comms, sizeof(*filter.comms), &error);
	for (size_t i = 0; comms && i < filter.n_comms; i++) {
		comms[i] = reel_texts_add_string(traces->capture->texts, comms[i]);
		if (!comms[i])
			error = reel_error_no_memory();
	}
	filter.comms = comms;
	traces->filter = filter;
	traces->from = traces->capture->info.first_sample_time + filter.from;
	traces->to = filter.to ? traces->capture->info.first_sample_time + filter.to : UINT64_MAX;
	return error;
}

static bool list_has(const uint32_t *list, size_t n, uint32_t value)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == value)
			return true;
	return !n;
}

/* Comms are interned, but a filter's may not be of this capture's spelling: compare text. */
static bool comm_wanted(const struct reel_filter *filter, const char *comm)
{
	for (size_t i = 0; i < filter->n_comms; i++)
		if (!strcmp(filter->comms[i], comm))
			return true;
	return !filter->n_comms;
}

static bool wanted(const struct reel_traces *traces)
{
	const struct reel_filter *filter = &traces->filter;
	const struct reel_trace *trace = &traces->trace;

	return trace->time >= traces->from && trace->time <= traces->to &&
	       list_has(filter->cpus, filter->n_cpus, trace->cpu) &&
	       list_has(filter->pids, filter->n_pids, trace->pid) &&
	       list_has(filter->tids, filter->n_tids, trace->tid) &&
	       comm_wanted(filter, trace->comm);
}

/* ---- late weights ------------------------------------------------------------ */

static int by_sample(const void *a, const void *b)
{
	const struct weight *left = a, *right = b;

	return (left->sample > right->sample) - (left->sample < right->sample);
}

static struct reel_error *add_weight(struct reel_traces *traces, size_t *capacity,
				     const struct reel_record_sample_weight *record)
{
	if (traces->n_weights == *capacity) {
		size_t more = *capacity ? *capacity * 2 : 256;
		struct weight *weights = reallocarray(traces->weights, more, sizeof(*weights));

		if (!weights)
			return reel_error_no_memory();
		traces->weights = weights;
		*capacity = more;
	}
	traces->weights[traces->n_weights++] = (struct weight){ record->sample, record->weight };
	return NULL;
}

/*
 * A weight may stand in a later block than its sample, so they are collected
 * first; only captures with an event that says so pay for the extra pass.
 */
static struct reel_error *read_weights(struct reel_traces *traces)
{
	size_t n_blocks, capacity = 0;
	const struct reel_block *blocks = reel_reader_blocks(traces->capture->reader, &n_blocks);

	for (size_t i = 0; i < n_blocks; i++) {
		struct reel_block_item item;
		struct reel_error *error;

		if (blocks[i].header.type != REEL_BLOCK_SAMPLES)
			continue;
		error = reel_block_reader_load(traces->block_reader, &blocks[i]);
		while (!error) {
			error = reel_block_reader_next(traces->block_reader, &item);
			if (error || item.kind == REEL_ITEM_END)
				break;
			if (item.kind == REEL_ITEM_RECORD &&
			    item.record.id == REEL_RECORD_SAMPLE_WEIGHT)
				error = add_weight(traces, &capacity, &item.record.sample_weight);
		}
		/* The pass over the samples meets the damage again, and reports it. */
		if (error && reel_error_code(error) == REEL_ERROR_NO_MEMORY)
			return error;
		reel_error_destroy(error);
	}
	if (traces->n_weights)
		qsort(traces->weights, traces->n_weights, sizeof(*traces->weights), by_sample);
	return NULL;
}

static uint64_t weight_of(const struct reel_traces *traces, const struct reel_sample *sample)
{
	struct weight key = { .sample = sample->id };
	const struct weight *found = NULL;

	if (traces->n_weights)
		found = bsearch(&key, traces->weights, traces->n_weights, sizeof(key), by_sample);
	return found ? found->weight : sample->weight;
}

/* ---- the iterator --------------------------------------------------------------- */

struct reel_error *reel_traces_create(struct reel_capture *capture,
				      const struct reel_filter *filter, struct reel_traces **ret)
{
	struct reel_traces *traces = calloc(1, sizeof(*traces));
	struct reel_error *error;
	size_t n_arches = 0;

	if (!traces)
		return reel_error_no_memory();
	traces->capture = capture;
	while (reel_arch_all[n_arches])
		n_arches++;
	traces->n_programs = n_arches;
	traces->programs = calloc(n_arches + 1, sizeof(*traces->programs));
	traces->code_map = calloc(1, sizeof(*traces->code_map));
	error = traces->programs && traces->code_map ? NULL : reel_error_no_memory();
	if (!error)
		error = reel_block_reader_create(capture->reader, &traces->block_reader);
	if (!error)
		error = copy_filter(traces, filter);
	if (!error && capture->late_weights)
		error = read_weights(traces);
	if (error) {
		reel_traces_destroy(traces);
		return error;
	}
	traces->code_map->modules = capture->modules;
	*ret = traces;
	return NULL;
}

void reel_traces_destroy(struct reel_traces *traces)
{
	if (!traces)
		return;
	for (size_t i = 0; traces->programs && i < traces->n_programs; i++)
		reel_unwind_programs_destroy(traces->programs[i]);
	free(traces->programs);
	if (traces->code_map)
		reel_error_destroy(traces->code_map->error);
	free(traces->code_map);
	reel_block_reader_destroy(traces->block_reader);
	reel_unwind_frames_free(&traces->unwound);
	free((void *)traces->filter.pids);
	free((void *)traces->filter.tids);
	free((void *)traces->filter.cpus);
	free((void *)traces->filter.comms);
	free(traces->weights);
	free(traces->frames);
	free(traces->addresses);
	free(traces->steps);
	free(traces);
}

static struct reel_error *reserve_frames(struct reel_traces *traces, size_t n)
{
	size_t capacity = traces->capacity ? traces->capacity : 256;
	const struct reel_frame **frames;
	uint64_t *addresses;
	uint8_t *steps;

	if (n <= traces->capacity)
		return NULL;
	while (capacity < n)
		capacity *= 2;
	frames = reallocarray(traces->frames, capacity, sizeof(*frames));
	if (frames)
		traces->frames = frames;
	addresses = reallocarray(traces->addresses, capacity, sizeof(*addresses));
	if (addresses)
		traces->addresses = addresses;
	steps = reallocarray(traces->steps, capacity, sizeof(*steps));
	if (steps)
		traces->steps = steps;
	if (!frames || !addresses || !steps)
		return reel_error_no_memory();
	traces->capacity = capacity;
	return NULL;
}

static struct reel_error *append_chain(struct reel_traces *traces,
				       const struct reel_frame_chain *chain, uint64_t address,
				       uint8_t step)
{
	size_t n = traces->trace.n_frames;
	struct reel_error *error = reserve_frames(traces, n + chain->n);

	if (error)
		return error;
	for (size_t i = 0; i < chain->n; i++) {
		traces->frames[n + i] = chain->frames[i];
		traces->addresses[n + i] = address;
		traces->steps[n + i] = step;
	}
	traces->trace.n_frames += chain->n;
	return NULL;
}

static struct reel_error *add_kernel_frames(struct reel_traces *traces,
					    const struct reel_sample *sample)
{
	struct reel_frame_chain chain = { .is_interrupt = true };

	for (size_t i = 0; i < sample->n_kernel_chain; i++) {
		uint64_t address = sample->kernel_chain[i];
		struct reel_error *error;

		error = reel_frame_table_kernel(traces->capture->frames, sample->time, address,
						chain.is_interrupt ? address : address - 1, &chain);
		if (!error)
			error = append_chain(traces, &chain, address, REEL_STEP_KERNEL);
		if (error)
			return error;
	}
	traces->trace.n_kernel_frames = traces->trace.n_frames;
	return NULL;
}

static struct reel_error *add_user_frames(struct reel_traces *traces)
{
	const struct reel_unwind_frames *unwound = &traces->unwound;

	for (size_t i = 0; i < unwound->n; i++) {
		const struct reel_code_range *range =
			reel_code_map_find(traces->code_map, unwound->lookups[i]);
		struct reel_frame_chain chain;
		struct reel_error *error;

		if (range->module)
			range->module->frames++;
		error = reel_frame_table_user(traces->capture->frames, range, unwound->addresses[i],
					      unwound->lookups[i], &chain);
		if (!error)
			error = append_chain(traces, &chain, unwound->addresses[i],
					     unwound->steps[i]);
		if (error)
			return error;
	}
	return NULL;
}

/* ---- unwinding a sample --------------------------------------------------------- */

static void set_registers(struct reel_unwind_state *state, const struct reel_sample *sample)
{
	for (size_t i = 0; i < sample->layout->n_slots; i++) {
		uint8_t slot = reel_arch_slot(state->arch, sample->layout->slots[i].dwarf);

		if (slot == REEL_ARCH_NO_SLOT || !(sample->known[i / 8] >> i % 8 & 1))
			continue;
		state->registers[slot] = sample->values[i];
		state->known |= (uint64_t)1 << slot;
	}
	state->pc = sample->pc;
}

/* format/'s regions are the unwinder's, but for the struct's name. */
static size_t set_regions(struct reel_memory_region *regions, const struct reel_sample *sample)
{
	_Static_assert(sizeof(struct reel_memory_range) == sizeof(struct reel_range) &&
			       offsetof(struct reel_memory_range, size) ==
				       offsetof(struct reel_range, size),
		       "missing ranges are passed on as they are");
	for (size_t i = 0; i < sample->n_regions; i++)
		regions[i] = (struct reel_memory_region){
			.address = sample->regions[i].address,
			.size = sample->regions[i].size,
			.bytes = sample->regions[i].bytes,
			.missing = (const struct reel_memory_range *)sample->regions[i].missing,
			.n_missing = sample->regions[i].n_missing,
		};
	return sample->n_regions;
}

static struct reel_error *programs_of(struct reel_traces *traces, const struct reel_arch *arch,
				      const struct reel_unwind_programs **ret)
{
	struct reel_unwind_programs **programs = &traces->programs[arch_index(arch)];
	struct reel_error *error = *programs ? NULL : reel_unwind_programs_create(arch, programs);

	*ret = *programs;
	return error;
}

static const struct reel_arch *arch_of(const struct reel_capture *capture,
				       const struct reel_space_state *space)
{
	if (space && space->machine)
		return reel_arch_by_machine((uint16_t)space->machine, (unsigned)space->word_bits);
	return reel_arch_by_machine(capture->machine, capture->word_bits);
}

static struct reel_error *stop_unknown_cpu(struct reel_traces *traces,
					   const struct reel_space_state *space)
{
	struct reel_capture *capture = traces->capture;
	bool of_space = space && space->machine;

	traces->trace.stop = REEL_STOP_UNKNOWN_CPU;
	return reel_capture_add_problem(
		capture,
		reel_error_create(REEL_ERROR_UNSUPPORTED,
				  "%s: this version can't unwind programs for ELF machine %u of "
				  "%u bits: their samples have no user frames",
				  reel_reader_name(capture->reader),
				  of_space ? (unsigned)space->machine : capture->machine,
				  of_space ? (unsigned)space->word_bits : capture->word_bits));
}

static struct reel_error *unwind_sample(struct reel_traces *traces,
					const struct reel_sample *sample,
					const struct reel_space_state *space)
{
	const struct reel_capture *capture = traces->capture;
	const struct reel_arch *arch = arch_of(capture, space);
	const struct reel_unwind_programs *programs;
	struct reel_memory_region regions[REEL_REGIONS_MAX];
	struct reel_memory_view memory = {
		.regions = regions,
		.big_endian = space && space->byte_order ? space->byte_order == REEL_BYTE_ORDER_BIG
							 : capture->info.big_endian,
		.read_other = reel_code_map_read,
		.context = traces->code_map,
	};
	struct reel_unwind_state state = { .arch = arch, .memory = &memory };
	struct reel_unwind_input input = {
		.arch = arch,
		.code_mask = space ? space->code_mask : 0,
		.memory = &memory,
		.find_code = reel_code_map_find_code,
		.context = traces->code_map,
		/* Other recorders do not tell; then the instruction in front of pc does. */
		.after_syscall =
			sample->where == REEL_WHERE_SYSCALL || sample->where == REEL_WHERE_UNKNOWN,
		.no_frame_pointers = capture->options.no_frame_pointers,
		.stack_cut = sample->flags & REEL_SAMPLE_STACK_CUT,
		.max_frames = capture->options.max_frames,
	};
	struct reel_error *error;

	traces->unwound.n = 0;
	traces->trace.stop = REEL_STOP_NO_USER_STATE;
	if (!(sample->layout || sample->n_frame_chain))
		return NULL;
	if (!arch)
		return stop_unknown_cpu(traces, space);
	reel_code_map_set_space(
		traces->code_map,
		reel_timeline_view(capture->timeline, space ? space->id : 0, sample->time), arch);
	error = programs_of(traces, arch, &programs);
	if (error)
		return error;
	if (sample->layout)
		set_registers(&state, sample);
	if (!sample->n_regions && sample->n_frame_chain) {
		error = reel_unwind_recorded(&input, programs, &state, sample->frame_chain,
					     sample->n_frame_chain, &traces->unwound,
					     &traces->trace.stop);
	} else {
		memory.n_regions = set_regions(regions, sample);
		error = reel_unwind_trace(&input, programs, &state, &traces->unwound,
					  &traces->trace.stop);
		/* The task is past its end: its memory is gone, and its registers say only where
		 * it left. */
		if (!sample->n_regions && traces->trace.stop == REEL_STOP_STACK_END)
			traces->trace.stop = REEL_STOP_NO_USER_STATE;
	}
	if (!error && traces->code_map->error) {
		error = traces->code_map->error;
		traces->code_map->error = NULL;
	}
	return error;
}

/* Everything of a trace but its frames. */
static void describe_sample(struct reel_traces *traces, const struct reel_sample *sample,
			    const struct reel_space_state *space)
{
	const struct reel_timeline *timeline = traces->capture->timeline;
	const struct reel_thread_state *thread = reel_timeline_thread(timeline, sample->thread);

	traces->trace = (struct reel_trace){
		.id = sample->id,
		.time = sample->time,
		.weight = weight_of(traces, sample),
		.event = (uint32_t)sample->event,
		.cpu = (uint32_t)sample->cpu,
		.pid = space ? (uint32_t)space->pid : 0,
		.tid = thread ? (uint32_t)thread->tid : 0,
		.namespace_pid = space ? (uint32_t)space->namespace_pid : 0,
		.namespace_tid = thread ? (uint32_t)thread->namespace_tid : 0,
		.thread = sample->thread,
		.comm = reel_timeline_thread_comm(timeline, sample->thread, sample->time),
		.where = (enum reel_where)sample->where,
		.stack_cut = sample->flags & REEL_SAMPLE_STACK_CUT,
	};
	if (sample->n_regions) {
		traces->trace.frame_chain = sample->frame_chain;
		traces->trace.n_frame_chain = sample->n_frame_chain;
		traces->trace.frame_chain_cut = sample->flags & REEL_SAMPLE_FRAME_CHAIN_CUT;
	}
}

/* *wanted_ret: the filter lets it pass, and traces->trace is it. */
static struct reel_error *take_sample(struct reel_traces *traces, const struct reel_sample *sample,
				      bool *wanted_ret)
{
	const struct reel_timeline *timeline = traces->capture->timeline;
	const struct reel_space_state *space = reel_timeline_space(
		timeline, reel_timeline_thread_space(timeline, sample->thread, sample->time));
	struct reel_error *error;

	describe_sample(traces, sample, space);
	*wanted_ret = wanted(traces);
	if (!*wanted_ret)
		return NULL;
	error = add_kernel_frames(traces, sample);
	if (!error)
		error = unwind_sample(traces, sample, space);
	if (!error)
		error = add_user_frames(traces);
	traces->trace.frames = traces->frames;
	traces->trace.addresses = traces->addresses;
	traces->trace.steps = traces->steps;
	return error;
}

/* Loads the next sample block; false behind the last one. */
static struct reel_error *load_block(struct reel_traces *traces, bool *ret)
{
	struct reel_capture *capture = traces->capture;
	size_t n_blocks;
	const struct reel_block *blocks = reel_reader_blocks(capture->reader, &n_blocks);

	while (traces->block < n_blocks) {
		const struct reel_block *block = &blocks[traces->block++];
		struct reel_error *error;

		if (block->header.type != REEL_BLOCK_SAMPLES ||
		    block->header.time_first > traces->to || block->header.time_last < traces->from)
			continue;
		if (capture->options.progress)
			capture->options.progress(capture->options.progress_context, block->offset,
						  capture->info.file_size);
		error = reel_block_reader_load(traces->block_reader, block);
		if (!error) {
			traces->loaded = true;
			*ret = true;
			return NULL;
		}
		error = reel_capture_add_problem(capture, error);
		if (error)
			return error;
	}
	*ret = false;
	return NULL;
}

struct reel_error *reel_traces_next(struct reel_traces *traces, const struct reel_trace **ret)
{
	*ret = NULL;
	for (;;) {
		struct reel_block_item item;
		struct reel_error *error;
		bool found = true;

		if (!traces->loaded) {
			error = load_block(traces, &found);
			if (error || !found)
				return error;
		}
		error = reel_block_reader_next(traces->block_reader, &item);
		if (error || item.kind == REEL_ITEM_END) {
			traces->loaded = false;
			error = reel_capture_end_block(traces->capture, traces->block_reader,
						       error);
			if (error)
				return error;
			continue;
		}
		if (item.kind != REEL_ITEM_SAMPLE)
			continue;
		error = take_sample(traces, &item.sample, &found);
		if (error)
			return error;
		if (found) {
			*ret = &traces->trace;
			return NULL;
		}
	}
}

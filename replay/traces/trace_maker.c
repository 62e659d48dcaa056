/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/array.h"
#include "replay/traces/kept_values.h"
#include "replay/traces/sample_unwinder.h"
#include "replay/traces/previous_trace.h"
#include "replay/traces/runtime_order.h"
#include "replay/traces/trace_maker.h"
#include "replay/traces/trace_values.h"

/* Frames by address in one state of a space: most of a block's are found here. */
struct cached_frames {
	uint64_t generation; /* reel_space_view's; 0: empty */
	uint32_t moment;     /* reel_space_view's, if a JIT may name it; else 0 */
	uint64_t address, lookup;
	const void *code, *next_code; /* reel_space_view's... */
	bool by_code;		      /* ...if they decided */
	struct reel_address_frames found;
};

#define NAMED_BITS 12

/* The same of an interpreter's functions. */
struct cached_function {
	uint64_t runtime, function, position;
	struct reel_address_frames found; /* empty: nothing is cached */
};

struct reel_trace_maker {
	const struct reel_capture *capture;
	const struct reel_sample_filter *filter;
	struct reel_block_reader *block_reader;
	struct reel_sample_unwinder *unwinder;
	struct reel_code_map *code_map;		  /* the unwinder's */
	const struct reel_unwind_frames *unwound; /* the unwinder's */
	/* For the new frames of `unwound`. */
	struct reel_address_frames *new_frames;
	size_t new_capacity;
	struct cached_frames cached[1 << NAMED_BITS];
	struct cached_function cached_functions[1 << NAMED_BITS];
	struct reel_runtime_order order;

	struct reel_previous_traces previous_traces;
	/* Numbers of the current block and batch, counted from 1. */
	uint64_t block, batch;
	const struct reel_block *to_load;

	/* Number of frames of the batch by module, and the modules with frames. */
	uint64_t *counts;
	size_t *counted, n_counted;
	/* The trace being made. */
	struct reel_trace trace;
	struct reel_trace_labels labels;
	struct reel_trace_values *values; /* NULL: none are wanted */
	uint64_t *sps;			  /* its stack_pointers, if they are wanted */
	size_t n_sps, sps_capacity;
	const struct reel_origin_capture *origin; /* of its sample */
	/* Already reported ELF machines, of 32 bits and of others: bits by number. */
	uint8_t unknown_cpus[2][(UINT16_MAX + 1) / 8];
};

struct reel_error *reel_trace_maker_create(const struct reel_capture *capture,
					   const struct reel_sample_filter *filter,
					   struct reel_trace_maker **ret)
{
	struct reel_trace_maker *maker = calloc(1, sizeof(*maker));
	size_t n_modules = reel_modules_count(capture->modules);
	struct reel_error *error;

	if (!maker)
		return reel_error_no_memory();
	maker->capture = capture;
	maker->filter = filter;
	maker->counts = calloc(n_modules + 1, sizeof(*maker->counts));
	maker->counted = calloc(n_modules + 1, sizeof(*maker->counted));
	error = maker->counts && maker->counted ? NULL : reel_error_no_memory();
	if (!error)
		error = reel_sample_unwinder_create(capture, &maker->unwinder);
	if (!error)
		error = reel_block_reader_create(capture->reader, &maker->block_reader);
	if (!error && filter->lists.n_values)
		error = reel_trace_values_create(filter->lists.values, filter->lists.n_values,
						 maker->unwinder, &maker->values);
	if (error) {
		reel_trace_maker_destroy(maker);
		return error;
	}
	maker->code_map = reel_sample_unwinder_code_map(maker->unwinder);
	*ret = maker;
	return NULL;
}

void reel_trace_maker_destroy(struct reel_trace_maker *maker)
{
	if (!maker)
		return;
	reel_trace_values_destroy(maker->values);
	reel_sample_unwinder_destroy(maker->unwinder);
	reel_block_reader_destroy(maker->block_reader);
	reel_previous_traces_free(&maker->previous_traces);
	reel_trace_labels_free(&maker->labels);
	reel_runtime_order_free(&maker->order);
	free(maker->new_frames);
	free(maker->sps);
	free(maker->counts);
	free(maker->counted);
	free(maker);
}

/* ---- counts ----------------------------------------------------------------------- */

static void count_frames(struct reel_trace_maker *maker, size_t module, uint64_t frames)
{
	if (module == REEL_NO_MODULE || !frames)
		return;
	if (!maker->counts[module])
		maker->counted[maker->n_counted++] = module;
	maker->counts[module] += frames;
}

static struct reel_error *flush_counts(struct reel_trace_maker *maker, struct reel_batch *batch)
{
	struct reel_error *error = NULL;

	while (maker->n_counted) {
		size_t module = maker->counted[--maker->n_counted];

		if (!error)
			error = reel_batch_add_count(batch, module, maker->counts[module]);
		maker->counts[module] = 0;
	}
	return error;
}

/* ---- names ------------------------------------------------------------------------ */

static struct reel_error *append_frames(struct reel_batch *batch,
					const struct reel_address_frames *found, uint64_t address,
					uint8_t step)
{
	size_t n = batch->n_frames;

	TRY(reel_batch_reserve_frames(batch, found->n));
	for (size_t i = 0; i < found->n; i++) {
		batch->frames[n + i] = found->frames[i];
		batch->addresses[n + i] = address;
		batch->steps[n + i] = step;
	}
	batch->n_frames += found->n;
	return NULL;
}

static struct reel_error *add_kernel_frames(struct reel_trace_maker *maker,
					    const struct reel_sample *sample,
					    struct reel_batch *batch)
{
	struct reel_address_frames found = { .is_interrupt = true };
	size_t before = batch->n_frames;

	for (size_t i = 0; i < sample->n_kernel_chain; i++) {
		uint64_t address = sample->kernel_chain[i];

		TRY(reel_frame_table_kernel(maker->capture->frames, maker->origin, sample->time,
					    address, found.is_interrupt ? address : address - 1,
					    &found));
		TRY(append_frames(batch, &found, address, REEL_STEP_KERNEL));
		count_frames(maker, found.module, 1);
	}
	maker->trace.n_kernel_frames = batch->n_frames - before;
	return NULL;
}

static struct reel_error *name_address(struct reel_trace_maker *maker, uint64_t address,
				       uint64_t lookup, struct reel_address_frames *ret)
{
	uint64_t generation = maker->code_map->view.generation;
	uint64_t hash = (address ^ generation << 32) * 0x9e3779b97f4a7c15;
	struct cached_frames *cached = &maker->cached[hash >> (64 - NAMED_BITS)];
	const struct reel_space_view *view = &maker->code_map->view;
	const struct reel_code_range *range;
	struct reel_error *error;
	bool is_jit;

	if (cached->address == address && cached->lookup == lookup &&
	    cached->generation == generation && generation &&
	    (!cached->moment || cached->moment == view->moment) &&
	    (!cached->by_code ||
	     (cached->code == view->code && cached->next_code == view->next_code))) {
		*ret = cached->found;
		return NULL;
	}
	range = reel_code_map_find(maker->code_map, lookup);
	is_jit = reel_code_range_may_be_jit(range);
	error = reel_frame_table_user(maker->capture->frames, range, is_jit ? view : NULL,
				      reel_code_map_jit_program(maker->code_map, range), address,
				      lookup, ret);
	if (!error)
		*cached = (struct cached_frames){
			generation,	 is_jit ? view->moment : 0, address, lookup, view->code,
			view->next_code, range->is_compared,	    *ret
		};
	return error;
}

static struct reel_error *name_frames(struct reel_trace_maker *maker, size_t n)
{
	static const char gap[] = "[part of the stack was not kept]";
	const struct reel_unwind_frames *unwound = maker->unwound;

	TRY(REEL_FIT(maker->new_frames, n, maker->new_capacity));
	for (size_t i = 0; i < n; i++)
		TRY(unwound->steps[i] == REEL_STEP_GAP
			    ? reel_frame_table_text(maker->capture->frames, gap,
						    &maker->new_frames[i])
			    : name_address(maker, unwound->addresses[i], unwound->lookups[i],
					   &maker->new_frames[i]));
	return NULL;
}

/* ---- stacks ------------------------------------------------------------------------- */

/* The sp of `n` more frames. */
static struct reel_error *append_sp(struct reel_trace_maker *maker, size_t n, uint64_t sp)
{
	if (!maker->filter->lists.filter.stacks)
		return NULL;
	while (n--) {
		TRY(REEL_APPEND(maker->sps, maker->n_sps, maker->sps_capacity, sp));
	}
	return NULL;
}

/* The sps of the frames that add_user_frames added. */
static struct reel_error *append_user_sps(struct reel_trace_maker *maker,
					  const struct reel_previous_trace *previous)
{
	const struct reel_unwind_frames *unwound = maker->unwound;

	if (!maker->filter->lists.filter.stacks)
		return NULL;
	for (size_t i = 0; i < unwound->n; i++) {
		size_t from_root = unwound->n - 1 - i;
		size_t before = from_root ? previous->named[from_root - 1] : 0;

		TRY(append_sp(maker, previous->named[from_root] - before, unwound->sps[i]));
	}
	return NULL;
}

/* The recorder takes a stack below the start of the main thread's for that one if it is closer
 * (bpf/stacks/regions.h). */
#define MAIN_STACK_MAX ((uint64_t)64 << 20)

/* The sample's stack and, if it was cut or has Ruby's own stack between its frames, its far end,
 * which is the last region. */
static uint64_t live_stack_size(const struct reel_sample *sample, uint64_t sp, bool *is_minimum_ret)
{
	const struct reel_region *first = &sample->regions[0],
				 *last = &sample->regions[sample->n_regions - 1];
	uint64_t end = first->address + first->size;

	*is_minimum_ret = sample->flags & (REEL_SAMPLE_STACK_CUT | REEL_SAMPLE_TOP_UNKNOWN);
	if (sp < first->address || sp > end)
		return 0;
	/* A region far away is the main thread's stack, of a thread on another one. */
	if (last != first && last->kind == first->kind && last->address >= end &&
	    last->address + last->size - sp < MAIN_STACK_MAX) {
		*is_minimum_ret = false;
		end = last->address + last->size;
	}
	return end - sp;
}

static void describe_stack(struct reel_trace_maker *maker, const struct reel_sample *sample)
{
	const struct reel_unwind_frames *unwound = maker->unwound;
	struct reel_trace *trace = &maker->trace;

	trace->stack_pointers = NULL;
	trace->stack_size = 0;
	trace->stack_size_is_minimum = false;
	if (!sample->n_regions || !unwound->n || !unwound->sps[0])
		return;
	if (maker->filter->lists.filter.stacks)
		trace->stack_pointers = maker->sps;
	trace->stack_size = live_stack_size(sample, unwound->sps[0], &trace->stack_size_is_minimum);
	for (size_t i = 0; i < sample->n_regions; i++) {
		const struct reel_region *region = &sample->regions[i];

		if ((region->kind != REEL_REGION_INTERRUPTED_STACK &&
		     region->kind != REEL_REGION_OTHER_STACK) ||
		    region->size <= trace->stack_size)
			continue;
		trace->stack_size = region->size;
		trace->stack_size_is_minimum =
			sample->flags & (REEL_SAMPLE_STACK_CUT | REEL_SAMPLE_TOP_UNKNOWN);
	}
}

/* ---- frames ----------------------------------------------------------------------- */

/* The number of unwound frames, from the root on, in common with the thread's previous trace. */
static size_t count_common(const struct reel_trace_maker *maker,
			   const struct reel_previous_trace *previous)
{
	if (previous->block != maker->block ||
	    previous->generation != maker->code_map->view.generation ||
	    previous->code != maker->code_map->view.code ||
	    previous->next_code != maker->code_map->view.next_code ||
	    previous->moment != maker->code_map->view.moment)
		return 0;
	return reel_previous_trace_common(previous, maker->unwound);
}

/* Makes this trace the previous one: its frames are named, and `n_common` are already there. */
static struct reel_error *keep_frames(struct reel_trace_maker *maker,
				      struct reel_previous_trace *previous, size_t n_common)
{
	const struct reel_unwind_frames *unwound = maker->unwound;
	struct reel_error *error;

	error = reel_previous_trace_cut(&maker->previous_traces, previous, n_common, unwound->n);
	for (size_t i = unwound->n - n_common; i-- > 0 && !error;)
		error = reel_previous_trace_add(previous, unwound, i, maker->new_frames[i].module,
						maker->new_frames[i].n);
	previous->block = error ? 0 : maker->block;
	previous->generation = maker->code_map->view.generation;
	previous->code = maker->code_map->view.code;
	previous->next_code = maker->code_map->view.next_code;
	previous->moment = maker->code_map->view.moment;
	return error;
}

static void count_previous(struct reel_trace_maker *maker,
			   const struct reel_previous_trace *previous)
{
	size_t begin = 0;

	for (size_t i = 0; i < previous->n_runs; i++) {
		count_frames(maker, previous->runs[i].module, previous->runs[i].end - begin);
		begin = previous->runs[i].end;
	}
}

/*
 * Names the unwound frames that are not in the thread's previous trace, and adds them to the batch.
 * The others are already named; they are added again unless they are already in the batch.
 */
static struct reel_error *add_user_frames(struct reel_trace_maker *maker,
					  struct reel_previous_trace *previous,
					  struct reel_batch *batch, size_t *n_shared_ret)
{
	const struct reel_unwind_frames *unwound = maker->unwound;
	size_t n_common = count_common(maker, previous), n_new;

	/* Batches do not refer to each other's frames. */
	if (n_common && previous->batch != maker->batch) {
		batch->n_repeated += previous->named[n_common - 1];
		n_common = 0;
	}
	n_new = unwound->n - n_common;
	TRY(name_frames(maker, n_new));
	for (size_t i = 0; i < n_new; i++)
		TRY(append_frames(batch, &maker->new_frames[i], unwound->addresses[i],
				  unwound->steps[i]));
	TRY(keep_frames(maker, previous, n_common));
	count_previous(maker, previous);
	*n_shared_ret = n_common ? previous->named[n_common - 1] : 0;
	return append_user_sps(maker, previous);
}

/* ---- frames of interpreters ---------------------------------------------------------- */

static struct reel_error *name_function(struct reel_trace_maker *maker, uint64_t runtime,
					const struct reel_runtime_frame *frame,
					struct reel_address_frames *ret)
{
	const struct reel_capture *capture = maker->capture;
	uint64_t hash = (frame->position ^ frame->function << 32) * 0x9e3779b97f4a7c15;
	struct cached_function *cached = &maker->cached_functions[hash >> (64 - NAMED_BITS)];
	const struct reel_runtime_function *function;

	if (!cached->found.n || cached->function != frame->function ||
	    cached->position != frame->position || cached->runtime != runtime) {
		function = reel_runtime_functions_find(&capture->functions, frame->function);
		cached->found.n = 0;
		TRY(reel_frame_table_runtime(
			capture->frames, runtime, function,
			function ? reel_runtime_function_line(function, frame->position) : 0,
			&cached->found));
		cached->runtime = runtime;
		cached->function = frame->function;
		cached->position = frame->position;
	}
	*ret = cached->found;
	return NULL;
}

/* Like add_user_frames, but nothing is shared with the thread's previous trace. */
static struct reel_error *add_runtime_frames(struct reel_trace_maker *maker,
					     const struct reel_sample *sample,
					     struct reel_previous_trace *previous,
					     struct reel_batch *batch)
{
	const struct reel_unwind_frames *unwound = maker->unwound;
	struct reel_runtime_order *order = &maker->order;

	TRY(name_frames(maker, unwound->n));
	TRY(reel_runtime_order_make(order, sample, unwound, maker->new_frames,
				    maker->trace.stop == REEL_STOP_ROOT,
				    maker->capture->options.common.runtimes == REEL_RUNTIMES_ONLY));
	for (size_t i = 0; i < unwound->n; i++)
		count_frames(maker, maker->new_frames[i].module, 1);
	for (size_t i = 0; i < order->n; i++) {
		size_t index = order->frames[i].index;
		struct reel_address_frames found;

		if (order->frames[i].is_runtime) {
			TRY(name_function(maker, sample->runtime, &sample->runtime_frames[index],
					  &found));
			TRY(append_frames(batch, &found, 0, REEL_STEP_RUNTIME));
			TRY(append_sp(maker, found.n, 0));
		} else {
			TRY(append_frames(batch, &maker->new_frames[index],
					  unwound->addresses[index], unwound->steps[index]));
			TRY(append_sp(maker, maker->new_frames[index].n, unwound->sps[index]));
		}
	}
	previous->block = 0;
	return NULL;
}

/* ---- samples ------------------------------------------------------------------------ */

/* Reports one problem per kind of CPU; blocks are in the file's order, so in its first block. */
static struct reel_error *report_unknown_cpu(struct reel_trace_maker *maker,
					     const struct reel_space_state *space,
					     struct reel_batch *batch)
{
	const struct reel_capture *capture = maker->capture;
	bool of_space = space && space->machine;
	uint16_t machine = of_space ? (uint16_t)space->machine : capture->machine;
	unsigned bits = of_space ? (unsigned)space->word_bits : capture->word_bits;
	uint8_t *reported = &maker->unknown_cpus[bits == 32][machine / 8];

	if (*reported >> machine % 8 & 1)
		return NULL;
	*reported |= (uint8_t)(1 << machine % 8);
	return reel_batch_add_problem(
		batch, reel_error_create(REEL_ERROR_UNSUPPORTED,
					 "%s: cannot unwind programs for ELF machine %u, %u bits: "
					 "their samples have no user frames",
					 reel_reader_name(capture->reader), machine, bits));
}

/* Takes the first `n` addresses of a walk by frame pointers not used for the frames. */
static void set_frame_chain(struct reel_trace_maker *maker, const struct reel_sample *sample,
			    size_t n)
{
	if (n == sample->n_frame_chain)
		return;
	maker->trace.frame_chain = sample->frame_chain + n;
	maker->trace.n_frame_chain = sample->n_frame_chain - n;
	maker->trace.frame_chain_cut = sample->flags & REEL_SAMPLE_FRAME_CHAIN_CUT;
}

/* Values of variables in the frames of `unwound`, which are the trace's after kernel frames. */
static struct reel_error *add_values(struct reel_trace_maker *maker,
				     const struct reel_sample *sample,
				     const struct reel_space_state *space)
{
	size_t n = maker->unwound->n;

	if (reel_kept_values_exist(sample)) {
		TRY(name_frames(maker, n));
		return reel_trace_values_copy_kept(maker->values, sample, maker->new_frames, n,
						   &maker->trace);
	}
	if (!sample->n_regions || reel_sample_is_resolved(sample) ||
	    sample->flags & REEL_SAMPLE_SCRUBBED)
		return NULL;
	TRY(name_frames(maker, n));
	return reel_trace_values_make(maker->values, sample, space, maker->new_frames, n,
				      &maker->trace);
}

/* Adds the sample's trace if it passes the filter. */
static struct reel_error *make_trace(struct reel_trace_maker *maker,
				     const struct reel_sample *sample, struct reel_batch *batch)
{
	const struct reel_space_state *space = reel_sample_unwinder_space(maker->unwinder, sample);
	size_t own = batch->n_frames, n_shared = 0;
	struct reel_previous_trace *previous;
	uint32_t base;

	maker->origin = reel_origins_of_sample(maker->capture->origins, sample->id);
	TRY(reel_sample_describe(maker->capture, sample, space, maker->origin, &maker->labels,
				 &maker->trace));
	if (!reel_sample_filter_passes(maker->filter, &maker->trace) &&
	    !(maker->filter->waker_event && maker->filter->waker_event->id == maker->trace.event))
		return NULL;
	TRY(reel_previous_traces_get(&maker->previous_traces, sample->thread_index, &previous));
	TRY(add_kernel_frames(maker, sample, batch));
	maker->n_sps = 0;
	TRY(append_sp(maker, maker->trace.n_kernel_frames, 0));
	TRY(reel_sample_unwind(maker->unwinder, sample, space, &maker->unwound,
			       &maker->trace.stop));
	if (maker->trace.stop == REEL_STOP_UNKNOWN_CPU)
		TRY(report_unknown_cpu(maker, space, batch));
	if (sample->n_runtime_frames &&
	    maker->capture->options.common.runtimes != REEL_RUNTIMES_NATIVE)
		TRY(add_runtime_frames(maker, sample, previous, batch));
	else
		TRY(add_user_frames(maker, previous, batch, &n_shared));
	describe_stack(maker, sample);
	if (reel_sample_is_resolved(sample))
		set_frame_chain(maker, sample, reel_sample_unwinder_resolved(maker->unwinder));
	else if (sample->n_regions)
		set_frame_chain(maker, sample, 0);
	if (maker->values && !sample->n_runtime_frames)
		TRY(add_values(maker, sample, space));
	base = previous->trace;
	previous->batch = maker->batch;
	previous->trace = (uint32_t)batch->n_traces;
	return reel_batch_add_trace(batch, &maker->trace, own, base, n_shared);
}

/* ---- blocks ----------------------------------------------------------------------- */

void reel_trace_maker_start(struct reel_trace_maker *maker, const struct reel_block *block)
{
	maker->to_load = block;
	maker->block++;
}

/* Ends the block, with or without an error: damage and skipped records become problems. */
static struct reel_error *end_block(struct reel_trace_maker *maker, struct reel_error *error,
				    struct reel_batch *batch)
{
	size_t n;
	const struct reel_problem *problems = reel_block_reader_problems(maker->block_reader, &n);

	batch->n_samples += reel_block_reader_counts(maker->block_reader).samples;
	for (size_t i = 0; i < n; i++) {
		struct reel_error *problem = reel_batch_add_problem(
			batch, reel_error_create(problems[i].code, "%s", problems[i].message));

		if (problem) {
			reel_error_destroy(error);
			return problem;
		}
	}
	return error ? reel_batch_add_problem(batch, error) : NULL;
}

/* Whether the block's sample just read is one of the filter's share.  The golden ratio spreads them
 * evenly, without a period that the samples may have as well. */
static bool is_in_share(const struct reel_trace_maker *maker)
{
	uint64_t i = reel_block_reader_counts(maker->block_reader).samples;

	return !maker->filter->share || (uint32_t)(i * 0x9e3779b9) < maker->filter->share;
}

static bool head_passes(const struct reel_trace_maker *maker, const struct reel_sample *sample)
{
	const struct reel_timeline *timeline = maker->capture->timeline;
	const struct reel_space_state *space = reel_sample_unwinder_space(maker->unwinder, sample);
	const struct reel_thread_state *thread = reel_timeline_thread(timeline, sample->thread);

	return reel_sample_filter_head_passes(maker->filter, sample->time, (uint32_t)sample->cpu,
					      space ? (uint32_t)space->pid : 0,
					      thread ? (uint32_t)thread->tid : 0);
}

/*
 * Loads the block.  If no sample in it passes, it is read to its end by heads alone, without
 * decoding the stacks of all processes.  Otherwise, and after any problem, it is at its start.
 */
static struct reel_error *load_block(struct reel_trace_maker *maker, const struct reel_block *block)
{
	struct reel_block_reader *reader = maker->block_reader;
	struct reel_block_item item = { .kind = REEL_ITEM_SAMPLE };
	struct reel_error *error = NULL;
	bool passes = false;
	size_t n_problems;

	if (!reel_sample_filter_has_ids(maker->filter))
		return reel_block_reader_load(reader, block);
	TRY(reel_block_reader_load_heads(reader, block));
	while (!error && !passes && item.kind != REEL_ITEM_END) {
		error = reel_block_reader_next(reader, &item);
		passes =
			!error && item.kind == REEL_ITEM_SAMPLE && head_passes(maker, &item.sample);
	}
	(void)reel_block_reader_problems(reader, &n_problems);
	if (error || passes || n_problems)
		reel_block_reader_rewind(reader);
	reel_error_destroy(error);
	return NULL;
}

/* *more_ret: the batch is full before the end of the block. */
static struct reel_error *make_traces(struct reel_trace_maker *maker, struct reel_batch *batch,
				      bool *more_ret)
{
	struct reel_error *error = NULL;

	*more_ret = false;
	if (maker->to_load)
		error = load_block(maker, maker->to_load);
	maker->to_load = NULL;
	while (!error) {
		struct reel_block_item item;

		*more_ret = reel_batch_is_full(batch);
		if (*more_ret)
			return NULL;
		error = reel_block_reader_next(maker->block_reader, &item);
		if (error || item.kind == REEL_ITEM_END)
			break;
		if (item.kind == REEL_ITEM_SAMPLE && is_in_share(maker))
			TRY(make_trace(maker, &item.sample, batch));
	}
	return end_block(maker, error, batch);
}

bool reel_trace_maker_fill(struct reel_trace_maker *maker, struct reel_batch *batch)
{
	struct reel_error *error;
	bool more;

	maker->batch++;
	batch->error = make_traces(maker, batch, &more);
	error = flush_counts(maker, batch);
	if (batch->error)
		reel_error_destroy(error);
	else
		batch->error = error;
	return more && !batch->error;
}

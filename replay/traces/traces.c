/* SPDX-License-Identifier: Apache-2.0 */
/* Converts samples to traces in the file's order. */
#include <stdlib.h>

#include "base/sized.h"
#include "replay/traces/trace_workers.h"
#include "replay/traces/waker_join.h"
#include "host/system.h"

/* More threads would only wait for each other and for memory. */
#define THREADS_MAX 256

struct reel_traces {
	struct reel_capture *capture;
	struct reel_sample_filter filter;
	/* The sample blocks that may have samples passing the filter. */
	const struct reel_block **blocks;
	size_t n_blocks;
	bool has_all_blocks; /* of samples: the filter skips none */
	uint64_t n_samples;  /* read so far */

	/* One for each thread; without threads, the first one is this thread's. */
	struct reel_trace_maker **makers;
	size_t n_makers;
	struct reel_trace_workers *workers; /* NULL: no threads */
	bool started;
	/* Only without threads. */
	size_t next_block;
	bool more; /* of the previous block */
	struct reel_batch *own_batch;

	/* The position of the reader. */
	struct reel_batch *batch; /* NULL: none */
	uint32_t next_trace;
	bool ended;
	struct reel_batch_view view;
	struct reel_waker_join wakers;
};

/* ---- creation ------------------------------------------------------------------------ */

static size_t count_sample_blocks(const struct reel_capture *capture)
{
	size_t n, n_samples = 0;
	const struct reel_block *blocks = reel_reader_blocks(capture->reader, &n);

	for (size_t i = 0; i < n; i++)
		n_samples += blocks[i].header.type == REEL_BLOCK_SAMPLES;
	return n_samples;
}

static struct reel_error *choose_blocks(struct reel_traces *traces)
{
	const struct reel_walk_options *lists = &traces->filter.lists;
	size_t n, n_kept = 0, n_all = count_sample_blocks(traces->capture);
	double share;

	TRY(reel_capture_sample_blocks(traces->capture, traces->filter.from, traces->filter.to,
				       &traces->blocks, &n));
	for (size_t i = 0; i < n; i++)
		if (!lists->shards || i % lists->shards == lists->shard)
			traces->blocks[n_kept++] = traces->blocks[i];
	traces->n_blocks = n_kept;
	/* Blocks have about as many samples each. */
	share = (double)traces->capture->samples_max * (double)n_all /
		((double)traces->capture->info.samples * (double)n_kept);
	if (share < 1)
		traces->filter.share = (uint32_t)(share * UINT32_MAX);
	/* END counts the samples of all shards. */
	traces->has_all_blocks = !lists->shards && n == n_all;
	return NULL;
}

/* Creates one maker for each thread with work. */
static struct reel_error *create_makers(struct reel_traces *traces)
{
	size_t wanted = traces->capture->options.common.threads;

	if (!wanted)
		wanted = reel_system_cpus();
	if (wanted > THREADS_MAX)
		wanted = THREADS_MAX;
	if (wanted > traces->n_blocks)
		wanted = traces->n_blocks ? traces->n_blocks : 1;
	traces->makers = calloc(wanted, sizeof(*traces->makers));
	if (!traces->makers)
		return reel_error_no_memory();
	for (; traces->n_makers < wanted; traces->n_makers++)
		TRY(reel_trace_maker_create(traces->capture, &traces->filter,
					    &traces->makers[traces->n_makers]));
	return NULL;
}

static const struct reel_event_info *find_waker_event(const struct reel_capture *capture)
{
	for (size_t i = 0; i < capture->n_events; i++)
		if (!strcmp(capture->events[i].name, "waker"))
			return &capture->events[i];
	return NULL;
}

static struct reel_error *prepare(struct reel_capture *capture,
				  const struct reel_walk_options *options,
				  struct reel_traces *traces)
{
	TRY(reel_sample_filter_copy(options, &traces->filter));
	TRY(reel_capture_covering(capture, traces->filter.from, traces->filter.to,
				  &traces->capture));
	if (traces->filter.lists.wakers)
		traces->filter.waker_event = find_waker_event(traces->capture);
	TRY(choose_blocks(traces));
	TRY(create_makers(traces));
	return reel_batch_create(&traces->own_batch);
}

struct reel_error *reel_traces_create(struct reel_capture *capture,
				      const struct reel_filter *filter, struct reel_traces **ret)
{
	struct reel_walk_options options = { 0 };

	reel_sized_take(&options.filter, sizeof(options.filter), filter);
	return reel_traces_create_with(capture, &options, ret);
}

struct reel_error *reel_traces_create_with(struct reel_capture *capture,
					   const struct reel_walk_options *options,
					   struct reel_traces **ret)
{
	struct reel_traces *traces = calloc(1, sizeof(*traces));
	struct reel_error *error;

	if (!traces)
		return reel_error_no_memory();
	error = prepare(capture, options, traces);
	if (error) {
		reel_traces_destroy(traces);
		return error;
	}
	*ret = traces;
	return NULL;
}

void reel_traces_destroy(struct reel_traces *traces)
{
	if (!traces)
		return;
	if (traces->workers && traces->batch)
		reel_trace_workers_give_back(traces->workers, traces->batch);
	reel_trace_workers_destroy(traces->workers);
	for (size_t i = 0; i < traces->n_makers; i++)
		reel_trace_maker_destroy(traces->makers[i]);
	free(traces->makers);
	reel_batch_destroy(traces->own_batch);
	reel_batch_view_free(&traces->view);
	reel_waker_join_free(&traces->wakers);
	reel_sample_filter_free(&traces->filter);
	free(traces->blocks);
	free(traces);
}

/* ---- batches -------------------------------------------------------------------------- */

static void show_progress(const struct reel_traces *traces, size_t block)
{
	const struct reel_capture *capture = traces->capture;

	if (capture->options.progress)
		capture->options.progress(capture->options.progress_context,
					  traces->blocks[block]->offset, capture->info.file_size);
}

/* Makes the next batch on this thread; NULL after the last one. */
static struct reel_batch *make_batch(struct reel_traces *traces, size_t *block_ret)
{
	struct reel_trace_maker *maker = traces->makers[0];

	if (!traces->more) {
		if (traces->next_block == traces->n_blocks)
			return NULL;
		reel_trace_maker_start(maker, traces->blocks[traces->next_block++]);
	}
	reel_batch_clear(traces->own_batch);
	traces->more = reel_trace_maker_fill(maker, traces->own_batch);
	*block_ret = traces->next_block - 1;
	return traces->own_batch;
}

/* Moves the batch's data other than traces to the capture. */
static struct reel_error *move_findings(struct reel_capture *capture, struct reel_batch *batch)
{
	struct reel_error *error = NULL;

	pthread_mutex_lock(&capture->lock);
	for (size_t i = 0; i < batch->n_counts; i++)
		capture->module_frames[batch->counts[i].module] += batch->counts[i].frames;
	pthread_mutex_unlock(&capture->lock);
	for (size_t i = 0; i < batch->n_problems; i++) {
		if (error)
			reel_error_destroy(batch->problems[i]);
		else
			error = reel_capture_add_problem(capture, batch->problems[i]);
	}
	batch->n_problems = 0;
	return error;
}

static struct reel_error *start(struct reel_traces *traces)
{
	traces->started = true;
	if (traces->n_makers < 2)
		return NULL;
	return reel_trace_workers_create(traces->blocks, traces->n_blocks, traces->makers,
					 traces->n_makers, &traces->workers);
}

/* Continues with the next batch; traces->batch is NULL after the last. */
static struct reel_error *next_batch(struct reel_traces *traces)
{
	size_t block = 0;

	if (!traces->started)
		TRY(start(traces));
	reel_batch_view_reset(&traces->view);
	if (traces->workers && traces->batch)
		reel_trace_workers_give_back(traces->workers, traces->batch);
	traces->batch = NULL;
	traces->next_trace = 0;
	if (traces->workers)
		TRY(reel_trace_workers_next(traces->workers, &traces->batch, &block));
	else
		traces->batch = make_batch(traces, &block);
	if (!traces->batch)
		return NULL;
	show_progress(traces, block);
	traces->n_samples += traces->batch->n_samples;
	return move_findings(traces->capture, traces->batch);
}

/* ---- traces --------------------------------------------------------------------------- */

/* From the system call to the function: __futex_lll_wait, __lll_lock_wait, and one to spare. */
#define LOCK_FRAMES_MAX 6

/* pthread_mutex_lock, _timedlock, _clocklock, with prefixes such as ___ and __GI___ and suffixes
 * such as _full; __pthread_mutex_cond_lock takes the mutex back after a wait for a condition. */
static bool is_lock(const char *function)
{
	const char *operation = strstr(function, "pthread_mutex_");

	return operation && strstr(operation, "lock") && !strstr(operation, "unlock");
}

/*
 * Whether the thread is in a function of glibc that locks a mutex, whose futex has the owner after
 * it.  Other users of futexes (condition variables, read-write locks, Go, Rust) have other data
 * there.
 */
static bool is_locking_mutex(const struct reel_trace *trace)
{
	size_t end = trace->n_frames;

	if (end > trace->n_kernel_frames + LOCK_FRAMES_MAX)
		end = trace->n_kernel_frames + LOCK_FRAMES_MAX;
	for (size_t i = trace->n_kernel_frames; i < end; i++) {
		const struct reel_frame *frame = trace->frames[i];

		/* musl's mutexes are laid out differently. */
		if (frame->module_id != trace->frames[trace->n_kernel_frames]->module_id ||
		    strstr(frame->module_path, "musl"))
			return false;
		if (is_lock(frame->function))
			return true;
	}
	return false;
}

/*
 * Removes the owner of a lock that is no mutex of glibc.  False if a filter took the trace for that
 * label.
 */
static bool check_owner(struct reel_traces *traces)
{
	struct reel_trace *trace = &traces->view.trace;
	size_t n = 0;

	if (!reel_trace_label(trace, "lock-owner") || is_locking_mutex(trace))
		return true;
	for (size_t i = 0; i < trace->n_labels; i++)
		if (strcmp(trace->labels[i].key, "lock-owner"))
			traces->view.labels[n++] = trace->labels[i];
	trace->n_labels = n;
	return reel_sample_filter_passes(&traces->filter, trace);
}

/* *passes_ret: the trace was selected, and is not only another's waker. */
static struct reel_error *join_waker(struct reel_traces *traces, bool *passes_ret)
{
	struct reel_trace *trace = &traces->view.trace;

	*passes_ret = true;
	if (!traces->filter.waker_event)
		return NULL;
	if (trace->event != traces->filter.waker_event->id)
		return reel_waker_join_apply(&traces->wakers, traces->capture, trace);
	*passes_ret = reel_sample_filter_passes(&traces->filter, trace);
	return reel_waker_join_keep(&traces->wakers, trace);
}

struct reel_error *reel_traces_next(struct reel_traces *traces, const struct reel_trace **ret)
{
	struct reel_error *error = NULL;

	*ret = NULL;
	while (!traces->ended && !error) {
		struct reel_batch *batch = traces->batch;
		bool passes;

		if (batch && traces->next_trace < batch->n_traces) {
			error = reel_batch_view_set(&traces->view, batch, traces->next_trace++);
			if (error || !check_owner(traces))
				continue;
			error = join_waker(traces, &passes);
			if (error || !passes)
				continue;
			*ret = &traces->view.trace;
			return NULL;
		}
		if (batch && batch->error) {
			error = batch->error;
			batch->error = NULL;
			break;
		}
		error = next_batch(traces);
		traces->ended = !error && !traces->batch;
		if (traces->ended && traces->has_all_blocks)
			error = reel_capture_check_samples(traces->capture, traces->n_samples);
	}
	traces->ended |= error != NULL;
	return error;
}

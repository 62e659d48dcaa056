/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a capture of traces only: addresses, and images with their names. */
#include <stdlib.h>

#include "base/array.h"
#include "base/id_table.h"
#include "replay/rewrite/images.h"
#include "replay/rewrite/rewrite.h"

/* A future TRACE_STEPS record. */
struct steps {
	struct reel_id_entry by_hash;
	uint64_t id;
	uint32_t stop;
	uint32_t size;
	uint8_t bytes[];
};

struct resolve {
	struct reel_rewrite_job job;
	struct reel_images images;
	struct reel_sample_unwinder *unwinder;
	struct reel_scrubber *scrubber;
	struct reel_id_table known; /* struct steps, by a hash of them */
	struct steps **all;	    /* by id - 1 */
	size_t n, capacity;
	struct reel_buffer steps; /* of one sample */
	uint64_t *chain;
	size_t chain_capacity;
	struct reel_runtime_frame runtime_frames[REEL_RUNTIME_FRAMES_MAX];
};

/* ---- how frames were found ------------------------------------------------------------------ */

static struct reel_error *add_steps(struct resolve *resolve, const struct reel_buffer *bytes,
				    enum reel_stop stop, uint64_t key, struct steps **ret)
{
	struct steps *steps;

	if (resolve->n == REEL_TRACE_STEPS_MAX)
		return reel_error_create(
			REEL_ERROR_UNSUPPORTED,
			"too many different ways to unwind traces for one capture (2^20)");
	steps = malloc(sizeof(*steps) + bytes->size);
	if (!steps || !reel_array_reserve(&resolve->all, resolve->n, &resolve->capacity,
					  sizeof(struct steps *))) {
		free(steps);
		return reel_error_no_memory();
	}
	*steps = (struct steps){
		.by_hash.id = key, .id = resolve->n + 1, .stop = stop, .size = (uint32_t)bytes->size
	};
	if (bytes->size)
		memcpy(steps->bytes, bytes->bytes, bytes->size);
	resolve->all[resolve->n++] = steps;
	*ret = steps;
	return NULL;
}

/* The id of the record; if hashes collide, each sample gets a record of its own. */
static struct reel_error *find_steps(struct resolve *resolve,
				     const struct reel_unwind_frames *frames, enum reel_stop stop,
				     bool is_whole, uint64_t *ret)
{
	struct reel_buffer *bytes = &resolve->steps;
	struct steps *known, *added;
	uint64_t key;

	bytes->size = 0;
	reel_resolved_steps(frames, is_whole, bytes);
	if (bytes->failed)
		return reel_error_no_memory();
	key = reel_bytes_hash(REEL_HASH_BEGIN ^ stop,
			      (struct reel_bytes){ bytes->bytes, bytes->size });
	known = (struct steps *)reel_id_table_find(&resolve->known, key);
	if (known && known->stop == stop && known->size == bytes->size &&
	    (!known->size || !memcmp(known->bytes, bytes->bytes, known->size))) {
		*ret = known->id;
		return NULL;
	}
	TRY(add_steps(resolve, bytes, stop, key, &added));
	*ret = added->id;
	return known || reel_id_table_insert(&resolve->known, &added->by_hash)
		       ? NULL
		       : reel_error_no_memory();
}

/* ---- samples -------------------------------------------------------------------------------- */

/* A sample's walk by frame pointers beside its stack; it follows the trace in the chain. */
static size_t walk_of(const struct resolve *resolve, const struct reel_sample *sample,
		      const uint64_t **ret)
{
	size_t n = reel_sample_is_resolved(sample)
			   ? reel_sample_unwinder_resolved(resolve->unwinder)
		   : sample->n_regions ? 0
				       : sample->n_frame_chain;

	/* C does not allow NULL + 0. */
	*ret = n < sample->n_frame_chain ? sample->frame_chain + n : NULL;
	return sample->n_frame_chain - n;
}

/* Without a stack, native addresses lead nowhere: numbers of the trace's frames replace them. */
static void number_natives(struct resolve *resolve, const struct reel_unwind_frames *frames,
			   struct reel_sample *sample)
{
	if (reel_sample_is_resolved(sample))
		return;
	for (size_t i = 0; i < sample->n_runtime_frames; i++) {
		struct reel_runtime_frame *frame = &resolve->runtime_frames[i];
		size_t owner;

		*frame = sample->runtime_frames[i];
		if (!frame->native)
			continue;
		owner = reel_unwind_frames_find(frames, 0, frame->native);
		frame->native = owner < frames->n ? frames->n - owner : REEL_CHAIN_MAX + 1;
	}
	sample->runtime_frames = resolve->runtime_frames;
}

/*
 * Replaces the chain with the trace and drops stack and registers.  The rest is scrubbed, because a
 * trace may end at a word that is not a code address, and a walk may contain any words.
 */
static struct reel_error *resolve_sample(void *context, struct reel_rewrite_sample *rewritten)
{
	struct resolve *resolve = context;
	struct reel_sample *sample = &rewritten->sample;
	const struct reel_space_state *space =
		reel_sample_unwinder_space(resolve->unwinder, sample);
	const struct reel_unwind_frames *frames;
	const uint64_t *walk;
	enum reel_stop stop;
	size_t n_walk;
	uint64_t id;

	TRY(reel_sample_unwind(resolve->unwinder, sample, space, &frames, &stop));
	reel_images_use(&resolve->images, reel_sample_unwinder_code_map(resolve->unwinder), frames);
	if (frames->n > REEL_CHAIN_MAX)
		return reel_error_create(REEL_ERROR_INVALID,
					 "sample %llu has too many frames for a chain; use "
					 "--max-frames N with N up to %u",
					 (unsigned long long)sample->id, REEL_CHAIN_MAX);
	n_walk = walk_of(resolve, sample, &walk);
	if (n_walk > REEL_CHAIN_MAX - frames->n)
		n_walk = REEL_CHAIN_MAX - frames->n;
	TRY(REEL_FIT(resolve->chain, frames->n + n_walk, resolve->chain_capacity));
	TRY(find_steps(resolve, frames, stop, !n_walk, &id));
	number_natives(resolve, frames, sample);
	if (frames->n)
		memcpy(resolve->chain, frames->addresses, frames->n * sizeof(*resolve->chain));
	if (n_walk)
		memcpy(resolve->chain + frames->n, walk, n_walk * sizeof(*resolve->chain));
	sample->frame_chain = resolve->chain;
	sample->n_frame_chain = frames->n + n_walk;
	if (!(sample->flags & REEL_SAMPLE_SCRUBBED))
		TRY(reel_capture_scrub_sample(resolve->job.capture, resolve->scrubber, sample));
	sample->layout = NULL;
	sample->pc = 0;
	sample->n_regions = 0;
	sample->has_kernel_frame = false;
	sample->kernel_frame = (struct reel_kernel_frame){ 0 };
	sample->flags &= REEL_SAMPLE_STACK_CUT | REEL_SAMPLE_FRAME_CHAIN_CUT | REEL_SAMPLE_STATE;
	sample->flags |= REEL_SAMPLE_SCRUBBED | REEL_SAMPLE_RESOLVED;
	sample->steps = id;
	return NULL;
}

/* ---- records -------------------------------------------------------------------------------- */

/* Drops code and unwind information of JITs: traces no longer need them. */
static enum reel_rewrite_record drop_record(void *context, struct reel_record *record)
{
	(void)context;
	switch (record->id) {
	case REEL_RECORD_CODE:
	case REEL_RECORD_CODE_END:
	case REEL_RECORD_JIT_UNWIND:
	case REEL_RECORD_TRACE_STEPS:
		return REEL_REWRITE_DROP;
	default:
		return REEL_REWRITE_COPY;
	}
}

static struct reel_error *append_steps(void *context, struct reel_writer *writer,
				       uint64_t *n_records_ret)
{
	const struct resolve *resolve = context;

	for (size_t i = 0; i < resolve->n; i++) {
		const struct steps *steps = resolve->all[i];
		const struct reel_record record = {
			.id = REEL_RECORD_TRACE_STEPS,
			.trace_steps = { .id = steps->id,
					 .stop = steps->stop,
					 .steps = { steps->bytes, steps->size } },
		};

		TRY(reel_writer_record(writer, &record));
		++*n_records_ret;
	}
	return NULL;
}

/* ---- files ---------------------------------------------------------------------------------- */

static void resolve_free(struct resolve *resolve)
{
	for (size_t i = 0; i < resolve->n; i++)
		free(resolve->all[i]);
	free(resolve->all);
	reel_id_table_free(&resolve->known);
	reel_buffer_free(&resolve->steps);
	free(resolve->chain);
	reel_sample_unwinder_destroy(resolve->unwinder);
	reel_scrubber_destroy(resolve->scrubber);
	reel_images_free(&resolve->images);
	reel_rewrite_free(&resolve->job);
}
#define _cleanup_resolve_ __attribute__((cleanup(resolve_free)))

struct reel_error *reel_capture_resolve(struct reel_capture *capture, const char *output,
					const struct reel_rewrite_options *options,
					struct reel_rewrite_counts *counts)
{
	_cleanup_resolve_ struct resolve resolve = { 0 };
	struct reel_rewrite_rules rules = {
		.drop_unknown = true,
		.sample = resolve_sample,
		.record = drop_record,
		.append = append_steps,
		.images = &resolve.images,
		.context = &resolve,
	};

	TRY(reel_rewrite_begin(capture, options, &resolve.job));
	resolve.images = (struct reel_images){
		.job = &resolve.job,
		.options = { .no_names = resolve.job.options.no_symbols, .names_alone = true },
	};
	TRY(reel_images_create(&resolve.images));
	TRY(reel_sample_unwinder_create(capture, &resolve.unwinder));
	TRY(reel_capture_scrubber_create(capture, &resolve.scrubber));
	rules.no_check = resolve.job.options.no_check;
	return reel_rewrite_to(&resolve.job, output, &rules, counts);
}

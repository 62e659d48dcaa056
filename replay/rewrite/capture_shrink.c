/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a capture whose stacks keep only the bytes that unwinding reads, and verifies that they
 * suffice.  An archive also gets images of the files needed. */
#include <stdlib.h>

#include "base/array.h"
#include "replay/rewrite/images.h"
#include "replay/rewrite/rewrite.h"
#include "replay/rewrite/sample_walk.h"

/* Written once, read for years. */
#define LEVEL_ARCHIVE  19
#define BLOCK_EXPANDED ((uint64_t)192 << 20)

/* The user's half of a trace. */
struct path {
	uint64_t *addresses, *lookups;
	uint8_t *steps;
	size_t n, capacity;
	enum reel_stop stop;
};

struct shrink {
	struct reel_rewrite_job job;
	struct reel_images images; /* for an archive */
	struct reel_sample_unwinder *unwinder;
	struct reel_scrubber *scrubber;
	struct path path;
	/* For each byte of the sample's regions, concatenated: whether it was read. */
	uint8_t *read;
	size_t capacity;
	size_t starts[REEL_REGIONS_MAX];
};

/* ---- paths -------------------------------------------------------------------- */

static struct reel_error *path_reserve(struct path *path, size_t n)
{
	size_t capacity = path->capacity;

	TRY(REEL_FIT(path->addresses, n, (size_t){ capacity }));
	TRY(REEL_FIT(path->lookups, n, (size_t){ capacity }));
	return REEL_FIT(path->steps, n, path->capacity);
}

static void path_free(struct path *path)
{
	free(path->addresses);
	free(path->lookups);
	free(path->steps);
}

static struct reel_error *path_set(struct path *path, const struct reel_unwind_frames *frames,
				   enum reel_stop stop)
{
	TRY(path_reserve(path, frames->n));
	path->n = frames->n;
	path->stop = stop;
	if (!path->n)
		return NULL;
	memcpy(path->addresses, frames->addresses, path->n * sizeof(*path->addresses));
	memcpy(path->lookups, frames->lookups, path->n * sizeof(*path->lookups));
	memcpy(path->steps, frames->steps, path->n);
	return NULL;
}

static bool path_is(const struct path *path, const struct reel_unwind_frames *frames,
		    enum reel_stop stop)
{
	size_t n = path->n;

	return n == frames->n && path->stop == stop &&
	       (!n || (!memcmp(path->addresses, frames->addresses, n * sizeof(*path->addresses)) &&
		       !memcmp(path->lookups, frames->lookups, n * sizeof(*path->lookups)) &&
		       !memcmp(path->steps, frames->steps, n)));
}

/* ---- bytes read ------------------------------------------------------------------ */

static void record_read(void *context, size_t region, uint64_t offset, unsigned size)
{
	struct shrink *shrink = context;

	memset(shrink->read + shrink->starts[region] + offset, 1, size);
}

/* Marks all of the sample as unread. */
static struct reel_error *clear_reads(struct shrink *shrink, const struct reel_sample *sample)
{
	size_t size = 0;

	for (size_t i = 0; i < sample->n_regions; i++) {
		shrink->starts[i] = size;
		size += sample->regions[i].size;
	}
	if (!shrink->read || size > shrink->capacity) {
		free(shrink->read);
		shrink->capacity = 0;
		shrink->read = malloc(size + 1); /* never NULL, even for 0 bytes */
		if (!shrink->read)
			return reel_error_no_memory();
		shrink->capacity = size;
	}
	if (size)
		memset(shrink->read, 0, size);
	return NULL;
}

static void clear_unread(struct shrink *shrink, struct reel_rewrite_sample *rewritten)
{
	const struct reel_sample *sample = &rewritten->sample;

	for (size_t i = 0; i < sample->n_regions; i++) {
		const uint8_t *read = shrink->read + shrink->starts[i];

		for (size_t j = 0; j < sample->regions[i].size; j++) {
			if (!read[j])
				rewritten->bytes[i][j] = 0;
			shrink->job.counts.bytes_kept += read[j];
		}
	}
}

/*
 * Drops registers that rarely lead to a caller, if the trace is the same without them.  Unlike
 * reads of memory, reads of registers cannot be tracked: a frame may pass a register on to its
 * caller unread.
 */
static struct reel_error *drop_registers(struct shrink *shrink,
					 struct reel_rewrite_sample *rewritten,
					 const struct reel_space_state *space)
{
	struct reel_sample *sample = &rewritten->sample;
	const struct reel_arch *arch = reel_sample_unwinder_code_map(shrink->unwinder)->arch;
	const struct reel_unwind_frames *frames;
	uint64_t values[REEL_REGISTERS_MAX];
	uint8_t known[REEL_REGISTERS_MAX / 8];
	size_t n = sample->layout->n_slots;
	struct reel_error *error;
	enum reel_stop stop;

	memcpy(values, rewritten->values, n * sizeof(*values));
	memcpy(known, rewritten->known, (n + 7) / 8);
	for (size_t i = 0; i < n; i++) {
		uint16_t dwarf = sample->layout->slots[i].dwarf;

		if (dwarf == arch->sp || dwarf == arch->fp || dwarf == arch->pc ||
		    dwarf == arch->return_column)
			continue;
		rewritten->values[i] = 0;
		rewritten->known[i / 8] &= (uint8_t) ~(1u << i % 8);
	}
	error = reel_sample_unwind(shrink->unwinder, sample, space, &frames, &stop);
	if (error || path_is(&shrink->path, frames, stop))
		return error;
	memcpy(rewritten->values, values, n * sizeof(*values));
	memcpy(rewritten->known, known, (n + 7) / 8);
	return NULL;
}

/* Most bytes read are registers that callees saved: scrubs their values as well if the trace stays
 * the same. */
static struct reel_error *scrub_read(struct shrink *shrink, struct reel_rewrite_sample *rewritten,
				     const struct reel_space_state *space)
{
	struct reel_sample *sample = &rewritten->sample, scrubbed = *sample;
	const struct reel_unwind_frames *frames;
	enum reel_stop stop;

	if (sample->flags & REEL_SAMPLE_SCRUBBED)
		return NULL;
	TRY(reel_capture_scrub_sample(shrink->job.capture, shrink->scrubber, &scrubbed));
	TRY(reel_sample_unwind(shrink->unwinder, &scrubbed, space, &frames, &stop));
	if (path_is(&shrink->path, frames, stop))
		*sample = scrubbed;
	return NULL;
}

/* Scrubs a sample with a call chain but no registers if the trace stays the same.  The trace
 * changes if the chain holds addresses outside code. */
static struct reel_error *scrub_chain(struct shrink *shrink, struct reel_rewrite_sample *rewritten,
				      const struct reel_space_state *space)
{
	const struct reel_unwind_frames *frames;
	enum reel_stop stop;

	TRY(reel_sample_unwind(shrink->unwinder, &rewritten->sample, space, &frames, &stop));
	TRY(path_set(&shrink->path, frames, stop));
	return scrub_read(shrink, rewritten, space);
}

static struct reel_error *shrink_sample(void *context, struct reel_rewrite_sample *rewritten)
{
	struct shrink *shrink = context;
	struct reel_sample *sample = &rewritten->sample;
	const struct reel_space_state *space = reel_sample_unwinder_space(shrink->unwinder, sample);
	const struct reel_unwind_frames *frames;
	struct reel_error *error;
	enum reel_stop stop;

	if (!sample->layout)
		return scrub_chain(shrink, rewritten, space);
	TRY(clear_reads(shrink, sample));
	reel_sample_unwinder_tell(shrink->unwinder, record_read, shrink);
	error = reel_sample_unwind(shrink->unwinder, sample, space, &frames, &stop);
	reel_sample_unwinder_tell(shrink->unwinder, NULL, NULL);
	if (error)
		return error;
	if (stop == REEL_STOP_UNKNOWN_CPU || reel_sample_unwinder_lacks_module(shrink->unwinder)) {
		shrink->job.counts.whole++;
		return NULL;
	}
	TRY(path_set(&shrink->path, frames, stop));
	clear_unread(shrink, rewritten);
	TRY(drop_registers(shrink, rewritten, space));
	return scrub_read(shrink, rewritten, space);
}

/* ---- the proof --------------------------------------------------------------------- */

static struct reel_error *compare_samples(struct shrink *shrink, struct reel_sample_walk *from,
					  const struct reel_sample *sample,
					  struct reel_sample_walk *to,
					  const struct reel_sample *shrunk)
{
	const struct reel_unwind_frames *frames;
	enum reel_stop stop;

	TRY(reel_sample_walk_unwind(from, sample, &frames, &stop));
	TRY(path_set(&shrink->path, frames, stop));
	TRY(reel_sample_walk_unwind(to, shrunk, &frames, &stop));
	if (sample->id == shrunk->id && sample->time == shrunk->time &&
	    sample->thread == shrunk->thread && path_is(&shrink->path, frames, stop))
		return NULL;
	return reel_error_create(REEL_ERROR_MISMATCH,
				 "sample %llu has a different trace in the new capture, which was "
				 "discarded; this is a bug, please report it",
				 (unsigned long long)sample->id);
}

static struct reel_error *compare_walks(struct shrink *shrink, struct reel_sample_walk *from,
					struct reel_sample_walk *to)
{
	for (;;) {
		struct reel_block_item sample, shrunk;
		bool found, found_shrunk = false;

		TRY(reel_sample_walk_next(from, &sample, &found));
		TRY(reel_sample_walk_next(to, &shrunk, &found_shrunk));
		if (found != found_shrunk)
			return reel_error_create(
				REEL_ERROR_MISMATCH,
				"the new capture has a different number of samples and was "
				"discarded; this is a bug, please report it");
		if (!found)
			return NULL;
		TRY(compare_samples(shrink, from, &sample.sample, to, &shrunk.sample));
	}
}

/* Unwinds the new capture, as any reader will, and its source, and compares them. */
static struct reel_error *prove(void *context, struct reel_capture *written)
{
	struct shrink *shrink = context;
	_cleanup_sample_walk_ struct reel_sample_walk from = { 0 }, to = { 0 };

	TRY(reel_sample_walk_create(shrink->job.capture, 0, UINT64_MAX, &from));
	TRY(reel_sample_walk_create(written, 0, UINT64_MAX, &to));
	return compare_walks(shrink, &from, &to);
}

/* ---- files ----------------------------------------------------------------------- */

static void shrink_free(struct shrink *shrink)
{
	reel_images_free(&shrink->images);
	reel_rewrite_free(&shrink->job);
	reel_sample_unwinder_destroy(shrink->unwinder);
	reel_scrubber_destroy(shrink->scrubber);
	path_free(&shrink->path);
	free(shrink->read);
}
#define _cleanup_shrink_ __attribute__((cleanup(shrink_free)))

struct reel_error *reel_capture_shrink(struct reel_capture *capture, const char *output,
				       const struct reel_rewrite_options *options,
				       struct reel_rewrite_counts *counts)
{
	_cleanup_shrink_ struct shrink shrink = { .images.job = &shrink.job };
	struct reel_rewrite_rules rules = {
		.writer.block_expanded = BLOCK_EXPANDED,
		.sample = shrink_sample,
		.prove = prove,
		.context = &shrink,
	};

	TRY(reel_rewrite_begin(capture, options, &shrink.job));
	if (shrink.job.options.archive) {
		rules.writer.level = LEVEL_ARCHIVE;
		rules.images = &shrink.images;
		/* Using images only, and comparing names and lines as well. */
		rules.prove = NULL;
		TRY(reel_images_create(&shrink.images));
	}
	TRY(reel_sample_unwinder_create(capture, &shrink.unwinder));
	TRY(reel_capture_scrubber_create(capture, &shrink.scrubber));
	return reel_rewrite_to(&shrink.job, output, &rules, counts);
}

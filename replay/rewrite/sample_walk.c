/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/rewrite/sample_walk.h"

struct reel_error *reel_sample_walk_create(struct reel_capture *capture, uint64_t from, uint64_t to,
					   struct reel_sample_walk *ret)
{
	*ret = (struct reel_sample_walk){ .capture = capture, .from = from, .to = to };
	TRY(reel_capture_check_covers(capture, from, to));
	TRY(reel_block_reader_create(capture->reader, &ret->block_reader));
	return reel_sample_unwinder_create(capture, &ret->unwinder);
}

void reel_sample_walk_free(struct reel_sample_walk *walk)
{
	reel_block_reader_destroy(walk->block_reader);
	reel_sample_unwinder_destroy(walk->unwinder);
}

/* Loads the next block of samples; false after the last one. */
static bool walk_load(struct reel_sample_walk *walk, struct reel_error **error)
{
	size_t n;
	const struct reel_block *blocks = reel_reader_blocks(walk->capture->reader, &n);

	while (walk->block < n &&
	       (blocks[walk->block].header.type != REEL_BLOCK_SAMPLES ||
		!reel_block_overlaps(&blocks[walk->block].header, walk->from, walk->to)))
		walk->block++;
	if (walk->block == n)
		return false;
	*error = reel_block_reader_load(walk->block_reader, &blocks[walk->block++]);
	return true;
}

struct reel_error *reel_sample_walk_next(struct reel_sample_walk *walk, struct reel_block_item *ret,
					 bool *found_ret)
{
	*found_ret = true;
	for (;;) {
		struct reel_error *error = NULL;

		if (!walk->loaded && !walk_load(walk, &error)) {
			*found_ret = false;
			return NULL;
		}
		walk->loaded = !error;
		if (!error)
			error = reel_block_reader_next(walk->block_reader, ret);
		if (error || ret->kind == REEL_ITEM_END)
			walk->loaded = false;
		if (error && reel_error_code(error) == REEL_ERROR_NO_MEMORY)
			return error;
		reel_error_destroy(error);
		if (walk->loaded && ret->kind == REEL_ITEM_SAMPLE)
			return NULL;
	}
}

struct reel_error *reel_sample_walk_unwind(struct reel_sample_walk *walk,
					   const struct reel_sample *sample,
					   const struct reel_unwind_frames **ret,
					   enum reel_stop *stop_ret)
{
	return reel_sample_unwind(walk->unwinder, sample,
				  reel_sample_unwinder_space(walk->unwinder, sample), ret,
				  stop_ret);
}

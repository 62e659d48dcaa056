/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a self-contained capture, with the parts of modules that its traces need. */
#include "replay/rewrite/images.h"
#include "replay/rewrite/rewrite.h"

struct pack {
	struct reel_rewrite_job job;
	struct reel_images images;
};

/* Drops, with no_symbols, names from JITs. */
static enum reel_rewrite_record choose(void *context, struct reel_record *record)
{
	const struct pack *pack = context;

	return pack->images.options.no_names && (record->id == REEL_RECORD_JIT_SYMBOL ||
						 record->id == REEL_RECORD_JIT_LINE)
		       ? REEL_REWRITE_DROP
		       : REEL_REWRITE_COPY;
}

static void pack_free(struct pack *pack)
{
	reel_images_free(&pack->images);
	reel_rewrite_free(&pack->job);
}
#define _cleanup_pack_ __attribute__((cleanup(pack_free)))

struct reel_error *reel_capture_pack(struct reel_capture *capture, const char *output,
				     const struct reel_rewrite_options *options,
				     struct reel_rewrite_counts *counts)
{
	_cleanup_pack_ struct pack pack = { 0 };
	struct reel_rewrite_rules rules = {
		.record = choose,
		.images = &pack.images,
		.context = &pack,
	};

	TRY(reel_rewrite_begin(capture, options, &pack.job));
	if (pack.job.options.values && capture->info.scrubbed)
		return reel_error_create(
			REEL_ERROR_INVALID,
			"%s: the capture is scrubbed: it has no values, or kept ones "
			"that need no debug information",
			reel_reader_name(capture->reader));
	pack.images = (struct reel_images){ .job = &pack.job,
					    .options.no_names = pack.job.options.no_symbols,
					    .options.values = pack.job.options.values };
	TRY(reel_images_create(&pack.images));
	rules.no_check = pack.job.options.no_check;
	return reel_rewrite_to(&pack.job, output, &rules, counts);
}

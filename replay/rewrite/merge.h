/* SPDX-License-Identifier: Apache-2.0 */
/* What the files behind reel_captures_merge share: one capture after the other is copied, with
 * other ids and on the wall clock. */
#ifndef REPLAY_REWRITE_MERGE_H
#define REPLAY_REWRITE_MERGE_H

#include "format/reader.h"
#include "format/tally.h"
#include "format/writer.h"
#include "replay/origins.h"
#include "replay/rewrite/contents.h"
#include "replay/rewrite/id_map.h"

/* Ids are old ones and what is added to them; none is larger, so that the sum is none of others. */
#define REEL_MERGE_ID_MAX ((uint64_t)1 << 62)

/* A range of ids: those of captures that were copied are used. */
struct reel_merge_ids {
	uint64_t base; /* 0, or the greatest that was used */
	uint64_t last; /* the greatest so far, with the capture's that is copied */
	bool is_exceeded;
};

/* Of all captures. */
struct reel_merge {
	struct reel_merge_options options;
	struct reel_writer *writer;
	struct reel_contents contents;
	struct reel_merge_ids threads, spaces, samples, origins;
	uint64_t n_events, n_modules, n_steps; /* ids that were given */
	uint64_t images_size;
	/* File ids, as they tell whether a capture comes twice. */
	struct reel_contents files;
	uint64_t n_files;
	struct reel_origins *hosts;
	/* The new END's; without one if a capture has none. */
	bool lacks_end;
	uint64_t side_written, side_missing, samples_missing, end_time;
	struct reel_merge_counts counts;
};

/* Of the one that is copied. */
struct reel_merge_copy {
	struct reel_merge *merge;
	const char *path;
	struct reel_reader *reader;
	struct reel_block_reader *block_reader;
	struct reel_tally tally;
	uint64_t shift; /* from its clock to the wall's */
	/* New ids by old ones; of modules 2 * id + (its images are to be copied). */
	struct reel_id_map events, modules, steps;
	struct reel_id_map images; /* hashes of modules' images, and their sizes */
	struct reel_id_map image_sizes;
	uint64_t first_origin_sample; /* UINT64_MAX: there is no ORIGIN */
	uint64_t own_origin;	      /* of what no ORIGIN tells of; 0: there is nothing */
};

/* Passes over the side records, in this order; each is given all records. */
struct reel_error *reel_merge_define(struct reel_merge_copy *copy,
				     const struct reel_record *record) REEL_MUST_CHECK;
struct reel_error *reel_merge_define_module(struct reel_merge_copy *copy,
					    const struct reel_record *record) REEL_MUST_CHECK;
struct reel_error *reel_merge_copy_record(struct reel_merge_copy *copy,
					  struct reel_record *record) REEL_MUST_CHECK;
struct reel_error *reel_merge_copy_sample(struct reel_merge_copy *copy,
					  const struct reel_sample *sample) REEL_MUST_CHECK;
/* Behind the first of them: an ORIGIN of what has none; `capture` is its CAPTURE. */
struct reel_error *reel_merge_define_origin(
	struct reel_merge_copy *copy, const struct reel_record_capture *capture) REEL_MUST_CHECK;
/* Ids of the next capture follow on those of this one. */
struct reel_error *reel_merge_end_copy(struct reel_merge_copy *copy) REEL_MUST_CHECK;

#endif

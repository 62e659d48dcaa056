/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of reel_captures_merge, which copies one capture after the other, with new
 * ids and on the wall clock. */
#ifndef REPLAY_REWRITE_MERGE_H
#define REPLAY_REWRITE_MERGE_H

#include "format/end_counts.h"
#include "format/reader.h"
#include "format/schema.h"
#include "format/writer.h"
#include "replay/rewrite/id_map.h"
#include "format/timeline/origins.h"

/* New ids are old ids plus a base.  This limit of the sums keeps them from wrapping around. */
#define REEL_MERGE_ID_MAX (((uint64_t)1 << 62) - 1)

/* A range of ids. */
struct reel_merge_ids {
	uint64_t base; /* 0, or the largest id in the captures already copied */
	uint64_t last; /* the largest so far, including the current capture */
	bool is_exceeded;
};

/* State for all captures. */
struct reel_merge {
	struct reel_rewrite_options options;
	struct reel_writer *writer;
	struct reel_contents contents;
	struct reel_merge_ids samples,
		ids[REEL_ID_KINDS];	       /* of threads, spaces, cgroups, functions, origins */
	uint64_t n_events, n_modules, n_steps; /* ids assigned */
	uint64_t images_size;
	/* File ids, to detect captures listed twice. */
	struct reel_contents files;
	uint64_t n_files;
	struct reel_origins *hosts;
	/* For the new END, which is omitted if a capture has none. */
	bool lacks_end;
	uint64_t side_written, side_missing, samples_missing, end_time;
	struct reel_rewrite_counts counts;
};

/* State for the capture being copied. */
struct reel_merge_copy {
	struct reel_merge *merge;
	const char *path;
	struct reel_reader *reader;
	struct reel_block_reader *block_reader;
	struct reel_end_counts end_counts;
	uint16_t block_type; /* being copied */
	uint64_t shift;	     /* from its clock to the wall's */
	uint64_t from, to;   /* selected, on its clock */
	/* New ids by old ones; for modules, 2 * id + (whether to copy its images). */
	struct reel_id_map events, modules, steps;
	struct reel_id_map images; /* hashes of modules' images, and their sizes */
	struct reel_id_map image_sizes;
	uint64_t first_origin_sample; /* UINT64_MAX: no ORIGIN */
	uint64_t own_origin;	      /* for data without an ORIGIN; 0: no such data */
};

/* Passes over the side records, in this order; each gets all records. */
struct reel_error *reel_merge_define(struct reel_merge_copy *copy,
				     const struct reel_record *record) REEL_MUST_CHECK;
struct reel_error *reel_merge_define_module(struct reel_merge_copy *copy,
					    const struct reel_record *record) REEL_MUST_CHECK;
struct reel_error *reel_merge_copy_record(struct reel_merge_copy *copy,
					  struct reel_record *record) REEL_MUST_CHECK;
struct reel_error *reel_merge_copy_sample(struct reel_merge_copy *copy,
					  const struct reel_sample *sample) REEL_MUST_CHECK;
/* After the first pass: an ORIGIN for data without one; `capture` is its CAPTURE. */
struct reel_error *reel_merge_define_origin(
	struct reel_merge_copy *copy, const struct reel_record_capture *capture) REEL_MUST_CHECK;
/* Reserves this capture's ids; the next capture's follow. */
struct reel_error *reel_merge_end_copy(struct reel_merge_copy *copy) REEL_MUST_CHECK;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file or files of a recording: flushing in time, and when the next part of a rotation begins.
 *
 * As a flight recorder, it keeps the last time in memory, in rounds (format/block_ring.h), and
 * reel_output_begin_dump makes a file of that, with a name like those of parts.
 */
#ifndef RECORD_OUTPUT_OUTPUT_H
#define RECORD_OUTPUT_OUTPUT_H

#include "base/output_place.h"
#include "format/writer.h"
#include "record/output/parts.h"

struct reel_output;

struct reel_output_options {
	const char *path; /* "-": standard output */
	int level;	  /* zstd's */
	/* ns. A kill loses data younger than this, and data not yet drained. */
	uint64_t flush_interval;
	struct reel_sample_target target;
	/* Encrypt to these; borrowed. NULL or none: do not encrypt. */
	const struct reel_public_keys *recipients;
	uint64_t rotate_time, rotate_size; /* ns, bytes; 0: no limit */
	struct reel_parts_options parts;   /* with rotation, or as a flight recorder */
	uint64_t ring_time, ring_size;	   /* ns, bytes; 0: not a flight recorder */
	/* Called first in the writing thread, or NULL. */
	struct reel_error *(*enter_writer)(void);
};

/*
 * Opens the folder, and FILE if it is a FIFO or a device (base/output_place.h), which may wait
 * until a signal.  Does not create or rename anything yet.
 */
struct reel_error *reel_output_open(const struct reel_output_options *options,
				    struct reel_output **ret) REEL_MUST_CHECK;
/* Opens the first part. An existing FILE is renamed to FILE.old. */
struct reel_error *reel_output_begin(struct reel_output *output) REEL_MUST_CHECK;
/* Frees; unfinished parts stay incomplete files. */
void reel_output_close(struct reel_output *output);

struct reel_error *reel_output_record(struct reel_output *output,
				      const struct reel_record *record) REEL_MUST_CHECK;
struct reel_error *reel_output_sample(struct reel_output *output,
				      const struct reel_sample *sample) REEL_MUST_CHECK;
struct reel_error *reel_output_flush(struct reel_output *output) REEL_MUST_CHECK;
/* When the next flush is due. */
uint64_t reel_output_flush_time(const struct reel_output *output);

/*
 * Another thread compresses and writes, and nothing here waits for it.  reel_output_check reports
 * its error; after an error nothing more is written.  If there is no room, it and reel_output_wait
 * delete the oldest finished part.  Without one, the rest of the current part is lost.
 */
struct reel_error *reel_output_check(struct reel_output *output) REEL_MUST_CHECK;
/* Bytes in memory waiting to be written. */
size_t reel_output_waiting(const struct reel_output *output);
/* Waits up to `timeout_ms` until no bytes are waiting; true then, and after an error. */
bool reel_output_wait(struct reel_output *output, unsigned int timeout_ms);
/* reel_output_close must not wait for a write that may never end. */
void reel_output_abandon(struct reel_output *output);

/* Whether the part has reached its limit of age or size. */
bool reel_output_rotation_is_due(const struct reel_output *output, uint64_t now);
/* Finishes the part as soon as all its data is written; put its END record first. */
struct reel_error *reel_output_finish(struct reel_output *output) REEL_MUST_CHECK;
/* Opens the next part after reel_output_finish. */
struct reel_error *reel_output_next(struct reel_output *output) REEL_MUST_CHECK;
/* ---- flight recorder: these in place of reel_output_finish and _next ---- */

/* Whether a round has reached its limit of age or size. */
bool reel_output_round_is_due(const struct reel_output *output, uint64_t now);
/* Begins a round: write its head and flush, then state anew what later samples need. */
struct reel_error *reel_output_begin_round(struct reel_output *output) REEL_MUST_CHECK;
/* Makes a file of the last time, which also gets everything up to reel_output_end_dump. */
struct reel_error *reel_output_begin_dump(struct reel_output *output) REEL_MUST_CHECK;
struct reel_error *reel_output_end_dump(struct reel_output *output,
					const struct reel_record_end *end) REEL_MUST_CHECK;

/* NULL for a single file. */
struct reel_parts *reel_output_parts(const struct reel_output *output);
/* The current part's path, or "standard output"; of a flight recorder the last file's, or NULL. */
const char *reel_output_path(const struct reel_output *output);
uint64_t reel_output_part(const struct reel_output *output);
/* File id of part 0. */
const uint8_t *reel_output_recording_id(const struct reel_output *output);

struct reel_output_counts {
	uint64_t samples;      /* of all parts, written or not */
	uint64_t part_samples; /* of the current one */
	/* In files, in whole blocks, whatever happens next. */
	uint64_t safe_samples, safe_bytes;
	uint64_t lost; /* samples for which there was no room */
};

struct reel_output_counts reel_output_counts(const struct reel_output *output);

#endif

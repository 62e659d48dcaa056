/* SPDX-License-Identifier: Apache-2.0 */
/* The internals of struct reel_capture. */
#ifndef REPLAY_CAPTURE_CAPTURE_H
#define REPLAY_CAPTURE_CAPTURE_H

#include <pthread.h>

#include "format/reader.h"
#include "format/end_counts.h"
#include "replay/names/frame_table.h"
#include "format/timeline/origins.h"
#include "replay/capture/resolved.h"
#include "replay/capture/value_keys.h"

/* Limit of lines in reel_capture_problems; one more line reports further problems. */
#define REEL_PROBLEMS_MAX 1000

/* Members that any thread may change after opening are at the end, under the lock; modules,
 * kernel_code and frames have their own locks. */
struct reel_capture {
	struct reel_reader *reader;
	struct reel_timeline *timeline;
	struct reel_modules *modules;
	struct reel_origins *origins;
	struct reel_kernel_symbol_map *kernel_symbols;
	struct reel_kernel_code *kernel_code;
	struct reel_frame_table *frames;
	struct reel_resolved resolved;
	struct reel_runtime_functions functions;
	struct reel_open_options options; /* with its own lists; identities are removed */
	/* Processes without samples between these times may be missing from the timeline. */
	uint64_t from, to;
	uint32_t samples_max; /* as in the options; 0: all */
	bool borrows_reader;

	/* Strings in these are interned in `texts`, below. */
	struct reel_capture_info info;
	const char *locked; /* reel_capture_locked */
	struct reel_event_info *events;
	size_t n_events, events_capacity;
	struct reel_id_table value_keys; /* struct reel_value_keys, of events that have some */
	struct reel_mark_info *marks;
	size_t n_marks, marks_capacity;
	struct reel_loss_info *losses;
	size_t n_losses, losses_capacity;
	uint64_t modules_left; /* that may be defined */
	bool lacks_modules;    /* Some were dropped. */
	uint64_t code_left;    /* bytes of CODE records that may be kept */
	bool lacks_code;       /* Some was dropped. */
	/* How often KERNEL_SYMBOL records may have a different time than the previous one. */
	uint64_t symbol_times_left, last_symbol_time;
	bool lacks_symbols; /* Some were dropped. */
	/* Of the timeline's modules, NULL until needed. */
	const char **module_paths;

	bool has_capture_record;
	struct reel_end_counts end_counts; /* except samples, which opening does not read */
	/* The first record of the side blocks was checked or is lost. */
	bool has_first_record;
	uint16_t machine; /* ELF e_machine of the kernel */
	unsigned word_bits;

	pthread_mutex_t lock;
	struct reel_texts *texts;
	struct reel_capture *whole; /* the same file with all processes; NULL until needed */
	uint64_t *module_frames;    /* by module index, in the traces so far */
	size_t n_problems;
	struct reel_capture_problem problems[REEL_PROBLEMS_MAX + 1];
};

/* Takes ownership of `reader`. */
struct reel_error *reel_capture_open_reader(struct reel_reader *reader,
					    const struct reel_open_options *options,
					    struct reel_capture **ret) REEL_MUST_CHECK;

/* The capture itself or, if its options exclude these times, the same file with all times. */
struct reel_error *reel_capture_covering(struct reel_capture *capture, uint64_t from, uint64_t to,
					 struct reel_capture **ret) REEL_MUST_CHECK;
/* A new list of the sample blocks that may be of these times; some of them if the options limit
 * their number. */
struct reel_error *reel_capture_sample_blocks(const struct reel_capture *capture, uint64_t from,
					      uint64_t to, const struct reel_block ***ret,
					      size_t *count_ret) REEL_MUST_CHECK;
/* INVALID if the options exclude these times. */
struct reel_error *reel_capture_check_covers(const struct reel_capture *capture, uint64_t from,
					     uint64_t to) REEL_MUST_CHECK;

/* Adds a line to reel_capture_problems, once.  Takes ownership of the error; NO_MEMORY is returned
 * instead. */
struct reel_error *reel_capture_add_problem(struct reel_capture *capture,
					    struct reel_error *problem) REEL_MUST_CHECK;

/*
 * Call at the end of reading a block, with `error` or NULL: damage and skipped records become
 * problems of the capture; NO_MEMORY is returned.
 */
struct reel_error *reel_capture_end_block(struct reel_capture *capture,
					  const struct reel_block_reader *block_reader,
					  struct reel_error *error) REEL_MUST_CHECK;

/* Checks that the capture's image of a module is intact and belongs to it (image_check.c).
 * CORRUPT, MISMATCH or the errors of opening ELF files; NULL without an image. */
struct reel_error *reel_image_check(const struct reel_module *module) REEL_MUST_CHECK;

/* After all samples were read, compares their number with END's; a difference becomes a problem. */
struct reel_error *reel_capture_check_samples(struct reel_capture *capture,
					      uint64_t samples) REEL_MUST_CHECK;

#endif

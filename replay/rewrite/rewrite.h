/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A capture to a capture: every record is read, perhaps changed, and written
 * in the same order.
 */
#ifndef REPLAY_REWRITE_REWRITE_H
#define REPLAY_REWRITE_REWRITE_H

#include "format/reader.h"
#include "format/writer.h"
#include "replay/capture.h"

/* A copy of a sample that may be written to. */
struct reel_rewrite_sample {
	/* `values`, `known` and the regions' `bytes` are the three below. */
	struct reel_sample sample;
	uint64_t *values;		  /* one a register of sample.layout */
	uint8_t *known;			  /* ceil(registers / 8) bytes */
	uint8_t *bytes[REEL_REGIONS_MAX]; /* sample.regions[i].size each */
};

enum reel_rewrite_record {
	REEL_REWRITE_COPY, /* byte for byte: what this version does not know of it stays */
	REEL_REWRITE_CHANGED,
	REEL_REWRITE_DROP,
};

struct reel_rewrite_counts {
	uint64_t samples; /* written */
	uint64_t refused; /* records, by `wants` */
	/* Not known, and left out: records by `drop_unknown`, blocks always. */
	uint64_t unknown_records, unknown_blocks;
	/* Of the file written. */
	uint64_t bytes, stack_bytes;
};

struct reel_rewrite_options {
	struct reel_writer_options writer; /* its target is the capture's */
	/* Leave out what this version does not know: records, and blocks that are optional. */
	bool drop_unknown;
	/* Whether the new capture gets a sample.  NULL: it gets all. */
	struct reel_error *(*keep)(void *context, const struct reel_sample *sample, bool *ret);
	/* Changes a sample, which stays one that can be written (registers that are not known and
	 * bytes of missing ranges are 0).  NULL: samples stay as they are. */
	struct reel_error *(*sample)(void *context, struct reel_rewrite_sample *sample);
	/* Changes a side record, or says what else becomes of it.  NULL: all are copied. */
	enum reel_rewrite_record (*record)(void *context, struct reel_record *record);
	/* Writes further side records, behind all others but END, and says how many.  NULL: there
	 * are none. */
	struct reel_error *(*append)(void *context, struct reel_writer *writer,
				     uint64_t *n_records_ret);
	/* `keep` refuses all samples of other times, so that their blocks need not be read; both 0:
	 * it does not. */
	uint64_t from, to;
	/* As reel_block_reader_choose has it: what it refuses is dropped.  NULL: nothing is. */
	bool (*wants)(const void *context, const struct reel_record_frame *frame);
	/* Whether a block is read at all; without what is in it nothing is missing.  NULL: all are.
	 */
	bool (*block)(void *context, const struct reel_block *block);
	/* Makes the new file's END, of the old one's, or of none: its id is 0 then; before it,
	 * other records may be written.  NULL: it keeps the old one's counts, which tell that
	 * something is missing, and where there was none there is none. */
	struct reel_error *(*end)(void *context, const struct reel_rewrite_counts *written,
				  struct reel_writer *writer, struct reel_record *ret);
	void *context;
	/* Gets the key of the new file, for who reads it again: NULL if that is not encrypted.
	 * NULL: nobody does. */
	struct reel_cipher **cipher_ret;
};

/*
 * Who may read the new file: `recipients` as the installed header's options name them.  INVALID if
 * there are none and the capture is encrypted, as what was hidden would be readable then: that
 * needs `decrypt`.
 */
struct reel_error *reel_rewrite_recipients(const struct reel_reader *reader,
					   const char *const *recipients, bool decrypt,
					   struct reel_public_keys *ret) REEL_MUST_CHECK;

/*
 * Writes to `fd`; `name` is for messages.  What can't be read of the capture is
 * one of its problems and is not written, and where its end is missing, that of
 * the new file is, too (SPEC.md, section 2: it has no END record).  The file id
 * is a new one.
 */
struct reel_error *reel_rewrite(struct reel_capture *capture, int fd, const char *name,
				const struct reel_rewrite_options *options,
				struct reel_rewrite_counts *ret) REEL_MUST_CHECK;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts a capture to a capture: reads every record, possibly changes it, and writes it in the
 * same order.
 */
#ifndef REPLAY_REWRITE_REWRITE_H
#define REPLAY_REWRITE_REWRITE_H

#include "format/reader.h"
#include "format/scrub/scrub.h"
#include "format/writer.h"
#include "replay/capture/capture.h"

/* A writable copy of a sample. */
struct reel_rewrite_sample {
	/* `values`, `known` and the regions' `bytes` point to the arrays below. */
	struct reel_sample sample;
	uint64_t *values;		  /* one a register of sample.layout */
	uint8_t *known;			  /* ceil(registers / 8) bytes */
	uint8_t *bytes[REEL_REGIONS_MAX]; /* sample.regions[i].size each */
};

enum reel_rewrite_record {
	REEL_REWRITE_COPY, /* byte for byte, including parts unknown to this version */
	REEL_REWRITE_CHANGED,
	REEL_REWRITE_DROP,
};

struct reel_images;

/* A call of one of the functions that make a capture from a capture. */
struct reel_rewrite_job {
	struct reel_capture *capture;
	struct reel_rewrite_options options; /* the caller's */
	struct reel_public_keys recipients;  /* of the new capture */
	struct reel_rewrite_counts counts;   /* for the caller */
};

struct reel_rewrite_rules {
	/* The capture's target and the job's recipients are added. */
	struct reel_writer_options writer;
	/* Omit what this version does not know: fields, and records that are not safe to copy. */
	bool drop_unknown;
	/* Whether to copy a sample.  NULL: all. */
	struct reel_error *(*keep)(void *context, const struct reel_sample *sample, bool *ret);
	/* Changes a sample, which must stay writable (unknown registers and bytes of missing ranges
	 * are 0).  NULL: samples are copied unchanged. */
	struct reel_error *(*sample)(void *context, struct reel_rewrite_sample *sample);
	/* Changes a side record and chooses what to do with it.  NULL: all are copied. */
	enum reel_rewrite_record (*record)(void *context, struct reel_record *record);
	/* Writes further side records, after all others except END, and counts them.  NULL: none.
	 */
	struct reel_error *(*append)(void *context, struct reel_writer *writer,
				     uint64_t *n_records_ret);
	/* `keep` refuses all samples outside these times, so their blocks need not be read; both 0:
	 * no limits. */
	uint64_t from, to;
	/* As for reel_block_reader_choose: refused records are dropped.  NULL: none. */
	bool (*wants)(const void *context, const struct reel_record_frame *frame);
	/* Whether to read a block; contents of skipped blocks do not count as missing.  NULL: all.
	 */
	bool (*block)(void *context, const struct reel_block *block);
	/* Changes the old END, whose id is 0 if there was none, to the new one; may first write
	 * other records.  NULL: END keeps the old counts, which show that something is missing,
	 * and stays missing if there was none. */
	struct reel_error *(*end)(void *context, struct reel_writer *writer,
				  struct reel_record *ret);
	/* Called before everything is written, and after it; an error discards the file.  NULL: not
	 * needed. */
	struct reel_error *(*prepare)(void *context);
	struct reel_error *(*finish)(void *context);
	/* Modules' images for the new capture, which replace its old ones; they are made of all
	 * samples before the first one is written, or, with names_alone, after the last one.  NULL:
	 * none. */
	struct reel_images *images;
	/* Returns MISMATCH if the new capture, which was read back, is wrong.  NULL: compares the
	 * traces if there are images, using only these. */
	struct reel_error *(*prove)(void *context, struct reel_capture *written);
	bool no_check; /* do not read it back */
	void *context;
	/* Gets the key of the new file to read it back, NULL if it is not encrypted: the writer
	 * need not be a recipient.  NULL: not needed. */
	struct reel_cipher **cipher_ret;
};

/*
 * The keys that can read the new file: `recipients` as in the installed header's options.  INVALID
 * if there are none and the capture is encrypted, unless `decrypt` allows to write it unencrypted.
 */
struct reel_error *reel_rewrite_recipients(const struct reel_reader *reader,
					   const struct reel_rewrite_options *options,
					   struct reel_public_keys *ret) REEL_MUST_CHECK;

/* Takes the caller's options, which may be NULL, and finds the recipients.  Free the job even if
 * this fails. */
struct reel_error *reel_rewrite_begin(struct reel_capture *capture,
				      const struct reel_rewrite_options *options,
				      struct reel_rewrite_job *ret) REEL_MUST_CHECK;
void reel_rewrite_free(struct reel_rewrite_job *job);

/*
 * Writes to `fd` and counts in `job`; `name` is for messages.  Unreadable parts of the capture are
 * added to its problems and not written.  If its end is missing, so is the new file's (SPEC.md,
 * section 2: it has no END record).  The file id is new.
 */
struct reel_error *reel_rewrite(struct reel_rewrite_job *job, int fd, const char *name,
				const struct reel_rewrite_rules *rules) REEL_MUST_CHECK;

/*
 * The same to the file `output`, which appears only when it is complete and proved, and is closed
 * then.  The counts are given to the caller, who may pass NULL.
 */
struct reel_error *reel_rewrite_to(struct reel_rewrite_job *job, const char *output,
				   const struct reel_rewrite_rules *rules,
				   struct reel_rewrite_counts *counts) REEL_MUST_CHECK;

/* A scrubber of the recorded programs' data, for most of the capture's processes. */
struct reel_error *reel_capture_scrubber_create(const struct reel_capture *capture,
						struct reel_scrubber **ret) REEL_MUST_CHECK;
/* As reel_scrub_sample, with the capture's own scrubber. */
struct reel_error *reel_capture_scrub_sample(const struct reel_capture *capture,
					     struct reel_scrubber *scrubber,
					     struct reel_sample *sample) REEL_MUST_CHECK;

#endif

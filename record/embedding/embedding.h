/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Embeds the parts of modules' files that replay will read (SPEC.md 5.1), so that a capture needs
 * no other files: notes each file's addresses hit by samples (any possible pc or return address),
 * opens files when they are mapped and keeps them open, and has a helper make their images.
 */
#ifndef RECORD_EMBEDDING_EMBEDDING_H
#define RECORD_EMBEDDING_EMBEDDING_H

#include "record/embedding/image_asker.h"
#include "record/processes/module_table.h"
#include "format/timeline/space.h"

struct reel_embedding;

struct reel_embedding_options {
	struct reel_image_asker *asker;
	const struct reel_module_table *modules; /* of the mappings */
	struct reel_record_sink sink;
	/* The ELF kind of processes whose kind is not known yet. */
	struct reel_elf_kind native;
	uint64_t limit; /* bytes of images in a file at most */
	/* Share of one CPU that images get while sampling, without more at first; 0: no limit
	 * beyond the usual one. */
	double work_share;
	bool everything, no_symbols;
	/* reel_embedding_restart begins a round of a ring (format/block_ring.h), not a file. */
	bool has_rounds;
	/* Gets the reason why a module was left out. */
	void (*note)(void *context, const char *line);
	void *note_context;
};

struct reel_error *reel_embedding_create(const struct reel_embedding_options *options,
					 struct reel_embedding **ret) REEL_MUST_CHECK;
void reel_embedding_destroy(struct reel_embedding *embedding);

/* Keeps a copy of a module's file, and closes it later; for reel_module_table_give_files. */
void reel_embedding_take_file(void *embedding, uint64_t module, int fd);

/* Notes the addresses hit by a sample as written. `view` is the sample's space and time, always of
 * the same timeline. */
struct reel_error *reel_embedding_note(struct reel_embedding *embedding,
				       const struct reel_space_view *view,
				       const struct reel_sample *sample) REEL_MUST_CHECK;

/* Call about once a second. */
void reel_embedding_forget_ended(struct reel_embedding *embedding);
/* Begins the file's end: from now on images are made until each module has its last one.  Modules
 * without one at the deadline are left out. */
struct reel_error *reel_embedding_end(struct reel_embedding *embedding,
				      uint64_t deadline) REEL_MUST_CHECK;
/* Limits the deadline to this time. */
void reel_embedding_hurry(struct reel_embedding *embedding, uint64_t deadline);
/* Does the work possible now: has due images made, and puts finished ones. */
struct reel_error *reel_embedding_work(struct reel_embedding *embedding) REEL_MUST_CHECK;
/* After reel_embedding_end: whether all work is done. */
bool reel_embedding_is_done(const struct reel_embedding *embedding);
/* Readable when the helper has made progress; -1: it has no work. */
int reel_embedding_fd(const struct reel_embedding *embedding);
/* Waits a moment for the helper. */
void reel_embedding_wait(struct reel_embedding *embedding);
/* Whether no images are to be made, and no further addresses noted, for now. */
void reel_embedding_rest(struct reel_embedding *embedding, bool rests);
/* A new file begins, without any images. */
void reel_embedding_restart(struct reel_embedding *embedding);

struct reel_embedding_counts {
	uint64_t modules, bytes; /* of all files up to now */
	uint64_t left_out;  /* modules that were hit, but whose image is missing or incomplete */
	const char *reason; /* the first skipped modules, with the reasons */
};

struct reel_embedding_counts reel_embedding_counts(const struct reel_embedding *embedding);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Embeds what replay will ask of modules' files (SPEC.md 5.1), so that a capture needs nothing
 * else: notes which addresses of which file samples have hit (whatever may be a pc or a return
 * address), keeps the files open from when they were mapped on, and has a helper make their images.
 */
#ifndef RECORD_EMBEDDING_EMBEDDING_H
#define RECORD_EMBEDDING_EMBEDDING_H

#include "record/embedding/image_asker.h"
#include "record/watching/module_table.h"
#include "target/space.h"

struct reel_embedding;

struct reel_embedding_options {
	struct reel_image_asker *asker;
	const struct reel_module_table *modules; /* of the mappings */
	struct reel_record_sink sink;
	/* What processes are of which it is not known yet. */
	struct reel_elf_kind native;
	uint64_t limit; /* bytes of images that a file gets at most */
	bool everything, no_symbols;
	/* Is told why a module was left out. */
	void (*note)(void *context, const char *line);
	void *note_context;
};

struct reel_error *reel_embedding_create(const struct reel_embedding_options *options,
					 struct reel_embedding **ret) REEL_MUST_CHECK;
void reel_embedding_destroy(struct reel_embedding *embedding);

/* A module's file, which is closed later; for reel_module_table_give_files. */
void reel_embedding_take_file(void *embedding, uint64_t module, int fd);

/* Notes what a sample hits, as it is written. `view` is of its space at its time; of one timeline,
 * always. */
struct reel_error *reel_embedding_note(struct reel_embedding *embedding,
				       const struct reel_space_view *view,
				       const struct reel_sample *sample) REEL_MUST_CHECK;

/* Once a second or so: has images made that are due already, and forgets processes that have
 * ended. */
struct reel_error *reel_embedding_tick(struct reel_embedding *embedding) REEL_MUST_CHECK;
/* The file is about to end: from here on images are made until each module has its last one, or is
 * left out, which all are that have none at the deadline. */
struct reel_error *reel_embedding_end(struct reel_embedding *embedding,
				      uint64_t deadline) REEL_MUST_CHECK;
/* The deadline is not later than this. */
void reel_embedding_hurry(struct reel_embedding *embedding, uint64_t deadline);
/* Does what can be done now, and puts images that are made. */
struct reel_error *reel_embedding_work(struct reel_embedding *embedding) REEL_MUST_CHECK;
/* After reel_embedding_end: there is nothing left to do. */
bool reel_embedding_is_done(const struct reel_embedding *embedding);
/* Waits a moment for the helper. */
void reel_embedding_wait(struct reel_embedding *embedding);
/* A new file begins: it has nothing yet. */
void reel_embedding_restart(struct reel_embedding *embedding);

struct reel_embedding_counts {
	uint64_t modules, bytes; /* of the files up to now */
	uint64_t left_out;  /* modules that were hit, and have no image, or less than is needed */
	const char *reason; /* the first of them, and why */
};

struct reel_embedding_counts reel_embedding_counts(const struct reel_embedding *embedding);

#endif

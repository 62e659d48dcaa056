/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes out of samples what unwinding has no use for, so that what a program works with does not
 * reach the file (SPEC.md, section 8.1): of stacks and registers only addresses keep their value.
 *
 * Which words are addresses depends on the process: those that point into one of the sample's
 * regions, and those that point into code, as it is mapped at that time.
 */
#ifndef SPACE_SCRUB_H
#define SPACE_SCRUB_H

#include "space/space.h"

/* What a word that was not 0 becomes: no address, and no end of a stack as 0 may be. */
#define REEL_SCRUBBED_WORD 1

#define REEL_SCRUB_CODE_MAX 4

/* The words of a process. */
struct reel_scrub_words {
	unsigned size; /* bytes: 4 or 8 */
	bool big_endian;
	/* Bits that pointer authentication uses, of addresses of code and of data. */
	uint64_t code_mask, data_mask;
	/* Code that stays where an aligned word begins with it, of `size` bytes at most. */
	struct reel_bytes code[REEL_SCRUB_CODE_MAX];
	size_t n_code;
};

/* Passed over where a word has no room for it. */
void reel_scrub_words_add_code(struct reel_scrub_words *words, const uint8_t *code, size_t size);

struct reel_scrubber;

struct reel_error *reel_scrubber_create(struct reel_scrubber **ret) REEL_MUST_CHECK;
void reel_scrubber_destroy(struct reel_scrubber *scrubber);

/*
 * Makes the sample a scrubbed one.  What it pointed to stays as it was: it points to the
 * scrubber's copies then, which live until the next call.  `view` is of the sample's space and
 * time; all views given to a scrubber are of one timeline.  After an error (NO_MEMORY) nothing of
 * the sample may be used.
 */
struct reel_error *reel_scrub_sample(struct reel_scrubber *scrubber,
				     const struct reel_space_view *view,
				     const struct reel_scrub_words *words,
				     struct reel_sample *sample) REEL_MUST_CHECK;

#endif

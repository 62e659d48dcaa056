/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes out of samples what unwinding has no use for, so that what a program works with does not
 * reach the file (SPEC.md, section 8.1): of stacks and registers only addresses keep their value.
 *
 * Which words are addresses depends on the process: those that point into one of the sample's
 * regions, and those that point into code, as it is mapped at that time.  How long a word is and
 * which of its bits count is decided here alone, for all that scrub.
 */
#ifndef SCRUB_SCRUB_H
#define SCRUB_SCRUB_H

#include "base/elf_identity.h"
#include "target/space.h"

/* What a word that was not 0 becomes: no address, and no end of a stack as 0 may be. */
#define REEL_SCRUBBED_WORD 1

struct reel_scrubber;

/* `native`: what the recorded system's processes are where a SPACE does not say. */
struct reel_error *reel_scrubber_create(const struct reel_elf_kind *native,
					struct reel_scrubber **ret) REEL_MUST_CHECK;
void reel_scrubber_destroy(struct reel_scrubber *scrubber);

/*
 * Makes the sample a scrubbed one.  What it pointed to stays as it was: it points to the
 * scrubber's copies then, which live until the next call.  `view` is of the sample's space and
 * time; all views given to a scrubber are of one timeline.  After an error (NO_MEMORY) nothing of
 * the sample may be used.
 */
struct reel_error *reel_scrub_sample(struct reel_scrubber *scrubber,
				     const struct reel_space_view *view,
				     struct reel_sample *sample) REEL_MUST_CHECK;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removes data from samples that unwinding does not need, so that a program's data does not reach
 * the file (SPEC.md, section 8.1): only addresses in stacks and registers keep their value.
 *
 * Which words are addresses depends on the process: those that point into one of the sample's
 * regions, and those that point into code, as mapped at that time.  Only this module decides the
 * size of a word and which of its bits count, for all callers.
 */
#ifndef FORMAT_SCRUB_SCRUB_H
#define FORMAT_SCRUB_SCRUB_H

#include "base/elf_identity.h"
#include "format/timeline/space.h"

/* Replaces a nonzero word: not an address, and unlike 0 never the end of a stack. */
#define REEL_SCRUBBED_WORD 1

struct reel_scrubber;

/* `native`: the kind of the recorded system's processes, the default for a SPACE. */
struct reel_error *reel_scrubber_create(const struct reel_elf_kind *native,
					struct reel_scrubber **ret) REEL_MUST_CHECK;
void reel_scrubber_destroy(struct reel_scrubber *scrubber);
/* Frees what it keeps of earlier samples: it makes the next ones of the same threads cheaper. */
void reel_scrubber_forget(struct reel_scrubber *scrubber);

/*
 * Scrubs the sample.  Its original data is unchanged: the sample then points to the scrubber's
 * copies, which live until the next call.  `view` is of the sample's space and time; all views
 * passed to a scrubber must be of one timeline.  After an error (NO_MEMORY) no part of the sample
 * may be used.
 */
struct reel_error *reel_scrub_sample(struct reel_scrubber *scrubber,
				     const struct reel_space_view *view,
				     struct reel_sample *sample) REEL_MUST_CHECK;

#endif

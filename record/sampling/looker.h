/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Has a process look at waiting threads (bpf/look.h).  A process, since a look may have to wait for
 * another one's memory for as long as that one likes, and cannot be interrupted then: the recorder
 * goes on without it.
 */
#ifndef RECORD_SAMPLING_LOOKER_H
#define RECORD_SAMPLING_LOOKER_H

#include "bpf/sample.h"
#include "bpf/piece.h"
#include "bpf/settings.h"
#include "base/error.h"

/* Looks take at most this share of one CPU: with many threads there are fewer. */
#define REEL_LOOKER_SHARE 0.02

struct reel_looker;

/*
 * Starts the process; it looks only from reel_looker_begin on.  `link` is the descriptor of the
 * iterator's BPF link, `listed` of the program that looks at listed threads, or -1; `control` is shared with the BPF programs, and so is `copies`, NULL if they
 * read memory themselves; all outlive the looker.
 */
struct reel_error *reel_looker_start(int link, int listed,
				     volatile struct reel_bpf_control *control,
				     struct reel_bpf_copies *copies, uint64_t frequency,
				     bool sandboxed, struct reel_looker **ret) REEL_MUST_CHECK;
/* Ends the process, but does not wait for one that is stuck. */
void reel_looker_stop(struct reel_looker *looker);

void reel_looker_begin(struct reel_looker *looker);
/* One more look, which reports all waits; false if it takes too long or the process has ended. */
bool reel_looker_look(struct reel_looker *looker);

#endif

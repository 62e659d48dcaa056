/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long samples wait until they are handled together.
 *
 * The first sample of a turn finds nothing in the caches: at 19 Hz, turns of 0.9 s take half of
 * the time that turns of 100 ms do.  But what is not in a file (JIT code, names of interpreters, a
 * container's files) can be read only while its process lives, so long turns are for hosts where
 * nothing of that kind was new for a while.
 */
#ifndef RECORD_TURNS_H
#define RECORD_TURNS_H

#include <stdbool.h>
#include <stdint.h>

/* ms; the last is for calm hosts.  A kill loses the samples of a turn and all that was not flushed,
 * together less than the second that SPEC.md, 3.2, allows. */
#define REEL_TURN_MIN  100
#define REEL_TURN_MAX  250
#define REEL_TURN_CALM 900
/* ms after a flush at which the next one is due, unless --flush-interval says it; a long turn ends with one. */
#define REEL_FLUSH_USUAL 500

struct reel_turn_needs {
	bool is_prompt; /* something is promised to be noticed early */
	bool may_be_long;
	uint64_t frequency;    /* samples a second and CPU at most */
	uint64_t without_news; /* ns */
};

/* ms */
int reel_turn_length(const struct reel_turn_needs *needs);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * User chains that the kernel took on its way back to user code (PERF_RECORD_CALLCHAIN_DEFERRED,
 * Linux 6.19 and later): earlier samples refer to theirs by a cookie.
 */
#ifndef REPLAY_IMPORT_DEFERRED_CHAINS_H
#define REPLAY_IMPORT_DEFERRED_CHAINS_H

#include "replay/import/perf_events.h"
#include "replay/import/perf_stream.h"

struct deferred_chain {
	uint64_t cookie, time;
	uint32_t tid; /* UINT32_MAX: not recorded */
	struct perf_position position;
};

/* All zero is empty. */
struct deferred_chains {
	struct deferred_chain *list; /* sorted once sealed */
	size_t n, capacity;
	uint64_t words_left; /* that may still be returned */
	/* The last returned chain and its bytes. */
	const struct deferred_chain *given;
	uint8_t *buffer;
	struct perf_words words;
};

void reel_deferred_chains_free(struct deferred_chains *chains);
/* Adds a record of that kind; `event` is its event, NULL if unknown. *ok_ret: it is well-formed. */
struct reel_error *reel_deferred_chains_add(struct deferred_chains *chains,
					    const struct perf_event *event,
					    struct perf_cursor payload, uint64_t time,
					    struct perf_position position,
					    bool *ok_ret) REEL_MUST_CHECK;
/* Call it after the last one.  `file_size` limits how much all look-ups return. */
void reel_deferred_chains_seal(struct deferred_chains *chains, uint64_t file_size);
/* The words of the chain that a task's sample waits for at `time`, borrowed until the next call;
 * empty if missing.  CORRUPT if samples ask for more than is plausible for the file's size. */
struct reel_error *reel_deferred_chains_find(struct deferred_chains *chains,
					     const struct perf_stream *stream, uint32_t tid,
					     uint64_t cookie, uint64_t time,
					     struct perf_words *ret) REEL_MUST_CHECK;

#endif

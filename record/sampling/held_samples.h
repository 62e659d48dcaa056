/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of threads that wait, until it is known how long: one for each thread.  They are copies,
 * in memory up to a limit.
 */
#ifndef RECORD_SAMPLING_HELD_SAMPLES_H
#define RECORD_SAMPLING_HELD_SAMPLES_H

#include "base/id_table.h"
#include "format/record.h"

/* Who ended a wait. */
struct reel_waker {
	char name[32];	 /* "": unknown */
	uint32_t tid;	 /* 0: an interrupt */
	uint64_t sample; /* id; 0: not sampled */
};

/* One scan finds this many waits at most whose wakers come before their samples. */
#define REEL_EARLY_WAKERS 64

struct reel_held_samples {
	struct reel_id_table by_tid;
	size_t bytes; /* of all */
	/* Wakers of threads without a sample, the oldest replaced first. */
	struct reel_early_waker {
		uint32_t tid; /* of the woken thread; 0: none */
		uint64_t time;
		struct reel_waker waker;
	} early[REEL_EARLY_WAKERS];
	size_t next_early;
};

void reel_held_samples_free(struct reel_held_samples *held);

/*
 * Keeps a copy of the sample, except its `layout`, which has to live as long, in place of the
 * thread's previous one; false without room or memory.
 */
bool reel_held_samples_put(struct reel_held_samples *held, uint32_t tid,
			   const struct reel_sample *sample);
/* The thread's sample, to set its weight and time, or NULL. */
struct reel_sample *reel_held_samples_find(const struct reel_held_samples *held, uint32_t tid);
void reel_held_samples_remove(struct reel_held_samples *held, uint32_t tid);

/*
 * Remembers who ended the thread's wait at `time`.  Its sample may not be there yet: then
 * reel_held_samples_remove_early finds the waker, unless too many others followed.
 */
void reel_held_samples_set_waker(struct reel_held_samples *held, uint32_t tid, uint64_t time,
				 const struct reel_waker *waker);
/* The waker that came before the sample of a wait seen at `time`; false: none. */
bool reel_held_samples_remove_early(struct reel_held_samples *held, uint32_t tid, uint64_t time,
				    struct reel_waker *ret);
/* NULL if the thread is not held, or nobody ended its wait yet. */
const struct reel_waker *reel_held_samples_waker(const struct reel_held_samples *held,
						 uint32_t tid);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What a lock's holder does while others wait for it, by times of samples. */
#ifndef CLI_REPORT_LOCK_TIMES_H
#define CLI_REPORT_LOCK_TIMES_H

#include <stddef.h>
#include <stdint.h>

#define LOCK_NO_PAIR UINT32_MAX
#define LOCK_NOBODY  UINT32_MAX

/* A sample, which covers a time up to its own. */
struct lock_sample {
	uint64_t begin, end;
	uint32_t thread; /* an index */
	uint32_t stack;	 /* node of a tree */
	uint32_t pair;	 /* of lock and holder that it waits for; LOCK_NO_PAIR: it does not */
};

/* By thread and time.  */
void lock_times_sort(struct lock_sample *samples, size_t n);
/*
 * Divides the time of a wait between the samples of the holder, which are sorted: each gets what it
 * covers since the previous one of the thread. Times that none covers belong to the nearest one
 * within 100 ms, or else to none: NULL.
 */
void lock_times_attribute(const struct lock_sample *samples, size_t n,
			  const struct lock_sample *wait, uint32_t holder,
			  void (*add)(void *context, const struct lock_sample *sample,
				      uint64_t time),
			  void *context);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/array.h"
#include "cli/report/lock_times.h"

#define NEAR UINT64_C(100000000) /* ns */

static int compare(const void *a, const void *b)
{
	const struct lock_sample *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->end != y->end)
		return x->end < y->end ? -1 : 1;
	return (x->begin > y->begin) - (x->begin < y->begin);
}

void lock_times_sort(struct lock_sample *samples, size_t n)
{
	if (n)
		qsort(samples, n, sizeof(*samples), compare);
}

/* The first sample of the thread that ends after `time`; or the first one after the thread's. */
static size_t find(const struct lock_sample *samples, size_t n, uint32_t thread, uint64_t time)
{
	return REEL_PARTITION_POINT(n, i,
				    samples[i].thread < thread || (samples[i].thread == thread &&
								   samples[i].end <= time));
}

struct attribution {
	void (*add)(void *context, const struct lock_sample *sample, uint64_t time);
	void *context;
};

static void add_overlap(const struct attribution *to, const struct lock_sample *sample,
			uint64_t begin, uint64_t end)
{
	if (begin < end)
		to->add(to->context, sample, end - begin);
}

static uint64_t min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* A time [begin, end) between two samples, each of which may be missing. */
static void add_gap(const struct attribution *to, const struct lock_sample *before,
		    const struct lock_sample *after, uint64_t after_begin, uint64_t begin,
		    uint64_t end)
{
	/* The first one's part ends, the last one's begins. */
	uint64_t first = begin, last = end;

	if (before && before->end < UINT64_MAX - NEAR)
		first = max(begin, min(end, before->end + NEAR));
	if (after)
		last = min(end, max(begin, after_begin > NEAR ? after_begin - NEAR : 0));
	if (first > last) /* both are near */
		first = last = max(begin, min(end, before->end + (after_begin - before->end) / 2));
	add_overlap(to, before, begin, first);
	add_overlap(to, NULL, first, last);
	add_overlap(to, after, last, end);
}

void lock_times_attribute(const struct lock_sample *samples, size_t n,
			  const struct lock_sample *wait, uint32_t holder,
			  void (*add_part)(void *context, const struct lock_sample *sample,
					   uint64_t time),
			  void *context)
{
	const struct attribution to = { add_part, context };
	uint64_t at = wait->begin, end = wait->end;
	size_t i = find(samples, n, holder, at);
	const struct lock_sample *before =
		i && samples[i - 1].thread == holder ? &samples[i - 1] : NULL;

	while (at < end) {
		const struct lock_sample *next =
			i < n && samples[i].thread == holder ? &samples[i] : NULL;
		uint64_t begin = next ? next->begin : UINT64_MAX;

		/* Samples of one thread do not overlap, except for the inaccuracy of their weights. */
		if (next && before)
			begin = max(begin, before->end);
		if (at < begin)
			add_gap(&to, before, next, begin, at, min(begin, end));
		at = max(at, min(begin, end));
		if (!next)
			return;
		add_overlap(&to, next, at, min(next->end, end));
		at = max(at, min(next->end, end));
		before = next;
		i++;
	}
}

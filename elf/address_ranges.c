/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/array.h"
#include "elf/address_ranges.h"

static int compare_ranges(const void *a, const void *b)
{
	const struct reel_address_range *x = a, *y = b;

	return (x->begin > y->begin) - (x->begin < y->begin);
}

void reel_address_ranges_tidy(struct reel_address_ranges *ranges)
{
	struct reel_address_range *all = ranges->all;
	size_t n = 0;

	if (ranges->n == ranges->n_tidy)
		return;
	qsort(all, ranges->n, sizeof(*all), compare_ranges);
	for (size_t i = 0; i < ranges->n; i++) {
		if (!n || all[i].begin > all[n - 1].end)
			all[n++] = all[i];
		else if (all[i].end > all[n - 1].end)
			all[n - 1].end = all[i].end;
	}
	ranges->n = ranges->n_tidy = n;
}

void reel_address_ranges_add(struct reel_address_ranges *ranges, uint64_t begin, uint64_t end)
{
	struct reel_address_range *last = ranges->n ? &ranges->all[ranges->n - 1] : NULL;

	if (last && begin >= last->begin && end <= last->end)
		return;
	/* Equal ranges are added repeatedly: memory must depend on the number of distinct ones. */
	if (ranges->n == ranges->capacity && ranges->n_tidy < ranges->n / 2)
		reel_address_ranges_tidy(ranges);
	if (!reel_array_reserve(&ranges->all, ranges->n, &ranges->capacity, sizeof(*ranges->all)))
		ranges->failed = true;
	else
		ranges->all[ranges->n++] = (struct reel_address_range){ begin, end };
}

size_t reel_address_ranges_search(const struct reel_address_ranges *ranges, uint64_t address)
{
	size_t low = REEL_PARTITION_POINT(ranges->n, i, ranges->all[i].end <= address);

	return low;
}

void reel_address_ranges_free(struct reel_address_ranges *ranges)
{
	free(ranges->all);
	*ranges = (struct reel_address_ranges){ 0 };
}

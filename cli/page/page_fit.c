/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "cli/flamegraph/flame_shrink.h"
#include "cli/page/page_content.h"
#include "cli/page/page_fit.h"
#include "cli/page/page_pack.h"
#include "cli/print/complain.h"
#include "cli/print/text.h"

/* The page's own programs need less than 250 kB of 3 MB. */
#define PACKED_MAX 2750000

/* The limits to try, in this order.  A page shows its steps on one or two thousand pixels. */
static const struct level {
	uint64_t steps; /* 0: as they are */
	size_t nodes, threads, values;
} levels[] = {
	{ 0, 250000, SIZE_MAX, 5000 }, { 16000, 100000, SIZE_MAX, 1000 },
	{ 8000, 80000, 20000, 500 },   { 4000, 60000, 5000, 200 },
	{ 2000, 40000, 2000, 100 },    { 1000, 30000, 1000, 50 },
	{ 500, 20000, 500, 20 },       { 250, 10000, 200, 10 },
	{ 100, 5000, 100, 10 },	       { 50, 2000, 50, 5 },
};

static uint64_t duration_of(const struct flame_profile *profile)
{
	uint64_t last = 0;

	for (size_t i = 0; i < profile->spans.n; i++) {
		if (profile->spans.items[i].bin > last)
			last = profile->spans.items[i].bin;
	}
	return (last + 1) * profile->spans.step;
}

/* Packing takes long, so returns NULL if the result would be far too large. */
static char *pack(struct flame_profile *profile, const struct page_source *source, double *ratio,
		  size_t *size_ret)
{
	_cleanup_free_ char *content = NULL;
	char *packed;
	size_t size;

	content = page_content_make(profile, source, &size);
	if ((double)size * *ratio > 1.1 * PACKED_MAX)
		return NULL;
	packed = page_pack(content, size, size_ret);
	*ratio = (double)*size_ret / (double)size;
	return packed;
}

char *page_fit(struct flame_profile *profile, const struct page_source *source, bool loud)
{
	uint64_t duration = duration_of(profile);
	double ratio = 0; /* of packed bytes */
	char *packed = NULL;
	size_t size = 0;

	for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++) {
		const struct flame_limits limits = {
			.step = levels[i].steps ? duration / levels[i].steps : 0,
			.nodes = levels[i].nodes,
			.threads = levels[i].threads,
			.values = levels[i].values,
		};

		flame_profile_limit(profile, &limits);
		free(packed);
		packed = pack(profile, source, &ratio, &size);
		if (packed && size <= PACKED_MAX)
			return packed;
	}
	free(packed);
	ratio = 0;
	packed = pack(profile, source, &ratio, &size);
	if (loud && size > PACKED_MAX)
		complain("the page has %s, which browsers may show slowly; use --pid or --time for "
			 "a part",
			 format_bytes(size).text);
	return packed;
}

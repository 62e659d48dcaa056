/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "format/codec/chain_base.h"

bool reel_chain_base_replace(struct reel_chain_base *base, size_t gone, size_t added)
{
	size_t kept = base->n - gone, n = kept + added;

	if (n > base->capacity) {
		uint64_t *addresses = realloc(base->addresses, n * sizeof(*addresses));

		if (!addresses)
			return false;
		base->addresses = addresses;
		base->capacity = n;
	}
	if (kept && gone != added)
		memmove(base->addresses + added, base->addresses + gone,
			kept * sizeof(*base->addresses));
	base->n = n;
	return true;
}

void reel_chain_base_free(struct reel_chain_base *base)
{
	free(base->addresses);
}

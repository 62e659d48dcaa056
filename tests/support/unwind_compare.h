/* SPDX-License-Identifier: Apache-2.0 */
/* Compares all results of two walks. */
#ifndef TESTS_SUPPORT_UNWIND_COMPARE_H
#define TESTS_SUPPORT_UNWIND_COMPARE_H

#include <string.h>

#include "replay/unwind/unwind.h"

static inline bool same_frames(const struct reel_unwind_frames *a,
			       const struct reel_unwind_frames *b)
{
	const size_t size = a->n * sizeof(uint64_t);

	return a->n == b->n &&
	       (!a->n || (!memcmp(a->addresses, b->addresses, size) &&
			  !memcmp(a->lookups, b->lookups, size) && !memcmp(a->sps, b->sps, size) &&
			  !memcmp(a->steps, b->steps, a->n)));
}

/* Ignores registers with unknown values. */
static inline bool same_state(const struct reel_unwind_state *a, const struct reel_unwind_state *b)
{
	for (unsigned slot = 0; slot < a->arch->n_registers; slot++)
		if (a->known >> slot & 1 && a->registers[slot] != b->registers[slot])
			return false;
	return a->known == b->known && a->pc == b->pc;
}

#endif

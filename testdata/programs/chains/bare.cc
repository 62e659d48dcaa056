/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions without CFI, written by hand (bare_<cpu>.S).
 *
 *   bare-framed  mode_bare_framed -> framed_caller -> bare_framed -> bare_framed_inner
 *                Both keep a frame pointer, by which a trace can continue.
 *   bare         mode_bare -> bare_caller -> bare_unframed -> bare_called
 *                bare_unframed keeps none: a trace ends there, with this reason.
 */
#include "chains.h"

#ifdef BARE

extern "C" uint64_t bare_framed(uint64_t rounds);
extern "C" uint64_t bare_unframed(uint64_t rounds, uint64_t (*called)(uint64_t));

NOINLINE uint64_t framed_caller(uint64_t rounds)
{
	uint64_t value = bare_framed(rounds);

	sink = value;
	return value;
}

int mode_bare_framed(double seconds, char **)
{
	while (cpu_seconds() < seconds)
		sink = framed_caller(1000000);
	return 0;
}

static NOINLINE uint64_t bare_called(uint64_t value)
{
	return spin(500000, value);
}

NOINLINE uint64_t bare_caller(uint64_t rounds)
{
	uint64_t value = bare_unframed(rounds, bare_called);

	sink = value;
	return value;
}

int mode_bare(double seconds, char **)
{
	while (cpu_seconds() < seconds)
		sink = bare_caller(1000000);
	return 0;
}

#endif

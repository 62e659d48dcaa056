/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tail calls: functions that jump instead of calling are missing from the chain, and the caller of
 * all is mode_tail's tail_caller.
 *
 *   tail    mode_tail -> tail_caller -> tail_saves -> tail_called   a frame, which is gone
 *                                       before the jump to
 *           mode_tail -> tail_caller -> tail_short                  no frame, a jump through a
 *                                       pointer to
 *           mode_tail -> tail_caller -> tail_last
 *
 * Compilers turn them into jumps when optimizing, so the chain differs with -O0.
 */
#include "chains.h"

NOINLINE uint64_t tail_last(uint64_t value)
{
	return spin(4, value);
}

static uint64_t (*volatile tail_pointer)(uint64_t) = tail_last;

NOINLINE uint64_t tail_short(uint64_t value)
{
	return tail_pointer(mix(value));
}

NOINLINE uint64_t tail_called(uint64_t value)
{
	return mix(value) >> 1;
}

NOINLINE uint64_t tail_saves(uint64_t value)
{
	uint64_t keep[4];

	for (int i = 0; i < 4; i++) {
		keep[i] = value + (uint64_t)i;
		__asm__ volatile("" : "+r"(keep[i]));
	}
	value = tail_called(value);
	return tail_short(value ^ keep[0] ^ keep[1] ^ keep[2] ^ keep[3]);
}

NOINLINE uint64_t tail_caller(uint64_t value)
{
	value = tail_saves(value);
	sink = value;
	return value;
}

int mode_tail(double seconds, char **)
{
	while (cpu_seconds() < seconds) {
		for (int i = 0; i < 10000; i++)
			sink = tail_caller(sink);
	}
	return 0;
}

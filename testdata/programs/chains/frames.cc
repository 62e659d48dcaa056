/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames of all shapes.
 *
 *   leaf      mode_leaf -> leaf_outer -> leaf_inner         no stack frame, and a red zone
 *   tiny      mode_tiny -> tiny_keep<N> -> tiny_leaf<N>     N registers saved and restored
 *             mode_tiny -> tiny_skip, tiny_variadic -> …    a late prologue, saved vector registers
 *   realign   mode_realign -> realign_* -> fill_*           over-aligned locals, alloca, arguments
 *                                                           on the stack
 *   deep      mode_deep -> deep -> … -> deep -> deep_bottom a megabyte of stack
 *   inline    mode_inline -> inline_outer                   four functions inlined into each other
 */
#include <alloca.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "chains.h"

/* ---- leaf ------------------------------------------------------------------------------- */

NOINLINE uint64_t leaf_inner(uint64_t value)
{
	volatile uint64_t below[8]; /* in the red zone, where there is one */

	for (int i = 0; i < 2000; i++) {
		below[i & 7] = value;
		value = mix(value) ^ below[(i + 3) & 7];
	}
	return value;
}

NOINLINE uint64_t leaf_outer(uint64_t value)
{
	value = leaf_inner(value);
	sink = value;
	return value;
}

int mode_leaf(double seconds, char **)
{
	while (cpu_seconds() < seconds) {
		for (int i = 0; i < 1000; i++)
			sink = leaf_outer(sink);
	}
	return 0;
}

/* ---- tiny ------------------------------------------------------------------------------- */

template <int N> NOINLINE uint64_t tiny_leaf(uint64_t value)
{
	return mix(value + N);
}

/* N values live across a call: they need that many saved registers, or stack slots. */
template <int N> NOINLINE uint64_t tiny_keep(uint64_t value)
{
	uint64_t keep[N], result;

	for (int i = 0; i < N; i++) {
		keep[i] = value + (uint64_t)i;
		__asm__ volatile("" : "+r"(keep[i]));
	}
	result = tiny_leaf<N>(value);
	for (int i = 0; i < N; i++)
		result ^= keep[i];
	return result;
}

NOINLINE uint64_t tiny_skipped(uint64_t value)
{
	return mix(value);
}

/* Most calls return before anything is saved (shrink-wrapping). */
NOINLINE uint64_t tiny_skip(uint64_t value)
{
	uint64_t keep = value;

	if (value & 0x300)
		return mix(value);
	__asm__ volatile("" : "+r"(keep));
	return tiny_skipped(value) ^ keep;
}

NOINLINE uint64_t tiny_taken(uint64_t value)
{
	return mix(value);
}

/* All argument registers are saved. */
NOINLINE uint64_t tiny_variadic(int n, ...)
{
	uint64_t sum = 0;
	va_list arguments;

	va_start(arguments, n);
	for (int i = 0; i < n; i++)
		sum ^= va_arg(arguments, uint64_t);
	va_end(arguments);
	return tiny_taken(sum) + 1;
}

NOINLINE uint64_t tiny_filled(unsigned char *bytes, uint64_t value)
{
	bytes[value & 15] = (unsigned char)value;
	return value + bytes[(value + 1) & 15];
}

/* The frame has no fixed size. */
NOINLINE uint64_t tiny_alloca(uint64_t value)
{
	unsigned char *bytes = static_cast<unsigned char *>(alloca(16 + (value & 48)));

	return tiny_filled(bytes, value) + bytes[0];
}

uint64_t interruptible(uint64_t value)
{
	for (int i = 0; i < 200; i++) {
		value = tiny_keep<1>(value);
		value = tiny_keep<4>(value);
		value = tiny_keep<6>(value);
	}
	return value;
}

int mode_tiny(double seconds, char **)
{
	uint64_t value = 1;

	while (cpu_seconds() < seconds) {
		for (int i = 0; i < 10000; i++) {
			value = tiny_keep<1>(value);
			value = tiny_keep<2>(value);
			value = tiny_keep<3>(value);
			value = tiny_keep<4>(value);
			value = tiny_keep<5>(value);
			value = tiny_keep<6>(value);
			value = tiny_keep<12>(value);
			value = tiny_skip(tiny_skip(tiny_skip(value << 8)));
			value = tiny_variadic(2, value, value + 1);
			value = tiny_alloca(value);
		}
	}
	sink = value;
	return 0;
}

/* ---- realign ------------------------------------------------------------------------------ */

NOINLINE uint64_t fill_local(uint64_t *words, uint64_t value)
{
	for (int i = 0; i < 8; i++)
		words[i] = value = mix(value);
	return value;
}

NOINLINE uint64_t realign_local(uint64_t value)
{
	alignas(64) uint64_t words[8];

	value = fill_local(words, value);
	return value ^ words[value & 7];
}

NOINLINE uint64_t fill_alloca(uint64_t *words, uint64_t *more, uint64_t value)
{
	for (int i = 0; i < 8; i++)
		words[i] = more[i] = value = mix(value);
	return value;
}

NOINLINE uint64_t realign_alloca(uint64_t value)
{
	alignas(128) uint64_t words[8];
	uint64_t *more = static_cast<uint64_t *>(alloca(64 + (value & 1008)));

	value = fill_alloca(words, more, value);
	return value ^ words[value & 7] ^ more[value & 7];
}

NOINLINE uint64_t fill_arguments(uint64_t *words, uint64_t value)
{
	for (int i = 0; i < 4; i++)
		words[i] = value = mix(value);
	return value;
}

/* The arguments on the stack are at the CFA, whose distance from sp and the frame pointer
 * varies. */
NOINLINE uint64_t realign_arguments(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
				    uint64_t f, uint64_t g, uint64_t h, uint64_t i, uint64_t j)
{
	alignas(32) uint64_t words[4];
	uint64_t *more = static_cast<uint64_t *>(alloca(16 + (a & 112)));

	more[0] = fill_arguments(words, a ^ b ^ c ^ d ^ e ^ f);
	return more[0] + words[g & 3] + h + i + j;
}

int mode_realign(double seconds, char **)
{
	uint64_t value = 1;

	while (cpu_seconds() < seconds) {
		for (int i = 0; i < 10000; i++) {
			value = realign_local(value);
			value = realign_alloca(value);
			value = realign_arguments(value, 2, 3, 4, 5, 6, 7, 8, 9, value);
		}
	}
	sink = value;
	return 0;
}

/* ---- deep --------------------------------------------------------------------------------- */

static uintptr_t deep_end;
static long deep_frames;

NOINLINE uint64_t deep_bottom(uint64_t value)
{
	return spin(10000000, value);
}

NOINLINE uint64_t deep(uint64_t value, long depth)
{
	volatile uint64_t words[16];

	words[value & 15] = value;
	if (reinterpret_cast<uintptr_t>(words) <= deep_end) {
		deep_frames = depth;
		value = deep_bottom(value);
	} else {
		value = deep(mix(value), depth + 1);
	}
	sink = value;
	return value ^ words[value & 15];
}

/* The argument is the number of bytes of stack; it prints the resulting number of frames of deep. */
int mode_deep(double seconds, char **arguments)
{
	deep_end = reinterpret_cast<uintptr_t>(__builtin_frame_address(0)) -
		   (*arguments ? strtoul(*arguments, nullptr, 0) : 1000000);
	while (cpu_seconds() < seconds)
		sink = deep(sink, 1);
	printf("%ld\n", deep_frames);
	return 0;
}

/* ---- inline --------------------------------------------------------------------------------- */

static INLINE uint64_t inline_four(uint64_t value)
{
	for (int i = 0; i < 4000; i++) {
		value = mix(value);
		__asm__ volatile("" : "+r"(value));
	}
	return value;
}

static INLINE uint64_t inline_three(uint64_t value)
{
	return inline_four(value ^ 3) + 3;
}

static INLINE uint64_t inline_two(uint64_t value)
{
	return inline_three(value ^ 2) + 2;
}

static INLINE uint64_t inline_one(uint64_t value)
{
	return inline_two(value ^ 1) + 1;
}

NOINLINE uint64_t inline_outer(uint64_t value)
{
	value = inline_one(value);
	sink = value;
	return value;
}

int mode_inline(double seconds, char **)
{
	while (cpu_seconds() < seconds) {
		for (int i = 0; i < 1000; i++)
			sink = inline_outer(sink);
	}
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* libleft.so and libright.so of mode reload: equal but for the names, so each fits in the other's
 * place. */
#include <stdint.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noipa))
#endif
#define NAME_(side, what) side##_##what
#define NAME(side, what)  NAME_(side, what)

static volatile uint64_t sink;

static NOINLINE uint64_t NAME(SIDE, inner)(uint64_t value)
{
	for (int i = 0; i < 2000000; i++) {
		value = value * 6364136223846793005u + 1442695040888963407u;
		__asm__ volatile("" : "+r"(value));
	}
	return value;
}

uint64_t NAME(SIDE, outer)(uint64_t value);
uint64_t NAME(SIDE, outer)(uint64_t value)
{
	value = NAME(SIDE, inner)(value);
	sink = value;
	return value;
}

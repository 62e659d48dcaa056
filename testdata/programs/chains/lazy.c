/* SPDX-License-Identifier: Apache-2.0 */
/* liblazy.so of mode lazy: calls functions through the PLT, each of which ld.so has to look up; and
 * libadd.so of mode plt. */
#include <stdint.h>

uint64_t library_add(uint64_t value);
uint64_t lazy_round(uint64_t value);

#ifdef ADD
uint64_t library_add(uint64_t value)
{
	return value + 1;
}
#else
#define FOUR(use, n) use(n##0) use(n##1) use(n##2) use(n##3)
#define ALL(use)                                                                                   \
	FOUR(use, 0)                                                                               \
	FOUR(use, 1)                                                                               \
	FOUR(use, 2) FOUR(use, 3) FOUR(use, 4) FOUR(use, 5) FOUR(use, 6) FOUR(use, 7) FOUR(use, 8) \
		FOUR(use, 9)

/* Default visibility: another module might define its own, so calls go through the PLT. */
#define DEFINE(n)                                                                                  \
	uint64_t lazy_##n(uint64_t value, double more);                                            \
	uint64_t lazy_##n(uint64_t value, double more)                                             \
	{                                                                                          \
		return value + 1##n + (uint64_t)more;                                              \
	}
ALL(DEFINE)

#define CALL(n) value = lazy_##n(value, 0.5);
uint64_t lazy_round(uint64_t value)
{
	ALL(CALL)
	return value + 1; /* or the last call would be a jump */
}
#endif

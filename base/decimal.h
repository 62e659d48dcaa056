/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decimal fractions, as integers of a smaller unit. The output is exact and therefore the same on
 * every host. Doubles differ: x87's have more bits, and some compilers fuse a product and a sum
 * into one rounding on CPUs that can.
 */
#ifndef BASE_DECIMAL_H
#define BASE_DECIMAL_H

#include <stdbool.h>
#include <stdint.h>

/* a * b / c, rounded down; UINT64_MAX if larger. c must not be 0. */
uint64_t reel_decimal_ratio(uint64_t a, uint64_t b, uint64_t c);
/* The same, rounded to nearest, ties to even. */
uint64_t reel_decimal_ratio_rounded(uint64_t a, uint64_t b, uint64_t c);

/*
 * Parses an unsigned number at the start of `text`, "1.5" or ".5", multiplies it by `unit` and
 * rounds: with unit 1000, "1.5" is 1500. *end_ret is set to the rest. False if the number is
 * missing or too large.
 */
bool reel_decimal_parse(const char *text, uint64_t unit, const char **end_ret, uint64_t *ret);

#endif

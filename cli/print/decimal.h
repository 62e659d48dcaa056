/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers with digits behind the point, as integers of a smaller unit.  What is printed is exact,
 * and so the same on every host; doubles are not: x87's have more bits, and some compilers round a
 * product and a sum at once where the CPU can.
 */
#ifndef CLI_PRINT_DECIMAL_H
#define CLI_PRINT_DECIMAL_H

#include <stdbool.h>
#include <stdint.h>

/* Percentages that are compared are millionths of a percent. */
#define PERCENT UINT64_C(1000000)

/* a * b / c, which is not 0: rounded down; UINT64_MAX where it is larger. */
uint64_t decimal_ratio(uint64_t a, uint64_t b, uint64_t c);
/* The same, rounded to the nearest, and from the middle to the even one. */
uint64_t decimal_ratio_rounded(uint64_t a, uint64_t b, uint64_t c);

/*
 * A number without a sign at the start of `text`, "1.5" or ".5", in a `unit` of which it is a
 * multiple, rounded: of unit 1000, "1.5" is 1500.  What is behind it is at *end_ret.  False if
 * there is no number, or one that is too large.
 */
bool decimal_parse(const char *text, uint64_t unit, const char **end_ret, uint64_t *ret);

#endif

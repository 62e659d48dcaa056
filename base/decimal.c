/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>

#include "base/decimal.h"

/* Digits after the point; further ones are ignored. */
#define DIGITS_MAX 18

struct product {
	uint64_t high, low;
};

static struct product multiply(uint64_t a, uint64_t b)
{
	uint64_t a_low = (uint32_t)a, a_high = a >> 32, b_low = (uint32_t)b, b_high = b >> 32;
	uint64_t low = a_low * b_low;
	/* At most (2^32 - 1)^2 + 2 * (2^32 - 1), which is 2^64 - 1. */
	uint64_t middle = a_high * b_low + (low >> 32) + (uint32_t)(a_low * b_high);

	return (struct product){ a_high * b_high + (middle >> 32) + (a_low * b_high >> 32),
				 middle << 32 | (uint32_t)low };
}

/* Bit by bit, as on paper. */
static uint64_t divide(struct product product, uint64_t divisor, uint64_t *rest_ret)
{
	uint64_t rest = product.high, quotient = 0;

	*rest_ret = 0;
	if (rest >= divisor)
		return UINT64_MAX;
	for (int bit = 63; bit >= 0; bit--) {
		bool carry = rest >> 63;

		rest = rest << 1 | (product.low >> bit & 1);
		quotient <<= 1;
		if (carry || rest >= divisor) {
			rest -= divisor;
			quotient |= 1;
		}
	}
	*rest_ret = rest;
	return quotient;
}

uint64_t reel_decimal_ratio(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t rest;

	return divide(multiply(a, b), c, &rest);
}

uint64_t reel_decimal_ratio_rounded(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t rest, ratio = divide(multiply(a, b), c, &rest);
	bool up = rest > c - rest || (rest == c - rest && (ratio & 1));

	return ratio + (up && ratio != UINT64_MAX);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

bool reel_decimal_parse(const char *text, uint64_t unit, const char **end_ret, uint64_t *ret)
{
	uint64_t number = 0, fraction = 0, of = 1;
	size_t n = 0, n_behind = 0;

	for (; is_digit(*text); text++, n++) {
		if (__builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, (uint64_t)(*text - '0'), &number))
			return false;
	}
	if (*text == '.') {
		for (text++; is_digit(*text); text++, n_behind++) {
			if (n_behind >= DIGITS_MAX)
				continue;
			fraction = fraction * 10 + (uint64_t)(*text - '0');
			of *= 10;
		}
	}
	*end_ret = text;
	return n + n_behind && !__builtin_mul_overflow(number, unit, &number) &&
	       !__builtin_add_overflow(number, reel_decimal_ratio_rounded(fraction, unit, of), ret);
}

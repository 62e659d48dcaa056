/* SPDX-License-Identifier: Apache-2.0 */
#include "format/codec/dense_bits.h"

void reel_bit_coder_encode_to(struct reel_bit_coder *coder, struct reel_buffer *out)
{
	*coder = (struct reel_bit_coder){ .high = UINT32_MAX, .out = out };
}

void reel_bit_coder_finish(struct reel_bit_coder *coder)
{
	/* The number of bytes that the decoder reads ahead. */
	for (int shift = 24; shift >= 0; shift -= 8)
		reel_buffer_u8(coder->out, (uint8_t)(coder->low >> shift));
}

void reel_bit_coder_decode_from(struct reel_bit_coder *coder, struct reel_cursor *in)
{
	*coder = (struct reel_bit_coder){ .high = UINT32_MAX, .in = in };
	for (int i = 0; i < 4; i++)
		coder->code = coder->code << 8 | reel_cursor_u8(in);
}

/* 65536 / (1 + e^-x) for x from -8 to 8 in steps of a half, rounded. */
static const uint16_t logistic[] = {
	22,    36,    60,    98,    162,   267,	  439,	 720,	1179,  1921,  3108,
	4971,  7812,  11955, 17625, 24743, 32768, 40793, 47911, 53581, 57724, 60565,
	62428, 63615, 64357, 64816, 65097, 65269, 65374, 65438, 65476, 65500, 65514,
};

/* `position` is in [0, 4095]. */
static uint16_t probability_at(unsigned position)
{
	unsigned i = position >> 7, part = position & 127;
	unsigned value = (logistic[i] * (128 - part) + logistic[i + 1] * part + 64) >> 7;

	if (value < REEL_BIT_LEAST)
		return REEL_BIT_LEAST;
	if (value > REEL_BIT_SCALE - REEL_BIT_LEAST)
		return REEL_BIT_SCALE - REEL_BIT_LEAST;
	return (uint16_t)value;
}

void reel_bit_tables_fill(struct reel_bit_tables *ret)
{
	unsigned position = 1;

	for (unsigned i = 0; i < 4096; i++)
		ret->probabilities[i] = probability_at(i);
	for (unsigned i = 0; i < 4096; i++) {
		while (position < 4095 && ret->probabilities[position] < 16 * i + 8)
			position++;
		ret->odds[i] = (int16_t)((int)position - 2048);
	}
	for (unsigned n = 0; n <= REEL_BIT_COUNTS; n++)
		ret->rates[n] = (uint16_t)(655360 / (10 * n + 16));
}

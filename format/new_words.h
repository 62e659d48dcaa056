/* SPDX-License-Identifier: Apache-2.0 */
/* Words that nothing foretells, in streams of their own: their upper parts are often known. */
#ifndef FORMAT_NEW_WORDS_H
#define FORMAT_NEW_WORDS_H

#include "format/bytes.h"
#include "format/sample_streams.h"

#define REEL_WORD_HIGHS 256

static inline uint8_t reel_word_high_index(uint64_t high)
{
	return (uint8_t)((high * 0x9E3779B97F4A7C15u) >> 56);
}

static inline bool reel_new_word_has_high(const uint64_t highs[REEL_WORD_HIGHS], uint64_t word)
{
	return highs[reel_word_high_index(word >> 24)] == word >> 24;
}

/* `has_high`: the upper part is in `highs`, else it is now. */
static inline void reel_new_word_put(struct reel_buffer *streams, uint64_t highs[REEL_WORD_HIGHS],
				     bool has_high, uint64_t word, unsigned bytes)
{
	uint8_t index = reel_word_high_index(word >> 24);

	if (has_high) {
		reel_buffer_u8(&streams[REEL_STREAM_HIGH], index);
		reel_buffer_u8(&streams[REEL_STREAM_LOW_0], (uint8_t)word);
		reel_buffer_u8(&streams[REEL_STREAM_LOW_1], (uint8_t)(word >> 8));
		reel_buffer_u8(&streams[REEL_STREAM_LOW_2], (uint8_t)(word >> 16));
		return;
	}
	highs[index] = word >> 24;
	if (bytes == 4)
		reel_buffer_u32(&streams[REEL_STREAM_RAW], (uint32_t)word);
	else
		reel_buffer_u64(&streams[REEL_STREAM_RAW], word);
}

static inline uint64_t reel_new_word_take(struct reel_cursor *streams,
					  uint64_t highs[REEL_WORD_HIGHS], bool has_high,
					  unsigned bytes)
{
	struct reel_cursor *raw = &streams[REEL_STREAM_RAW];
	uint64_t word;

	if (has_high)
		return highs[reel_cursor_u8(&streams[REEL_STREAM_HIGH])] << 24 |
		       reel_cursor_u8(&streams[REEL_STREAM_LOW_0]) |
		       (uint64_t)reel_cursor_u8(&streams[REEL_STREAM_LOW_1]) << 8 |
		       (uint64_t)reel_cursor_u8(&streams[REEL_STREAM_LOW_2]) << 16;
	word = bytes == 4 ? reel_cursor_u32(raw) : reel_cursor_u64(raw);
	highs[reel_word_high_index(word >> 24)] = word >> 24;
	return word;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The streams that a block's samples are split into (SPEC.md, section 6). */
#ifndef FORMAT_CODEC_STREAMS_H
#define FORMAT_CODEC_STREAMS_H

enum reel_sample_stream {
	REEL_STREAM_HEAD = 0,
	REEL_STREAM_TIME = 1,
	REEL_STREAM_REGIONS = 2,
	REEL_STREAM_REGISTERS = 3,
	REEL_STREAM_GAPS = 4,
	REEL_STREAM_TOKENS = 5,
	REEL_STREAM_NEAR = 6,
	REEL_STREAM_FAR = 7,
	REEL_STREAM_KNOWN_LOW = 8,
	REEL_STREAM_KNOWN_HIGH = 9,
	REEL_STREAM_HIGH = 10,
	REEL_STREAM_LOW_0 = 11,
	REEL_STREAM_LOW_1 = 12,
	REEL_STREAM_LOW_2 = 13,
	REEL_STREAM_RAW = 14,
	REEL_STREAM_CHAINS = 15,
	REEL_STREAMS = 16,
};

/* A region's `words`: 4 or 8, plus this flag for the target's byte order. */
#define REEL_WORDS_BIG_ENDIAN 128u

#endif

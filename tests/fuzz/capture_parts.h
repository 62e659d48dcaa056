/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Captures that a fuzzer made.  An input that begins with a capture's signature is used as is; any
 * other input is a list of blocks (type, flags, raw bytes as a part), which get right headers and
 * checksums, so that they reach the decoders of records.
 */
#ifndef TESTS_FUZZ_CAPTURE_PARTS_H
#define TESTS_FUZZ_CAPTURE_PARTS_H

#include "tests/fuzz/fuzz.h"

static inline bool is_capture(struct reel_bytes bytes)
{
	static const uint8_t signature[] = { 0x89, 'R', 'E', 'E', 'L' };

	return bytes.size > 8 + sizeof(signature) &&
	       !memcmp(bytes.data + 8, signature, sizeof(signature));
}

static inline void capture_of_blocks(struct reel_bytes bytes, struct reel_buffer *ret)
{
	struct reel_file_header header = { REEL_FORMAT_MAJOR, REEL_FORMAT_MINOR, 0, "fuzz" };
	struct reel_cursor input = reel_cursor(bytes.data, bytes.size);
	struct parts parts = { .has_trailer = true };

	memcpy(parts.id, header.id, sizeof(header.id));
	reel_file_header_store(&header, parts.file_header);
	while (reel_cursor_left(&input) && parts.n + 1 < PARTS_MAX) {
		struct part *part = &parts.parts[parts.n++];
		struct reel_bytes raw;

		part->header = (struct reel_block_header){
			.type = 1 + reel_cursor_u8(&input) % 3,
			.flags = reel_cursor_u8(&input) & ~(unsigned)REEL_BLOCK_ENCRYPTED,
			.codec = REEL_CODEC_ZSTD,
			/* Small, so that time is spent on decoding and not on large regions. */
			.expanded_size = 4 << 20,
		};
		raw = fuzz_part(&input);
		reel_buffer_append(&part->raw, raw.data, raw.size);
	}
	parts_join(&parts, ret);
	parts_free(&parts);
}

static inline void capture_of(struct reel_bytes bytes, struct reel_buffer *ret)
{
	ret->size = 0;
	if (is_capture(bytes))
		reel_buffer_append(ret, bytes.data, bytes.size);
	else
		capture_of_blocks(bytes, ret);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer: reads bytes as a capture.  What begins with a capture's signature is
 * read as it is; anything else becomes the raw bytes of one block, with
 * checksums that are right, so that the record decoders are reached: the first
 * byte chooses the block's type.
 *
 *   clang -fsanitize=fuzzer,address,undefined -I. tests/fuzz/fuzz_reader.c format/[a-z]*.c -lzstd
 * -lz
 *   ./a.out -max_len=65536 CORPUS testdata/format
 */
#define _GNU_SOURCE
#include "tests/support/read_all.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_and_forget(const void *bytes, size_t size)
{
	struct outcome outcome;

	read_all(bytes, size, &outcome);
	reel_buffer_free(&outcome.text);
}

/* A capture of one block. */
static void wrap(const uint8_t *data, size_t size, struct parts *ret)
{
	struct reel_file_header header = { REEL_FORMAT_MAJOR, REEL_FORMAT_MINOR, 0, "fuzz" };
	struct part *part = &ret->parts[0];

	*ret = (struct parts){ .n = 1, .has_trailer = true };
	memcpy(ret->id, header.id, sizeof(header.id));
	reel_file_header_store(&header, ret->file_header);
	part->header = (struct reel_block_header){
		.type = 1 + data[0] % 3,
		.codec = REEL_CODEC_ZSTD,
		/* Little, so that time goes into decoding and not into large regions. */
		.expanded_size = 4 << 20,
	};
	reel_buffer_append(&part->raw, data + 1, size - 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t signature[] = { 0x89, 'R', 'E', 'E', 'L' };
	struct reel_buffer bytes = { 0 };
	struct parts parts;

	if (size > 13 && !memcmp(data + 8, signature, sizeof(signature))) {
		read_and_forget(data, size);
		return 0;
	}
	if (!size)
		return 0;
	wrap(data, size, &parts);
	parts_join(&parts, &bytes);
	read_and_forget(bytes.bytes, bytes.size);
	reel_buffer_free(&bytes);
	parts_free(&parts);
	return 0;
}

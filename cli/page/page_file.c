/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <string.h>
#include <zlib.h>

#include "cli/page/page_file.h"
#include "cli/print/memory.h"

/* cli/page/page_bytes.S. */
extern const char page_bytes[], page_bytes_end[], page_firefox_bytes[], page_firefox_bytes_end[];

/* The place of the content: once in the page. */
#define MARKER "@CONTENT@"

void page_file_write(enum page_file page, const char *packed, FILE *file)
{
	const char *bytes = page == PAGE_VIEW ? page_bytes : page_firefox_bytes;
	const char *end = page == PAGE_VIEW ? page_bytes_end : page_firefox_bytes_end;
	const char *marker = memmem(bytes, (size_t)(end - bytes), MARKER, strlen(MARKER));
	const char *rest = marker + strlen(MARKER);

	fwrite(bytes, 1, (size_t)(marker - bytes), file);
	fputs(packed, file);
	fwrite(rest, 1, (size_t)(end - rest), file);
}

/* ---- packing ------------------------------------------------------------------------------ */

#define CHUNK (48u << 10)
#define GZIP  (MAX_WBITS + 16) /* deflateInit2's: with gzip's header */

/* `size` is a multiple of 3, except in the last call. */
static void base64_write(const uint8_t *bytes, size_t size, FILE *file)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < size; i += 3) {
		size_t left = size - i;
		uint32_t group = (uint32_t)bytes[i] << 16 |
				 (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
				 (left > 2 ? bytes[i + 2] : 0);

		fputc_unlocked(digits[group >> 18], file);
		fputc_unlocked(digits[group >> 12 & 63], file);
		fputc_unlocked(left > 1 ? digits[group >> 6 & 63] : '=', file);
		fputc_unlocked(left > 2 ? digits[group & 63] : '=', file);
	}
}

static void write_packed(const char *bytes, size_t size, FILE *file)
{
	_cleanup_free_ uint8_t *chunk = memory_get(CHUNK);
	z_stream stream = { .next_in = (Bytef *)(uintptr_t)bytes };
	int status;

	if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, GZIP, 9, Z_DEFAULT_STRATEGY) !=
	    Z_OK)
		memory_check(NULL);
	do {
		/* zlib's sizes have 32 bits. */
		size_t part = size < CHUNK ? size : CHUNK;

		if (!stream.avail_in) {
			stream.avail_in = (uInt)part;
			size -= part;
		}
		if (!stream.avail_out) {
			base64_write(chunk, stream.next_out ? CHUNK : 0, file);
			stream.next_out = chunk;
			stream.avail_out = CHUNK;
		}
		status = deflate(&stream, size ? Z_NO_FLUSH : Z_FINISH);
	} while (status != Z_STREAM_END);
	base64_write(chunk, CHUNK - stream.avail_out, file);
	deflateEnd(&stream);
}

char *page_file_pack(const char *bytes, size_t size, size_t *size_ret)
{
	char *packed = NULL;
	FILE *file = open_memstream(&packed, size_ret);

	memory_check(file);
	write_packed(bytes, size, file);
	fclose(file);
	memory_check(packed);
	return packed;
}

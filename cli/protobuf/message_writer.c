/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "cli/print/text.h"
#include "cli/protobuf/message_writer.h"

/* zlib's window of 32 KiB, and gzip's header: see deflateInit2 in zlib.h. */
#define GZIP_WINDOW  (15 + 16)
#define MEMORY_LEVEL 8

void message_writer_init(struct message_writer *writer, FILE *file, bool compressed)
{
	*writer = (struct message_writer){ .file = file, .compressed = compressed };
	if (compressed && deflateInit2(&writer->zlib, Z_DEFAULT_COMPRESSION, Z_DEFLATED,
				       GZIP_WINDOW, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
		memory_check(NULL);
}

void message_writer_free(struct message_writer *writer)
{
	if (writer->compressed)
		deflateEnd(&writer->zlib);
	free(writer->bytes);
}

static void compress_bytes(struct message_writer *writer, uint8_t *bytes, size_t size, int flush)
{
	uint8_t out[16 << 10];

	writer->zlib.next_in = bytes;
	writer->zlib.avail_in = (uInt)size;
	do {
		writer->zlib.next_out = out;
		writer->zlib.avail_out = sizeof(out);
		deflate(&writer->zlib, flush);
		fwrite(out, 1, sizeof(out) - writer->zlib.avail_out, writer->file);
	} while (!writer->zlib.avail_out);
}

void message_write(struct message_writer *writer, const ProtobufCMessage *message)
{
	size_t size = protobuf_c_message_get_packed_size(message);

	if (ferror(writer->file))
		return;
	if (size > writer->capacity || !writer->bytes) {
		free(writer->bytes);
		writer->capacity = size * 2 + 256;
		writer->bytes = memory_get(writer->capacity);
	}
	protobuf_c_message_pack(message, writer->bytes);
	if (writer->compressed)
		compress_bytes(writer, writer->bytes, size, Z_NO_FLUSH);
	else
		fwrite(writer->bytes, 1, size, writer->file);
}

bool message_writer_finish(struct message_writer *writer)
{
	if (writer->compressed)
		compress_bytes(writer, NULL, 0, Z_FINISH);
	return !ferror(writer->file);
}

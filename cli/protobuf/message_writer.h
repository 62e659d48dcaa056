/* SPDX-License-Identifier: Apache-2.0 */
/* Writes messages one after another. Readers see one message, since repeated fields add up. So a
 * file can be larger than memory. */
#ifndef CLI_PROTOBUF_MESSAGE_WRITER_H
#define CLI_PROTOBUF_MESSAGE_WRITER_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stdio.h>
#include <zlib.h>

struct message_writer {
	FILE *file;
	bool compressed; /* as by gzip */
	z_stream zlib;
	uint8_t *bytes;
	size_t capacity;
};

void message_writer_init(struct message_writer *writer, FILE *file, bool compressed);
/* Nothing after a write error, which ferror(writer->file) states. */
void message_write(struct message_writer *writer, const ProtobufCMessage *message);
/* Writes the remaining compressed data; false after a write error. */
bool message_writer_finish(struct message_writer *writer);
void message_writer_free(struct message_writer *writer);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Messages one behind the other, which a reader takes as one message: repeated fields add up. So a
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
/* False after an error of the file. */
bool message_write(struct message_writer *writer, const ProtobufCMessage *message);
/* Writes what is left of what was compressed. */
bool message_writer_finish(struct message_writer *writer);
void message_writer_free(struct message_writer *writer);

#endif

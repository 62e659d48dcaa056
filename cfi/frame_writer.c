/* SPDX-License-Identifier: Apache-2.0 */
#include <dwarf.h>

#include "cfi/frame_writer.h"

void reel_frame_put(struct frame_writer *writer, unsigned size, uint64_t value)
{
	uint8_t bytes[8];

	reel_store_target(bytes, size, writer->big_endian, value);
	reel_buffer_append(writer->out, bytes, size);
}

void reel_frame_put_sleb(struct frame_writer *writer, int64_t value)
{
	while (value < -64 || value > 63) {
		reel_buffer_u8(writer->out, (uint8_t)value | 0x80);
		value >>= 7;
	}
	reel_buffer_u8(writer->out, (uint8_t)value & 0x7f);
}

size_t reel_frame_begin_entry(struct frame_writer *writer, uint32_t cie)
{
	size_t begin = writer->out->size;

	reel_frame_put(writer, 4, 0);
	reel_frame_put(writer, 4, cie);
	return begin;
}

void reel_frame_end_entry(struct frame_writer *writer, size_t begin)
{
	while ((writer->out->size - begin - 4) % writer->word)
		reel_buffer_u8(writer->out, DW_CFA_nop);
	if (!writer->out->failed)
		reel_store_target(writer->out->bytes + begin, 4, writer->big_endian,
				  writer->out->size - begin - 4);
}

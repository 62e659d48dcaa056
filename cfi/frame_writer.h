/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the entries of a .debug_frame (DWARF 5, 6.4.1). */
#ifndef CFI_FRAME_WRITER_H
#define CFI_FRAME_WRITER_H

#include "base/bytes.h"

/* The version of CIEs: the return column may exceed a byte, and there are no address sizes. */
#define FRAME_CIE_VERSION 3
/* An undefined opcode: running it marks the FDE as malformed. */
#define FRAME_MALFORMED 0x3f

struct frame_writer {
	struct reel_buffer *out;
	bool big_endian;
	unsigned word;
};

void reel_frame_put(struct frame_writer *writer, unsigned size, uint64_t value);
void reel_frame_put_sleb(struct frame_writer *writer, int64_t value);
/* Begins an entry: a CIE if `cie` is UINT32_MAX, otherwise an FDE of the CIE at that offset.
 * Returns the entry's offset. */
size_t reel_frame_begin_entry(struct frame_writer *writer, uint32_t cie);
/* Sets the length of the entry from `begin` on; it ends at a word boundary. */
void reel_frame_end_entry(struct frame_writer *writer, size_t begin);

#endif

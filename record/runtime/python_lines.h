/* SPDX-License-Identifier: Apache-2.0 */
/* CPython's tables of lines, as struct reel_record_function.lines. */
#ifndef RECORD_RUNTIME_PYTHON_LINES_H
#define RECORD_RUNTIME_PYTHON_LINES_H

#include "base/bytes.h"

/*
 * The lines of positions as struct reel_bpf_frame has them, for a version (0x030b00); 0 is the line
 * of instructions without one.  `code` is the offset of instructions in a code object (since 3.11).
 */
void python_lines_write(uint32_t version, struct reel_bytes table, uint64_t first_line,
			uint64_t code, struct reel_buffer *ret);

#endif

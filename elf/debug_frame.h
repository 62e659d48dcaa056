/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ELF_DEBUG_FRAME_H
#define ELF_DEBUG_FRAME_H

#include <stdint.h>

/* A function at an address, or a call that was inlined there.  Strings are borrowed for the life
 * of what they come from. */
struct reel_debug_frame {
	const char *function; /* linkage name, else plain name; "" if unknown */
	const char *file;     /* "" if unknown */
	uint32_t line, column;
	/* What compilers call it, and count its lines from; NULL and 0 if unknown, which Go's table
	 * and what a capture has of files never know. */
	const char *linkage_name;
	uint32_t function_line;
	uint32_t discriminator; /* which of the line's blocks it is in */
};

#endif

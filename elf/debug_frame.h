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
};

#endif

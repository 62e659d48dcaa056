/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ELF_DEBUG_FRAME_H
#define ELF_DEBUG_FRAME_H

#include <stdbool.h>
#include <stdint.h>

/* A function at an address, or a call inlined there.  Strings are borrowed and live as long as
 * their source. */
struct reel_debug_frame {
	const char *function; /* linkage name, else plain name; "" if unknown */
	const char *file;     /* "" if unknown */
	uint32_t line, column;
	/* The compiler's name for it, and the line where it begins; NULL and 0 if unknown, as
	 * always in Go's table and in a capture's embedded files. */
	const char *linkage_name;
	uint32_t function_line;
	uint32_t discriminator; /* the block within the line */
	bool is_ada;		/* its names are encoded as Ada's */
};

#endif

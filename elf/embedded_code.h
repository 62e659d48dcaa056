/* SPDX-License-Identifier: Apache-2.0 */
/* The sections of an image that other ELF files do not have, and reading the code in one of them
 * (SPEC.md 5.1). */
#ifndef ELF_EMBEDDED_CODE_H
#define ELF_EMBEDDED_CODE_H

#include "base/bytes.h"
#include "base/error.h"

#define REEL_EMBEDDED_CODE     ".stackreel.code"
#define REEL_EMBEDDED_SWITCHES ".stackreel.switches"
#define REEL_EMBEDDED_LINES    ".stackreel.lines"
/* Before the names of sections of debug information, which are in the same form, by offset. */
#define REEL_EMBEDDED_PREFIX	   ".stackreel"
#define REEL_EMBEDDED_EXPANDED_MAX (256u << 20)		  /* bytes of such a section */
#define REEL_EMBEDDED_CONSTANTS	   ".stackreel.constants" /* in the form of code */

/* A piece of code, by ELF address. */
struct reel_embedded_piece {
	uint64_t address, size;
	const uint8_t *bytes; /* in the section */
};

struct reel_embedded_code {
	struct reel_embedded_piece *pieces; /* ascending, and none touches the next */
	size_t n;
};

/* Opens the section's bytes, which must outlive `ret`.  CORRUPT if they do not follow SPEC.md. */
struct reel_error *reel_embedded_code_open(struct reel_bytes section, bool big_endian,
					   struct reel_embedded_code *ret) REEL_MUST_CHECK;
void reel_embedded_code_free(struct reel_embedded_code *code);
bool reel_embedded_code_read(const struct reel_embedded_code *code, uint64_t address, size_t size,
			     uint8_t *bytes_ret);

#endif

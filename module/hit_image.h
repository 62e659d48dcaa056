/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The image of a module's file (elf/embedded_image.h) by the addresses that samples have hit,
 * without unwinding them: whatever may be a pc or a return address is taken for one.  So it has
 * more than who unwinds asks for, and needs nothing but the file.
 */
#ifndef MODULE_HIT_IMAGE_H
#define MODULE_HIT_IMAGE_H

#include "elf/elf_file.h"

/* A hit is an offset in the file, with this if it was where a thread was. */
#define REEL_HIT_IS_PC (UINT64_C(1) << 63)

struct reel_hit_image_options {
	bool no_symbols;
	bool everything; /* all FDEs and all symbols; of the code, what the hits need */
	size_t limit;	 /* bytes */
	/* The file's debug file, whose symbols name what the file's own do not; NULL: none. */
	struct reel_elf_file *debug;
};

/*
 * Some of the hits may be no code. The file is used up:
 * what is read of it is remembered.  UNSUPPORTED if it would be larger than the limit, or the file
 * is of a CPU that is not known.
 */
struct reel_error *reel_hit_image_make(struct reel_elf_file *file, const uint64_t *hits, size_t n,
				       const struct reel_hit_image_options *options,
				       struct reel_buffer *ret) REEL_MUST_CHECK;

#endif

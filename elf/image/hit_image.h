/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The image of a module's file (elf/image/embedded_image.h) for the addresses that samples have hit,
 * without unwinding: every possible pc or return address is treated as one.  So the image has more
 * than unwinding needs, and making it needs only the file.
 */
#ifndef ELF_IMAGE_HIT_IMAGE_H
#define ELF_IMAGE_HIT_IMAGE_H

#include "elf/elf_file.h"

/* A hit is an offset in the file, with this flag if it was a thread's pc. */
#define REEL_HIT_IS_PC (UINT64_C(1) << 63)

struct reel_hit_image_options {
	bool no_symbols;
	bool everything; /* all FDEs and all symbols; code only as the hits need it */
	/* The file's debug file, with symbols for code that the file's own do not name; or NULL. */
	struct reel_elf_file *debug;
};

/* Keeps what an image's hits need: the next image, for these hits and more, only costs the new ones. */
struct reel_hit_imager;

/*
 * `file` and `options.debug` are borrowed, and not to be used otherwise: their reads are recorded.
 */
struct reel_error *reel_hit_imager_create(struct reel_elf_file *file,
					  const struct reel_hit_image_options *options,
					  struct reel_hit_imager **ret) REEL_MUST_CHECK;
void reel_hit_imager_destroy(struct reel_hit_imager *imager);
/*
 * The image for hits in ascending order, some of which may not be code.
 * UNSUPPORTED if it would be larger than `limit`, or the file's CPU is unknown.
 */
struct reel_error *reel_hit_imager_make(struct reel_hit_imager *imager, const uint64_t *hits,
					size_t n, size_t limit,
					struct reel_buffer *ret) REEL_MUST_CHECK;

#endif

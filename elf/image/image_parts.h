/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of an embedded image: its symbols, and the image made from CFI, code and symbols. */
#ifndef ELF_IMAGE_IMAGE_PARTS_H
#define ELF_IMAGE_IMAGE_PARTS_H

#include "base/text.h"
#include "cfi/cfi.h"
#include "elf/image/embedded_image.h"

struct reel_embedded_symbols {
	struct reel_embedded_symbol *all;
	size_t n, capacity;
	struct reel_texts *texts;
};

struct reel_error *reel_embedded_symbols_create(struct reel_embedded_symbols *ret) REEL_MUST_CHECK;
void reel_embedded_symbols_free(struct reel_embedded_symbols *symbols);
/* `name` is copied. */
struct reel_error *reel_embedded_symbols_add(struct reel_embedded_symbols *symbols, uint64_t begin,
					     uint64_t end, const char *name) REEL_MUST_CHECK;
/* Sorts and merges: one for each beginning, as long as the longest. */
void reel_embedded_symbols_join(struct reel_embedded_symbols *symbols);

/* All parts are borrowed. */
struct reel_image_parts {
	struct reel_elf_file *file;
	/* Its recorded FDEs; NULL if there are none. */
	struct reel_cfi *cfi;
	bool no_switches;
	const struct reel_address_ranges *code; /* tidy */
	const struct reel_embedded_symbols *symbols;
	struct reel_bytes lines; /* the section; may be empty */
	/* As in struct reel_embedded_input. */
	const struct reel_address_ranges *constants;
	const struct reel_embedded_section *sections;
	size_t n_sections;
};

/* The image of the requested parts.  UNSUPPORTED if it takes more than `limit` bytes. */
struct reel_error *reel_image_parts_write(const struct reel_image_parts *parts, size_t limit,
					  struct reel_buffer *ret) REEL_MUST_CHECK;

#endif

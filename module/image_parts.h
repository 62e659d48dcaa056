/* SPDX-License-Identifier: Apache-2.0 */
/* What an embedded image is made of: symbols in the making, which symbol names an address, and what
 * the CFI, the file's reads and these become together. */
#ifndef MODULE_IMAGE_PARTS_H
#define MODULE_IMAGE_PARTS_H

#include "base/text.h"
#include "cfi/cfi.h"
#include "elf/embedded_image.h"
#include "elf/symbol_table.h"

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
/* In order: one for each beginning, as long as the longest. */
void reel_embedded_symbols_join(struct reel_embedded_symbols *symbols);

enum reel_symbol_reach {
	REEL_SYMBOL_REACHES,
	REEL_SYMBOL_ENDS_BEFORE,
	/* Neither its size nor an FDE tells: the code between may. */
	REEL_SYMBOL_ASK_CODE,
};

/*
 * Whether the symbol that a table has for an address names it.  One without a size reaches to the
 * next one, but not out of its FDE, nor over another one: in a stripped file the symbols of what
 * lies between are gone.  `cfi` may be NULL.
 */
enum reel_symbol_reach reel_symbol_reach(const struct reel_symbol *symbol, uint64_t address,
					 struct reel_cfi *cfi);

/* All is borrowed. */
struct reel_image_parts {
	struct reel_elf_file *file;
	/* The FDEs that it remembers; NULL: there are none. */
	struct reel_cfi *cfi;
	bool no_switches;
	const struct reel_address_ranges *code; /* tidy */
	const struct reel_embedded_symbols *symbols;
	struct reel_bytes lines; /* the section; may be empty */
};

/* The image of what was asked for. UNSUPPORTED if it takes more than `limit` bytes. */
struct reel_error *reel_image_parts_write(const struct reel_image_parts *parts, size_t limit,
					  struct reel_buffer *ret) REEL_MUST_CHECK;

#endif

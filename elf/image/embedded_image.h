/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of a module's file that a capture holds, to replay without the file: an ELF file like
 * one with separate debug information, with the requested unwind information, symbols and bytes of
 * code (SPEC.md 5.1).
 */
#ifndef ELF_IMAGE_EMBEDDED_IMAGE_H
#define ELF_IMAGE_EMBEDDED_IMAGE_H

#include "elf/address_ranges.h"
#include "elf/embedded_code.h"
#include "elf/elf_file.h"

struct reel_embedded_symbol {
	uint64_t begin, end;
	const char *name;
};

struct reel_embedded_section {
	const char *name;
	struct reel_bytes bytes;
};

#define REEL_EMBEDDED_SECTIONS_MAX 10

/* All inputs are borrowed. */
struct reel_embedded_input {
	/* Headers and build-id are taken from it, and the bytes of `code`. */
	struct reel_elf_file *file;
	const struct reel_address_ranges *code; /* tidy */
	struct reel_bytes debug_frame;
	/* Functions that change stacks, ascending. */
	const struct reel_address_range *switches;
	size_t n_switches;
	/* In ascending order of `begin`; symbols outside executable segments are skipped. */
	const struct reel_embedded_symbol *symbols;
	size_t n_symbols;
	struct reel_bytes lines; /* replay/dwarf/embedded_lines.h makes them */
	/* Tidy; NULL: none. */
	const struct reel_address_ranges *constants;
	/* Further sections, as they are. */
	const struct reel_embedded_section *sections;
	size_t n_sections;
};

/* UNSUPPORTED if it takes more than `limit` bytes. */
struct reel_error *reel_embedded_image_write(const struct reel_embedded_input *input, size_t limit,
					     struct reel_buffer *ret) REEL_MUST_CHECK;

#endif

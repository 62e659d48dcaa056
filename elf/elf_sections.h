/* SPDX-License-Identifier: Apache-2.0 */
/* The sections of an ELF file: by name, decompressed, and no more bytes of them than the file has.
 */
#ifndef ELF_ELF_SECTIONS_H
#define ELF_ELF_SECTIONS_H

#include <gelf.h>

#include "base/bytes.h"

struct reel_elf_sections {
	Elf *elf;
	/* The sections' names, up to and including the last NUL. */
	const char *names;
	size_t names_size;
	bool out_of_memory; /* memory ran out while looking for a section */
	/* Sections that libelf cannot decompress. */
	struct reel_unpacked_section *unpacked;
	/* An existing section that cannot be read, and the reason; NULL if all could. */
	const char *unreadable, *reason;
};

/* Whether libelf failed for lack of memory since the last call. */
bool reel_elf_is_out_of_memory(void);

/* `elf` is borrowed. */
void reel_elf_sections_open(Elf *elf, struct reel_elf_sections *ret);
void reel_elf_sections_close(struct reel_elf_sections *sections);

/* The source of the file's bytes, and their number. */
struct reel_elf_bytes {
	const char *name;
	int fd; /* -1: `image` */
	const uint8_t *image;
	uint64_t size;
	/* The bytes on the disk: fewer in a file with holes, or one that was compressed. */
	uint64_t stored;
};

/* CORRUPT if the file is almost only holes.  Call it before libelf opens the file: libelf first
 * reads sections' names and headers, however large the file claims they are. */
struct reel_error *reel_elf_sections_check_holes(const struct reel_elf_bytes *bytes)
	REEL_MUST_CHECK;
/*
 * CORRUPT if the total size of the sections is much larger than the file: because sections share
 * bytes, or are compressed.  Work in proportion to section sizes is safe only after this check.
 */
struct reel_error *reel_elf_sections_check(const struct reel_elf_sections *sections,
					   const struct reel_elf_bytes *bytes) REEL_MUST_CHECK;

/* The same limit for the expanded bytes of compressed data in a file of that size. */
uint64_t reel_elf_sections_expansion(uint64_t file_size);

/* "" if it has no name. */
const char *reel_elf_section_name(const struct reel_elf_sections *sections,
				  const GElf_Shdr *header);
/* Whether that is the wanted name, or old toolchains' name for the compressed section. */
bool reel_elf_section_is_named(const char *name, const char *wanted);
/* The header of the first section of that name, with bytes or without. */
bool reel_elf_sections_header(const struct reel_elf_sections *sections, const char *name,
			      GElf_Shdr *ret);
/*
 * The bytes of the first nonempty section of that name, decompressed; they live with the Elf and
 * `sections`.  False if it is missing or unreadable.  `name` lives for ever.
 */
bool reel_elf_sections_find(struct reel_elf_sections *sections, const char *name,
			    struct reel_loaded_bytes *ret);
/* The next section after `*at`, which is initially NULL. */
bool reel_elf_sections_next(struct reel_elf_sections *sections, Elf_Scn **at, const char *name,
			    struct reel_loaded_bytes *ret);

/* Replaces control characters in an ELF file's string tables: other programs print its symbols'
 * names as they are. */
void reel_elf_clean_names(char *image, size_t size);

#endif

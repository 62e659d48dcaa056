/* SPDX-License-Identifier: Apache-2.0 */
/* The sections of an ELF file: by name, decompressed, and no more bytes of them than the file has.
 */
#ifndef ELF_ELF_SECTIONS_H
#define ELF_ELF_SECTIONS_H

#include <gelf.h>

#include "base/bytes.h"

struct reel_elf_sections {
	Elf *elf;
	/* Their names, up to and with the last NUL. */
	const char *names;
	size_t names_size;
	bool out_of_memory; /* There was none for one that was looked for. */
	/* Those that libelf can't decompress. */
	struct reel_unpacked_section *unpacked;
	/* Which one that was looked for is there and can't be read, and why; NULL: none. */
	const char *unreadable, *reason;
};

/* Why libelf failed, since this was asked last. */
bool reel_elf_is_out_of_memory(void);

/* `elf` is borrowed. */
void reel_elf_sections_open(Elf *elf, struct reel_elf_sections *ret);
void reel_elf_sections_close(struct reel_elf_sections *sections);

/* Where the file's bytes come from, and how many there are. */
struct reel_elf_bytes {
	const char *name;
	int fd; /* -1: `image` */
	const uint8_t *image;
	uint64_t size;
	/* Of them, those that are on the disk: less in a file with holes, or that was compressed.
	 */
	uint64_t stored;
};

/* CORRUPT if the file is almost nothing but holes.  To be asked before libelf opens it: the names
 * of sections and the headers are read first, however large the file says that they are. */
struct reel_error *reel_elf_sections_check_holes(const struct reel_elf_bytes *bytes)
	REEL_MUST_CHECK;
/*
 * CORRUPT if the sections are together much larger than the file: by sections that share bytes, or
 * by compressed ones.  Work that is proportional to the sizes of sections is safe only
 * after this check.
 */
struct reel_error *reel_elf_sections_check(const struct reel_elf_sections *sections,
					   const struct reel_elf_bytes *bytes) REEL_MUST_CHECK;

/* How many bytes what is compressed in a file of that size may have: the same bound. */
uint64_t reel_elf_sections_expansion(uint64_t file_size);

/* "" if it has none. */
const char *reel_elf_section_name(const struct reel_elf_sections *sections,
				  const GElf_Shdr *header);
/* Whether that is the wanted name, or the one that old toolchains gave it when it is compressed. */
bool reel_elf_section_is_named(const char *name, const char *wanted);
/* The header of the first section of that name, with bytes or without. */
bool reel_elf_sections_header(const struct reel_elf_sections *sections, const char *name,
			      GElf_Shdr *ret);
/*
 * The bytes of the first section of that name that has some, decompressed; they live with the Elf
 * and `sections`.  False: there is none, or they cannot be had.  `name` lives for ever.
 */
bool reel_elf_sections_find(struct reel_elf_sections *sections, const char *name,
			    struct reel_loaded_bytes *ret);
/* The next one behind `*at`, which is NULL at first. */
bool reel_elf_sections_next(struct reel_elf_sections *sections, Elf_Scn **at, const char *name,
			    struct reel_loaded_bytes *ret);

#endif

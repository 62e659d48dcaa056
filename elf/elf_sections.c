/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <gelf.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "base/bytes.h"
#include "base/files.h"
#include "base/text.h"
#include "elf/elf_sections.h"

/*
 * The maximum total size of a file's sections, as a multiple of its bytes.  Compression shrinks
 * debug information to a third or a fifth, a .debug_aranges alone to a tenth.  Linkers leave holes
 * when segments are aligned to pages of 2 MiB.  Sections do not normally share bytes.
 */
#define EXPANSION_MAX  16
#define EXPANSION_FREE (4u << 20)
#define HOLES_MAX      16
#define HOLES_FREE     (64u << 20)
#define OVERLAP_MAX    2
#define OVERLAP_FREE   (1u << 20)

/* From the gABI; libelf's header has it since 0.189. */
#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

struct reel_unpacked_section {
	struct reel_unpacked_section *next;
	const Elf_Scn *section;
	size_t size;
	uint8_t bytes[];
};

typedef unsigned long long ull;

/* Libelf's ELF_E_NOMEM, missing in installed headers; tests/unit/elf/test_elf_file.c checks it. */
#define ELF_NO_MEMORY 8

bool reel_elf_is_out_of_memory(void)
{
	return elf_errno() == ELF_NO_MEMORY;
}

void reel_elf_sections_open(Elf *elf, struct reel_elf_sections *ret)
{
	size_t index;
	Elf_Scn *section;
	Elf_Data *data;

	*ret = (struct reel_elf_sections){ .elf = elf };
	if (elf_getshdrstrndx(elf, &index) != 0)
		return;
	section = index ? elf_getscn(elf, index) : NULL;
	data = section ? elf_getdata(section, NULL) : NULL;
	if (!data || !data->d_buf)
		return;
	ret->names = data->d_buf;
	ret->names_size = data->d_size;
	/* elf_strptr searches for this end on every call. */
	while (ret->names_size && ret->names[ret->names_size - 1])
		ret->names_size--;
}

void reel_elf_sections_close(struct reel_elf_sections *sections)
{
	while (sections->unpacked) {
		struct reel_unpacked_section *it = sections->unpacked;

		sections->unpacked = it->next;
		free(it);
	}
}

const char *reel_elf_section_name(const struct reel_elf_sections *sections, const GElf_Shdr *header)
{
	return header->sh_name < sections->names_size ? sections->names + header->sh_name : "";
}

/* ---- expanded sizes -------------------------------------------------------------- */

static bool read_at(const struct reel_elf_bytes *bytes, uint64_t offset, uint8_t *ret, size_t size)
{
	if (offset > bytes->size || size > bytes->size - offset)
		return false;
	if (bytes->fd < 0) {
		memcpy(ret, bytes->image + offset, size);
		return true;
	}
	return reel_read_at(bytes->fd, ret, size, offset);
}

/* The size that a compressed section declares; 0 without one. */
static uint64_t expanded_size(const struct reel_elf_sections *sections,
			      const struct reel_elf_bytes *bytes, const GElf_Shdr *header)
{
	const char *ident = elf_getident(sections->elf, NULL);
	bool big_endian = ident && ident[EI_DATA] == ELFDATA2MSB;
	bool wide = ident && ident[EI_CLASS] == ELFCLASS64;
	uint8_t head[sizeof(Elf64_Chdr)];

	/* Elf64_Chdr: type, reserved, size, alignment; Elf32_Chdr has 4 bytes for each, without the
	 * reserved field. */
	if (header->sh_flags & SHF_COMPRESSED)
		return read_at(bytes, header->sh_offset, head, wide ? 16 : 8)
			       ? reel_load_target(head + (wide ? 8 : 4), wide ? 8 : 4, big_endian)
			       : 0;
	/* "ZLIB" and the size, big-endian in any file. */
	if (strncmp(reel_elf_section_name(sections, header), ".zdebug", 7) != 0 ||
	    !read_at(bytes, header->sh_offset, head, 12) || memcmp(head, "ZLIB", 4) != 0)
		return 0;
	return reel_load_target(head + 4, 8, true);
}

static uint64_t add_capped(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static bool exceeds(uint64_t size, uint64_t stored, uint64_t times, uint64_t free)
{
	return size > free && (size - free) / times > stored;
}

uint64_t reel_elf_sections_expansion(uint64_t file_size)
{
	return EXPANSION_FREE + EXPANSION_MAX * file_size;
}

struct reel_error *reel_elf_sections_check_holes(const struct reel_elf_bytes *bytes)
{
	if (!exceeds(bytes->size, bytes->stored, HOLES_MAX, HOLES_FREE))
		return NULL;
	return reel_error_create(
		REEL_ERROR_CORRUPT,
		"%s: not written by a linker: of %llu bytes, all but %llu are holes", bytes->name,
		(ull)bytes->size, (ull)bytes->stored);
}

struct reel_error *reel_elf_sections_check(const struct reel_elf_sections *sections,
					   const struct reel_elf_bytes *bytes)
{
	uint64_t in_file = 0, expanded = 0;
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(sections->elf, section))) {
		GElf_Shdr header;

		if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS ||
		    header.sh_offset > bytes->size ||
		    header.sh_size > bytes->size - header.sh_offset)
			continue; /* libelf does not read it */
		in_file = add_capped(in_file, header.sh_size);
		expanded = add_capped(expanded, expanded_size(sections, bytes, &header));
	}
	if (exceeds(in_file, bytes->size, OVERLAP_MAX, OVERLAP_FREE))
		return reel_error_create(
			REEL_ERROR_CORRUPT,
			"%s: overlapping sections: %llu bytes in total, but the file has %llu",
			bytes->name, (ull)in_file, (ull)bytes->size);
	/* Not a multiple of a compressed file's unpacked size: nothing shrinks twice. */
	if (exceeds(expanded, bytes->stored < bytes->size ? bytes->stored : bytes->size,
		    EXPANSION_MAX, EXPANSION_FREE))
		return reel_error_create(REEL_ERROR_CORRUPT,
					 "%s: compressed sections claim %llu bytes, but the file "
					 "has %llu: debug information never shrinks below 1/%d",
					 bytes->name, (ull)expanded, (ull)bytes->size,
					 EXPANSION_MAX);
	return NULL;
}

/* ---- finding sections --------------------------------------------------------------- */

bool reel_elf_section_is_named(const char *name, const char *wanted)
{
	if (strcmp(name, wanted) == 0)
		return true;
	return strncmp(wanted, ".debug_", 7) == 0 && strncmp(name, ".zdebug_", 8) == 0 &&
	       strcmp(name + 8, wanted + 7) == 0;
}

/* By libdeflate, which takes half the time of zlib; false if the data is damaged, or does not have
 * the declared size, or memory ran out.  As for libelf and binutils, it may be several streams. */
static bool inflate_zlib(struct reel_elf_sections *sections, const uint8_t *bytes, size_t size,
			 uint8_t *out, size_t out_size)
{
	struct libdeflate_decompressor *decompressor = libdeflate_alloc_decompressor();
	bool good = decompressor;

	sections->out_of_memory |= !decompressor;
	while (good && out_size && size) {
		size_t n_read = 0, n_made = 0;

		good = libdeflate_zlib_decompress_ex(decompressor, bytes, size, out, out_size,
						     &n_read, &n_made) == LIBDEFLATE_SUCCESS;
		bytes += n_read;
		size -= n_read;
		out += n_made;
		out_size -= n_made;
	}
	if (decompressor)
		libdeflate_free_decompressor(decompressor);
	return good && !out_size;
}

/* For a section with SHF_COMPRESSED.  Returns the reason for a failure; NULL on success or if
 * memory ran out. */
static const char *unpack(struct reel_elf_sections *sections, Elf_Scn *section,
			  struct reel_unpacked_section **ret)
{
	size_t head = gelf_fsize(sections->elf, ELF_T_CHDR, 1, EV_CURRENT);
	struct reel_unpacked_section *it;
	const uint8_t *bytes;
	GElf_Chdr header;
	Elf_Data *data;
	bool good;

	for (*ret = sections->unpacked; *ret; *ret = (*ret)->next) {
		if ((*ret)->section == section)
			return NULL;
	}
	if (!gelf_getchdr(section, &header))
		return "too short for compressed data";
	if (header.ch_type != ELFCOMPRESS_ZSTD && header.ch_type != ELFCOMPRESS_ZLIB)
		return "unknown compression";
	data = elf_rawdata(section, NULL);
	if (!data || !data->d_buf || data->d_size < head)
		return "cannot be read";
	/* The declared size is the one that reel_elf_sections_check has bounded. */
	it = header.ch_size < SIZE_MAX / 2 ? malloc(sizeof(*it) + header.ch_size) : NULL;
	if (!it) {
		sections->out_of_memory = true;
		return NULL;
	}
	bytes = (const uint8_t *)data->d_buf + head;
	/* With fewer bytes than declared, offsets into it would be wrong. */
	if (header.ch_type == ELFCOMPRESS_ZLIB)
		good = inflate_zlib(sections, bytes, data->d_size - head, it->bytes,
				    header.ch_size);
	else
		good = ZSTD_decompress(it->bytes, header.ch_size, bytes, data->d_size - head) ==
		       header.ch_size;
	if (!good) {
		free(it);
		if (sections->out_of_memory)
			return NULL;
		return header.ch_type == ELFCOMPRESS_ZLIB ? "damaged zlib data"
							  : "damaged zstd data";
	}
	it->section = section;
	it->size = header.ch_size;
	it->next = sections->unpacked;
	sections->unpacked = it;
	*ret = it;
	return NULL;
}

/* The bytes of a section, decompressed; false if it has none or they cannot be read. */
static bool section_bytes(struct reel_elf_sections *sections, Elf_Scn *section, const char *name,
			  const char **reason, struct reel_loaded_bytes *ret)
{
	struct reel_unpacked_section *unpacked = NULL;
	GElf_Shdr header;
	Elf_Data *data;

	if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS || !header.sh_size)
		return false;
	*ret = (struct reel_loaded_bytes){ .address = header.sh_addr };
	if (header.sh_flags & SHF_COMPRESSED) {
		*reason = unpack(sections, section, &unpacked);
		if (*reason)
			return false;
	} else if (strncmp(name, ".zdebug", 7) == 0) {
		/* This fails for an already decompressed section: its bytes do not begin with
		 * "ZLIB". */
		elf_compress_gnu(section, 0, 0);
	}
	if (unpacked) {
		ret->bytes = unpacked->bytes;
		ret->size = unpacked->size;
		return ret->size;
	}
	data = elf_getdata(section, NULL);
	*reason = "cannot be read";
	if (!data || !data->d_buf || !data->d_size)
		return false;
	ret->bytes = data->d_buf;
	ret->size = data->d_size;
	*reason = "damaged zlib data";
	return strncmp(name, ".zdebug", 7) != 0 || data->d_size < 4 ||
	       memcmp(data->d_buf, "ZLIB", 4) != 0;
}

bool reel_elf_sections_next(struct reel_elf_sections *sections, Elf_Scn **at, const char *name,
			    struct reel_loaded_bytes *ret)
{
	(void)elf_errno();
	*ret = (struct reel_loaded_bytes){ 0 };
	while ((*at = elf_nextscn(sections->elf, *at))) {
		const char *its_name, *reason = NULL;
		struct reel_loaded_bytes found;
		GElf_Shdr header;

		if (!gelf_getshdr(*at, &header))
			continue;
		its_name = reel_elf_section_name(sections, &header);
		if (!reel_elf_section_is_named(its_name, name))
			continue;
		if (section_bytes(sections, *at, its_name, &reason, &found)) {
			*ret = found;
			return true;
		}
		sections->out_of_memory |= reel_elf_is_out_of_memory();
		if (reason && !sections->reason) {
			sections->unreadable = name;
			sections->reason = reason;
		}
	}
	return false;
}

bool reel_elf_sections_find(struct reel_elf_sections *sections, const char *name,
			    struct reel_loaded_bytes *ret)
{
	Elf_Scn *at = NULL;

	return reel_elf_sections_next(sections, &at, name, ret);
}

bool reel_elf_sections_header(const struct reel_elf_sections *sections, const char *name,
			      GElf_Shdr *ret)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(sections->elf, section))) {
		if (gelf_getshdr(section, ret) &&
		    strcmp(reel_elf_section_name(sections, ret), name) == 0)
			return true;
	}
	return false;
}

void reel_elf_clean_names(char *image, size_t size)
{
	Elf *elf = elf_memory(image, size);
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(elf, section))) {
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_STRTAB &&
		    header.sh_offset <= size && header.sh_size <= size - header.sh_offset)
			reel_text_clean(image + header.sh_offset, header.sh_size);
	}
	elf_end(elf);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "elf/go_module.h"

/* The number of bytes read at once in searches. */
#define CHUNK 65536u

bool reel_go_number(const struct reel_go_format *format, uint64_t offset, unsigned size,
		    uint64_t *ret)
{
	const uint8_t *bytes =
		offset < format->size
			? reel_section_need(&format->section, format->base + offset, size)
			: NULL;

	if (!bytes)
		return false;
	*ret = size == 1 ? *bytes : reel_load_target(bytes, size, format->big_endian);
	return true;
}

void reel_go_format_close(struct reel_go_format *format)
{
	reel_section_close(&format->section);
}

/* ---- the header -------------------------------------------------------------------------- */

/* runtime.pcHeader: magic; two bytes of 0; the quantum; the size of an address; words. */
static bool is_header(const uint8_t *bytes, unsigned word, bool big_endian,
		      enum reel_go_version *ret)
{
	static const uint32_t magics[] = {
		[REEL_GO_1_2] = 0xfffffffb,
		[REEL_GO_1_16] = 0xfffffffa,
		[REEL_GO_1_18] = 0xfffffff0,
		[REEL_GO_1_20] = 0xfffffff1,
	};
	uint64_t magic = reel_load_target(bytes, 4, big_endian);

	if (bytes[4] || bytes[5] || (bytes[6] != 1 && bytes[6] != 2 && bytes[6] != 4) ||
	    bytes[7] != word)
		return false;
	for (size_t i = 0; i < sizeof(magics) / sizeof(*magics); i++) {
		if (magic == magics[i]) {
			*ret = (enum reel_go_version)i;
			return true;
		}
	}
	return false;
}

/* Go 1.2: functab follows the header, and is followed by the offset of the table of files; all
 * other offsets are relative to the header. */
static bool read_old_header(struct reel_go_format *format)
{
	uint64_t n, files;

	format->functab = 8 + format->word;
	format->functab_word = format->funcdata_word = format->word;
	format->tree_funcdata = 4;
	if (!reel_go_number(format, 8, format->word, &n) || n > format->size / (2 * format->word) ||
	    !reel_go_number(format, format->functab + (2 * n + 1) * format->word, 4, &files))
		return false;
	format->file_numbers = files;
	format->n_functions = n;
	return true;
}

/* Since Go 1.16: the numbers of functions and files, since 1.18 the code's start, and offsets. */
static bool read_new_header(struct reel_go_format *format)
{
	uint64_t *offsets[] = { &format->names, &format->file_numbers, &format->files, &format->pcs,
				&format->functions };
	uint64_t n, at = 8 + 2 * format->word;

	format->is_relative = format->version >= REEL_GO_1_18;
	format->extra_fields = format->version >= REEL_GO_1_20 ? 2 : 1;
	format->functab_word = format->funcdata_word = format->is_relative ? 4 : format->word;
	format->tree_funcdata = 3;
	if (!reel_go_number(format, 8, format->word, &n))
		return false;
	if (format->is_relative) {
		/* 0 if a relocation sets it, and since 1.26. */
		if (!reel_go_number(format, at, format->word, &format->text))
			return false;
		at += format->word;
	}
	for (size_t i = 0; i < sizeof(offsets) / sizeof(*offsets); i++) {
		if (!reel_go_number(format, at + i * format->word, format->word, offsets[i]) ||
		    *offsets[i] >= format->size)
			return false;
	}
	format->functab = format->functions;
	if (n > (format->size - format->functab) / (2 * format->functab_word))
		return false;
	format->n_functions = n;
	return true;
}

/* Reads the table at `base` of the section; false without one. */
static bool read_header(struct reel_go_format *format, uint64_t base)
{
	const uint8_t *bytes = reel_section_need(&format->section, base, 8);

	if (!bytes || !is_header(bytes, format->word, format->big_endian, &format->version))
		return false;
	format->base = base;
	format->size = format->section.size - base;
	format->quantum = bytes[6];
	return format->version == REEL_GO_1_2 ? read_old_header(format) : read_new_header(format);
}

/* For a section that contains other data as well. */
static bool search_header(struct reel_go_format *format)
{
	enum reel_go_version version;
	_cleanup_free_ uint8_t *bytes = malloc(CHUNK);
	size_t n;

	if (!bytes)
		return false;
	for (uint64_t at = 0; (n = reel_section_copy(&format->section, at, CHUNK, bytes)) >= 8;
	     at += CHUNK) {
		for (size_t i = 0; i + 8 <= n; i += 8) {
			if (is_header(bytes + i, format->word, format->big_endian, &version) &&
			    read_header(format, at + i) && format->n_functions)
				return true;
		}
	}
	format->n_functions = 0;
	return false;
}

struct reel_error *reel_go_format_find(struct reel_elf_file *file, struct reel_go_format *ret)
{
	/* Go's own linker uses the first two, in programs and in position-independent ones; other
	 * linkers put the latter's table into the third. */
	static const char *const names[] = { ".gopclntab", ".data.rel.ro.gopclntab",
					     ".data.rel.ro" };
	uint64_t address;

	*ret = (struct reel_go_format){ 0 };
	/* Every Go program has one of these, stripped or not. */
	if (!reel_elf_file_section_address(file, ".go.buildinfo", &address) &&
	    !reel_elf_file_section_address(file, ".gopclntab", &address))
		return NULL;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		bool found;

		*ret = (struct reel_go_format){
			.big_endian = reel_elf_file_big_endian(file),
			.word = reel_elf_file_word_bits(file) / 8,
		};
		TRY(reel_elf_file_open_section(file, names[i], &ret->section));
		if (!ret->section.size)
			continue;
		found = i < 2 ? read_header(ret, 0) : search_header(ret);
		if (found)
			return NULL;
		reel_section_close(&ret->section);
		if (i < 2)
			return reel_error_create(REEL_ERROR_UNSUPPORTED,
						 "%s: %s: header is not of Go 1.2 to 1.27",
						 reel_elf_file_path(file), names[i]);
	}
	return NULL;
}

/* ---- runtime.moduledata -------------------------------------------------------------------- */

/*
 * Nothing points to it.  But it has minpc and maxpc next to each other: these are the first and the
 * last address of functab, so their difference is known.
 */
struct search {
	struct reel_elf_file *file;
	const struct reel_go_format *format;
	uint64_t first, last; /* of functab: minpc and maxpc minus `text` */
	uint64_t text_begin, text_end;
	uint64_t found; /* address of minpc; 0: not yet found */
};

static bool is_pair(const struct search *search, uint64_t minpc, uint64_t maxpc)
{
	return maxpc - minpc == search->last - search->first && minpc >= search->text_begin &&
	       maxpc <= search->text_end && minpc - search->first >= search->text_begin;
}

static struct reel_error *search_data(struct search *search, const char *name)
{
	unsigned word = search->format->word;
	_cleanup_free_ uint8_t *bytes = malloc(CHUNK);
	struct reel_section section;
	uint64_t address;
	size_t n;

	if (!bytes)
		return reel_error_no_memory();
	if (!reel_elf_file_section_address(search->file, name, &address))
		return NULL;
	TRY(reel_elf_file_open_section(search->file, name, &section));
	/* Chunks overlap by one word. */
	for (uint64_t at = 0;
	     !search->found && (n = reel_section_copy(&section, at, CHUNK, bytes)) >= 2 * word;
	     at += CHUNK - word) {
		uint64_t previous = reel_load_target(bytes, word, search->format->big_endian);

		for (size_t i = word; i + word <= n && !search->found; i += word) {
			uint64_t next =
				reel_load_target(bytes + i, word, search->format->big_endian);

			if (is_pair(search, previous, next))
				search->found = address + at + i - word;
			previous = next;
		}
	}
	reel_section_close(&section);
	return NULL;
}

/* Calls `visit` with the address and value of each relocation of .rela.dyn without a symbol. */
static struct reel_error *visit_relocations(const struct search *search,
					    void (*visit)(void *context, uint64_t address,
							  uint64_t value),
					    void *context)
{
	unsigned word = search->format->word;
	bool big_endian = search->format->big_endian;
	_cleanup_free_ uint8_t *bytes = malloc(CHUNK);
	struct reel_section section;
	size_t n;

	if (!bytes)
		return reel_error_no_memory();
	TRY(reel_elf_file_open_section(search->file, ".rela.dyn", &section));
	for (uint64_t at = 0;
	     (n = reel_section_copy(&section, at, CHUNK / 24 * 24, bytes)) >= 3 * word;
	     at += CHUNK / 24 * 24) {
		for (size_t i = 0; i + 3 * word <= n; i += 3 * word) {
			uint64_t info = reel_load_target(bytes + i + word, word, big_endian);

			if (!(word == 8 ? info >> 32 : info >> 8))
				visit(context, reel_load_target(bytes + i, word, big_endian),
				      reel_load_target(bytes + i + 2 * word, word, big_endian));
		}
	}
	reel_section_close(&section);
	return NULL;
}

/* Relocations are in the order of their addresses. */
struct pair_search {
	struct search *search;
	uint64_t address, value; /* of the previous relocation */
};

static void visit_pair(void *context, uint64_t address, uint64_t value)
{
	struct pair_search *pair = context;
	struct search *search = pair->search;

	if (!search->found && address == pair->address + search->format->word &&
	    is_pair(search, pair->value, value))
		search->found = pair->address;
	pair->address = address;
	pair->value = value;
}

struct word_fill {
	const struct search *search;
	struct reel_go_module *module;
};

static void visit_word(void *context, uint64_t address, uint64_t value)
{
	const struct word_fill *fill = context;
	uint64_t index = (address - fill->search->found) / fill->search->format->word;

	if (address >= fill->search->found && index < fill->module->n)
		fill->module->words[index] = value;
}

/* With the values the dynamic linker sets: from the file, or from relocations. */
static struct reel_error *read_words(const struct search *search, struct reel_go_module *ret)
{
	struct word_fill fill = { search, ret };
	unsigned word = search->format->word;
	uint8_t bytes[8];

	ret->n = sizeof(ret->words) / sizeof(*ret->words);
	for (size_t i = 0; i < ret->n; i++) {
		if (reel_elf_file_read(search->file, search->found + i * word, word, bytes))
			ret->words[i] = reel_load_target(bytes, word, search->format->big_endian);
	}
	return visit_relocations(search, visit_word, &fill);
}

struct reel_error *reel_go_module_find(struct reel_elf_file *file, struct reel_go_format *format,
				       struct reel_go_module *ret)
{
	static const char *const names[] = { ".go.module", ".noptrdata", ".data", ".data.rel.ro" };
	struct search search = { .file = file, .format = format };
	struct pair_search pair = { .search = &search };
	struct reel_error *error;

	ret->n = 0;
	reel_elf_file_text_range(file, &search.text_begin, &search.text_end);
	if (!reel_go_number(format, format->functab, 4, &search.first) ||
	    !reel_go_number(format, format->functab + 8 * format->n_functions, 4, &search.last))
		return NULL;
	error = visit_relocations(&search, visit_pair, &pair);
	for (size_t i = 0; !error && !search.found && i < sizeof(names) / sizeof(*names); i++)
		error = search_data(&search, names[i]);
	if (!error && search.found)
		error = read_words(&search, ret);
	if (!error && ret->n)
		format->text = ret->words[0] - search.first;
	return error;
}

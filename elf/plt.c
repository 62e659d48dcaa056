/* SPDX-License-Identifier: Apache-2.0 */
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/array.h"
#include "base/bytes.h"
#include "base/dwarf_cursor.h"
#include "base/text.h"
#include "elf/elf_sections.h"
#include "elf/plt.h"

/* ---- operands ------------------------------------------------------------------------ */

uint64_t reel_operand_address(unsigned kind, const uint8_t *code, uint64_t address, uint64_t got)
{
	uint32_t first = reel_load32(code), second;

	switch ((enum reel_arch_address)kind) {
	case REEL_ARCH_OPERAND_NONE:
		break;
	case REEL_ARCH_OPERAND_PC32:
		return address + 4 + reel_sign_extend(first, 32);
	case REEL_ARCH_OPERAND_ABS32:
		return first;
	case REEL_ARCH_OPERAND_GOT32:
		return (uint32_t)(got + first);
	case REEL_ARCH_OPERAND_ADRP:
		second = reel_load32(code + 4);
		return (address & ~(uint64_t)0xfff) +
		       (reel_sign_extend((first >> 5 & 0x7ffff) << 2 | (first >> 29 & 3), 21)
			<< 12) +
		       (second >> 10 & 0xfff) * 8;
	case REEL_ARCH_OPERAND_BL:
		return address + 4 * reel_sign_extend(first & 0x3ffffff, 26);
	case REEL_ARCH_OPERAND_AUIPC:
		second = reel_load32(code + 4);
		return address + reel_sign_extend(first & 0xfffff000, 32) +
		       reel_sign_extend(second >> 20, 12);
	case REEL_ARCH_OPERAND_JAL:
		return address + reel_sign_extend((first >> 31 & 1) << 20 |
							  (first >> 12 & 0xff) << 12 |
							  (first >> 20 & 1) << 11 |
							  (first >> 21 & 0x3ff) << 1,
						  21);
	case REEL_ARCH_OPERAND_LARL:
		return address - 2 + 2 * reel_sign_extend(reel_load_target(code, 4, true), 32);
	}
	return 0;
}

/* ---- stubs --------------------------------------------------------------------------- */

struct stubs {
	struct reel_elf_file *file;
	const struct reel_arch *arch;
	struct reel_texts *texts;
	uint64_t got; /* DT_PLTGOT */
	struct reel_plt_stub *all;
	size_t n, capacity;
};

/* ---- code --------------------------------------------------------------------------- */

static bool matches(const struct reel_arch_stub *stub, const uint8_t *code)
{
	for (size_t i = 0; i < stub->size; i++) {
		if ((code[i] ^ stub->code[i]) & (stub->mask ? stub->mask[i] : 0xff))
			return false;
	}
	return true;
}

/* The size of a stub's operand. */
static size_t operand_size(unsigned kind)
{
	return kind == REEL_ARCH_OPERAND_ADRP || kind == REEL_ARCH_OPERAND_AUIPC ? 8 : 4;
}

static const struct reel_arch_stub *stub_at(const struct reel_arch *arch, const uint8_t *code,
					    size_t size)
{
	for (size_t i = 0; i < arch->n_stubs; i++) {
		const struct reel_arch_stub *stub = &arch->stubs[i];

		if (size >= stub->size && size >= stub->operand + operand_size(stub->kind) &&
		    matches(stub, code))
			return stub;
	}
	return NULL;
}

/* Each stub ends where the next one begins; the last of several has the same size as the previous,
 * since code for TLS descriptors may follow (aarch64). */
static void end_stubs(struct reel_plt_stub *stubs, size_t n, uint64_t section_end)
{
	for (size_t i = 0; i < n; i++) {
		struct reel_plt_stub *stub = &stubs[i];
		uint64_t next = i + 1 < n ? stub[1].begin : section_end;

		if (i && stub[-1].end - stub[-1].begin < stub->end - stub->begin)
			stub->end = stub->begin + (stub[-1].end - stub[-1].begin);
		if (next - stub->begin < stub->end - stub->begin)
			stub->end = next;
	}
}

static struct reel_error *read_section(struct stubs *stubs, const struct reel_loaded_bytes *code)
{
	size_t first = stubs->n;

	for (size_t at = 0; at < code->size; at += 8) {
		const struct reel_arch_stub *kind =
			stub_at(stubs->arch, code->bytes + at, code->size - at);
		uint64_t begin = code->address + at;

		if (!kind)
			continue;
		if (!reel_array_reserve(&stubs->all, stubs->n, &stubs->capacity,
					sizeof(*stubs->all)))
			return reel_error_no_memory();
		stubs->all[stubs->n++] = (struct reel_plt_stub){
			.begin = begin,
			.end = begin + kind->whole,
			.slot = reel_operand_address(kind->kind, code->bytes + at + kind->operand,
						     begin + kind->operand, stubs->got),
		};
	}
	if (stubs->n > first)
		end_stubs(stubs->all + first, stubs->n - first, code->address + code->size);
	return NULL;
}

static struct reel_error *read_code(struct stubs *stubs)
{
	/* From the psABIs; .plt.sec and .plt.bnd are x86's, for IBT and MPX; lld's for ifuncs. */
	static const char *const names[] = { ".plt", ".plt.sec", ".plt.got", ".plt.bnd", ".iplt" };
	struct reel_error *error = NULL;

	for (size_t i = 0; !error && i < sizeof(names) / sizeof(*names); i++) {
		struct reel_loaded_bytes code;

		if (reel_elf_file_section(stubs->file, names[i], &code))
			error = read_section(stubs, &code);
	}
	return error ? error : reel_elf_file_memory_error(stubs->file);
}

/* ---- relocations ---------------------------------------------------------------------- */

/* A section of relocations, with its symbols: tables of a whole program, of which few are needed. */
struct relocations {
	bool big_endian, has_addends;
	unsigned word; /* bytes */
	size_t symbol_size;
	struct reel_section symbols, strings;
	uint64_t names_left; /* bytes */
};

/* A name is used for one or two words. */
#define NAMES_MAX  4
#define NAMES_FREE (64u << 10)

static struct reel_error *open_symbols(const struct reel_elf_sections *sections,
				       struct reel_elf_file *file, const GElf_Shdr *relocations,
				       struct relocations *ret)
{
	Elf_Scn *section = elf_getscn(sections->elf, relocations->sh_link);
	GElf_Shdr header, strings;

	if (!section || !gelf_getshdr(section, &header) ||
	    (header.sh_type != SHT_DYNSYM && header.sh_type != SHT_SYMTAB))
		return NULL;
	section = elf_getscn(sections->elf, header.sh_link);
	if (!section || !gelf_getshdr(section, &strings))
		return NULL;
	ret->symbol_size = gelf_fsize(sections->elf, ELF_T_SYM, 1, EV_CURRENT);
	TRY(reel_elf_file_open_section(file, reel_elf_section_name(sections, &header),
				       &ret->symbols));
	TRY(reel_elf_file_open_section(file, reel_elf_section_name(sections, &strings),
				       &ret->strings));
	ret->names_left = NAMES_FREE + NAMES_MAX * ret->strings.size;
	return NULL;
}

static void close_symbols(struct relocations *relocations)
{
	reel_section_close(&relocations->symbols);
	reel_section_close(&relocations->strings);
}

/* NULL: none. */
static struct reel_error *symbol_name(const struct stubs *stubs, struct relocations *from,
				      uint64_t index, const char **ret)
{
	/* Elf32_Sym and Elf64_Sym begin with st_name. */
	const uint8_t *symbol = reel_section_need(&from->symbols, index * from->symbol_size, 4);
	const char *name = NULL;
	uint32_t offset;

	/* Pages have the file's byte order; otherwise libelf has converted the table. */
	if (symbol && from->symbols.pages)
		offset = (uint32_t)reel_load_target(symbol, 4, from->big_endian);
	else if (symbol)
		memcpy(&offset, symbol, sizeof(offset));
	if (symbol)
		name = reel_section_string(&from->strings, offset);
	*ret = NULL;
	if (reel_section_is_short_of_memory(&from->symbols) ||
	    reel_section_is_short_of_memory(&from->strings))
		return reel_error_no_memory();
	if (!name || !*name)
		return NULL;
	if (strlen(name) > from->names_left)
		return reel_error_create(REEL_ERROR_UNSUPPORTED,
					 "%s: names of PLT stubs overlap: not written by a linker",
					 reel_elf_file_path(stubs->file));
	from->names_left -= strlen(name);
	*ret = reel_texts_add_string(stubs->texts, name);
	return *ret ? NULL : reel_error_no_memory();
}

static int by_slot(const void *left, const void *right)
{
	const struct reel_plt_stub *a = left, *b = right;

	return (a->slot > b->slot) - (a->slot < b->slot);
}

static int by_address(const void *left, const void *right)
{
	const struct reel_plt_stub *a = left, *b = right;

	return (a->begin > b->begin) - (a->begin < b->begin);
}

/* Elf64_Rela and the like: place, symbol and type, and without a symbol an address, which Elf32_Rel
 * has in the place itself. */
static struct reel_error *take_relocation(struct stubs *stubs, struct relocations *from,
					  const uint8_t *bytes)
{
	struct reel_plt_stub key = {
		.slot = reel_load_target(bytes, from->word, from->big_endian),
	};
	uint64_t info = reel_load_target(bytes + from->word, from->word, from->big_endian);
	uint64_t symbol = from->word == 8 ? info >> 32 : info >> 8;
	struct reel_plt_stub *end = stubs->all + stubs->n, *stub;
	uint8_t word[8];

	/* Most are of data. */
	if (key.slot < stubs->all->slot || key.slot > end[-1].slot)
		return NULL;
	stub = bsearch(&key, stubs->all, stubs->n, sizeof(key), by_slot);
	if (!stub)
		return NULL;
	while (stub > stubs->all && stub[-1].slot == key.slot)
		stub--;
	if (symbol)
		TRY(symbol_name(stubs, from, symbol, &key.name));
	else if (from->has_addends)
		key.target = reel_load_target(bytes + 2 * from->word, from->word, from->big_endian);
	else if (reel_elf_file_read(stubs->file, key.slot, from->word, word))
		key.target = reel_load_target(word, from->word, from->big_endian);
	for (; stub < end && stub->slot == key.slot; stub++) {
		stub->name = key.name;
		stub->target = key.target;
	}
	return NULL;
}

static struct reel_error *take_relocations(struct stubs *stubs, struct relocations *from,
					   const struct reel_section *section)
{
	const size_t size = (from->has_addends ? 3 : 2) * from->word;
	uint8_t bytes[8 * 24 * 32];
	const size_t chunk = sizeof(bytes) / size * size;
	size_t n;

	for (uint64_t at = 0; (n = reel_section_copy(section, at, chunk, bytes)) >= size;
	     at += n / size * size) {
		for (size_t i = 0; i + size <= n; i += size)
			TRY(take_relocation(stubs, from, bytes + i));
	}
	return NULL;
}

static struct reel_error *read_relocations(struct stubs *stubs)
{
	/* Linkers' names for them: for the PLT, and for the rest of the GOT. */
	static const char *const names[] = { ".rela.dyn", ".rel.dyn",  ".rela.iplt",
					     ".rel.iplt", ".rela.plt", ".rel.plt" };
	struct reel_elf_sections sections;
	struct reel_error *error = NULL;

	reel_elf_sections_open(reel_elf_file_handle(stubs->file), &sections);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names) && !error; i++) {
		struct relocations from = {
			.big_endian = reel_elf_file_big_endian(stubs->file),
			.has_addends = names[i][4] == 'a',
			.word = reel_elf_file_word_bits(stubs->file) / 8,
		};
		struct reel_section section;
		GElf_Shdr header;

		if (!reel_elf_sections_header(&sections, names[i], &header))
			continue;
		TRY(reel_elf_file_open_section(stubs->file, names[i], &section));
		error = open_symbols(&sections, stubs->file, &header, &from);
		if (!error)
			error = take_relocations(stubs, &from, &section);
		close_symbols(&from);
		reel_section_close(&section);
	}
	return error;
}

struct reel_error *reel_plt_read(struct reel_elf_file *file, struct reel_texts *texts,
				 struct reel_plt_stub **ret, size_t *n_ret)
{
	struct stubs stubs = {
		.file = file,
		.texts = texts,
		.arch = reel_arch_by_machine(reel_elf_file_machine(file),
					     reel_elf_file_word_bits(file)),
	};
	struct reel_error *error = NULL;
	size_t n = 0;

	if (stubs.arch) {
		reel_elf_file_dynamic(file, DT_PLTGOT, &stubs.got);
		error = read_code(&stubs);
	}
	if (!error && stubs.n) {
		qsort(stubs.all, stubs.n, sizeof(*stubs.all), by_slot);
		error = read_relocations(&stubs);
	}
	if (error) {
		free(stubs.all);
		return error;
	}
	for (size_t i = 0; i < stubs.n; i++) {
		if (stubs.all[i].name || stubs.all[i].target)
			stubs.all[n++] = stubs.all[i];
	}
	if (n)
		qsort(stubs.all, n, sizeof(*stubs.all), by_address);
	*ret = stubs.all;
	*n_ret = n;
	return NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "record/proc/jit_list.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "record/proc/dynamic_file.h"
#include "record/proc/proc.h"

#define SECTIONS_MAX 1024
#define SYMBOLS_MAX  (32u << 10)
#define STRINGS_MAX  (2u << 20)
/* Bytes of files after which the other wanted ones have to wait: some milliseconds. */
#define BYTES_ENOUGH (2u << 20)
/* Bytes of a file's parts: many symbols can have the same long name. */
#define REPORT_MAX    (4u << 20)
#define CHECKED_BYTES 2048

/* struct jit_descriptor and struct jit_code_entry of GDB's manual, in 64-bit processes. */
struct descriptor {
	uint32_t version, action;
	uint64_t relevant, first;
};

struct code_entry {
	uint64_t next, previous, file, size;
};

/* A file's parts, which are copied before anything is reported. */
struct image {
	uint32_t pid;
	struct reel_jit_entry entry;
	Elf64_Ehdr header;
	Elf64_Shdr sections[SECTIONS_MAX];
	size_t n_sections;
	Elf64_Sym symbols[SYMBOLS_MAX];
	size_t n_symbols;
	char strings[STRINGS_MAX];
	size_t strings_size;
	uint8_t frames[REEL_JIT_FRAMES_MAX];
	struct reel_jit_part unwind;
	size_t bytes_read, bytes_reported;
};

/* ---- ELF files --------------------------------------------------------------------------- */

static bool read_memory(struct image *image, uint64_t address, void *ret, size_t size)
{
	image->bytes_read += size;
	return !size || reel_proc_memory(image->pid, address, ret, size);
}

static bool read_file(struct image *image, uint64_t offset, void *ret, uint64_t size, size_t limit)
{
	return size <= limit && offset <= image->entry.size && size <= image->entry.size - offset &&
	       read_memory(image, image->entry.file + offset, ret, (size_t)size);
}

static bool read_sections(struct image *image)
{
	Elf64_Ehdr *header = &image->header;

	if (!read_file(image, 0, header, sizeof(*header), sizeof(*header)) ||
	    !reel_elf_is_native(header) || header->e_shentsize != sizeof(Elf64_Shdr))
		return false;
	image->n_sections = header->e_shnum;
	return read_file(image, header->e_shoff, image->sections,
			 image->n_sections * sizeof(*image->sections), sizeof(image->sections));
}

static bool read_symbols(struct image *image)
{
	const Elf64_Shdr *section = NULL, *strings;

	image->n_symbols = 0;
	for (size_t i = 0; i < image->n_sections && !section; i++) {
		if (image->sections[i].sh_type == SHT_SYMTAB)
			section = &image->sections[i];
	}
	if (!section)
		return true;
	if (section->sh_link >= image->n_sections)
		return false;
	strings = &image->sections[section->sh_link];
	image->n_symbols = section->sh_size / sizeof(*image->symbols);
	image->strings_size = strings->sh_size;
	return read_file(image, section->sh_offset, image->symbols, section->sh_size,
			 sizeof(image->symbols)) &&
	       read_file(image, strings->sh_offset, image->strings, strings->sh_size,
			 sizeof(image->strings));
}

static bool is_named(const struct image *image, const Elf64_Shdr *section, const char *wanted)
{
	size_t size = strlen(wanted) + 1;
	const Elf64_Shdr *names;
	char name[16];

	if (image->header.e_shstrndx >= image->n_sections)
		return false;
	names = &image->sections[image->header.e_shstrndx];
	return size <= sizeof(name) && section->sh_name < names->sh_size &&
	       read_file((struct image *)image, names->sh_offset + section->sh_name, name, size,
			 sizeof(name)) &&
	       !memcmp(name, wanted, size);
}

static bool is_relocated_later(const struct image *image, size_t index)
{
	for (size_t i = 0; i < image->n_sections; i++) {
		const Elf64_Shdr *section = &image->sections[i];

		if ((section->sh_type == SHT_RELA || section->sh_type == SHT_REL) &&
		    section->sh_info == index)
			return true;
	}
	return false;
}

/*
 * LLVM's files are objects whose sections have addresses: loaded ones were relocated there, and not
 * in the file.
 */
static bool read_frames(struct image *image)
{
	struct reel_jit_part *unwind = &image->unwind;
	bool is_object = image->header.e_type == ET_REL;

	*unwind = (struct reel_jit_part){ 0 };
	for (size_t i = 0; i < image->n_sections; i++) {
		const Elf64_Shdr *section = &image->sections[i];
		bool is_eh = is_named(image, section, ".eh_frame");
		bool is_loaded = section->sh_flags & SHF_ALLOC && section->sh_addr;
		bool can_read;

		if (section->sh_type == SHT_NOBITS || !section->sh_size ||
		    (!is_eh && (unwind->frames.size || !is_named(image, section, ".debug_frame"))))
			continue;
		if (is_object && !is_loaded && is_relocated_later(image, i))
			continue;
		can_read = is_loaded ? section->sh_size <= sizeof(image->frames) &&
					       read_memory(image, section->sh_addr, image->frames,
							   section->sh_size)
				     : read_file(image, section->sh_offset, image->frames,
						 section->sh_size, sizeof(image->frames));
		if (!can_read)
			return false;
		unwind->frames = (struct reel_bytes){ image->frames, section->sh_size };
		unwind->frame_address =
			is_loaded ? section->sh_addr : image->entry.file + section->sh_offset;
		unwind->is_debug_frame = !is_eh;
	}
	return true;
}

static bool is_code(const Elf64_Shdr *section)
{
	return section->sh_flags & SHF_EXECINSTR && section->sh_addr && section->sh_size &&
	       section->sh_addr + (section->sh_size - 1) >= section->sh_addr;
}

/* False if the symbol is not a function's in a section of code. */
static bool find_function(const struct image *image, const Elf64_Sym *symbol,
			  struct reel_jit_part *ret)
{
	uint64_t inside = symbol->st_value;
	const Elf64_Shdr *section;
	const char *name, *end;

	if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx >= image->n_sections ||
	    symbol->st_name >= image->strings_size)
		return false;
	section = &image->sections[symbol->st_shndx];
	if (!is_code(section))
		return false;
	if (image->header.e_type != ET_REL)
		inside -= section->sh_addr;
	if (!symbol->st_size || inside >= section->sh_size ||
	    symbol->st_size > section->sh_size - inside)
		return false;
	name = image->strings + symbol->st_name;
	end = memchr(name, 0, image->strings_size - symbol->st_name);
	*ret = (struct reel_jit_part){
		.address = section->sh_addr + inside,
		.size = symbol->st_size,
		.name = { (const uint8_t *)name, end ? (size_t)(end - name) : SIZE_MAX },
	};
	return ret->name.size && ret->name.size <= REEL_JIT_NAME_MAX;
}

static bool report_part(struct image *image, const struct reel_jit_list_visitor *visitor,
			const struct reel_jit_part *part)
{
	image->bytes_reported += sizeof(*part) + part->name.size + part->frames.size;
	if (image->bytes_reported > REPORT_MAX)
		return false;
	visitor->part(visitor->context, part);
	return true;
}

/* Each section of code comes first, even without unwind information: it shows where code is.  False
 * if there are too many bytes. */
static bool report(struct image *image, const struct reel_jit_list_visitor *visitor)
{
	struct reel_jit_part part;

	image->bytes_reported = 0;
	visitor->wanted(visitor->context, &image->entry);
	for (size_t i = 0; i < image->n_sections; i++) {
		const Elf64_Shdr *section = &image->sections[i];

		if (!is_code(section))
			continue;
		part = image->unwind;
		part.address = section->sh_addr;
		part.size = section->sh_size;
		if (!report_part(image, visitor, &part))
			return false;
	}
	for (size_t i = 0; i < image->n_symbols; i++) {
		if (find_function(image, &image->symbols[i], &part) &&
		    !report_part(image, visitor, &part))
			return false;
	}
	return true;
}

/* The entry at an address, if it can be read. */
static bool read_entry(uint32_t pid, uint64_t address, struct reel_jit_entry *ret,
		       uint64_t *next_ret)
{
	uint8_t bytes[CHECKED_BYTES];
	struct code_entry found;
	size_t size;

	if (!reel_proc_memory(pid, address, &found, sizeof(found)))
		return false;
	size = found.size < sizeof(bytes) ? (size_t)found.size : sizeof(bytes);
	*ret = (struct reel_jit_entry){ address, found.file, found.size, 0 };
	if (reel_proc_memory(pid, found.file + (found.size - size), bytes, size))
		ret->checksum = crc32_z(0, bytes, size);
	*next_ret = found.next;
	return true;
}

static bool is_still(uint32_t pid, const struct reel_jit_entry *entry)
{
	struct reel_jit_entry now;
	uint64_t next;

	return read_entry(pid, entry->address, &now, &next) && !memcmp(&now, entry, sizeof(now));
}

static void read_wanted(uint32_t pid, const struct reel_jit_list_question *question,
			const struct reel_jit_list_visitor *visitor,
			struct reel_jit_list_state *state)
{
	/* Large, and seldom needed: as a static variable it would count for each helper's limit of
	 * memory. */
	_cleanup_free_ struct image *image = question->n_wanted ? malloc(sizeof(*image)) : NULL;

	if (!image) {
		state->n_read = state->n_bad = question->n_wanted;
		return;
	}
	image->pid = pid;
	image->bytes_read = 0;
	while (state->n_read < question->n_wanted && image->bytes_read < BYTES_ENOUGH) {
		bool is_read;

		image->entry = question->wanted[state->n_read++];
		is_read = read_sections(image) && read_symbols(image) && read_frames(image);
		if (is_still(pid, &image->entry))
			state->n_bad += !is_read || !report(image, visitor);
	}
}

/* ---- lists ------------------------------------------------------------------------------- */

static bool read_descriptors(uint32_t pid, const struct reel_jit_list_question *question,
			     struct descriptor ret[REEL_JIT_LISTS_MAX])
{
	memset(ret, 0, REEL_JIT_LISTS_MAX * sizeof(*ret));
	for (size_t i = 0; i < REEL_JIT_LISTS_MAX; i++) {
		if (question->descriptors[i] &&
		    !reel_proc_memory(pid, question->descriptors[i], &ret[i], sizeof(ret[i])))
			return false;
	}
	return true;
}

/* False if the walk did not reach the lists' ends. */
static bool walk(uint32_t pid, const struct descriptor descriptors[REEL_JIT_LISTS_MAX],
		 const struct reel_jit_list_visitor *visitor, struct reel_jit_list_state *state)
{
	size_t count = 0;

	for (size_t i = 0; i < REEL_JIT_LISTS_MAX; i++) {
		uint64_t at = descriptors[i].version == 1 ? descriptors[i].first : 0;

		while (at) {
			struct reel_jit_entry entry;

			/* A loop, or far more than JITs make. */
			state->is_refused = count++ == REEL_JIT_ENTRIES_MAX;
			if (state->is_refused || !read_entry(pid, at, &entry, &at))
				return false;
			visitor->entry(visitor->context, &entry);
		}
	}
	return true;
}

void reel_jit_list_read(uint32_t pid, const struct reel_jit_list_question *question,
			const struct reel_jit_list_visitor *visitor,
			struct reel_jit_list_state *ret)
{
	struct descriptor before[REEL_JIT_LISTS_MAX], after[REEL_JIT_LISTS_MAX];

	*ret = (struct reel_jit_list_state){ 0 };
	read_wanted(pid, question, visitor, ret);
	if (ret->n_read < question->n_wanted || !question->descriptors[0] ||
	    !read_descriptors(pid, question, before))
		return;
	ret->checksum = crc32_z(0, (const uint8_t *)before, sizeof(before));
	if (ret->checksum == question->checksum && !question->must_walk)
		return;
	/* An entry that was removed meanwhile may have led elsewhere. */
	ret->is_walked = walk(pid, before, visitor, ret) &&
			 read_descriptors(pid, question, after) &&
			 !memcmp(before, after, sizeof(before));
}

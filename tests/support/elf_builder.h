/* SPDX-License-Identifier: Apache-2.0 */
/* Makes small 64-bit ELF files in memory, of either byte order, for tests. */
#ifndef TESTS_SUPPORT_ELF_BUILDER_H
#define TESTS_SUPPORT_ELF_BUILDER_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct elf_section_spec {
	const char *name;
	uint32_t type;
	uint64_t flags, address;
	const void *bytes;
	uint64_t size;
	uint32_t link; /* index: the first section added is 1 */
	uint64_t entry_size;
};

struct elf_builder {
	uint8_t bytes[1 << 16];
	size_t size;
	bool big_endian;
	struct elf_section_spec sections[16];
	uint64_t offsets[16];
	unsigned n_sections;
};

static inline void elf_put(struct elf_builder *builder, size_t at, uint64_t value, unsigned size)
{
	for (unsigned i = 0; i < size; i++)
		builder->bytes[at + i] =
			(uint8_t)(value >> 8 * (builder->big_endian ? size - 1 - i : i));
	if (at + size > builder->size)
		builder->size = at + size;
}

static inline void elf_put_bytes(struct elf_builder *builder, size_t at, const void *bytes,
				 size_t size)
{
	if (size)
		memcpy(builder->bytes + at, bytes, size);
	if (at + size > builder->size)
		builder->size = at + size;
}

static inline void elf_put_header(struct elf_builder *builder, uint16_t type, unsigned segments)
{
	static const uint8_t magic[] = { 0x7f, 'E', 'L', 'F', 2 };

	elf_put_bytes(builder, 0, magic, sizeof(magic));
	elf_put(builder, 5, builder->big_endian ? 2 : 1, 1);
	elf_put(builder, 6, 1, 1);
	elf_put(builder, 16, type, 2);
	elf_put(builder, 18, builder->big_endian ? EM_S390 : EM_X86_64, 2);
	elf_put(builder, 20, 1, 4);
	elf_put(builder, 24, 0x401234, 8); /* entry */
	elf_put(builder, 32, 64, 8);	   /* program headers follow the header */
	elf_put(builder, 52, 64, 2);
	elf_put(builder, 54, 56, 2);
	elf_put(builder, 56, segments, 2);
	elf_put(builder, 58, 64, 2);
	elf_put(builder, 62, 0, 2);
}

static inline void elf_put_segment(struct elf_builder *builder, unsigned index, uint32_t type,
				   uint32_t flags, uint64_t offset, uint64_t address, uint64_t size,
				   uint64_t align)
{
	size_t at = 64 + 56 * index;

	elf_put(builder, at, type, 4);
	elf_put(builder, at + 4, flags, 4);
	elf_put(builder, at + 8, offset, 8);
	elf_put(builder, at + 16, address, 8);
	elf_put(builder, at + 24, address, 8);
	elf_put(builder, at + 32, size, 8);
	elf_put(builder, at + 40, size, 8);
	elf_put(builder, at + 48, align, 8);
}

/* A build-id note; it takes 16 bytes plus the id. */
static inline void elf_put_note(struct elf_builder *builder, size_t at, const char *build_id)
{
	elf_put(builder, at, 4, 4);
	elf_put(builder, at + 4, strlen(build_id), 4);
	elf_put(builder, at + 8, NT_GNU_BUILD_ID, 4);
	elf_put_bytes(builder, at + 12, "GNU", 4);
	elf_put_bytes(builder, at + 16, build_id, strlen(build_id));
}

/*
 * Appends a section; bytes NULL makes it one without contents (SHT_NOBITS). Returns its file
 * offset.
 */
static inline uint64_t elf_add_section(struct elf_builder *builder, struct elf_section_spec spec)
{
	uint64_t offset = (builder->size + 7) & ~(uint64_t)7;

	builder->sections[builder->n_sections] = spec;
	builder->offsets[builder->n_sections++] = offset;
	if (spec.bytes)
		elf_put_bytes(builder, offset, spec.bytes, spec.size);
	return offset;
}

/* Writes the section headers, after everything else. */
static inline void elf_finish_sections(struct elf_builder *builder)
{
	uint64_t names = builder->size, name = 1, headers;
	unsigned n = builder->n_sections;

	elf_put(builder, names, 0, 1);
	for (unsigned i = 0; i < n; i++)
		elf_put_bytes(builder, builder->size, builder->sections[i].name,
			      strlen(builder->sections[i].name) + 1);
	elf_put_bytes(builder, builder->size, ".shstrtab", 10);
	headers = (builder->size + 7) & ~(uint64_t)7;
	for (unsigned i = 0; i <= n; i++) {
		const struct elf_section_spec own = { ".shstrtab", SHT_STRTAB,	    0, 0,
						      "",	   headers - names, 0, 0 };
		const struct elf_section_spec *spec = i < n ? &builder->sections[i] : &own;
		size_t at = headers + 64 * (i + 1);

		elf_put(builder, at, name, 4);
		elf_put(builder, at + 4, spec->type, 4);
		elf_put(builder, at + 8, spec->flags, 8);
		elf_put(builder, at + 16, spec->address, 8);
		elf_put(builder, at + 24, i < n ? builder->offsets[i] : names, 8);
		elf_put(builder, at + 32, spec->size, 8);
		elf_put(builder, at + 40, spec->link, 4);
		elf_put(builder, at + 48, 1, 8);
		elf_put(builder, at + 56, spec->entry_size, 8);
		name += strlen(spec->name) + 1;
	}
	elf_put(builder, 40, headers, 8);
	elf_put(builder, 60, n + 2, 2);
	elf_put(builder, 62, n + 1, 2);
}

/* Writes a symbol into a table under construction. */
static inline void elf_make_symbol(uint8_t *entry, uint32_t name, unsigned binding, unsigned type,
				   uint16_t section, uint64_t value, uint64_t size)
{
	struct elf_builder scratch = { 0 };

	elf_put(&scratch, 0, name, 4);
	elf_put(&scratch, 4, binding << 4 | type, 1);
	elf_put(&scratch, 6, section, 2);
	elf_put(&scratch, 8, value, 8);
	elf_put(&scratch, 16, size, 8);
	memcpy(entry, scratch.bytes, 24);
}

#endif

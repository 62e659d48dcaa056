/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ELF files around the input's sections: their headers are right, so that the readers of the
 * sections are always reached.
 */
#ifndef TESTS_FUZZ_ELF_PARTS_H
#define TESTS_FUZZ_ELF_PARTS_H

#include <elf.h>

#include "arch/arch.h"
#include "tests/fuzz/fuzz.h"

/* The code of all files: addresses [0, FUZZ_TEXT_END), without bytes in the file. */
#define FUZZ_TEXT_END 0x10000000u

struct elf_section {
	const char *name;
	uint32_t type, link; /* the first given section has the index 2, .text is 1 */
	uint64_t entry_size, address;
	struct reel_bytes bytes;
};

struct elf_form {
	uint16_t type, machine;
	bool is_32, big_endian;
};

/* One of arch/'s CPUs, selected by the lowest bits. */
static inline struct elf_form elf_form_of(uint8_t bits, uint16_t type)
{
	size_t n = 0;
	const struct reel_arch *arch;

	while (reel_arch_all[n])
		n++;
	arch = reel_arch_all[bits % n];
	return (struct elf_form){
		.type = type,
		.machine = arch->elf_machine,
		.is_32 = arch->word_size == 4,
		.big_endian = arch->elf_machine == EM_S390,
	};
}

struct elf_writer {
	struct reel_buffer *to;
	const struct elf_form *form;
};

static inline void elf_number(const struct elf_writer *writer, uint64_t value, unsigned size)
{
	uint8_t bytes[8];

	reel_store_target(bytes, size, writer->form->big_endian, value);
	reel_buffer_append(writer->to, bytes, size);
}

/* As wide as an address. */
static inline void elf_word(const struct elf_writer *writer, uint64_t value)
{
	elf_number(writer, value, writer->form->is_32 ? 4 : 8);
}

static inline void elf_header(const struct elf_writer *writer, uint64_t sections, unsigned n)
{
	const struct elf_form *form = writer->form;
	const uint8_t ident[EI_NIDENT] = { 0x7f,
					   'E',
					   'L',
					   'F',
					   form->is_32 ? ELFCLASS32 : ELFCLASS64,
					   form->big_endian ? ELFDATA2MSB : ELFDATA2LSB,
					   EV_CURRENT };

	reel_buffer_append(writer->to, ident, sizeof(ident));
	elf_number(writer, form->type, 2);
	elf_number(writer, form->machine, 2);
	elf_number(writer, EV_CURRENT, 4);
	elf_word(writer, 0x1000);		 /* entry */
	elf_word(writer, form->is_32 ? 52 : 64); /* program headers */
	elf_word(writer, sections);
	elf_number(writer, 0, 4);
	elf_number(writer, form->is_32 ? 52 : 64, 2);
	elf_number(writer, form->is_32 ? 32 : 56, 2);
	elf_number(writer, form->type == ET_REL ? 0 : 1, 2);
	elf_number(writer, form->is_32 ? 40 : 64, 2);
	elf_number(writer, n, 2);
	elf_number(writer, n - 1, 2); /* the names */
}

static inline void elf_segment(const struct elf_writer *writer)
{
	elf_number(writer, PT_LOAD, 4);
	if (!writer->form->is_32)
		elf_number(writer, PF_R | PF_X, 4);
	elf_word(writer, 0); /* offset, address twice, size in the file and in memory */
	elf_word(writer, 0);
	elf_word(writer, 0);
	elf_word(writer, 52);
	elf_word(writer, FUZZ_TEXT_END);
	if (writer->form->is_32)
		elf_number(writer, PF_R | PF_X, 4);
	elf_word(writer, 4096);
}

static inline void elf_section_header(const struct elf_writer *writer, uint32_t name,
				      const struct elf_section *section, uint64_t flags,
				      uint64_t offset, uint64_t size)
{
	elf_number(writer, name, 4);
	elf_number(writer, section->type, 4);
	elf_word(writer, flags);
	elf_word(writer, section->address);
	elf_word(writer, offset);
	elf_word(writer, size);
	elf_number(writer, section->link, 4);
	elf_number(writer, 0, 4);
	elf_word(writer, 8);
	elf_word(writer, section->entry_size);
}

#define ELF_SECTIONS_MAX 16

/* Section headers: none, .text, the given ones, .shstrtab. */
static inline void elf_of_sections(const struct elf_form *form, const struct elf_section *sections,
				   size_t n, struct reel_buffer *ret)
{
	static const struct elf_section none, text = { ".text", SHT_PROGBITS },
					      names = { ".shstrtab", SHT_STRTAB };
	const struct elf_writer writer = { ret, form };
	_cleanup_buffer_ struct reel_buffer body = { 0 };
	uint64_t offsets[ELF_SECTIONS_MAX], begin = form->is_32 ? 52 + 32 : 64 + 56, table;
	uint32_t name = 1;

	must_be(n <= ELF_SECTIONS_MAX, "few sections");
	for (size_t i = 0; i < n; i++) {
		offsets[i] = begin + body.size;
		reel_buffer_append(&body, sections[i].bytes.data, sections[i].bytes.size);
		while (body.size % 8)
			reel_buffer_u8(&body, 0);
	}
	table = begin + body.size;
	reel_buffer_u8(&body, 0);
	for (size_t i = 0; i < n; i++)
		reel_buffer_append(&body, sections[i].name, strlen(sections[i].name) + 1);
	reel_buffer_append(&body, text.name, strlen(text.name) + 1);
	reel_buffer_append(&body, names.name, strlen(names.name) + 1);
	ret->size = 0;
	elf_header(&writer, begin + body.size, (unsigned)n + 3);
	elf_segment(&writer);
	reel_buffer_append(ret, body.bytes, body.size);
	elf_section_header(&writer, 0, &none, 0, 0, 0);
	for (size_t i = 0; i < n; i++)
		name += (uint32_t)strlen(sections[i].name) + 1;
	elf_section_header(&writer, name, &text, SHF_ALLOC | SHF_EXECINSTR, 0, FUZZ_TEXT_END);
	name = 1;
	for (size_t i = 0; i < n; i++) {
		elf_section_header(&writer, name, &sections[i], sections[i].address ? SHF_ALLOC : 0,
				   offsets[i], sections[i].bytes.size);
		name += (uint32_t)strlen(sections[i].name) + 1;
	}
	elf_section_header(&writer, name + (uint32_t)strlen(text.name) + 1, &names, 0, table,
			   begin + body.size - table);
}

#endif

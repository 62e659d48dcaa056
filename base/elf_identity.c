/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/elf_identity.h"
#include "base/files.h"

/* More program headers or note bytes than any real file has are not looked at. */
#define PROGRAM_HEADERS_MAX 512
#define NOTES_MAX	    (64u << 10)

/* Bytes of an ELF file, of a descriptor or in memory. */
struct elf_source {
	int fd; /* -1: */
	const uint8_t *image;
	size_t size;
};

static bool source_read(const struct elf_source *source, uint64_t offset, void *ret, size_t size)
{
	if (source->fd < 0) {
		if (offset > source->size || size > source->size - offset)
			return false;
		memcpy(ret, source->image + offset, size);
		return true;
	}
	return reel_read_at(source->fd, ret, size, offset);
}

static uint64_t load(const uint8_t *bytes, size_t size, enum reel_byte_order order)
{
	uint64_t value = 0;

	for (size_t i = 0; i < size; i++)
		value = value << 8 | bytes[order == REEL_BYTE_ORDER_BIG ? i : size - 1 - i];
	return value;
}

bool reel_elf_kind_of(const uint8_t *header, size_t size, struct reel_elf_kind *ret)
{
	if (size < 20 || memcmp(header, ELFMAG, SELFMAG))
		return false;
	if (header[EI_CLASS] != ELFCLASS32 && header[EI_CLASS] != ELFCLASS64)
		return false;
	if (header[EI_DATA] != ELFDATA2LSB && header[EI_DATA] != ELFDATA2MSB)
		return false;
	ret->word_bits = header[EI_CLASS] == ELFCLASS64 ? 64 : 32;
	ret->byte_order = header[EI_DATA];
	ret->machine = (uint16_t)load(header + 18, 2, header[EI_DATA]);
	return true;
}

/* vDSO images have their section headers last, and are padded to pages behind. */
size_t reel_elf_image_size(const uint8_t *header, size_t size, size_t limit)
{
	struct reel_elf_kind kind;
	uint64_t offset, entry_size, count;

	if (size < sizeof(Elf64_Ehdr) || !reel_elf_kind_of(header, size, &kind))
		return 0;
	if (kind.word_bits == 64) {
		offset = load(header + 40, 8, kind.byte_order);
		entry_size = load(header + 58, 2, kind.byte_order);
		count = load(header + 60, 2, kind.byte_order);
	} else {
		offset = load(header + 32, 4, kind.byte_order);
		entry_size = load(header + 46, 2, kind.byte_order);
		count = load(header + 48, 2, kind.byte_order);
	}
	if (offset > limit || entry_size * count > limit - offset)
		return 0;
	return (size_t)(offset + entry_size * count);
}

uint16_t reel_elf_compat_machine(uint16_t machine)
{
	switch (machine) {
	case EM_X86_64:
		return EM_386;
	case EM_AARCH64:
		return EM_ARM;
	case EM_S390:
	case EM_PPC64:
	case EM_RISCV:
		/* The same number, or none that Linux runs as compat. */
		return machine == EM_PPC64 ? EM_PPC : machine;
	default:
		return 0;
	}
}

bool reel_build_id_of_notes(const uint8_t *notes, size_t size, enum reel_byte_order order,
			    struct reel_build_id *ret)
{
	*ret = (struct reel_build_id){ 0 };
	for (size_t at = 0; size - at >= 12;) {
		uint64_t name_size = load(notes + at, 4, order);
		uint64_t data_size = load(notes + at + 4, 4, order);
		uint64_t type = load(notes + at + 8, 4, order);
		/* 4 bytes are what GNU notes are aligned to in 64-bit files too. */
		uint64_t data = at + 12 + ((name_size + 3) & ~UINT64_C(3));
		uint64_t next = data + ((data_size + 3) & ~UINT64_C(3));

		if (data > size || data_size > size - data)
			return false;
		if (type == NT_GNU_BUILD_ID && name_size == 4 &&
		    !memcmp(notes + at + 12, "GNU", 4) && data_size &&
		    data_size <= sizeof(ret->bytes)) {
			ret->size = (uint8_t)data_size;
			memcpy(ret->bytes, notes + data, data_size);
			return true;
		}
		if (next >= size)
			return false;
		at = next;
	}
	return false;
}

static bool segment_build_id(const struct elf_source *source, const uint8_t *header,
			     const struct reel_elf_kind *kind, struct reel_build_id *ret)
{
	bool is_64 = kind->word_bits == 64;
	enum reel_byte_order order = kind->byte_order;
	uint64_t offset = load(header + (is_64 ? 8 : 4), is_64 ? 8 : 4, order);
	uint64_t size = load(header + (is_64 ? 32 : 16), is_64 ? 8 : 4, order);
	_cleanup_free_ uint8_t *notes = NULL;

	if (load(header, 4, order) != PT_NOTE || !size || size > NOTES_MAX)
		return false;
	notes = malloc(size);
	return notes && source_read(source, offset, notes, size) &&
	       reel_build_id_of_notes(notes, size, order, ret);
}

static bool source_build_id(const struct elf_source *source, struct reel_build_id *ret)
{
	uint8_t header[sizeof(Elf64_Ehdr)], segment[sizeof(Elf64_Phdr)];
	struct reel_elf_kind kind;
	uint64_t offset, entry_size, count;
	size_t needed;

	*ret = (struct reel_build_id){ 0 };
	if (!source_read(source, 0, header, sizeof(Elf32_Ehdr)) ||
	    !reel_elf_kind_of(header, sizeof(Elf32_Ehdr), &kind))
		return false;
	if (kind.word_bits == 64) {
		if (!source_read(source, 0, header, sizeof(Elf64_Ehdr)))
			return false;
		offset = load(header + 32, 8, kind.byte_order);
		entry_size = load(header + 54, 2, kind.byte_order);
		count = load(header + 56, 2, kind.byte_order);
		needed = sizeof(Elf64_Phdr);
	} else {
		offset = load(header + 28, 4, kind.byte_order);
		entry_size = load(header + 42, 2, kind.byte_order);
		count = load(header + 44, 2, kind.byte_order);
		needed = sizeof(Elf32_Phdr);
	}
	if (entry_size < needed || count > PROGRAM_HEADERS_MAX || offset > INT64_MAX / 2)
		return false;
	for (uint64_t i = 0; i < count; i++) {
		if (!source_read(source, offset + i * entry_size, segment, needed))
			return false;
		if (segment_build_id(source, segment, &kind, ret))
			return true;
	}
	return false;
}

bool reel_build_id_of_file(int fd, struct reel_build_id *ret)
{
	return source_build_id(&(struct elf_source){ .fd = fd }, ret);
}

bool reel_build_id_of_image(const uint8_t *image, size_t size, struct reel_build_id *ret)
{
	return source_build_id(&(struct elf_source){ .fd = -1, .image = image, .size = size }, ret);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Makes .eh_frame and .debug_frame sections for tests, entry by entry. */
#ifndef TESTS_SUPPORT_CFI_BUILDER_H
#define TESTS_SUPPORT_CFI_BUILDER_H

#include <assert.h>
#include <dwarf.h>
#include <stdint.h>
#include <string.h>

struct cfi_builder {
	uint8_t bytes[1 << 16];
	size_t size;
	uint64_t address; /* of the section */
	bool big_endian;
	bool debug_frame;
	bool is_32; /* a 32-bit target */
};

/* A program's bytes as one argument. */
#define BYTES(...) (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ })
#define NO_BYTES   NULL, 0
/* The same as an array's initializer, which clang-format does not align in columns. */
#define PROGRAM(...)                                                                               \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}
/* The augmentation data of "zR". */
#define PCREL_SDATA4 BYTES(DW_EH_PE_pcrel | DW_EH_PE_sdata4)
/* x86-64's CIEs begin like this: CFA = rsp + 8, rip at CFA - 8. */
#define X86_INITIAL BYTES(DW_CFA_def_cfa, 7, 8, DW_CFA_offset | 16, 1)

static inline void build_number(struct cfi_builder *b, uint64_t value, unsigned size)
{
	for (unsigned i = 0; i < size; i++)
		b->bytes[b->size + (b->big_endian ? size - 1 - i : i)] = (uint8_t)(value >> 8 * i);
	b->size += size;
}

static inline void build_bytes(struct cfi_builder *b, const void *bytes, size_t size)
{
	assert(b->size + size <= sizeof(b->bytes));
	if (size)
		memcpy(b->bytes + b->size, bytes, size);
	b->size += size;
}

static inline void build_end(struct cfi_builder *b, size_t start)
{
	size_t end = b->size;

	b->size = start;
	build_number(b, end - start - 4, 4);
	b->size = end;
}

/*
 * A CIE: code alignment 1 or 4 as `code_align`, data alignment -8 (-4), pointers
 * pcrel sdata4 if the augmentation begins with 'z'.  `augmentation` holds the augmentation
 * data.  Returns its offset.
 */
static inline size_t build_cie(struct cfi_builder *b, uint8_t version, const char *string,
			       const uint8_t *augmentation, size_t augmentation_size,
			       uint8_t code_align, uint8_t column, const uint8_t *program,
			       size_t size)
{
	size_t start = b->size;

	build_number(b, 0, 4);
	build_number(b, b->debug_frame ? 0xffffffff : 0, 4);
	build_number(b, version, 1);
	build_bytes(b, string, strlen(string) + 1);
	if (version == 4) {
		build_number(b, b->is_32 ? 4 : 8, 1);
		build_number(b, 0, 1);
	}
	build_number(b, code_align, 1);
	build_number(b, b->is_32 ? 0x7c : 0x78, 1);
	build_number(b, column, 1);
	if (string[0] == 'z')
		build_number(b, augmentation_size, 1);
	build_bytes(b, augmentation, augmentation_size);
	build_bytes(b, program, size);
	build_end(b, start);
	return start;
}

/* An FDE for [begin, begin + length) of ELF addresses. `z`: its CIE's augmentation has a size. */
static inline size_t build_fde(struct cfi_builder *b, size_t cie, bool z, uint64_t begin,
			       uint64_t length, const uint8_t *program, size_t size)
{
	size_t start = b->size;

	build_number(b, 0, 4);
	if (b->debug_frame) {
		build_number(b, cie, 4);
		build_number(b, begin, b->is_32 ? 4 : 8);
		build_number(b, length, b->is_32 ? 4 : 8);
	} else {
		build_number(b, b->size - cie, 4);
		build_number(b, begin - (b->address + b->size), 4);
		build_number(b, length, 4);
		if (z)
			build_number(b, 0, 1);
	}
	build_bytes(b, program, size);
	build_end(b, start);
	return start;
}

#endif

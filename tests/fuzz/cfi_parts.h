/* SPDX-License-Identifier: Apache-2.0 */
/* CFI with its sections and their addresses from the input. */
#ifndef TESTS_FUZZ_CFI_PARTS_H
#define TESTS_FUZZ_CFI_PARTS_H

#include "cfi/cfi.h"
#include "cfi/row.h"
#include "tests/fuzz/fuzz.h"

#define CFI_TEXT     0x1000u
#define CFI_TEXT_END 0x10000000u

struct cfi_parts {
	struct reel_cfi_input input;
	struct reel_cfi *cfi;
	struct reel_rows *rows;
};

static inline struct reel_loaded_bytes cfi_section(struct reel_cursor *input)
{
	uint64_t address = reel_cursor_u32(input);
	struct reel_bytes part = fuzz_part(input);

	return (struct reel_loaded_bytes){ part.data, part.size, address };
}

static inline void cfi_parts_take(struct reel_cursor *input, struct cfi_parts *ret)
{
	uint8_t bits = reel_cursor_u8(input);
	size_t n = 0;

	while (reel_arch_all[n])
		n++;
	*ret = (struct cfi_parts){ .input = { .arch = reel_arch_all[bits % n],
					      .text_base = CFI_TEXT,
					      .data_base = CFI_TEXT_END,
					      .text_begin = CFI_TEXT,
					      .text_end = CFI_TEXT_END } };
	ret->input.big_endian = !strcmp(ret->input.arch->name, "s390x") ^ bits >> 7;
	ret->input.eh_frame = cfi_section(input);
	ret->input.eh_frame_hdr = cfi_section(input);
	ret->input.debug_frame = cfi_section(input);
	ret->input.sframe = cfi_section(input);
	ret->input.entry = CFI_TEXT;
	must(reel_cfi_create(&ret->input, &ret->cfi));
	must(reel_rows_create(ret->input.arch, ret->cfi, 0, &ret->rows));
}

static inline void cfi_parts_free(struct cfi_parts *parts)
{
	reel_rows_destroy(parts->rows);
	reel_cfi_destroy(parts->cfi);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* .gopclntab of each version (elf/go_table.c), with the sections in which it is searched, and the
 * sections of its inline trees and runtime.moduledata. */
#include "elf/go_table.h"
#include "cfi/go_frames.h"
#include "tests/fuzz/elf_parts.h"

/* Deeper than any input's trees: each inlined call has an index below its caller's. */
#define DEPTH_MAX (1u << 20)

static void look_up(struct reel_go_table *table, uint64_t address)
{
	const struct reel_debug_frame *frames;
	struct reel_error *error;
	uint64_t begin;
	size_t n;

	error = reel_go_table_look_up(table, address, &frames, &n, &begin);
	if (!fuzz_fine(error))
		return;
	must_be(n < DEPTH_MAX, "a depth");
	must_be(!n || begin <= address, "a function that contains the address");
	for (size_t i = 0; i < n; i++) {
		must_be(strlen(frames[i].function) < (size_t)1 << 20, "a name");
		must_be(strlen(frames[i].file) < (size_t)1 << 20, "a path");
	}
}

/* Rows made from .gopclntab can be looked up at any address. */
static void look_up_rows(struct reel_elf_file *file, uint64_t first, uint64_t step)
{
	const struct reel_arch *arch =
		reel_arch_by_machine(EM_X86_64, reel_elf_file_word_bits(file));
	struct reel_cfi_input input = { .arch = arch,
					.big_endian = reel_elf_file_big_endian(file) };
	struct reel_go_frames frames;
	struct reel_cfi_row row;
	struct reel_cfi *cfi;

	if (!arch || !fuzz_fine(reel_go_frames_read(file, arch, true, &frames)))
		return;
	for (size_t i = 0; i < frames.n_switches; i++)
		must_be(frames.switches[i].begin <= frames.switches[i].end, "a function");
	input.debug_frame.bytes = frames.debug_frame.bytes;
	input.debug_frame.size = frames.debug_frame.size;
	must(reel_cfi_create(&input, &cfi));
	for (uint64_t i = 0; i < 64; i++)
		(void)reel_cfi_row_at(cfi, first + i * step, &row, NULL);
	reel_cfi_destroy(cfi);
	reel_go_frames_free(&frames);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_buffer_ struct reel_buffer bytes = { 0 };
	struct reel_cursor input = reel_cursor(data, size);
	uint8_t bits = reel_cursor_u8(&input);
	struct elf_form form = elf_form_of(bits & 0x7f, ET_DYN);
	uint64_t first = reel_cursor_u32(&input), step = reel_cursor_u8(&input);
	struct elf_section sections[] = {
		{ bits & 0x80 ? ".data.rel.ro" : ".gopclntab", SHT_PROGBITS },
		{ ".rodata", SHT_PROGBITS },
		{ ".noptrdata", SHT_PROGBITS },
		{ ".rela.dyn", SHT_RELA },
		{ ".go.buildinfo", SHT_PROGBITS },
	};
	struct reel_go_table *table = NULL;
	struct reel_elf_file *file;

	for (size_t i = 0; i < 4; i++) {
		sections[i].address = reel_cursor_u32(&input);
		sections[i].bytes = fuzz_part(&input);
	}
	elf_of_sections(&form, sections, 5, &bytes);
	must(reel_elf_file_open_memory(bytes.bytes, bytes.size, "fuzz", &file));
	(void)fuzz_fine(reel_go_table_open(file, &table));
	for (uint64_t i = 0; table && i < 64; i++)
		look_up(table, first + i * step);
	reel_go_table_close(table);
	look_up_rows(file, first, step);
	reel_elf_file_close(file);
	return 0;
}

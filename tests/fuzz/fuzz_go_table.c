/* SPDX-License-Identifier: Apache-2.0 */
/* .gopclntab of each version (replay/dwarf/go_table.c), with the sections that it is searched in
 * and that its inline trees and runtime.moduledata are in. */
#define _GNU_SOURCE
#include "replay/dwarf/go_table.h"
#include "tests/fuzz/elf_parts.h"

/* Deeper than the trees of any input here: each inlined call has an index below its caller's. */
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
	must_be(!n || begin <= address, "a function that holds the address");
	for (size_t i = 0; i < n; i++) {
		must_be(strlen(frames[i].function) < (size_t)1 << 20, "a name");
		must_be(strlen(frames[i].file) < (size_t)1 << 20, "a path");
	}
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
	reel_elf_file_close(file);
	return 0;
}

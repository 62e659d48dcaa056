/* SPDX-License-Identifier: Apache-2.0 */
/* Images of files (SPEC.md 5.1): a whole one, or only its .stackreel.lines. */
#include "elf/symbol_table.h"
#include "replay/dwarf/embedded_lines.h"
#include "cfi/go_frames.h"
#include "cfi/module_cfi.h"
#include "replay/names/symbolizer.h"
#include "replay/values/variables.h"
#include "tests/fuzz/elf_parts.h"

/* That many addresses from `first` on are looked up in the section. */
#define ADDRESSES 256

static void must_be_same(struct reel_embedded_lines *a, struct reel_embedded_lines *b,
			 uint64_t address)
{
	const struct reel_debug_frame *x, *y;
	uint64_t x_begin, y_begin;
	size_t n_x, n_y;

	reel_embedded_lines_look_up(a, address, &x, &n_x, &x_begin);
	reel_embedded_lines_look_up(b, address, &y, &n_y, &y_begin);
	must_be(n_x == n_y, "as many frames");
	for (size_t i = 0; i < n_x; i++)
		must_be(!strcmp(x[i].function, y[i].function) && !strcmp(x[i].file, y[i].file) &&
				x[i].line == y[i].line && x[i].column == y[i].column,
			"the same frame");
	must_be(!n_x || !*x[n_x - 1].function || x_begin == y_begin, "the same function");
}

/* Reading and writing it again gives the same. */
static void write_again(struct reel_embedded_lines *lines, uint64_t first)
{
	_cleanup_buffer_ struct reel_buffer section = { 0 };
	const struct reel_debug_frame *frames;
	struct reel_embedded_lines *again;
	struct reel_lines_writer *writer;
	uint64_t begin;
	size_t n;

	must(reel_lines_writer_create(&writer));
	for (uint64_t i = 0; i < ADDRESSES; i++) {
		reel_embedded_lines_look_up(lines, first + i, &frames, &n, &begin);
		if (n)
			must(reel_lines_writer_add(writer, first + i, frames, n, begin));
	}
	must(reel_lines_writer_finish(writer, &section));
	reel_lines_writer_destroy(writer);
	if (!section.size)
		return;
	must(reel_embedded_lines_open((struct reel_bytes){ section.bytes, section.size }, &again));
	for (uint64_t i = 0; i < ADDRESSES; i++)
		must_be_same(lines, again, first + i);
	reel_embedded_lines_close(again);
}

static void look_up_variables(struct reel_symbolizer *symbolizer, uint64_t first)
{
	const struct reel_places *places;
	struct reel_variables *variables;
	bool has_go;

	if (!fuzz_fine(reel_symbolizer_variables(symbolizer, &variables, &has_go)) || !variables)
		return;
	for (uint64_t i = 0; i < 16; i++)
		(void)fuzz_fine(reel_variables_at(variables, first + i, &places));
}

static void look_up(struct reel_elf_file *file, const struct reel_arch *arch, uint64_t first)
{
	struct reel_symbolizer *symbolizer;
	const struct reel_symbol_frame *frames;
	struct reel_cfi *cfi = NULL;
	uint8_t bytes[64];
	size_t n;

	must(reel_symbolizer_create(file, NULL, NULL, &symbolizer));
	if (arch && !fuzz_fine(reel_module_cfi_create(file, NULL, arch, &cfi)))
		cfi = NULL;
	reel_symbolizer_set_code(symbolizer, cfi, NULL);
	reel_symbolizer_set_image(symbolizer, file);
	for (uint64_t i = 0; i < 16; i++) {
		(void)reel_elf_file_read(file, first + i * 16, sizeof(bytes), bytes);
		if (fuzz_fine(reel_symbolizer_look_up(symbolizer, first + i, &frames, &n)))
			must_be(n > 0, "a frame");
	}
	look_up_variables(symbolizer, first);
	reel_symbolizer_destroy(symbolizer);
	reel_cfi_destroy(cfi);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reel_cursor input = reel_cursor(data, size);
	bool is_section = reel_cursor_u8(&input) & 1;
	uint64_t first = reel_cursor_u32(&input);
	struct reel_bytes bytes = fuzz_rest(&input);
	struct reel_embedded_lines *lines;
	struct reel_elf_file *file;

	if (is_section) {
		if (!fuzz_fine(reel_embedded_lines_open(bytes, &lines)))
			return 0;
		write_again(lines, first);
		reel_embedded_lines_close(lines);
		return 0;
	}
	if (!fuzz_fine(reel_elf_file_open_embedded(bytes.data, bytes.size, "fuzz", &file)))
		return 0;
	look_up(file,
		reel_arch_by_machine(reel_elf_file_machine(file), reel_elf_file_word_bits(file)),
		first);
	reel_elf_file_close(file);
	return 0;
}

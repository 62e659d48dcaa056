/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbolizes ELF addresses (hexadecimal, one a line on standard input) in llvm-symbolizer's format:
 * for each, function and file:line:column of every frame, innermost first, then an empty line.
 *
 *   symbolize [--debug FILE] [--alternate FILE] [--no-demangle] [--no-inlines] [--offsets] FILE
 *
 * With --offsets a function without a name but with an unwind entry is "[fde]".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cfi/module_cfi.h"
#include "replay/names/symbolizer.h"
#include "tests/support/or_exit.h"

static struct reel_cfi *open_cfi(struct reel_elf_file *file)
{
	struct reel_cfi_input input = { 0 };
	struct reel_cfi *cfi = NULL;

	check(reel_module_cfi_input(file, &input));
	input.arch =
		reel_arch_by_machine(reel_elf_file_machine(file), reel_elf_file_word_bits(file));
	if (input.arch)
		check(reel_cfi_create(&input, &cfi));
	return cfi;
}

static bool read_code(void *file, uint64_t address, size_t size, uint8_t *bytes_ret)
{
	return reel_elf_file_read(file, address, size, bytes_ret);
}

static struct reel_synthesis *open_synthesis(struct reel_elf_file *file, struct reel_cfi *cfi)
{
	const struct reel_synthesis_input input = {
		.arch = reel_arch_by_machine(reel_elf_file_machine(file),
					     reel_elf_file_word_bits(file)),
		.read_code = read_code,
		.module = file,
		.find_row = reel_synthesis_cfi_row,
		.rows = cfi,
	};
	struct reel_synthesis *synthesis = NULL;

	if (input.arch)
		check(reel_synthesis_create(&input, &synthesis));
	return synthesis;
}

int main(int argc, char **argv)
{
	struct reel_elf_file *file = NULL, *debug = NULL, *alternate = NULL;
	const struct reel_capture_options places = { 0 };
	struct reel_symbolizer_options options = { 0 };
	struct reel_module_search *search;
	struct reel_symbolizer *symbolizer;
	struct reel_synthesis *synthesis = NULL;
	struct reel_cfi *cfi = NULL;
	bool offsets = false;
	char line[64];

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--no-demangle") == 0)
			options.no_demangle = true;
		else if (strcmp(argv[i], "--no-inlines") == 0)
			options.no_inlines = true;
		else if (strcmp(argv[i], "--offsets") == 0)
			offsets = true;
		else if (strcmp(argv[i], "--debug") == 0 && i + 1 < argc)
			check(reel_elf_file_open(argv[++i], &debug));
		else if (strcmp(argv[i], "--alternate") == 0 && i + 1 < argc)
			check(reel_elf_file_open(argv[++i], &alternate));
		else
			check(reel_elf_file_open(argv[i], &file));
	}
	if (alternate)
		reel_elf_file_set_alternate(debug ? debug : file, alternate);
	check(reel_module_search_create(&places, &search));
	options.search = search;
	check(reel_symbolizer_create(file, debug, &options, &symbolizer));
	if (file) {
		cfi = open_cfi(file);
		synthesis = open_synthesis(file, cfi);
		reel_symbolizer_set_code(symbolizer, cfi, synthesis);
	}
	while (fgets(line, sizeof(line), stdin)) {
		const struct reel_symbol_frame *frames;
		size_t n;

		check(reel_symbolizer_look_up(symbolizer, strtoull(line, NULL, 16), &frames, &n));
		for (size_t i = 0; i < n; i++) {
			printf("%s", frames[i].function[0]	   ? frames[i].function
				     : offsets && frames[i].is_fde ? "[fde]"
								   : "??");
			if (offsets)
				printf("+0x%llx", (unsigned long long)frames[i].function_offset);
			printf("\n%s:%u:%u\n", frames[i].file[0] ? frames[i].file : "??",
			       frames[i].line, frames[i].column);
		}
		putchar('\n');
	}
	if (reel_symbolizer_problem(symbolizer))
		fprintf(stderr, "symbolize: %s\n", reel_symbolizer_problem(symbolizer));
	reel_symbolizer_destroy(symbolizer);
	reel_synthesis_destroy(synthesis);
	reel_module_search_destroy(search);
	reel_cfi_destroy(cfi);
	reel_elf_file_close(debug);
	reel_elf_file_close(file);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbolizes ELF addresses (hexadecimal, one a line on standard input) as
 * llvm-symbolizer prints them: for each, function and file:line:column of every
 * frame, innermost first, then an empty line.
 *
 *   symbolize [--debug FILE] [--alternate FILE] [--no-demangle] [--no-inlines] [--offsets] FILE
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/symbolizer.h"
#include "tests/support/or_exit.h"

int main(int argc, char **argv)
{
	struct reel_elf_file *file = NULL, *debug = NULL, *alternate = NULL;
	struct reel_symbolizer_options options = { 0 };
	struct reel_symbolizer *symbolizer;
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
	check(reel_symbolizer_create(file, debug, &options, &symbolizer));
	while (fgets(line, sizeof(line), stdin)) {
		const struct reel_symbol_frame *frames;
		size_t n;

		check(reel_symbolizer_look_up(symbolizer, strtoull(line, NULL, 16), &frames, &n));
		for (size_t i = 0; i < n; i++) {
			printf("%s", frames[i].function[0] ? frames[i].function : "??");
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
	reel_elf_file_close(debug);
	reel_elf_file_close(file);
	return 0;
}

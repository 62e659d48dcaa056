/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel modules (ET_REL), laid out and relocated by libdwfl (replay/files/relocated.c), and their
 * names.
 */
#include "elf/elf_file.h"
#include "replay/names/symbolizer.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fuzz_file named;
	struct reel_symbolizer *symbolizer;
	struct reel_elf_file *file;

	fuzz_file_fill(&named, data, size);
	if (!fuzz_fine(reel_elf_file_open(named.path, &file)))
		return 0;
	if (fuzz_fine(reel_elf_file_lay_out(file))) {
		must(reel_symbolizer_create(file, NULL, NULL, &symbolizer));
		for (uint64_t address = 0xfff0; address < 0x10400; address += 0x20) {
			const struct reel_symbol_frame *frames;
			size_t n;

			if (fuzz_fine(reel_symbolizer_look_up(symbolizer, address, &frames, &n)))
				must_be(n && frames[0].function, "a frame");
		}
		reel_symbolizer_destroy(symbolizer);
	}
	reel_elf_file_close(file);
	return 0;
}

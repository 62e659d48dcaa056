/* SPDX-License-Identifier: Apache-2.0 */
/* Notes of static probes, in a file of any word size and byte order: elf/usdt.c. */
#include "elf/usdt.h"
#include "tests/fuzz/elf_parts.h"

static void visit(void *context, const struct reel_usdt *usdt)
{
	*(uint64_t *)context += strlen(usdt->provider) + strlen(usdt->name) +
				strlen(usdt->arguments) + usdt->offset + usdt->semaphore;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_buffer_ struct reel_buffer bytes = { 0 };
	struct reel_cursor input = reel_cursor(data, size);
	struct elf_form form = elf_form_of(reel_cursor_u8(&input), ET_DYN);
	struct elf_section sections[] = {
		{ ".note.stapsdt", SHT_NOTE },
		{ ".stapsdt.base", SHT_PROGBITS },
	};
	struct reel_elf_file *file = NULL;
	uint64_t sum = 0;

	sections[1].address = reel_cursor_u32(&input);
	sections[1].bytes = fuzz_part(&input);
	sections[0].bytes = fuzz_part(&input);
	elf_of_sections(&form, sections, 2, &bytes);
	must(reel_elf_file_open_memory(bytes.bytes, bytes.size, "fuzz", &file));
	reel_usdt_visit(file, visit, &sum);
	reel_elf_file_close(file);
	return 0;
}

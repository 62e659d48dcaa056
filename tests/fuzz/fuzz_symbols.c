/* SPDX-License-Identifier: Apache-2.0 */
/* .symtab and .dynsym with their strings, by address (elf/symbol_table.c) and by name, of functions
 * and of variables, PLT stubs by their relocations (elf/plt.c), and .gnu_debugdata (elf/mini_debug_info.c).
 */
#include "elf/symbol_table.h"
#include "tests/fuzz/elf_parts.h"

static void visit(void *context, const char *name, uint64_t address)
{
	*(uint64_t *)context += strlen(name) + address;
}

static void find(const struct reel_symbol_table *table, uint64_t address)
{
	const struct reel_symbol *symbol = reel_symbol_table_find(table, address);

	if (!symbol)
		return;
	must_be(symbol->address <= address, "a symbol of the address");
	must_be(symbol->name && strlen(symbol->name) < (size_t)1 << 20, "a name");
	must_be(reel_symbol_table_find(table, address) == symbol, "the same again");
}

static void visit_code(void *context, const struct reel_code_symbol *symbol)
{
	*(uint64_t *)context += symbol->address + strlen(symbol->name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_buffer_ struct reel_buffer bytes = { 0 }, debug_bytes = { 0 };
	struct reel_cursor input = reel_cursor(data, size);
	struct elf_form form = elf_form_of(reel_cursor_u8(&input), ET_DYN);
	uint64_t first = reel_cursor_u32(&input), step = reel_cursor_u8(&input), sum = 0;
	struct elf_section sections[] = {
		{ ".symtab", SHT_SYMTAB, .link = 3, .entry_size = form.is_32 ? 16 : 24 },
		{ ".strtab", SHT_STRTAB },
		{ ".dynsym", SHT_DYNSYM, .link = 5, .entry_size = form.is_32 ? 16 : 24 },
		{ ".dynstr", SHT_STRTAB },
		{ ".plt", SHT_PROGBITS },
		{ ".rela.plt", SHT_RELA, .link = 4 },
		{ ".rel.dyn", SHT_REL, .link = 4 },
		{ ".gnu_debugdata", SHT_PROGBITS },
	};
	struct elf_section debug_sections[] = { sections[0], sections[1] };
	struct reel_elf_file *file, *debug;
	struct reel_symbol_table *table;

	for (size_t i = 0; i < 4; i++)
		sections[i].bytes = fuzz_part(&input);
	for (size_t i = 0; i < 2; i++)
		debug_sections[i].bytes = fuzz_part(&input);
	for (size_t i = 4; i < 7; i++)
		sections[i].bytes = fuzz_part(&input);
	sections[4].address = reel_cursor_u32(&input);
	sections[7].bytes = fuzz_part(&input);
	elf_of_sections(&form, sections, 8, &bytes);
	elf_of_sections(&form, debug_sections, 2, &debug_bytes);
	must(reel_elf_file_open_memory(bytes.bytes, bytes.size, "fuzz", &file));
	must(reel_elf_file_open_memory(debug_bytes.bytes, debug_bytes.size, "fuzz.debug", &debug));
	must(reel_symbol_table_create(file, debug_sections[0].bytes.size ? debug : NULL, &table));
	for (uint64_t i = 0; i < 64; i++)
		find(table, first + i * step);
	find(table, UINT64_MAX);
	(void)fuzz_fine(reel_symbol_table_visit(file, visit, &sum));
	(void)fuzz_fine(reel_code_symbols_visit(file, debug, visit_code, &sum));
	reel_symbol_table_destroy(table);
	must(reel_symbol_table_create_data(file, debug_sections[0].bytes.size ? debug : NULL,
					   &table));
	for (uint64_t i = 0; i < 64; i++)
		find(table, first + i * step);
	find(table, UINT64_MAX);
	reel_symbol_table_destroy(table);
	reel_elf_file_close(debug);
	reel_elf_file_close(file);
	return 0;
}

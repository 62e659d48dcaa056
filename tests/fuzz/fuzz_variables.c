/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables of two frames, their locations and values (replay/values/), from DWARF in a file whose
 * sections come from the input, with any registers and stack.
 */
#include "replay/dwarf/debug_parts.h"
#include "replay/values/value.h"
#include "elf/embedded_code.h"
#include "tests/fuzz/elf_parts.h"

static bool read_other(void *context, uint64_t address, size_t size, uint8_t *bytes_ret)
{
	(void)context;
	memset(bytes_ret, (int)(address & 0x7f), size);
	return address % 2;
}

static void print_all(const struct reel_value_frames *frames, size_t frame)
{
	static const char *const paths[] = { "", "->a", ".a[1]", "[2]" };
	const struct reel_value_frame *it = &frames->all[frame];
	const struct reel_places *places, *again;

	must(reel_variables_at(it->variables, it->lookup - it->bias, &places));
	must(reel_variables_at(it->variables, it->lookup - it->bias, &again));
	must_be(places == again, "looked up once");
	for (size_t i = 0; i < places->n && i < 64; i++) {
		for (size_t j = 0; j < sizeof(paths) / sizeof(*paths); j++) {
			_cleanup_buffer_ struct reel_buffer text = { 0 };
			struct reel_value_result result;

			must(reel_value_print(frames, frame, &places->all[i], paths[j], &text,
					      &result));
			must_be(!result.knowledge || !text.size, "text of known values only");
		}
	}
}

/* What is kept of the debug information for the addresses can be read like the code of images. */
static void keep_parts(struct reel_debug_info *info, bool big_endian, const uint64_t addresses[2])
{
	struct reel_address_ranges ranges = { 0 };
	struct reel_debug_parts parts;

	for (size_t i = 0; i < 2; i++)
		reel_address_ranges_add(&ranges, addresses[i], addresses[i] + 1);
	reel_address_ranges_tidy(&ranges);
	if (fuzz_fine(reel_debug_parts_make(info, &ranges, &parts))) {
		for (size_t i = 0; i < parts.n; i++) {
			struct reel_embedded_code pieces;

			must(reel_embedded_code_open((struct reel_bytes){ parts.all[i].bytes.bytes,
									  parts.all[i].bytes.size },
						     big_endian, &pieces));
			must_be(pieces.n, "a section with pieces");
			reel_embedded_code_free(&pieces);
		}
		reel_debug_parts_free(&parts);
	}
	reel_address_ranges_free(&ranges);
}

static void look(struct reel_elf_file *file, const struct elf_form *form, struct reel_cursor *input,
		 const uint64_t addresses[2])
{
	struct reel_memory_region region = { .address = 0x7000 };
	struct reel_memory_view memory = { .regions = &region,
					   .n_regions = 1,
					   .big_endian = form->big_endian,
					   .read_other = read_other };
	const struct reel_arch *arch = reel_arch_by_machine(form->machine, form->is_32 ? 32 : 64);
	struct reel_unwind_state state = { .arch = arch, .memory = &memory };
	struct reel_bytes stack = fuzz_part(input);
	struct reel_variables *variables;
	struct reel_debug_info *info;

	region.bytes = stack.data;
	region.size = stack.size;
	if (!arch)
		return;
	state.known = reel_cursor_u64(input) & UINT64_MAX >> (64 - arch->n_registers);
	for (unsigned i = 0; i < arch->n_registers; i++)
		state.registers[i] = region.address + reel_cursor_u8(input);
	if (!fuzz_fine(reel_debug_info_open(file, file, NULL, &info)))
		return;
	must(reel_variables_create(info, 1000, &variables));
	const struct reel_value_frame all[] = {
		{ &state, variables, 0, addresses[0], addresses[0], true, true, 0x7040, NULL },
		{ &state, variables, 0, addresses[1], addresses[1] - 1, true, false, 0x7080, NULL },
	};
	const struct reel_value_frames frames = { all, 2, NULL };

	print_all(&frames, 0);
	print_all(&frames, 1);
	keep_parts(info, form->big_endian, addresses);
	reel_variables_destroy(variables);
	reel_debug_info_close(info);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {
		".debug_info",	   ".debug_abbrev", ".debug_str",      ".debug_addr",
		".debug_rnglists", ".debug_loc",    ".debug_loclists",
	};
	struct elf_section sections[sizeof(names) / sizeof(*names)];
	_cleanup_buffer_ struct reel_buffer bytes = { 0 };
	struct reel_cursor input = reel_cursor(data, size);
	struct elf_form form = elf_form_of(reel_cursor_u8(&input), ET_DYN);
	size_t n = sizeof(names) / sizeof(*names);
	struct reel_elf_file *file;
	uint64_t addresses[2];

	for (size_t i = 0; i < 2; i++)
		addresses[i] = reel_cursor_u32(&input) % (2 * FUZZ_TEXT_END);
	for (size_t i = 0; i < n; i++)
		sections[i] = (struct elf_section){
			.name = names[i],
			.type = SHT_PROGBITS,
			.bytes = fuzz_part(&input),
		};
	elf_of_sections(&form, sections, n, &bytes);
	must(reel_elf_file_open_memory(bytes.bytes, bytes.size, "fuzz", &file));
	look(file, &form, &input, addresses);
	reel_elf_file_close(file);
	return 0;
}

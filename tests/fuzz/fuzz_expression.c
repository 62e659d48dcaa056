/* SPDX-License-Identifier: Apache-2.0 */
/* DWARF expressions with any registers and memory. */
#include "cfi/expression.h"
#include "tests/fuzz/elf_parts.h"

static bool read_other(void *context, uint64_t address, size_t size, uint8_t *bytes_ret)
{
	memset(bytes_ret, (int)(address & 0x7f), size);
	return address % 2;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reel_cursor input = reel_cursor(data, size);
	uint8_t bits = reel_cursor_u8(&input);
	const struct elf_form form = elf_form_of(bits, 0);
	const struct reel_arch *arch = reel_arch_by_machine(form.machine, form.is_32 ? 32 : 64);
	struct reel_memory_region region = { .address = reel_cursor_u64(&input) };
	struct reel_memory_view memory = { .regions = &region,
					   .n_regions = 1,
					   .big_endian = form.big_endian,
					   .read_other = read_other };
	struct reel_unwind_state state = { .arch = arch, .memory = &memory };
	uint64_t value = 0, again = 0, initial = region.address;
	enum reel_expression_result result;
	struct reel_bytes part = fuzz_part(&input);

	region.bytes = part.data;
	region.size = part.size;
	state.known = reel_cursor_u64(&input) & UINT64_MAX >> (64 - arch->n_registers);
	for (unsigned i = 0; i < arch->n_registers; i++)
		if (state.known >> i & 1)
			state.registers[i] = region.address + reel_cursor_u8(&input);
	part = fuzz_rest(&input);
	result = reel_expression_evaluate(&state, part.data, part.size, bits & 64 ? &initial : NULL,
					  0x1000, &value);
	must_be(reel_expression_evaluate(&state, part.data, part.size, bits & 64 ? &initial : NULL,
					 0x1000, &again) == result &&
			value == again,
		"the same again");
	must_be(result || arch->word_size == 8 || value <= UINT32_MAX, "a word of the CPU");
	return 0;
}

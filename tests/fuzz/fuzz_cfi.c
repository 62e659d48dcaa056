/* SPDX-License-Identifier: Apache-2.0 */
/*
 * .eh_frame, .eh_frame_hdr, .debug_frame and .sframe: iteration (`stackreel table`) and lookup by address
 * (the unwinder) give the same rows, and a step by a row equals one by its compiled rule.
 */
#include "tests/fuzz/cfi_parts.h"
#include "tests/support/unwind_compare.h"

/* A table may have millions. */
#define ROWS 300

static bool same_rule(const struct reel_cfi_rule *a, const struct reel_cfi_rule *b)
{
	if (a->kind != b->kind)
		return false;
	switch (a->kind) {
	case REEL_RULE_OFFSET:
	case REEL_RULE_VAL_OFFSET:
		return a->offset == b->offset;
	case REEL_RULE_REGISTER:
		return a->reg == b->reg;
	case REEL_RULE_REGISTER_OFFSET:
		return a->reg == b->reg && a->offset == b->offset;
	case REEL_RULE_EXPRESSION:
	case REEL_RULE_VAL_EXPRESSION:
		return a->expression.bytes == b->expression.bytes &&
		       a->expression.size == b->expression.size;
	default:
		return true;
	}
}

static bool same_rows(const struct reel_cfi_row *a, const struct reel_cfi_row *b)
{
	for (size_t i = 0; i < REEL_ARCH_DWARF_MAX; i++)
		if (!same_rule(&a->rules[i], &b->rules[i]))
			return false;
	return same_rule(&a->cfa, &b->cfa) && a->fde_begin == b->fde_begin &&
	       a->signal_frame == b->signal_frame && a->return_column == b->return_column &&
	       a->has_personality == b->has_personality &&
	       a->return_address_signed == b->return_address_signed;
}

/* Any state will do, as both ways start from the same one. */
static void check_step(struct cfi_parts *parts, const struct reel_cfi_row *row, uint64_t address)
{
	static uint8_t bytes[4096];
	const struct reel_arch *arch = parts->input.arch;
	struct reel_memory_region region = { 0x7000, sizeof(bytes), bytes, NULL, 0 };
	struct reel_memory_view memory = { .regions = &region,
					   .n_regions = 1,
					   .big_endian = parts->input.big_endian };
	struct reel_unwind_state state = { .arch = arch, .memory = &memory, .pc = address }, other;
	enum reel_stop stop = REEL_STOP_ROOT, other_stop = REEL_STOP_ROOT;
	struct reel_row *compiled;
	enum reel_next next;

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 7);
	for (unsigned i = 0; i < arch->n_registers; i++)
		state.registers[i] = 0x7000 + 64 * i;
	state.known = UINT64_MAX >> (64 - arch->n_registers);
	other = state;
	must(reel_row_create(arch, row, &compiled));
	next = reel_row_apply(compiled, &state, true, 0, &stop);
	must_be(reel_row_apply(reel_rows_at(parts->rows, address), &other, true, 0, &other_stop) ==
				next &&
			stop == other_stop && same_state(&state, &other),
		"a step by the row");
	reel_row_destroy(compiled);
}

/*
 * `stackreel table` prints the rows that the unwinder uses; but .eh_frame_hdr may name a different
 * FDE than the section.
 */
static void check_found(struct cfi_parts *parts, const struct reel_cfi_row *row, uint64_t address)
{
	struct reel_cfi_row found;

	must_be(reel_cfi_row_at(parts->cfi, address, &found, NULL) == REEL_CFI_FOUND,
		"a row where the table has one");
	must_be(found.begin <= address && address < found.end, "a row of the address");
	must_be(found.fde_begin <= found.begin && found.end <= found.fde_end, "a row of its FDE");
	must_be(found.same_begin <= address && address < found.same_end, "certain of the address");
	must_be(parts->input.eh_frame_hdr.size || same_rows(&found, row), "the table's row");
	check_step(parts, &found, address);
}

static void check_rows(struct cfi_parts *parts)
{
	struct reel_cfi_iterator iterator = { 0 };
	uint64_t last = 0;

	for (size_t i = 0; i < ROWS; i++) {
		struct reel_cfi_row row;
		const char *problem = NULL;
		enum reel_cfi_found found =
			reel_cfi_next_row(parts->cfi, &iterator, &row, &problem);

		if (found == REEL_CFI_NONE)
			return;
		if (found == REEL_CFI_BAD) {
			must_be(problem && problem[0], "a reason");
			continue;
		}
		must_be(row.begin >= last && row.end > row.begin, "rows in order");
		last = row.end;
		check_found(parts, &row, row.begin);
		check_found(parts, &row, row.end - 1);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reel_cursor input = reel_cursor(data, size);
	struct cfi_parts parts;

	cfi_parts_take(&input, &parts);
	for (unsigned i = 0; i < 8; i++) {
		uint64_t address = reel_cursor_u32(&input) % (2 * CFI_TEXT_END);
		struct reel_cfi_row row;

		if (reel_cfi_row_at(parts.cfi, address, &row, NULL) == REEL_CFI_FOUND)
			check_step(&parts, &row, address);
	}
	check_rows(&parts);
	cfi_parts_free(&parts);
	return 0;
}

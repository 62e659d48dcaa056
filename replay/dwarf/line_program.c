/* SPDX-License-Identifier: Apache-2.0 */
#include <dwarf.h>

#include "base/dwarf_cursor.h"
#include "replay/dwarf/line_program.h"

void reel_line_program_prepare(struct reel_line_program *program)
{
	for (unsigned opcode = program->opcode_base; opcode < 256; opcode++) {
		unsigned adjusted = opcode - program->opcode_base;

		program->special[opcode].operations = (uint16_t)(adjusted / program->line_range);
		program->special[opcode].lines =
			(int16_t)(program->line_base + (int)(adjusted % program->line_range));
	}
	program->one_operation = program->max_operations == 1;
}

/* 6.2.5.1 */
static void advance(const struct reel_line_program *program, struct reel_line_state *state,
		    uint64_t operations)
{
	uint64_t total = state->operation + operations;

	state->address += program->min_instruction * (total / program->max_operations);
	state->operation = (uint8_t)(total % program->max_operations);
}

/* Returns ROW without an event for the caller.  `is_last`: its row is the last one
 * requested. */
static enum reel_line_event run_extended(const struct reel_line_program *program,
					 struct reel_cursor *cursor, struct reel_line_state *state,
					 bool is_last, const char **name_ret,
					 uint64_t *directory_ret)
{
	uint64_t size = reel_cursor_uleb(cursor);
	const uint8_t *bytes = reel_cursor_take(cursor, size), *end;
	struct reel_cursor inner;

	if (!bytes || !size)
		return REEL_LINE_ROW;
	inner = reel_cursor(bytes, (size_t)size);
	switch (reel_cursor_u8(&inner)) {
	case DW_LNE_end_sequence:
		return REEL_LINE_END_SEQUENCE;
	case DW_LNE_set_address:
		if (size - 1 <= 8)
			state->address =
				reel_cursor_target(&inner, (unsigned)size - 1, program->big_endian);
		state->operation = 0;
		return REEL_LINE_ROW;
	case DW_LNE_define_file:
		end = memchr(inner.at, 0, reel_cursor_left(&inner));
		*name_ret = end ? (const char *)inner.at : "";
		inner.at = end ? end + 1 : inner.end;
		*directory_ret = reel_cursor_uleb(&inner);
		return REEL_LINE_DEFINE_FILE;
	case DW_LNE_set_discriminator:
		state->discriminator = is_last ? (uint32_t)reel_cursor_uleb(&inner) : 0;
		return REEL_LINE_ROW;
	default:
		return REEL_LINE_ROW;
	}
}

static void run_standard(const struct reel_line_program *program, struct reel_cursor *cursor,
			 unsigned opcode, struct reel_line_state *state)
{
	switch (opcode) {
	case DW_LNS_advance_pc:
		advance(program, state, reel_cursor_uleb(cursor));
		return;
	case DW_LNS_advance_line:
		state->line += (uint32_t)reel_cursor_sleb(cursor);
		return;
	case DW_LNS_set_file:
		state->file = reel_cursor_uleb(cursor);
		if (state->file > UINT32_MAX)
			state->out_of_order = true;
		return;
	case DW_LNS_set_column:
		state->column = reel_cursor_uleb(cursor);
		return;
	case DW_LNS_const_add_pc:
		advance(program, state, (255 - program->opcode_base) / program->line_range);
		return;
	case DW_LNS_fixed_advance_pc:
		state->address += reel_cursor_target(cursor, 2, program->big_endian);
		state->operation = 0;
		return;
	default:
		/* Statements, blocks, prologues, instruction sets, and opcodes of later
		 * versions. */
		for (unsigned i = program->operand_counts[opcode - 1]; i; i--)
			reel_cursor_sleb(cursor);
	}
}

/* A signed number of one or two bytes; false: it is longer, or cut. */
static inline bool take_short(const uint8_t **at, const uint8_t *end, int *ret)
{
	const uint8_t *p = *at;

	if (end - p < 2)
		return false;
	if (p[0] < 0x80) {
		*ret = (p[0] ^ 0x40) - 0x40;
		*at = p + 1;
		return true;
	}
	if (p[1] >= 0x80)
		return false;
	*ret = (((p[0] & 0x7f) | p[1] << 7) ^ 0x2000) - 0x2000;
	*at = p + 2;
	return true;
}

/*
 * Most opcodes of a program are special ones, or one of those below with operands of one or two
 * bytes: this runs them in registers.  The functions above run the others.
 */
enum reel_line_event reel_line_program_run(const struct reel_line_program *program,
					   struct reel_cursor *cursor,
					   struct reel_line_state *state, unsigned rows,
					   const char **name_ret, uint64_t *directory_ret)
{
	const uint8_t *at = cursor->at, *end = cursor->end;
	unsigned opcode_base = program->opcode_base, min_instruction = program->min_instruction;
	uint64_t address = state->address, last = address;
	enum reel_line_event event = REEL_LINE_STOP;
	uint32_t line = state->line;
	int lines;

	state->discriminator = 0;
	while (at < end) {
		unsigned opcode = *at++;

		if (opcode >= opcode_base && program->one_operation) {
			address += (uint64_t)min_instruction * program->special[opcode].operations;
			line += (uint32_t)program->special[opcode].lines;
			goto row;
		}
		if (opcode < opcode_base) {
			switch (opcode) {
			case DW_LNS_copy:
				goto row;
			case DW_LNS_advance_line:
				if (!take_short(&at, end, &lines))
					break;
				line += (uint32_t)lines;
				continue;
			case DW_LNS_set_column:
				if (at == end || *at >= 0x80)
					break;
				state->column = *at++;
				continue;
			case DW_LNS_negate_stmt:
				if (program->operand_counts[DW_LNS_negate_stmt - 1])
					break;
				continue;
			default:
				break;
			}
		}
		cursor->at = at;
		state->address = address;
		state->line = line;
		if (opcode >= opcode_base) {
			advance(program, state, program->special[opcode].operations);
			state->line += (uint32_t)program->special[opcode].lines;
		} else if (opcode) {
			run_standard(program, cursor, opcode, state);
		} else {
			event = run_extended(program, cursor, state, rows == 1, name_ret,
					     directory_ret);
			if (event != REEL_LINE_ROW)
				return event;
			event = REEL_LINE_STOP;
		}
		at = cursor->at;
		address = state->address;
		line = state->line;
		if (opcode < opcode_base)
			continue;
	row:
		if (address < last)
			state->out_of_order = true;
		last = address;
		if (!--rows) {
			event = REEL_LINE_ROW;
			break;
		}
	}
	cursor->at = at;
	state->address = address;
	state->line = line;
	return event;
}

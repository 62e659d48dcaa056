/* SPDX-License-Identifier: Apache-2.0 */
/* The state machine of line tables (DWARF 5, 6.2.2 and 6.2.5), which makes single rows. */
#ifndef REPLAY_DWARF_LINE_PROGRAM_H
#define REPLAY_DWARF_LINE_PROGRAM_H

#include "base/bytes.h"

/* The header's fields for the program. */
struct reel_line_program {
	bool big_endian;
	unsigned min_instruction, max_operations; /* the latter is a byte and not 0 */
	unsigned opcode_base, line_range;	  /* neither is 0 */
	int line_base;
	const uint8_t *operand_counts; /* of standard opcodes, from 1 on */
	/* Increments of each special opcode, filled in by reel_line_program_prepare. */
	struct {
		uint16_t operations;
		int16_t lines;
	} special[256];
	bool one_operation; /* one operation per instruction, as on most CPUs */
};

void reel_line_program_prepare(struct reel_line_program *program);

/* The registers used here, without is_stmt and the like. */
struct reel_line_state {
	uint64_t address;
	uint64_t file, column;
	uint32_t line;
	/* The block within the line; only for the last row, since each row's begins with 0. */
	uint32_t discriminator;
	uint8_t operation;
	/* A row's address was below the previous row's, or a file's number is absurd. */
	bool out_of_order;
};

#define REEL_LINE_STATE_INITIAL ((struct reel_line_state){ .file = 1, .line = 1 })

enum reel_line_event {
	REEL_LINE_ROW,		/* the requested number */
	REEL_LINE_END_SEQUENCE, /* at the state's address; the caller makes the state initial */
	REEL_LINE_DEFINE_FILE,	/* DW_LNE_define_file: `*name_ret`, `*directory_ret` */
	REEL_LINE_STOP,		/* no more bytes */
};

/*
 * Continues for at most `rows` rows (not 0); the state becomes the last row's.  The initial
 * state counts as a row.
 */
enum reel_line_event reel_line_program_run(const struct reel_line_program *program,
					   struct reel_cursor *cursor,
					   struct reel_line_state *state, unsigned rows,
					   const char **name_ret, uint64_t *directory_ret);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * .gopclntab, in which Go programs name their own code: functions, inlined calls and lines.
 * Stripping keeps it (-ldflags "-s -w").  Supports the formats of Go 1.2, 1.16, 1.18 and 1.20 on
 * (debug/gosym/pclntab.go, runtime/symtab.go and runtime/runtime2.go of these versions); inlined
 * calls since Go 1.13.
 */
#ifndef ELF_GO_TABLE_H
#define ELF_GO_TABLE_H

#include "elf/debug_frame.h"
#include "elf/elf_file.h"

struct reel_go_table;

/*
 * NULL if it is not a Go program.  The file must outlive the table.  CORRUPT or UNSUPPORTED for an
 * unusable table.
 */
struct reel_error *reel_go_table_open(struct reel_elf_file *file,
				      struct reel_go_table **ret) REEL_MUST_CHECK;
void reel_go_table_close(struct reel_go_table *table);

/*
 * Like reel_debug_info_look_up.  CORRUPT if the table takes many times the usual work for its size.
 */
struct reel_error *reel_go_table_look_up(struct reel_go_table *table, uint64_t address,
					 const struct reel_debug_frame **frames_ret, size_t *n_ret,
					 uint64_t *begin_ret) REEL_MUST_CHECK;

/* Go's own view of a function for unwinding (runtime/traceback.go). */
struct reel_go_code {
	uint64_t begin, end; /* ELF addresses */
	/* It changes stacks (runtime.systemstack, mcall, morestack, asmcgocall ...): a step by its
	 * stack depth is wrong, and so is one by Go's .debug_frame.  Known since Go 1.17
	 * (internal/abi/symtab.go, FuncFlagSPWrite). */
	bool switches;
};

/* For stretches of a function's code: how many bytes sp is below its value at entry. */
struct reel_go_depths;
/* The next stretch, which ends at the ELF address *end_ret; false after the last one, or if the
 * table is damaged. */
bool reel_go_depths_next(struct reel_go_depths *depths, uint64_t *end_ret, int32_t *depth_ret);

/*
 * Calls `visit` for each function, in ascending order; the depths are valid during the call.  Never
 * called if the file has no usable table, and no more once the depths took many times the usual
 * work for a table of its size.
 */
struct reel_error *reel_go_visit_code(struct reel_elf_file *file,
				      void (*visit)(void *context, const struct reel_go_code *code,
						    struct reel_go_depths *depths),
				      void *context) REEL_MUST_CHECK;

#endif

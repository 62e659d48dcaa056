/* SPDX-License-Identifier: Apache-2.0 */
/*
 * .gopclntab, the table by which Go programs name their own code: functions, inlined calls and
 * lines.  It stays when the rest is stripped (-ldflags "-s -w").  Formats of Go 1.2, 1.16, 1.18 and
 * 1.20 on (debug/gosym/pclntab.go, runtime/symtab.go and runtime/runtime2.go of these versions);
 * inlined calls since Go 1.13.
 */
#ifndef REPLAY_DWARF_GO_TABLE_H
#define REPLAY_DWARF_GO_TABLE_H

#include "replay/dwarf/debug_info.h"

struct reel_go_table;

/*
 * NULL: it is no Go program.  The file must outlive the table.  CORRUPT or UNSUPPORTED where one is
 * there, but of no use.
 */
struct reel_error *reel_go_table_open(struct reel_elf_file *file,
				      struct reel_go_table **ret) REEL_MUST_CHECK;
void reel_go_table_close(struct reel_go_table *table);

/*
 * As reel_debug_info_look_up.  CORRUPT if the table takes many times the work that one of its size
 * does.
 */
struct reel_error *reel_go_table_look_up(struct reel_go_table *table, uint64_t address,
					 const struct reel_debug_frame **frames_ret, size_t *n_ret,
					 uint64_t *begin_ret) REEL_MUST_CHECK;

/*
 * Calls `visit` with the ELF addresses of each function that changes stacks, in ascending order
 * (runtime.systemstack, mcall, morestack, asmcgocall ...): Go's .debug_frame computes its caller as
 * if it did not.  The table marks them since Go 1.17 (internal/abi/symtab.go, FuncFlagSPWrite), and
 * Go's own unwinder stops there (runtime/traceback.go).  Never, if the file has no table of use.
 */
struct reel_error *reel_go_visit_switches(struct reel_elf_file *file,
					  void (*visit)(void *context, uint64_t begin,
							uint64_t end),
					  void *context) REEL_MUST_CHECK;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What instructions show, where no CFI does or as evidence against it. */
#ifndef TESTS_TRUTH_TARGET_CODE_H
#define TESTS_TRUTH_TARGET_CODE_H

#include "tests/truth/unwind_sample.h"

bool truth_code_is(const struct truth_sample *sample, uint64_t address, const void *bytes,
		   size_t size);
/* A call instruction ends at `address`. *target_ret: where a direct one goes, 0 for an indirect
 * one. */
bool truth_is_behind_call(const struct truth_sample *sample, uint64_t address,
			  uint64_t *target_ret);
/* The task is in a system call, whose instruction ends at the pc. */
bool truth_is_behind_syscall(const struct truth_sample *sample, uint64_t pc);
/* The code right before pc has popped the register (x86-64). */
bool truth_was_popped(const struct truth_sample *sample, uint64_t pc, unsigned dwarf);
bool truth_is_leaving_for_landing_pad(const struct truth_sample *sample, uint64_t pc);
/* At this instruction nothing of the function's own is on the stack (x86-64). */
bool truth_has_return_address_on_top(const struct truth_sample *sample, uint64_t pc);

#endif

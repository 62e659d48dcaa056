/* SPDX-License-Identifier: Apache-2.0 */
/* What instructions show, where CFI is missing or contradicted by them. */
#ifndef TESTS_TRUTH_TARGET_CODE_H
#define TESTS_TRUTH_TARGET_CODE_H

#include "tests/truth/unwind_sample.h"

bool truth_code_is(const struct truth_sample *sample, uint64_t address, const void *bytes,
		   size_t size);
/* A call instruction ends at `address`. *target_ret: the target of a direct one, 0 for an indirect
 * one. */
bool truth_is_behind_call(const struct truth_sample *sample, uint64_t address,
			  uint64_t *target_ret);
/* The task is in a system call, whose instruction ends at the pc. */
bool truth_is_behind_syscall(const struct truth_sample *sample, uint64_t pc);
/* The code right before pc has popped the register (x86-64). */
bool truth_was_popped(const struct truth_sample *sample, uint64_t pc, unsigned dwarf);
bool truth_is_leaving_for_landing_pad(const struct truth_sample *sample, uint64_t pc);
/* .init or .fini, which have neither CFI nor, on x86-64, a frame pointer. */
bool truth_is_in_crt_section(const struct truth_sample *sample, uint64_t address);
/* The code that GCC runs before and after main, without CFI. */
bool truth_is_in_crtstuff(const struct truth_sample *sample, uint64_t address);
/* x86-64 code without CFI, whose instruction at pc shows how far from sp the return address is. */
/*
 * arm64: whether pc is in a PLT (adrp x16, ldr x17, add x16, br x17; the header's begin with stp
 * x16, x30, [sp, #-16]!) or at a ret, and the number of bytes on the stack above the caller's.
 */
bool truth_arm_pushed(const struct truth_sample *sample, uint64_t pc, uint64_t *ret);
bool truth_return_address_offset(const struct truth_sample *sample, uint64_t pc, uint64_t *ret);

#endif

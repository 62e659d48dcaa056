/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by 32-bit and 64-bit x86 code: Intel SDM, volume 2. */
#ifndef ARCH_X86_H
#define ARCH_X86_H

#include "arch/arch.h"

/*
 * CALL: e8 rel32, and ff /2 with every form of the operand (ModRM xx 010 xxx): register or
 * [register]; [register + disp8]; [SIB]; [SIB + disp8]; [disp32] ([rip + disp32] in 64-bit code),
 * [register + disp32]; [SIB + disp32]. Prefixes precede it.
 */
static const uint8_t x86_call_relative[] = { 0xe8, 0, 0, 0, 0 };
static const uint8_t x86_call_relative_mask[] = { 0xff, 0, 0, 0, 0 };
static const uint8_t x86_call_operand[] = { 0xff, 0x10, 0, 0, 0, 0, 0 };
static const uint8_t x86_call_operand_mask[] = { 0xff, 0x38, 0, 0, 0, 0, 0 };

static const struct reel_arch_call x86_calls[] = {
	{ x86_call_relative, x86_call_relative_mask, 5, 1, REEL_ARCH_OPERAND_PC32 },
	{ x86_call_operand, x86_call_operand_mask, 2 },
	{ x86_call_operand, x86_call_operand_mask, 3 },
	{ x86_call_operand, x86_call_operand_mask, 4 },
	{ x86_call_operand, x86_call_operand_mask, 6 },
	{ x86_call_operand, x86_call_operand_mask, 7 },
};

/* JMP: e9 rel32. */
static const uint8_t x86_jump_relative[] = { 0xe9, 0, 0, 0, 0 };

static const struct reel_arch_call x86_jumps[] = {
	{ x86_jump_relative, x86_call_relative_mask, 5, 1, REEL_ARCH_OPERAND_PC32 },
};

/* PLT slots: push $index; jmp PLT0. */
static const uint8_t x86_plt_slot[] = { 0x68, 0, 0, 0, 0, 0xe9 };
static const uint8_t x86_plt_slot_mask[] = { 0xff, 0, 0, 0, 0, 0xff };

static const uint8_t x86_ret[] = { 0xc3 };
static const uint8_t x86_rep_ret[] = { 0xf3, 0xc3 };

/* SYSCALL, and int $0x80, which 64-bit code may use as well. */
static const uint8_t x86_syscall[] = { 0x0f, 0x05 };
static const uint8_t x86_int_80[] = { 0xcd, 0x80 };

#endif

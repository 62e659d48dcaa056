/* SPDX-License-Identifier: Apache-2.0 */
/* i386: System V psABI, Intel386 architecture, version 1.1. */
#include "arch/program.h"
#include "arch/x86.h"

enum { EAX, ECX, EDX, EBX, ESP, EBP, ESI, EDI, EIP };

/* DWARF: psABI table 2.14 (.eh_frame on Darwin swaps esp and ebp, Linux does not); perf:
   arch/x86/include/uapi/asm/perf_regs.h. */
static const struct reel_arch_register registers[] = {
	{ "eax", EAX, 0, 4 }, { "ecx", ECX, 2, 4 }, { "edx", EDX, 3, 4 },
	{ "ebx", EBX, 1, 4 }, { "esp", ESP, 7, 4 }, { "ebp", EBP, 6, 4 },
	{ "esi", ESI, 4, 4 }, { "edi", EDI, 5, 4 }, { "eip", EIP, 8, 4 },
};

/* psABI table 2.3: ebx, ebp, esi and edi belong to the caller; the CFA is the caller's esp. */
static const uint8_t defaults[] = {
	CFA_SAME_VALUE(EBX), CFA_SAME_VALUE(EBP),    CFA_SAME_VALUE(ESI),
	CFA_SAME_VALUE(EDI), CFA_VAL_OFFSET(ESP, 0),
};

/* `call` has pushed the return address and done nothing else. */
static const uint8_t undo_call[] = {
	CFA_DEF_CFA(ESP, 4),
	CFA_OFFSET_SF(EIP, 1),
};

/* psABI 2.2.2, table 2.2: ebp points to the caller's ebp, the return address follows. */
static const uint8_t frame_step[] = {
	CFA_DEF_CFA(EBP, 8),
	CFA_OFFSET_SF(EBP, 2),
	CFA_OFFSET_SF(EIP, 1),
};

/*
 * The handler's `ret` has popped the frame's pretcode (arch/x86/include/asm/sigframe.h); esp points
 * to its first argument.  After the arguments, struct sigcontext_32 (uapi/asm/sigcontext.h): gs,
 * fs, es, ds, edi, esi, ebp, esp, ebx, edx, ecx, eax, trapno, err, eip, each a word.  `first` is
 * gs's word, counted from esp.
 */
#define SAVED(reg, word) CFA_OFFSET_SF(reg, -(word))
#define SIGNAL_PROGRAM(first)                                                                      \
	CFA_DEF_CFA(ESP, 0), SAVED(EDI, (first) + 4), SAVED(ESI, (first) + 5),                     \
		SAVED(EBP, (first) + 6), SAVED(ESP, (first) + 7), SAVED(EBX, (first) + 8),         \
		SAVED(EDX, (first) + 9), SAVED(ECX, (first) + 10), SAVED(EAX, (first) + 11),       \
		SAVED(EIP, (first) + 14)

/* struct rt_sigframe_ia32: sig, pinfo, puc; siginfo, 128 bytes; ucontext: flags, link, stack (12
   bytes), sigcontext. */
static const uint8_t rt_program[] = { SIGNAL_PROGRAM(3 + 32 + 5) };
/* struct sigframe_ia32: sig, sigcontext. */
static const uint8_t old_program[] = { SIGNAL_PROGRAM(1) };
/* The same, when the trampoline has popped sig. */
static const uint8_t popped_program[] = { SIGNAL_PROGRAM(0) };

/* mov $0xad,%eax; int $0x80: the vDSO's __kernel_rt_sigreturn, and the C libraries' own. */
static const uint8_t rt_sigreturn[] = { 0xb8, 0xad, 0x00, 0x00, 0x00, 0xcd, 0x80 };
/* pop %eax; mov $0x77,%eax; int $0x80: __kernel_sigreturn, for handlers without SA_SIGINFO. */
static const uint8_t sigreturn[] = { 0x58, 0xb8, 0x77, 0x00, 0x00, 0x00, 0xcd, 0x80 };

/* The first match counts: the state after the pop precedes the whole. */
static const struct reel_arch_signal_frame signal_frames[] = {
	{ rt_sigreturn, NULL, sizeof(rt_sigreturn), REEL_ARCH_PROGRAM(rt_program) },
	{ sigreturn + 1, NULL, sizeof(sigreturn) - 1, REEL_ARCH_PROGRAM(popped_program) },
	{ sigreturn, NULL, sizeof(sigreturn), REEL_ARCH_PROGRAM(old_program) },
};

/* PLT stubs (psABI 5.2; those of static programs' ifuncs have no CFI): jmp *address, and in
   position-independent code jmp *offset(%ebx).  PLT0 is push GOT[1]; jmp *GOT[2], by the same two
   ways; after endbr32 (IBT).  endbr32 alone shows no call: JITs also jump to it. */
static const uint8_t jump_absolute[] = { 0xff, 0x25 };
static const uint8_t jump_ebx[] = { 0xff, 0xa3 };
static const uint8_t plt_zero[] = { 0xff, 0x35, 0, 0, 0, 0, 0xff, 0x25 };
static const uint8_t plt_zero_mask[] = { 0xff, 0xff, 0, 0, 0, 0, 0xff, 0xff };
static const uint8_t plt_zero_ebx[] = { 0xff, 0xb3, 4, 0, 0, 0, 0xff, 0xa3 };
static const uint8_t ibt_jump_absolute[] = { 0xf3, 0x0f, 0x1e, 0xfb, 0xff, 0x25 };
static const uint8_t ibt_jump_ebx[] = { 0xf3, 0x0f, 0x1e, 0xfb, 0xff, 0xa3 };
/* push %ebp; mov %esp,%ebp: until then the frame pointer is the caller's, and again at ret. */
static const uint8_t make_frame[] = { 0x55, 0x89, 0xe5 };
/* ret $4: of functions that return a structure (psABI 2.2.4). */
static const uint8_t ret_4[] = { 0xc2, 0x04, 0x00 };
/* glibc's crti.S, which has no CFI: _init and _fini begin with push %ebx; sub $8,%esp; call
 * __x86.get_pc_thunk.bx.  The code after this has changed ebx. */
static const uint8_t init_begin[] = { 0x53, 0x83, 0xec, 0x08, 0xe8 };

/* mov (%esp),%ebx; ret, or another register: __x86.get_pc_thunk.bx, without CFI where crti.S or the
   vDSO has it. */
static const uint8_t pc_thunk[] = { 0x8b, 0x04, 0x24, 0xc3 };
static const uint8_t pc_thunk_mask[] = { 0xff, 0xc7, 0xff, 0xff };
/* call __x86.get_pc_thunk.ax; add $…,%eax; push %ebp; mov %esp,%ebp: the vDSO's functions, which
   are in C and have no CFI (its Makefile asks for frame pointers instead). */
static const uint8_t thunk_before_frame[] = {
	0xe8, 0, 0, 0, 0, 0x05, 0, 0, 0, 0, 0x55, 0x89, 0xe5
};
static const uint8_t thunk_before_frame_mask[] = { 0xff, 0, 0, 0,    0,	   0xff, 0,
						   0,	 0, 0, 0xff, 0xff, 0xff };
/* xor %edx,%edx; xor %ecx,%ecx; ret, or one of the two: -fzero-call-used-regs ends functions so,
 * without a frame, as in the vDSO of kernels with CONFIG_ZERO_CALL_USED_REGS. */
static const uint8_t zero_ret[] = { 0x31, 0xd2, 0x31, 0xc9, 0xc3 };
static const uint8_t zero_edx_ret[] = { 0x31, 0xd2, 0xc3 };

static const struct reel_arch_entry entries[] = {
	{ x86_plt_slot, x86_plt_slot_mask, 6, 0, 0, false },
	{ x86_plt_slot, x86_plt_slot_mask, 6, 5, 1, false },
	{ plt_zero, plt_zero_mask, 8, 0, 1, false },
	{ plt_zero, plt_zero_mask, 8, 6, 2, false },
	{ plt_zero_ebx, NULL, 8, 0, 1, false },
	{ plt_zero_ebx, NULL, 8, 6, 2, false },
	{ jump_absolute, NULL, 2, 0, 0, false },
	{ jump_ebx, NULL, 2, 0, 0, false },
	{ ibt_jump_absolute, NULL, 6, 0, 0, false },
	{ ibt_jump_ebx, NULL, 6, 0, 0, false },
	{ make_frame, NULL, 3, 0, 0, false },
	{ make_frame, NULL, 3, 1, 1, false },
	{ x86_ret, NULL, 1, 0, 0, false },
	{ x86_rep_ret, NULL, 2, 0, 0, false },
	{ ret_4, NULL, 3, 0, 0, false },
	{ zero_ret, NULL, 5, 0, 0, false },
	{ zero_ret + 2, NULL, 3, 0, 0, false },
	{ zero_edx_ret, NULL, 3, 0, 0, false },
	{ init_begin, NULL, 5, 0, 0, false },
	{ init_begin, NULL, 5, 1, 1, false },
	{ init_begin, NULL, 5, 4, 3, false },
	{ pc_thunk, pc_thunk_mask, 4, 0, 0, false },
	{ thunk_before_frame, thunk_before_frame_mask, 13, 0, 0, false },
	{ thunk_before_frame, thunk_before_frame_mask, 13, 5, 0, true },
};

/* sysenter and, on AMD CPUs, syscall are only in the vDSO's __kernel_vsyscall: the task continues
 * after the int $0x80 that follows there (arch/x86/entry/vdso/vdso32/system_call.S). */
static const uint8_t sysenter[] = { 0x0f, 0x34 };

static const struct reel_arch_call system_calls[] = {
	{ x86_int_80, NULL, 2 },
	{ sysenter, NULL, 2 },
	{ x86_syscall, NULL, 2 },
};

/* PLT stubs: jmp *slot, or jmp *slot(%ebx) with the GOT's address in it, after endbr32 (IBT); lld's
   -z retpolineplt: push %eax; mov slot,%eax or mov slot(%ebx),%eax; call the code that jumps there. */
static const uint8_t retpoline_absolute[] = { 0x50, 0xa1, 0, 0, 0, 0, 0xe8 };
static const uint8_t retpoline_absolute_mask[] = { 0xff, 0xff, 0, 0, 0, 0, 0xff };
static const uint8_t retpoline_got[] = { 0x50, 0x8b, 0x83, 0, 0, 0, 0, 0xe8 };
static const uint8_t retpoline_got_mask[] = { 0xff, 0xff, 0xff, 0, 0, 0, 0, 0xff };

static const struct reel_arch_stub stubs[] = {
	{ jump_absolute, NULL, 2, 16, 2, REEL_ARCH_OPERAND_ABS32 },
	{ jump_ebx, NULL, 2, 16, 2, REEL_ARCH_OPERAND_GOT32 },
	{ ibt_jump_absolute, NULL, 6, 16, 6, REEL_ARCH_OPERAND_ABS32 },
	{ ibt_jump_ebx, NULL, 6, 16, 6, REEL_ARCH_OPERAND_GOT32 },
	{ retpoline_absolute, retpoline_absolute_mask, 7, 32, 2, REEL_ARCH_OPERAND_ABS32 },
	{ retpoline_got, retpoline_got_mask, 8, 32, 3, REEL_ARCH_OPERAND_GOT32 },
};

extern const struct reel_arch reel_arch_i386;
const struct reel_arch reel_arch_i386 = {
	.name = "i386",
	.elf_machine = 3, /* EM_386 */
	.word_size = 4,
	.code_align = 1,
	.registers = registers,
	.n_registers = REEL_ARCH_COUNT(registers),
	.pc = EIP,
	.sp = ESP,
	.fp = EBP,
	.return_column = EIP,
	.system_call_changes = 1u << 0, /* eax */
	.data_align = -4,
	.defaults = REEL_ARCH_PROGRAM(defaults),
	.undo_call = REEL_ARCH_PROGRAM(undo_call),
	.frame_step = REEL_ARCH_PROGRAM(frame_step),
	.signal_frames = signal_frames,
	.n_signal_frames = REEL_ARCH_COUNT(signal_frames),
	.calls = x86_calls,
	.n_calls = REEL_ARCH_COUNT(x86_calls),
	.jumps = x86_jumps,
	.n_jumps = REEL_ARCH_COUNT(x86_jumps),
	.entries = entries,
	.n_entries = REEL_ARCH_COUNT(entries),
	.result = EAX,
	.system_calls = system_calls,
	.n_system_calls = REEL_ARCH_COUNT(system_calls),
	.stubs = stubs,
	.n_stubs = REEL_ARCH_COUNT(stubs),
	.code = REEL_ARCH_CODE_X86,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* x86-64: System V psABI, AMD64 supplement, version 1.0. */
#include "arch/program.h"
#include "arch/x86.h"

enum { RAX, RDX, RCX, RBX, RSI, RDI, RBP, RSP, R8, R9, R10, R11, R12, R13, R14, R15, RIP };

/* DWARF: psABI figure 3.36; perf: arch/x86/include/uapi/asm/perf_regs.h. */
static const struct reel_arch_register registers[] = {
	{ "rax", RAX, 0, 8 },  { "rdx", RDX, 3, 8 },  { "rcx", RCX, 2, 8 },  { "rbx", RBX, 1, 8 },
	{ "rsi", RSI, 4, 8 },  { "rdi", RDI, 5, 8 },  { "rbp", RBP, 6, 8 },  { "rsp", RSP, 7, 8 },
	{ "r8", R8, 16, 8 },   { "r9", R9, 17, 8 },   { "r10", R10, 18, 8 }, { "r11", R11, 19, 8 },
	{ "r12", R12, 20, 8 }, { "r13", R13, 21, 8 }, { "r14", R14, 22, 8 }, { "r15", R15, 23, 8 },
	{ "rip", RIP, 8, 8 },
};

/* psABI 3.2.1: rbx, rbp and r12 to r15 belong to the caller; the CFA is the caller's rsp (3.7). */
static const uint8_t defaults[] = {
	CFA_SAME_VALUE(RBX), CFA_SAME_VALUE(RBP), CFA_SAME_VALUE(R12),	  CFA_SAME_VALUE(R13),
	CFA_SAME_VALUE(R14), CFA_SAME_VALUE(R15), CFA_VAL_OFFSET(RSP, 0),
};

/* `call` has pushed the return address and done nothing else. */
static const uint8_t undo_call[] = {
	CFA_DEF_CFA(RSP, 8),
	CFA_OFFSET_SF(RIP, 1),
};

/* psABI 3.2.2, figure 3.3: rbp points to the caller's rbp, the return address follows. */
static const uint8_t frame_step[] = {
	CFA_DEF_CFA(RBP, 16),
	CFA_OFFSET_SF(RBP, 2),
	CFA_OFFSET_SF(RIP, 1),
};

/* 48 c7 c0 0f 00 00 00  mov $0xf,%rax;  0f 05  syscall: rt_sigreturn (glibc, and musl without CFI).
 */
static const uint8_t sigreturn[] = { 0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05 };
/* b8 0f 00 00 00  mov $0xf,%eax;  0f 05  syscall: other runtimes' assemblers shorten it to this. */
static const uint8_t sigreturn_short[] = { 0xb8, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05 };

/*
 * The handler's `ret` has popped struct rt_sigframe's pretcode, so rsp points
 * to its ucontext (arch/x86/include/asm/sigframe.h): uc_flags, uc_link,
 * uc_stack (24 bytes), then struct sigcontext_64 at 40: r8 … r15, rdi, rsi, rbp,
 * rbx, rdx, rax, rcx, rsp, rip (uapi/asm/sigcontext.h).
 */
#define SAVED(reg, word) CFA_OFFSET_SF(reg, -(5 + (word)))
static const uint8_t signal_program[] = {
	CFA_DEF_CFA(RSP, 0), SAVED(R8, 0),   SAVED(R9, 1),   SAVED(R10, 2),  SAVED(R11, 3),
	SAVED(R12, 4),	     SAVED(R13, 5),  SAVED(R14, 6),  SAVED(R15, 7),  SAVED(RDI, 8),
	SAVED(RSI, 9),	     SAVED(RBP, 10), SAVED(RBX, 11), SAVED(RDX, 12), SAVED(RAX, 13),
	SAVED(RCX, 14),	     SAVED(RSP, 15), SAVED(RIP, 16),
};

static const struct reel_arch_signal_frame signal_frames[] = {
	{ sigreturn, NULL, sizeof(sigreturn), REEL_ARCH_PROGRAM(signal_program) },
	{ sigreturn_short, NULL, sizeof(sigreturn_short), REEL_ARCH_PROGRAM(signal_program) },
};

/* jmp *disp32(%rip), with a bnd prefix too: PLT stubs (psABI 5.2; those of static programs' ifuncs
   have no CFI), after endbr64 (IBT).  endbr64 alone shows no call: JITs also jump to it. */
static const uint8_t jump_rip[] = { 0xff, 0x25 };
static const uint8_t bnd_jump_rip[] = { 0xf2, 0xff, 0x25 };
static const uint8_t ibt_jump_rip[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25 };
static const uint8_t ibt_bnd_jump_rip[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25 };
/* push $index; jmp PLT0, and PLT0: push GOT+8(%rip); jmp *GOT+16(%rip) (psABI 5.2, figure 5.2).
   ld describes them by an expression, lld has no CFI for them. */
static const uint8_t plt_zero[] = { 0xff, 0x35, 0, 0, 0, 0, 0xff, 0x25 };
static const uint8_t plt_zero_mask[] = { 0xff, 0xff, 0, 0, 0, 0, 0xff, 0xff };
/* push %rbp; mov %rsp,%rbp: until then the frame pointer is the caller's, and again at ret. */
static const uint8_t make_frame[] = { 0x55, 0x48, 0x89, 0xe5 };

/* glibc's crti.S and crtn.S, which have no CFI and keep no frame pointer: _init is  sub $8,%rsp;
   mov __gmon_start__(%rip),%rax; test %rax,%rax; je; call *%rax; add $8,%rsp; ret,  and _fini the
   first and the last two of these. */
static const uint8_t make_room[] = { 0x48, 0x83, 0xec, 0x08 };
static const uint8_t init_load[] = { 0x48, 0x8b, 0x05, 0,    0,	   0,	 0,
				     0x48, 0x85, 0xc0, 0x74, 0x02, 0xff, 0xd0 };
static const uint8_t init_load_mask[] = { 0xff, 0xff, 0xff, 0,	  0,	0,    0,
					  0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
static const uint8_t init_test[] = { 0x48, 0x85, 0xc0, 0x74, 0x02, 0xff,
				     0xd0, 0x48, 0x83, 0xc4, 0x08, 0xc3 };
static const uint8_t give_room_back[] = { 0x48, 0x83, 0xc4, 0x08, 0xc3 };

/* Mono's CFI describes no epilogues. */
static const struct reel_arch_entry returns[] = {
	{ x86_ret, NULL, 1, 0, 0, false },
	{ x86_rep_ret, NULL, 2, 0, 0, false },
};

static const struct reel_arch_entry entries[] = {
	{ x86_plt_slot, x86_plt_slot_mask, 6, 0, 0, false },
	{ x86_plt_slot, x86_plt_slot_mask, 6, 5, 1, false },
	{ plt_zero, plt_zero_mask, 8, 0, 1, false },
	{ plt_zero, plt_zero_mask, 8, 6, 2, false },
	{ jump_rip, NULL, 2, 0, 0, false },
	{ bnd_jump_rip, NULL, 3, 0, 0, false },
	{ ibt_jump_rip, NULL, 6, 0, 0, false },
	{ ibt_bnd_jump_rip, NULL, 7, 0, 0, false },
	{ make_frame, NULL, 4, 0, 0, false },
	{ make_frame, NULL, 4, 1, 1, false },
	{ x86_ret, NULL, 1, 0, 0, false },
	{ x86_rep_ret, NULL, 2, 0, 0, false },
	{ make_room, NULL, 4, 0, 0, false },
	{ init_load, init_load_mask, 14, 0, 1, false },
	{ init_test, NULL, 12, 0, 1, false },
	{ init_test, NULL, 12, 3, 1, false },
	{ init_test, NULL, 12, 5, 1, false },
	{ give_room_back, NULL, 5, 0, 1, false },
};

static const struct reel_arch_call system_calls[] = {
	{ x86_syscall, NULL, 2 },
	{ x86_int_80, NULL, 2 },
};

/*
 * .cfi_cfa_expression %rsp+8,$num,8,mul,plus,deref,+8: bn_mul_mont and its kin keep the caller's
 * rsp above a product of r9 words (OpenSSL's and BoringSSL's crypto/bn/asm/x86_64-mont.pl and
 * x86_64-mont5.pl).  BoringSSL has had numbers of up to 8 KiB (BN_MONTGOMERY_MAX_WORDS).
 * In a signal frame r9 is followed by 13 others, rsp, rip, eflags and cs, gs, fs, ss: user_cs and
 * user_ds are the same for all (struct sigcontext_64; Linux 4.6 and newer save ss).
 */
static const struct reel_arch_count counts[] = {
	{ R9, 8, 8, 1024, 112, 120, 136, 0x002b000000000033 },
};
/* PLT stubs: jmp *slot(%rip), after bnd (MPX) and endbr64 (IBT); lld's -z retpolineplt: mov
   slot(%rip),%r11, then a call, or a jmp with -z now, of the code that jumps there. */
static const uint8_t retpoline_call[] = { 0x4c, 0x8b, 0x1d, 0, 0, 0, 0, 0xe8 };
static const uint8_t retpoline_jump[] = { 0x4c, 0x8b, 0x1d, 0, 0, 0, 0, 0xe9 };
static const uint8_t retpoline_mask[] = { 0xff, 0xff, 0xff, 0, 0, 0, 0, 0xff };

static const struct reel_arch_stub stubs[] = {
	{ jump_rip, NULL, 2, 16, 2, REEL_ARCH_OPERAND_PC32 },
	{ bnd_jump_rip, NULL, 3, 16, 3, REEL_ARCH_OPERAND_PC32 },
	{ ibt_jump_rip, NULL, 6, 16, 6, REEL_ARCH_OPERAND_PC32 },
	{ ibt_bnd_jump_rip, NULL, 7, 16, 7, REEL_ARCH_OPERAND_PC32 },
	{ retpoline_call, retpoline_mask, 8, 32, 3, REEL_ARCH_OPERAND_PC32 },
	{ retpoline_jump, retpoline_mask, 8, 16, 3, REEL_ARCH_OPERAND_PC32 },
};

extern const struct reel_arch reel_arch_x86_64;
/* arch/x86/include/asm/idtentry.h of 5.8 and later; asm_load_gs_index is an ordinary function. */
static const char *const kernel_entries[] = {
	"asm_exc_", "asm_sysvec_", "asm_common_interrupt", "asm_spurious_interrupt", NULL,
};

const struct reel_arch reel_arch_x86_64 = {
	.name = "x86_64",
	.elf_machine = 62, /* EM_X86_64 */
	.word_size = 8,
	.code_align = 1,
	.registers = registers,
	.n_registers = REEL_ARCH_COUNT(registers),
	.pc = RIP,
	.sp = RSP,
	.fp = RBP,
	.return_column = RIP,
	.system_call_changes = 1u << 0 | 1u << 2 | 1u << 11, /* rax, rcx, r11 */
	.data_align = -8,
	.red_zone = 128, /* psABI 3.2.2 */
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
	.returns = returns,
	.n_returns = REEL_ARCH_COUNT(returns),
	.result = RAX,
	.system_calls = system_calls,
	.n_system_calls = REEL_ARCH_COUNT(system_calls),
	.counts = counts,
	.n_counts = REEL_ARCH_COUNT(counts),
	.stubs = stubs,
	.n_stubs = REEL_ARCH_COUNT(stubs),
	.code = REEL_ARCH_CODE_X86,
	.kernel_entries = kernel_entries,
};

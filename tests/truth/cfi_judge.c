/* SPDX-License-Identifier: Apache-2.0 */
#include <dwarf.h>
#include <err.h>
#include <stdlib.h>
#include <string.h>

#include "tests/truth/cfi_judge.h"
#include "tests/truth/target_code.h"

const char *const truth_how_names[TRUTH_HOW_COUNT] = {
	[TRUTH_BY_CFI] = "CFI",
	[TRUTH_BY_SIGNAL_CODE] = "signal trampoline's code",
	[TRUTH_BY_ENTRY] = "words pushed by the code",
	[TRUTH_BY_LINK_REGISTER] = "link register",
	[TRUTH_BY_FRAME_POINTER] = "frame pointer",
	[TRUTH_BY_CODE] = "effects of the code",
	[TRUTH_END_ROOT] = "return address undefined",
	[TRUTH_END_ENTRY] = "entry point",
	[TRUTH_END_ZERO] = "return address 0",
	[TRUTH_END_MEMORY] = "bytes not recorded",
	[TRUTH_END_REGISTER] = "register unknown",
	[TRUTH_END_NO_CFI] = "no CFI",
	[TRUTH_END_NO_FILE] = "no file mapped",
	[TRUTH_END_UNSUPPORTED] = "operation not evaluated",
};

/* DWARF numbers of x86-64 (psABI, figure 3.36). */
enum { RAX = 0, RBX = 3 };

struct judge {
	const struct truth_sample *sample;
	struct truth_registers registers;
	bool kept[TRUTH_REGISTERS_MAX]; /* by TRUTH_STEP_POPPED */
	bool rbx_forgotten;		/* by libdw */
	uint64_t pc;
	bool first, exact; /* nobody called from it; pc is the next instruction */
	enum reel_step claimed;
	uint64_t claimed_pc;
	/* of the caller that ours has; 0: none */ /* how the next frame of ours was found */
	struct truth_step *step;
};

/* ---- with CFI ---------------------------------------------------------------------------- */

static Dwarf_Frame *frame_at(struct judge *judge, uint64_t address)
{
	const struct truth_mapping *mapping = truth_find(judge->sample, address);
	Dwarf_Frame *frame;

	if (!mapping)
		return NULL;
	if (mapping->file->eh_frame &&
	    !dwarf_cfi_addrframe(mapping->file->eh_frame, address - mapping->bias, &frame))
		return frame;
	if (mapping->file->debug_frame &&
	    !dwarf_cfi_addrframe(mapping->file->debug_frame, address - mapping->bias, &frame)) {
		judge->step->flags |= TRUTH_STEP_DEBUG_FRAME;
		return frame;
	}
	return NULL;
}

static enum truth_how end_of(enum truth_evaluated result)
{
	return result == TRUTH_NO_MEMORY     ? TRUTH_END_MEMORY
	       : result == TRUTH_NO_REGISTER ? TRUTH_END_REGISTER
					     : TRUTH_END_UNSUPPORTED;
}

static void note_use(struct judge *judge, uint64_t used)
{
	for (unsigned i = 0; i < 64; i++)
		if (used >> i & 1 && judge->kept[i])
			judge->step->flags |= TRUTH_STEP_NEEDS_POPPED;
	if (used >> RBX & 1 && judge->rbx_forgotten)
		judge->step->flags |= TRUTH_STEP_NEEDS_RBX;
}

/* The value of a location; *slot_ret: its address, 0 if it is not in memory. */
static enum truth_evaluated value_of(struct judge *judge, const struct truth_location *location,
				     uint64_t *slot_ret, uint64_t *ret)
{
	*slot_ret = 0;
	switch (location->kind) {
	case TRUTH_IS_VALUE:
		*ret = location->value;
		return TRUTH_EVALUATED;
	case TRUTH_IN_REGISTER:
		if (location->value >= TRUTH_REGISTERS_MAX ||
		    !judge->registers.known[location->value])
			return TRUTH_NO_REGISTER;
		*ret = judge->registers.values[location->value];
		return TRUTH_EVALUATED;
	case TRUTH_AT_ADDRESS:
		break;
	}
	*slot_ret = location->value;
	return truth_read_word(judge->sample, location->value, judge->sample->arch->word_size, ret)
		       ? TRUTH_EVALUATED
		       : TRUTH_NO_MEMORY;
}

static void recover(struct judge *judge, Dwarf_Frame *frame, unsigned reg,
		    struct truth_registers *caller, bool *kept)
{
	const uint16_t sp = judge->sample->arch->sp;
	struct truth_location location;
	Dwarf_Op memory[3], *ops;
	size_t n;
	uint64_t slot;

	caller->known[reg] = kept[reg] = false;
	if (dwarf_frame_register(frame, (int)reg, memory, &ops, &n))
		return;
	if (!n) {
		bool same = !ops;

		/* See TRUTH_STEP_NEEDS_RBX. */
		if (judge->sample->arch->elf_machine == EM_X86_64 && reg == RBX && !same)
			same = judge->rbx_forgotten = true;
		if (judge->sample->arch->elf_machine == EM_X86_64 && reg == RAX)
			same = false;
		/* Undefined, or the same value. */
		caller->known[reg] = same && judge->registers.known[reg];
		caller->values[reg] = judge->registers.values[reg];
		kept[reg] = caller->known[reg] && judge->kept[reg];
		return;
	}
	if (truth_evaluate(judge->sample, &judge->registers, &judge->step->cfa, ops, n, &location))
		return;
	if (reg == RBX)
		judge->rbx_forgotten = false;
	caller->known[reg] = !value_of(judge, &location, &slot, &caller->values[reg]);
	if (!judge->first || !slot || !judge->registers.known[sp] ||
	    slot >= judge->registers.values[sp])
		return;
	if (caller->known[reg] &&
	    judge->registers.values[sp] - slot <= judge->sample->arch->red_zone) {
		judge->step->flags |= TRUTH_STEP_BELOW_SP;
		return;
	}
	/* Memory below the red zone may have been overwritten; the register itself is right if it
	 * was popped. */
	caller->known[reg] =
		judge->registers.known[reg] && truth_was_popped(judge->sample, judge->pc, reg);
	caller->values[reg] = judge->registers.values[reg];
	kept[reg] = caller->known[reg];
	judge->step->flags |= caller->known[reg] ? TRUTH_STEP_POPPED : TRUTH_STEP_BELOW_SP;
}

static enum truth_how return_address(struct judge *judge, Dwarf_Frame *frame, int column,
				     uint64_t *ret)
{
	struct truth_location location;
	Dwarf_Op memory[3], *ops;
	size_t n;
	enum truth_evaluated result;

	if (dwarf_frame_register(frame, column, memory, &ops, &n))
		return TRUTH_END_UNSUPPORTED;
	if (!n && ops)
		return TRUTH_END_ROOT;
	if (!n) {
		/* Not saved: still in the link register, if this frame has made no call. */
		if (!judge->first || !judge->registers.known[column])
			return TRUTH_END_REGISTER;
		*ret = judge->registers.values[column];
		return TRUTH_BY_CFI;
	}
	result = truth_evaluate(judge->sample, &judge->registers, &judge->step->cfa, ops, n,
				&location);
	if (!result) {
		note_use(judge, location.used);
		result = value_of(judge, &location, &judge->step->slot, ret);
	}
	return result ? end_of(result) : TRUTH_BY_CFI;
}

static enum truth_how step_by_frame(struct judge *judge, Dwarf_Frame *frame)
{
	const uint16_t sp = judge->sample->arch->sp;
	struct truth_registers caller;
	struct truth_location location;
	bool kept[TRUTH_REGISTERS_MAX] = { false }, signal;
	enum truth_evaluated result;
	enum truth_how how;
	Dwarf_Addr start, end;
	Dwarf_Op *ops;
	uint64_t pc, target;
	size_t n;
	int column = dwarf_frame_info(frame, &start, &end, &signal);

	if (column < 0 || dwarf_frame_cfa(frame, &ops, &n))
		return TRUTH_END_UNSUPPORTED;
	if (signal)
		judge->step->flags |= TRUTH_STEP_SIGNAL;
	if (judge->step->flags & TRUTH_STEP_BEHIND_SYSCALL &&
	    end + truth_find(judge->sample, judge->step->lookup)->bias == judge->pc)
		judge->step->flags |= TRUTH_STEP_ROW_ENDS;
	if (n != 1)
		judge->step->flags |= TRUTH_STEP_EXPRESSION;
	result = truth_evaluate(judge->sample, &judge->registers, NULL, ops, n, &location);
	if (result)
		return end_of(result);
	note_use(judge, location.used);
	/* DWARF 5, 6.4.1: the expression's value is the CFA itself. */
	judge->step->cfa = location.value;
	how = return_address(judge, frame, column, &pc);
	if (how != TRUTH_BY_CFI)
		return how;
	caller = judge->registers;
	for (unsigned i = 0; i < TRUTH_REGISTERS_MAX; i++)
		recover(judge, frame, i, &caller, kept);
	/* The CFA is the caller's sp (psABI 3.7; AADWARF64 4.2) unless the row has a rule for
	 * it. */
	if (!caller.known[sp]) {
		caller.values[sp] = judge->step->cfa;
		caller.known[sp] = true;
	}
	if (!signal && caller.values[sp] != judge->step->cfa)
		judge->step->flags |= TRUTH_STEP_SP_RULE;
	judge->registers = caller;
	memcpy(judge->kept, kept, sizeof(kept));
	pc &= ~judge->sample->code_mask;
	if (judge->first && truth_is_leaving_for_landing_pad(judge->sample, judge->pc) &&
	    !truth_is_behind_call(judge->sample, pc, &target))
		judge->step->flags |= TRUTH_STEP_LANDING_PAD;
	judge->pc = pc;
	judge->first = signal;
	judge->exact = signal || judge->step->flags & TRUTH_STEP_LANDING_PAD;
	return TRUTH_BY_CFI;
}

/* ---- without CFI --------------------------------------------------------------------------- */

/* A direct call to the function containing `pc` precedes the return address. */
static void note_call(struct judge *judge, uint64_t pc, uint64_t target)
{
	/* Without CFI the size is unknown: a little above the target, without CFI in between. */
	if (target && target <= pc && pc - target < 256)
		judge->step->flags |= TRUTH_STEP_CALL_SHOWN;
}

static bool take_caller(struct judge *judge, uint64_t slot, uint64_t sp)
{
	uint64_t pc, target;

	if (!truth_read_word(judge->sample, slot, judge->sample->arch->word_size, &pc))
		return false;
	pc &= ~judge->sample->code_mask;
	if (!truth_is_behind_call(judge->sample, pc, &target))
		return false;
	note_call(judge, judge->pc, target);
	judge->step->slot = slot;
	judge->pc = pc;
	judge->first = judge->exact = false;
	judge->registers.known[judge->sample->arch->sp] = sp;
	judge->registers.values[judge->sample->arch->sp] = sp;
	return true;
}

static enum truth_how by_link_register(struct judge *judge)
{
	const struct reel_arch *arch = judge->sample->arch;
	uint64_t pc, target;

	if (!(arch->flags & REEL_ARCH_LINK_REGISTER) || !judge->first ||
	    !judge->registers.known[arch->return_column])
		return TRUTH_END_NO_CFI;
	pc = judge->registers.values[arch->return_column] & ~judge->sample->code_mask;
	if (!truth_is_behind_call(judge->sample, pc, &target))
		return TRUTH_END_NO_CFI;
	note_call(judge, judge->pc, target);
	judge->registers.known[arch->return_column] = false;
	judge->pc = pc;
	judge->first = judge->exact = false;
	return TRUTH_BY_LINK_REGISTER;
}

/* arm64: a PLT's code, or ret, where x30 is the return address; its header has pushed two words. */
static enum truth_how by_arm_entry(struct judge *judge)
{
	const struct truth_sample *sample = judge->sample;
	enum truth_how how;
	uint64_t pushed;

	if (!judge->first || !judge->exact || !truth_arm_pushed(sample, judge->pc, &pushed))
		return TRUTH_END_NO_CFI;
	how = by_link_register(judge);
	if (how != TRUTH_BY_LINK_REGISTER)
		return how;
	judge->registers.values[sample->arch->sp] += pushed;
	return TRUTH_BY_ENTRY;
}

/* The code shows how much was pushed, unless the call went to an address without code. */
static enum truth_how by_entry(struct judge *judge)
{
	const struct truth_sample *sample = judge->sample;
	uint64_t slot = judge->registers.values[sample->arch->sp], offset = 0;

	if (sample->arch->elf_machine == EM_AARCH64 && truth_find(sample, judge->pc))
		return by_arm_entry(judge);
	if (sample->arch->elf_machine != EM_X86_64 || !judge->first || !judge->exact ||
	    (truth_find(sample, judge->pc) &&
	     !truth_return_address_offset(sample, judge->pc, &offset)))
		return TRUTH_END_NO_CFI;
	slot += offset;
	return take_caller(judge, slot, slot + 8) ? TRUTH_BY_ENTRY : TRUTH_END_NO_CFI;
}

/* The caller's row finds its frame by sp: its frame pointer may be any number. */
static bool needs_no_frame_pointer(struct judge *judge)
{
	Dwarf_Frame *frame = frame_at(judge, judge->pc - 1);
	Dwarf_Op *ops;
	bool result;
	size_t n;

	if (!frame)
		return false;
	result = !dwarf_frame_cfa(frame, &ops, &n) && n == 1 && ops[0].atom == DW_OP_bregx &&
		 ops[0].number == judge->sample->arch->sp;
	free(frame);
	return result;
}

/* {caller's frame pointer, return address} at the frame pointer, on x86-64 and aarch64 alike. */
static enum truth_how by_frame_pointer(struct judge *judge)
{
	const struct truth_sample *sample = judge->sample;
	const uint16_t fp = sample->arch->fp;
	uint64_t record = judge->registers.values[fp], next, pc;
	bool has_sp = !(sample->arch->flags & REEL_ARCH_FRAME_STEP_LOSES_SP);

	if (!judge->registers.known[fp] || !truth_read_word(sample, record, 8, &next) ||
	    (sample->arch->elf_machine == EM_X86_64 && truth_is_in_crt_section(sample, judge->pc)))
		return TRUTH_END_NO_CFI;
	if (!next && truth_read_word(sample, record + 8, 8, &pc) && !pc)
		return TRUTH_END_ZERO;
	if (!take_caller(judge, record + 8, has_sp ? record + 16 : 0) ||
	    (next && (next <= record || next % 8) && !(has_sp && needs_no_frame_pointer(judge))))
		return TRUTH_END_NO_CFI;
	memset(judge->registers.known, 0, sizeof(judge->registers.known));
	memset(judge->kept, 0, sizeof(judge->kept));
	judge->registers.values[fp] = next;
	judge->registers.known[fp] = true;
	judge->registers.known[sample->arch->sp] = has_sp;
	return TRUTH_BY_FRAME_POINTER;
}

/* The number of words above sp that are checked. */
#define FRAME_WORDS_MAX 4096

/*
 * The code is not executed here: our caller must be in the link register, or in the first word
 * above sp that equals it, and the rest of the stack must continue by CFI.
 */
static enum truth_how by_code(struct judge *judge)
{
	const struct truth_sample *sample = judge->sample;
	const uint16_t sp = sample->arch->sp;
	uint64_t at = judge->registers.values[sp], word;
	enum truth_how how;

	if (sample->arch->flags & REEL_ARCH_LINK_REGISTER && judge->first &&
	    judge->registers.known[sample->arch->return_column] &&
	    (judge->registers.values[sample->arch->return_column] & ~sample->code_mask) ==
		    judge->claimed_pc) {
		how = by_link_register(judge);
		return how == TRUTH_BY_LINK_REGISTER ? TRUTH_BY_CODE : how;
	}
	for (unsigned i = 0; judge->registers.known[sp] && i < FRAME_WORDS_MAX; i++, at += 8) {
		if (!truth_read_word(sample, at, 8, &word))
			break;
		if ((word & ~sample->code_mask) != judge->claimed_pc)
			continue;
		return take_caller(judge, at, at + 8) ? TRUTH_BY_CODE : TRUTH_END_NO_CFI;
	}
	return TRUTH_END_NO_CFI;
}

/* At one of the instructions of a trampoline, none of which moves sp; only the first frame may be
 * past the first instruction. */
static bool is_in_trampoline(const struct judge *judge, const char *code, size_t size,
			     size_t second)
{
	const size_t instructions[] = { 0, second, size };

	for (size_t i = 0; i < (judge->first ? 3 : 1); i++)
		if (truth_code_is(judge->sample, judge->pc - instructions[i], code, size))
			return true;
	return false;
}

/*
 * arch/x86/include/asm/sigframe.h and uapi/asm/sigcontext.h; for arm64
 * arch/arm64/kernel/signal.c and uapi/asm/sigcontext.h.
 */
static enum truth_how by_signal_code(struct judge *judge)
{
	/* sigcontext_64: r8 … r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip in DWARF numbers. */
	static const uint8_t order[] = { 8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7, 16 };
	const struct truth_sample *sample = judge->sample;
	uint64_t sp = judge->registers.values[sample->arch->sp];
	struct truth_registers caller = { .known = { false } };

	if (sample->arch->elf_machine == EM_X86_64 &&
	    is_in_trampoline(judge, "\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05", 9, 7)) {
		for (size_t i = 0; i < sizeof(order); i++)
			caller.known[order[i]] = truth_read_word(sample, sp + 40 + 8 * i, 8,
								 &caller.values[order[i]]);
		judge->pc = caller.values[16];
		if (!caller.known[16])
			return TRUTH_END_MEMORY;
	} else if (sample->arch->elf_machine == EM_AARCH64 &&
		   is_in_trampoline(judge, "\x68\x11\x80\xd2\x01\x00\x00\xd4", 8, 4)) {
		for (size_t i = 0; i < 32; i++)
			caller.known[i] = truth_read_word(sample, sp + 128 + 176 + 8 + 8 * i, 8,
							  &caller.values[i]);
		if (!truth_read_word(sample, sp + 128 + 176 + 8 + 8 * 32, 8, &judge->pc))
			return TRUTH_END_MEMORY;
	} else {
		return TRUTH_END_NO_CFI;
	}
	judge->pc &= ~sample->code_mask;
	judge->registers = caller;
	memset(judge->kept, 0, sizeof(judge->kept));
	judge->first = judge->exact = true;
	judge->step->flags |= TRUTH_STEP_SIGNAL;
	return TRUTH_BY_SIGNAL_CODE;
}

/* ---- the chain ------------------------------------------------------------------------------- */

/* _start, as far as its symbol's code without CFI reaches: at most to the next FDE, 64 bytes on. */
static bool is_entry(const struct judge *judge, uint64_t lookup, bool has_cfi)
{
	const struct truth_mapping *mapping = truth_find(judge->sample, lookup);
	uint64_t entry = mapping ? mapping->file->header.e_entry : 0;

	if (!entry || lookup - mapping->bias < entry)
		return false;
	return lookup - mapping->bias == entry || (!has_cfi && lookup - mapping->bias - entry < 64);
}

/*
 * A signal frame by its trampoline's code, despite a row: the row belongs to the preceding
 * function, or (arm64's and riscv64's vDSO) has S without locating the registers.
 */
static bool is_for_code(const struct judge *judge, Dwarf_Frame *frame)
{
	Dwarf_Addr start, end;
	bool signal;

	return judge->claimed == REEL_STEP_SIGNAL &&
	       (dwarf_frame_info(frame, &start, &end, &signal) < 0 || !signal ||
		judge->sample->arch->flags & REEL_ARCH_LINK_REGISTER);
}

static enum truth_how step(struct judge *judge)
{
	uint64_t lookup = judge->exact ? judge->pc : judge->pc - 1;
	Dwarf_Frame *frame;
	enum truth_how how;

	judge->step->lookup = lookup;
	frame = frame_at(judge, lookup);
	if (is_entry(judge, lookup, frame)) {
		free(frame);
		return TRUTH_END_ENTRY;
	}
	/* The row of a compiler that does not describe epilogues. */
	if (frame && judge->claimed == REEL_STEP_UNDO_CALL) {
		free(frame);
		return by_arm_entry(judge);
	}
	if (frame && !is_for_code(judge, frame)) {
		how = step_by_frame(judge, frame);
		free(frame);
		return how;
	}
	how = by_signal_code(judge);
	if (how == TRUTH_END_NO_CFI && frame)
		how = step_by_frame(judge, frame);
	free(frame);
	if (how != TRUTH_END_NO_CFI)
		return how;
	/* Our claim selects one of these, and must hold. */
	switch (judge->claimed) {
	case REEL_STEP_UNDO_CALL:
		return by_entry(judge);
	case REEL_STEP_LINK_REGISTER:
		return by_link_register(judge);
	case REEL_STEP_FRAME_POINTER:
		return by_frame_pointer(judge);
	case REEL_STEP_SYNTHESIZED:
		return by_code(judge);
	default:
		return truth_find(judge->sample, lookup) ? TRUTH_END_NO_CFI : TRUTH_END_NO_FILE;
	}
}

static bool same_region(const struct truth_sample *sample, uint64_t a, uint64_t b)
{
	for (size_t i = 0; i < sample->sample->n_regions; i++) {
		const struct reel_region *region = &sample->sample->regions[i];

		if (a - region->address <= region->size && b - region->address <= region->size)
			return true;
	}
	return false;
}

static struct truth_step *add_step(struct truth_verdict *verdict, const struct judge *judge)
{
	const uint16_t sp = judge->sample->arch->sp;

	if (verdict->n == verdict->capacity) {
		verdict->capacity = verdict->capacity ? 2 * verdict->capacity : 256;
		verdict->steps =
			reallocarray(verdict->steps, verdict->capacity, sizeof(*verdict->steps));
		if (!verdict->steps)
			err(2, "memory");
	}
	verdict->steps[verdict->n] = (struct truth_step){
		.pc = judge->pc,
		.sp = judge->registers.known[sp] ? judge->registers.values[sp] : 0,
	};
	return &verdict->steps[verdict->n++];
}

/* Does ours end correctly? */
static bool ends_so(enum truth_how how, enum reel_stop stop)
{
	switch (how) {
	case TRUTH_END_ROOT:
	case TRUTH_END_ENTRY:
	case TRUTH_END_ZERO:
		return stop == REEL_STOP_ROOT;
	case TRUTH_END_MEMORY:
		return stop == REEL_STOP_STACK_END || stop == REEL_STOP_STACK_CUT ||
		       stop == REEL_STOP_NO_USER_STATE;
	case TRUTH_END_REGISTER:
		return stop == REEL_STOP_REGISTER_UNKNOWN;
	case TRUTH_END_NO_CFI:
		return stop == REEL_STOP_NO_UNWIND_INFO;
	case TRUTH_END_NO_FILE:
		return stop == REEL_STOP_MODULE_MISSING || stop == REEL_STOP_NO_MAPPING ||
		       stop == REEL_STOP_NO_UNWIND_INFO;
	default:
		return false;
	}
}

/*
 * A thread's first instruction, after the system call that created it; or a frame that was not
 * entered by a call.
 */
static bool begins_so(const struct judge *judge, enum reel_stop stop)
{
	uint64_t ignored;

	return judge->step->how == TRUTH_END_NO_CFI && stop == REEL_STOP_ROOT &&
	       (judge->step->flags & TRUTH_STEP_BEHIND_SYSCALL ||
		!truth_is_behind_call(judge->sample, judge->pc, &ignored));
}

void truth_judge(const struct truth_sample *sample, struct truth_verdict *ret)
{
	const uint16_t sp = sample->arch->sp;
	struct judge judge = {
		.sample = sample,
		.pc = sample->pc & ~sample->code_mask,
		.first = true,
		.exact = !truth_is_behind_syscall(sample, sample->pc),
	};

	memcpy(judge.registers.values, sample->registers, sizeof(sample->registers));
	memcpy(judge.registers.known, sample->known, sizeof(sample->known));
	ret->n = ret->confirmed = 0;
	ret->other = 0;
	ret->whole = false;
	if (!sample->n_ours || judge.pc != sample->ours[0])
		return;
	for (size_t i = 0; i < sample->n_ours; i++) {
		uint64_t before;

		ret->confirmed = i + 1;
		judge.claimed = i + 1 < sample->n_ours ? (enum reel_step)sample->steps[i + 1]
						       : REEL_STEP_CFI;
		judge.claimed_pc = i + 1 < sample->n_ours ? sample->ours[i + 1] : 0;
		judge.step = add_step(ret, &judge);
		before = judge.step->sp;
		if (!i && !judge.exact)
			judge.step->flags |= TRUTH_STEP_BEHIND_SYSCALL;
		judge.step->how = step(&judge);
		if (judge.step->how >= TRUTH_END_ROOT) {
			ret->whole = i + 1 == sample->n_ours &&
				     (ends_so(judge.step->how, sample->trace->stop) ||
				      begins_so(&judge, sample->trace->stop));
			return;
		}
		if (judge.registers.known[sp] &&
		    (judge.registers.values[sp] < before ||
		     !same_region(sample, before, judge.registers.values[sp])))
			judge.step->flags |= TRUTH_STEP_OTHER_STACK;
		/* Nothing returns to 0; a signal may have interrupted a jump to it. */
		if (!judge.pc && !judge.exact) {
			judge.step->how = TRUTH_END_ZERO;
			ret->whole =
				i + 1 == sample->n_ours && sample->trace->stop == REEL_STOP_ROOT;
			return;
		}
		/* Nor is a call nowhere. */
		if (i + 1 == sample->n_ours && sample->trace->stop == REEL_STOP_NO_MAPPING &&
		    !judge.exact && !truth_find(sample, judge.pc - 1)) {
			judge.step->how = TRUTH_END_NO_FILE;
			ret->whole = true;
			return;
		}
		if (i + 1 == sample->n_ours || judge.pc != sample->ours[i + 1]) {
			ret->other = judge.pc;
			return;
		}
	}
}

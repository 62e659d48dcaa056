/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why an oracle's chain differs from ours.  Every reason is checked with the sample's bytes and
 * libdw's rows; a difference without such a reason is unexplained.
 */
#include <stdio.h>
#include <string.h>

#include "tests/truth/difference.h"
#include "tests/truth/incomplete.h"
#include "tests/truth/target_code.h"

static uint32_t word_at(const struct truth_sample *sample, uint64_t address)
{
	uint8_t code[4];

	if (!truth_read_file(sample, address, sizeof(code), code))
		return 0;
	return code[0] | code[1] << 8 | code[2] << 16 | (uint32_t)code[3] << 24;
}

/*
 * Code without CFI that has made no frame up to the frame's pc: on x86-64 the judge has derived the
 * distance of the return address from the instruction; on aarch64 none of the function's
 * instructions up to pc moves sp (`stp x, y, [sp, #-n]!`, `sub sp, sp, #n`, Arm ARM C6.2).
 */
static bool keeps_no_frame_pointer(const struct truth_sample *sample,
				   const struct truth_verdict *verdict, size_t i)
{
	const struct reel_frame *frame = sample->frames[i];
	uint64_t pc = verdict->steps[i].pc, from;

	if (verdict->steps[i].how == TRUTH_BY_ENTRY)
		return true;
	if (verdict->steps[i].how != TRUTH_BY_LINK_REGISTER)
		return false;
	/* A stub without a symbol is at most as long as a PLT's entry, 16 bytes. */
	from = pc - (*frame->function ? frame->function_offset : 12);
	for (; from < pc; from += 4) {
		uint32_t word = word_at(sample, from);

		if ((word & 0xffc003e0) == 0xa98003e0 || (word & 0xff0003ff) == 0xd10003ff)
			return false;
	}
	return true;
}

/*
 * An oracle that continues past the end: the word it uses as a return address does not follow a
 * call.
 */
static bool is_no_return_address(const struct truth_sample *sample, uint64_t pc)
{
	uint64_t target;

	return !truth_find(sample, pc - 1) || !truth_is_behind_call(sample, pc, &target);
}

/*
 * On a step by the frame pointer on x86-64, libunwind keeps the sp it came with, plus 16, as the
 * caller's (unw_step in src/x86_64/Gstep.c: c->dwarf.cfa += 16); the right one is 16 above the
 * frame pointer. A CFA based on sp is wrong by the difference, and so is the place of the return
 * address.
 */
static bool has_callees_sp(const struct truth_sample *sample, const struct truth_verdict *verdict,
			   size_t last, const struct truth_chain *oracle)
{
	const struct truth_step *step = &verdict->steps[last];
	uint64_t sp, pc;
	size_t first = last;

	while (first && verdict->steps[first - 1].how == TRUTH_BY_FRAME_POINTER)
		first--;
	if (first == last || step->how != TRUTH_BY_CFI || !step->slot || !step->sp ||
	    !verdict->steps[first].sp)
		return false;
	sp = verdict->steps[first].sp + 16 * (last - first);
	if (sp == step->sp)
		return false;
	if (!truth_read_word(sample, step->slot - step->sp + sp, 8, &pc))
		pc = 0;
	return pc == (last + 1 < oracle->n ? oracle->pcs[last + 1] : 0);
}

/* The step at which the oracle leaves our chain, which is right. NULL: no known reason. */
static const char *reason_to_leave(const struct truth_sample *sample,
				   const struct truth_verdict *verdict, size_t last,
				   const struct truth_chain *oracle, bool is_libdw)
{
	const struct truth_step *step = &verdict->steps[last];
	const bool stops = last + 1 == oracle->n;

	if (step->flags & TRUTH_STEP_NEEDS_POPPED)
		return "the CFA is based on a register that was popped: its slot is below sp";
	if (step->flags & TRUTH_STEP_ROW_ENDS)
		return "after a system call: the row of its instruction ends there; it uses the "
		       "next row";
	if (is_libdw && step->flags & TRUTH_STEP_NEEDS_RBX)
		return "the CFA is based on rbx; its rules for the ABI keep rax instead";
	if (!is_libdw && last && step[-1].flags & TRUTH_STEP_SP_RULE)
		return "the CFI has a rule for sp; it uses the CFA";
	if (!is_libdw && has_callees_sp(sample, verdict, last, oracle))
		return "after a step by the frame pointer, which leaves it the callee's sp";
	if (last && step[-1].flags & TRUTH_STEP_LANDING_PAD)
		return "a landing pad, not after a call; it looks up the preceding byte";
	for (size_t i = 0; i <= last; i++)
		if (keeps_no_frame_pointer(sample, verdict, i))
			return "code without CFI that keeps no frame pointer; it uses another "
			       "frame's";
	for (size_t i = 0; i <= last; i++)
		if (verdict->steps[i].how == TRUTH_BY_CODE)
			return "no CFI; by what the code does, after a call";
	if (stops && step->how == TRUTH_BY_FRAME_POINTER)
		return "no CFI; by the frame pointer, after a call";
	if (step->how == TRUTH_BY_SIGNAL_CODE)
		return "no CFI; the kernel's signal frame, by the trampoline's code";
	return NULL;
}

static const char *reason(const struct truth_sample *sample, const struct truth_verdict *verdict,
			  const struct truth_chain *oracle, size_t common, bool is_libdw)
{
	const struct truth_step *end = &verdict->steps[verdict->n - 1];

	if (!verdict->whole || !common)
		return NULL;
	if (common < sample->n_ours)
		return reason_to_leave(sample, verdict, common - 1, oracle, is_libdw);
	/* Ours ends here, as the rows require. */
	if (end->how == TRUTH_END_ROOT)
		return "the CFI marks the outermost frame; it goes on";
	if (end->how == TRUTH_END_NO_FILE && truth_frame_being_replaced(sample) < sample->n_ours)
		return "a frame that uw_install_context is overwriting; it goes on with the "
		       "remaining registers";
	if (is_no_return_address(sample, oracle->pcs[common]))
		return "nothing shows how to go on; its return address is not one";
	return NULL;
}

void truth_difference_find(const struct truth_sample *sample, const struct truth_verdict *verdict,
			   const struct truth_chain *oracle, bool is_libdw,
			   struct truth_difference *ret)
{
	const size_t n = sample->n_ours, m = oracle->n;
	const char *what, *why;
	size_t k = 0;

	while (k < n && k < m && sample->ours[k] == oracle->pcs[k])
		k++;
	ret->common = k;
	ret->explained = true;
	if (k == n && k == m) {
		snprintf(ret->class, sizeof(ret->class), "equal");
		return;
	}
	what = k == m ? "ours longer" : k == n ? "ours shorter" : "different";
	why = reason(sample, verdict, oracle, k, is_libdw);
	ret->explained = why;
	if (why)
		snprintf(ret->class, sizeof(ret->class), "%s: %s", what, why);
	else
		snprintf(ret->class, sizeof(ret->class), "%s: step by %s, flags %x; it reports: %s",
			 what,
			 k && k <= verdict->n ? truth_how_names[verdict->steps[k - 1].how] : "?",
			 k && k <= verdict->n ? verdict->steps[k - 1].flags : 0,
			 *oracle->end ? oracle->end : "the end");
}

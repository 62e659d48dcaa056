/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "tests/truth/incomplete.h"
#include "tests/truth/target_code.h"

static bool is_one_of(const char *name, const char *const *names)
{
	for (; *names; names++)
		if (!strcmp(name, *names))
			return true;
	return false;
}

/*
 * GCC, libgcc/unwind.inc and unwind-dw2.c: uw_install_context is at the end of each of these. It
 * copies the landing pad's registers, and last the return address, over those that this very frame
 * has saved, and then lets __builtin_eh_return move sp by an offset that is only in a register.
 * From the first copy to the jump the CFI, which does not describe this, finds the next frame with
 * a wrong sp.  The code ends in mov %rcx,%rsp; pop %rcx; jmp *%rcx.
 */
size_t truth_frame_being_replaced(const struct truth_sample *sample)
{
	static const char *const names[] = { "_Unwind_RaiseException", "_Unwind_Resume",
					     "_Unwind_Resume_or_Rethrow", "_Unwind_ForcedUnwind",
					     NULL };
	static const uint8_t leave[] = { 0x48, 0x89, 0xcc, 0x59, 0xff, 0xe1 };
	uint8_t code[128 + sizeof(leave)];

	/* The function itself, or its callee. */
	for (size_t i = 0; i < sample->n_ours && i < 2; i++) {
		if (sample->arch->elf_machine != EM_X86_64 ||
		    !is_one_of(sample->frames[i]->function, names) ||
		    !truth_read_file(sample, sample->ours[i], sizeof(code), code))
			continue;
		if (memmem(code, sizeof(code), leave, sizeof(leave)))
			return i;
	}
	return sample->n_ours;
}

/* None of the regions has the needed bytes, and the capture marks their pages as missing. */
static bool is_missing(const struct truth_sample *sample, const struct truth_verdict *verdict)
{
	const struct truth_step *end = &verdict->steps[verdict->n - 1];
	uint64_t needed = end->slot ? end->slot : end->sp;

	if (!verdict->whole || end->how != TRUTH_END_MEMORY)
		return false;
	for (size_t i = 0; i < sample->sample->n_regions; i++) {
		const struct reel_region *region = &sample->sample->regions[i];

		for (size_t j = 0; j < region->n_missing; j++)
			if (needed - region->address - region->missing[j].offset <
			    region->missing[j].size)
				return true;
	}
	return false;
}

/* None of these has CFI, by their authors' choice. */
static const char *reason_by_name(const char *function)
{
	static const char *const clones[] = { "clone", "__clone", "clone3", "__clone3", NULL };

	if (is_one_of(function, clones))
		return "clone.S and clone3.S end their FDE before the system call: the child's "
		       "stack differs";
	return NULL;
}

/* A signal frame's sp leads to a stack that was not recorded. */
static bool is_on_other_stack(const struct truth_sample *sample,
			      const struct truth_verdict *verdict)
{
	uint64_t sp = verdict->steps[verdict->n - 1].sp;
	uint8_t byte;

	if (!verdict->whole || verdict->steps[verdict->n - 1].how != TRUTH_END_MEMORY || !sp ||
	    truth_read_stack(sample, sp, 1, &byte))
		return false;
	for (size_t i = 0; i + 1 < verdict->n; i++)
		if (verdict->steps[i].flags & TRUTH_STEP_SIGNAL &&
		    verdict->steps[i].flags & TRUTH_STEP_OTHER_STACK)
			return true;
	return false;
}

const char *truth_incomplete_reason(const struct truth_sample *sample,
				    const struct truth_verdict *verdict, bool one_stack)
{
	const struct reel_frame *last;

	if (!sample->n_ours || !verdict->n)
		return NULL;
	last = sample->frames[sample->n_ours - 1];
	if (truth_frame_being_replaced(sample) < sample->n_ours)
		return "libgcc's uw_install_context is overwriting the frame, without CFI";
	if (sample->trace->stop == REEL_STOP_NO_UNWIND_INFO) {
		if (truth_is_in_crt_section(sample, verdict->steps[verdict->n - 1].lookup))
			return "crti.S and crtn.S, the parts of .init and .fini, have no CFI";
		if (truth_is_in_crtstuff(sample, verdict->steps[verdict->n - 1].lookup))
			return "GCC builds crtstuff.c without CFI (CRTSTUFF_CFLAGS)";
		return reason_by_name(last->function);
	}
	if (is_missing(sample, verdict))
		return "the page could not be read, which the capture states";
	if (one_stack && is_on_other_stack(sample, verdict))
		return "the handler runs on an alternate stack, and the interrupted stack was not "
		       "recorded";
	return NULL;
}

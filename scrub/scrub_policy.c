/* SPDX-License-Identifier: Apache-2.0 */
/* The form of a process's words. */
#include "scrub/scrub_internal.h"

/* Linux before 5.17 put the code of s390x's signal trampolines on the stack. */
static void add_trampolines(struct scrub_policy *policy, const struct reel_arch *arch)
{
	for (size_t i = 0; i < arch->n_signal_frames && policy->n_code < SCRUB_CODE_MAX; i++) {
		const struct reel_arch_signal_frame *frame = &arch->signal_frames[i];

		if (frame->size <= policy->word_size)
			policy->code[policy->n_code++] =
				(struct reel_bytes){ frame->code, frame->size };
	}
}

struct scrub_policy reel_scrub_policy_of(const struct reel_elf_kind *native,
					 const struct reel_space_state *space)
{
	bool is_known = space && space->machine;
	uint16_t machine = is_known ? (uint16_t)space->machine : native->machine;
	unsigned bits =
		is_known && space->word_bits ? (unsigned)space->word_bits : native->word_bits;
	const struct reel_arch *arch = reel_arch_by_machine(machine, bits);
	struct scrub_policy policy = {
		.arch = arch,
		.word_size = bits == 32 ? 4 : 8,
		.big_endian =
			(space && space->byte_order ? space->byte_order : native->byte_order) ==
			REEL_BYTE_ORDER_BIG,
		.code_mask = space ? space->code_mask : 0,
		.data_mask = space ? space->data_mask : 0,
	};

	/* Without a mask pointer authentication is unknown: the unwinder then strips these bits,
	 * and everything it can follow must stay. */
	if (arch && !policy.code_mask)
		policy.code_mask = arch->default_code_mask;
	if (arch && arch->flags & REEL_ARCH_STACK_TRAMPOLINES)
		add_trampolines(&policy, arch);
	return policy;
}

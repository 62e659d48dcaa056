/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of the caller at an instruction, in terms of the registers there. Internal to
 * replay/code/. */
#ifndef REPLAY_CODE_FACTS_H
#define REPLAY_CODE_FACTS_H

#include "replay/code/instruction.h"
#include "cfi/row.h"

struct reel_facts {
	struct reel_value cfa, return_address;
	uint64_t by; /* enum reel_synthesized_by; all 8 bytes count */
	/* The caller's, by slot.  Not sp, pc and the return address's: they follow from the others.
	 */
	struct reel_value registers[REEL_ARCH_SLOTS_MAX];
};

/* Bytes of it that count: all that the CPU's registers need. */
static inline size_t reel_facts_size(const struct reel_arch *arch)
{
	return offsetof(struct reel_facts, registers) +
	       arch->n_registers * sizeof(struct reel_value);
}

/*
 * What holds before an instruction, if `facts` hold behind it; false if CFA or return address are
 * not known then.
 */
bool reel_facts_before(const struct reel_arch *arch, const struct reel_instruction *instruction,
		       struct reel_facts *facts);

/* What holds right behind a call to here, and so before a return; `through` is the register that
 * the return goes through, REEL_ARCH_NO_SLOT if that is the usual one or memory. */
bool reel_facts_at_return(const struct reel_arch *arch, uint8_t through, struct reel_facts *ret);
/* What a row of CFI says; false if it says more than facts can. */
bool reel_facts_of_row(const struct reel_arch *arch, const struct reel_cfi_row *row,
		       struct reel_facts *ret);

/* The facts as a row of rules; its expressions are written to `expressions`, which must outlive
 * it: room for REEL_FACTS_EXPRESSIONS bytes. */
#define REEL_FACTS_EXPRESSION  24
#define REEL_FACTS_EXPRESSIONS ((REEL_ARCH_SLOTS_MAX + 2) * REEL_FACTS_EXPRESSION)
/* False if that cannot be told by rules. *size_ret: the bytes of expressions. */
bool reel_facts_to_row(const struct reel_arch *arch, const struct reel_facts *facts,
		       uint8_t *expressions, size_t *size_ret, struct reel_cfi_row *ret);

#endif

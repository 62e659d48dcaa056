/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about the caller at an instruction, in terms of the registers there.  Internal to
 * replay/synthesis/. */
#ifndef REPLAY_SYNTHESIS_FACTS_H
#define REPLAY_SYNTHESIS_FACTS_H

#include "replay/synthesis/instruction.h"
#include "cfi/row.h"

struct reel_facts {
	struct reel_value cfa, return_address;
	uint64_t by; /* enum reel_synthesized_by; all 8 bytes are compared */
	/* The caller's, by slot, except sp, pc and the return address, which follow from others. */
	struct reel_value registers[REEL_ARCH_SLOTS_MAX];
};

/* Used bytes of the struct, for the CPU's registers. */
static inline size_t reel_facts_size(const struct reel_arch *arch)
{
	return offsetof(struct reel_facts, registers) +
	       arch->n_registers * sizeof(struct reel_value);
}

/*
 * The facts before an instruction, from `facts` after it; false if CFA or return address become
 * unknown.
 */
bool reel_facts_before(const struct reel_arch *arch, const struct reel_instruction *instruction,
		       struct reel_facts *facts);

/* The facts right after a call to here, and so before a return; `through` is the return's register,
 * REEL_ARCH_NO_SLOT if that is the usual one or memory. */
bool reel_facts_at_return(const struct reel_arch *arch, uint8_t through, struct reel_facts *ret);
/* The facts of a CFI row; false if facts cannot express it. */
bool reel_facts_of_row(const struct reel_arch *arch, const struct reel_cfi_row *row,
		       struct reel_facts *ret);

/* The facts as a row of rules, with its expressions in `expressions`, which must outlive the row
 * and have room for REEL_FACTS_EXPRESSIONS bytes. */
#define REEL_FACTS_EXPRESSION  24
#define REEL_FACTS_EXPRESSIONS ((REEL_ARCH_SLOTS_MAX + 2) * REEL_FACTS_EXPRESSION)
/* False if rules cannot express the facts.  *size_ret: the bytes of expressions. */
bool reel_facts_to_row(const struct reel_arch *arch, const struct reel_facts *facts,
		       uint8_t *expressions, size_t *size_ret, struct reel_cfi_row *ret);

/*
 * By returns.c; lock the synthesis.  The facts at an address: those with the CFA and the return
 * address of `expected`, or if that is NULL, the only ones; false if the code's returns give none.
 */
struct reel_synthesis;
bool reel_returns_facts(struct reel_synthesis *synthesis, uint64_t address,
			const struct reel_facts *expected, struct reel_facts *ret);
/* The facts' row; NULL if it has none. */
const struct reel_row *reel_returns_row(struct reel_synthesis *synthesis,
					const struct reel_facts *facts);

#endif

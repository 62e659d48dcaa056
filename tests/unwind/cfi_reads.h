/* SPDX-License-Identifier: Apache-2.0 */
/* The inputs of a CFI expression, and whether scrubbing keeps them (SPEC.md, 8.1). */
#ifndef TESTS_UNWIND_CFI_READS_H
#define TESTS_UNWIND_CFI_READS_H

#include <elfutils/libdw.h>

#include "arch/arch.h"

enum cfi_reads {
	CFI_READS_ADDRESSES,   /* sp, fp, pc, the CFA, and words that are addresses */
	CFI_READS_COUNT,       /* a count of arch/, in its one form */
	CFI_READS_UNRECORDED,  /* a register that no sample has, such as AArch64's VG */
	CFI_READS_OTHER,       /* a different register, scrubbed unless it is an address */
	CFI_READS_WORD_NUMBER, /* computes with a memory word in a way not used for addresses */
	CFI_READS_KINDS,
};

extern const char *const cfi_reads_names[CFI_READS_KINDS];

/* For a rule's operations, as libdw returns them. */
enum cfi_reads cfi_reads(const struct reel_arch *arch, const Dwarf_Op *ops, size_t nops);

/* Whether scrubbing removes an input of the expression. */
static inline bool cfi_reads_scrubbed(enum cfi_reads reads)
{
	return reads == CFI_READS_OTHER || reads == CFI_READS_WORD_NUMBER;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Compares our rule with libdw's for the same register in the same row. */
#ifndef TESTS_UNWIND_CFI_RULES_H
#define TESTS_UNWIND_CFI_RULES_H

#include <elfutils/libdw.h>

#include "cfi/cfi.h"

/* Registers without a rule in CIE and FDE use the ABI's defaults: ours in arch/, libdw's in its
 * backends. Each difference is listed by name, with the reason. */
#define N_EXEMPTIONS 8

extern const char *const exemption_names[N_EXEMPTIONS];

/*
 * The number of the exemption that lets `rule` differ from libdw's answer, which was
 * same_value or undefined; N_EXEMPTIONS if none does.
 */
size_t default_exemption(const struct reel_arch *arch, unsigned reg,
			 const struct reel_cfi_rule *rule, const struct reel_cfi_rule *our_default,
			 bool libdw_same);

/* As dwarf_frame_register returns it: no operations mean same_value if `ops` is NULL, else
 * undefined.
 */
bool same_rule(const struct reel_cfi_rule *rule, const Dwarf_Op *ops, size_t nops, bool big_endian);
bool same_cfa(const struct reel_cfi_rule *rule, const Dwarf_Op *ops, size_t nops, bool big_endian);

#endif

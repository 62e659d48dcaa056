/* SPDX-License-Identifier: Apache-2.0 */
/* A rule of ours against what libdw says of the same register in the same row. */
#ifndef TESTS_CFI_RULES_H
#define TESTS_CFI_RULES_H

#include <elfutils/libdw.h>

#include "cfi/cfi.h"

/* Registers of which neither CIE nor FDE says anything, so that the ABI's defaults do: ours in
 * arch/, libdw's in its backends.  Where those differ it is by name, with the reason. */
#define N_EXEMPTIONS 8

extern const char *const exemption_names[N_EXEMPTIONS];

/*
 * The number of the exemption that lets `rule` differ from libdw's answer, which was
 * same_value or undefined; N_EXEMPTIONS if none does.
 */
size_t default_exemption(const struct reel_arch *arch, unsigned reg,
			 const struct reel_cfi_rule *rule, const struct reel_cfi_rule *our_default,
			 bool libdw_same);

/* As dwarf_frame_register gives it: no operations are same_value with `ops` NULL, else undefined.
 */
bool same_rule(const struct reel_cfi_rule *rule, const Dwarf_Op *ops, size_t nops, bool big_endian);
bool same_cfa(const struct reel_cfi_rule *rule, const Dwarf_Op *ops, size_t nops, bool big_endian);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ELF_OPERAND_H
#define ELF_OPERAND_H

#include <stdint.h>

/*
 * The address named by the operand at `code`, which is at `address`: a call's target; for a PLT
 * stub, the word of the GOT.  `got` is DT_PLTGOT, `kind` one of enum reel_arch_address; `code` must
 * have the operand's full size.
 */
uint64_t reel_operand_address(unsigned kind, const uint8_t *code, uint64_t address, uint64_t got);

#endif

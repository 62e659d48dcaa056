/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ELF_OPERAND_H
#define ELF_OPERAND_H

#include <stdint.h>

/*
 * The address that the operand at `code` names, which lies at `address`: of a call, its target; of
 * a PLT's stub, the word of the GOT.  `got` is DT_PLTGOT, `kind` one of enum reel_arch_address; as
 * many bytes must be there as that has.
 */
uint64_t reel_operand_address(unsigned kind, const uint8_t *code, uint64_t address, uint64_t got);

#endif

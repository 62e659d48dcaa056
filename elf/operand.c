/* SPDX-License-Identifier: Apache-2.0 */
#include "arch/arch.h"
#include "base/bytes.h"
#include "base/dwarf_cursor.h"
#include "elf/operand.h"

uint64_t reel_operand_address(unsigned kind, const uint8_t *code, uint64_t address, uint64_t got)
{
	uint32_t first = reel_load32(code), second;

	switch ((enum reel_arch_address)kind) {
	case REEL_ARCH_OPERAND_NONE:
		break;
	case REEL_ARCH_OPERAND_PC32:
		return address + 4 + reel_sign_extend(first, 32);
	case REEL_ARCH_OPERAND_ABS32:
		return first;
	case REEL_ARCH_OPERAND_GOT32:
		return (uint32_t)(got + first);
	case REEL_ARCH_OPERAND_ADRP:
		second = reel_load32(code + 4);
		return (address & ~(uint64_t)0xfff) +
		       (reel_sign_extend((first >> 5 & 0x7ffff) << 2 | (first >> 29 & 3), 21)
			<< 12) +
		       (second >> 10 & 0xfff) * 8;
	case REEL_ARCH_OPERAND_BL:
		return address + 4 * reel_sign_extend(first & 0x3ffffff, 26);
	case REEL_ARCH_OPERAND_AUIPC:
		second = reel_load32(code + 4);
		return address + reel_sign_extend(first & 0xfffff000, 32) +
		       reel_sign_extend(second >> 20, 12);
	case REEL_ARCH_OPERAND_JAL:
		return address + reel_sign_extend((first >> 31 & 1) << 20 |
							  (first >> 12 & 0xff) << 12 |
							  (first >> 20 & 1) << 11 |
							  (first >> 21 & 0x3ff) << 1,
						  21);
	case REEL_ARCH_OPERAND_LARL:
		return address - 2 + 2 * reel_sign_extend(reel_load_target(code, 4, true), 32);
	}
	return 0;
}

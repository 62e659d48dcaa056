/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "arch/arch.h"

extern const struct reel_arch reel_arch_x86_64;
extern const struct reel_arch reel_arch_aarch64;
extern const struct reel_arch reel_arch_riscv64;
extern const struct reel_arch reel_arch_s390x;
extern const struct reel_arch reel_arch_i386;

const struct reel_arch *const reel_arch_all[] = {
	&reel_arch_x86_64, &reel_arch_aarch64, &reel_arch_riscv64,
	&reel_arch_s390x,  &reel_arch_i386,    NULL,
};

const struct reel_arch *reel_arch_by_machine(uint16_t elf_machine, unsigned word_bits)
{
	for (const struct reel_arch *const *arch = reel_arch_all; *arch; arch++) {
		if ((*arch)->elf_machine == elf_machine &&
		    (!word_bits || (*arch)->word_size * 8u == word_bits))
			return *arch;
	}
	return NULL;
}

const struct reel_arch *reel_arch_by_name(const char *name)
{
	for (const struct reel_arch *const *arch = reel_arch_all; *arch; arch++) {
		if (!strcmp((*arch)->name, name))
			return *arch;
	}
	return NULL;
}

uint8_t reel_arch_slot(const struct reel_arch *arch, uint64_t dwarf)
{
	/* The tables are dense at their start: usually a number is its own slot. */
	if (dwarf < arch->n_registers && arch->registers[dwarf].dwarf == dwarf)
		return (uint8_t)dwarf;
	for (uint8_t slot = 0; slot < arch->n_registers; slot++) {
		if (arch->registers[slot].dwarf == dwarf)
			return slot;
	}
	return REEL_ARCH_NO_SLOT;
}

const struct reel_arch_register *reel_arch_register(const struct reel_arch *arch, uint64_t dwarf)
{
	uint8_t slot = reel_arch_slot(arch, dwarf);

	return slot == REEL_ARCH_NO_SLOT ? NULL : &arch->registers[slot];
}

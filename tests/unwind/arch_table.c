/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the table of a CPU:  arch_table ARCH
 *
 * A line for each register: name, DWARF number, perf's number (-1: none), and for each signal frame
 * its offset from the frame's CFA (-: not saved).
 */
#include <err.h>
#include <stdio.h>

#include "cfi/cfi.h"

int main(int argc, char **argv)
{
	const struct reel_arch *arch = argc == 2 ? reel_arch_by_name(argv[1]) : NULL;

	if (!arch)
		errx(2, "usage: arch_table ARCH");
	for (size_t i = 0; i < arch->n_registers; i++) {
		const struct reel_arch_register *reg = &arch->registers[i];

		printf("%s %u %d", reg->name, reg->dwarf, reg->perf);
		for (size_t j = 0; j < arch->n_signal_frames; j++) {
			struct reel_cfi_row row;

			if (!reel_cfi_run_program(arch, arch->signal_frames[j].program, &row))
				errx(1, "signal frame %zu", j);
			if (row.rules[reg->dwarf].kind == REEL_RULE_OFFSET)
				printf(" %lld",
				       (long long)(row.cfa.offset + row.rules[reg->dwarf].offset));
			else
				printf(" -");
		}
		putchar('\n');
	}
	return 0;
}

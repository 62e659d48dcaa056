/* SPDX-License-Identifier: Apache-2.0 */
/* How Linux lays out the notes of core files, for each CPU. */
#ifndef REPLAY_CORE_CORE_LAYOUT_H
#define REPLAY_CORE_CORE_LAYOUT_H

#include "arch/arch.h"

/* Registers `first`, `first` + 1 …, `count` of them, at `offset`, `offset` + `step` … */
struct reel_core_registers {
	uint16_t first; /* DWARF number */
	uint16_t count;
	uint16_t offset; /* in the note */
	int16_t step;
};

/* A note with registers; integer registers are in NT_PRSTATUS, after its head. */
struct reel_core_register_note {
	uint32_t type; /* ELF's NT_... */
	uint16_t size; /* of its descriptor */
	const struct reel_core_registers *runs;
	size_t n_runs;
};

struct reel_core_layout {
	uint16_t machine;
	uint8_t word_size;
	/* The type of user and group ids in NT_PRPSINFO, in bytes (__kernel_uid_t). */
	uint8_t id_size;
	const struct reel_core_register_note *notes; /* NT_PRSTATUS first */
	size_t n_notes;
};

/* NULL if unknown. */
const struct reel_core_layout *reel_core_layout_of(const struct reel_arch *arch);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Preparation for capstone's first instruction.  Internal to replay/synthesis/. */
#ifndef REPLAY_SYNTHESIS_CAPSTONE_ROOM_H
#define REPLAY_SYNTHESIS_CAPSTONE_ROOM_H

#include <capstone/capstone.h>
#include <stdlib.h>

/* More than the size of capstone's tables, but too little for free() to return it to the system. */
#define REEL_CAPSTONE_TABLES_SIZE (64 << 10)

/*
 * Capstone 4 allocates a table of some KB when it decodes the first x86 instruction (insn_find in
 * utils.c), and writes to it without checking for NULL.  So decode one here, right after checking
 * that the memory is available.
 */
static inline bool reel_capstone_has_room(csh handle, cs_insn *instruction)
{
	static const uint8_t nop[] = { 0x90 };
	void *room = malloc(REEL_CAPSTONE_TABLES_SIZE);
	const uint8_t *at = nop;
	size_t left = sizeof(nop);
	uint64_t address = 0;

	free(room);
	return room && cs_disasm_iter(handle, &at, &left, &address, instruction);
}

#endif

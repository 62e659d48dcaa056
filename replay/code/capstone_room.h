/* SPDX-License-Identifier: Apache-2.0 */
/* What has to be done before capstone's first instruction. Internal to replay/code/. */
#ifndef REPLAY_CODE_CAPSTONE_ROOM_H
#define REPLAY_CODE_CAPSTONE_ROOM_H

#include <capstone/capstone.h>
#include <stdlib.h>

/* More than capstone's tables take; little enough for malloc not to give it back when freed. */
#define REEL_CAPSTONE_TABLES_SIZE (64 << 10)

/*
 * Capstone 4 makes a table of some KB when it decodes x86's first instruction (insn_find in
 * utils.c), and writes to it without asking whether there was memory.  So that is done here, where
 * the memory has just been seen to be there.
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

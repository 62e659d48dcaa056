/* SPDX-License-Identifier: Apache-2.0 */
/* The SPACE record of a process that starts, forks, or runs another program: shared by the
 * recorder, which sees it happen, and import. */
#ifndef FORMAT_TIMELINE_SPACE_START_H
#define FORMAT_TIMELINE_SPACE_START_H

#include "base/elf_identity.h"
#include "format/record.h"

/* The kinds of programs on the recorded system. */
struct reel_programs {
	struct reel_elf_kind native;
	uint16_t compat_machine; /* of 32-bit programs on a 64-bit kernel; 0 if none */
	/* Bits that pointer authentication uses in native programs. */
	uint64_t code_mask, data_mask;
};

/* A 32-bit program if the system has those, else a native one. */
void reel_space_set_program(struct reel_record_space *space, const struct reel_programs *programs,
			    bool is_compat);
/* A copy for the child, except for the space's id and the process's ids. */
struct reel_record_space reel_space_fork(const struct reel_record_space *parent, uint64_t time);
/* Assumes a native program until more is known; `id` is the new space's. */
void reel_space_exec(struct reel_record_space *space, const struct reel_programs *programs,
		     uint64_t id, uint64_t time);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What a SPACE record says of a process when it starts, forks, or runs another program: the same
 * for the recorder, which is told as it happens, and for import. */
#ifndef TARGET_SPACE_START_H
#define TARGET_SPACE_START_H

#include "base/elf_identity.h"
#include "format/record.h"

/* The programs that the recorded system runs. */
struct reel_programs {
	struct reel_elf_kind native;
	uint16_t compat_machine; /* of 32-bit ones on a 64-bit kernel; 0: there are none */
	/* Bits that pointer authentication uses in native ones. */
	uint64_t code_mask, data_mask;
};

/* A 32-bit program where there are such, else a native one. */
void reel_space_set_program(struct reel_record_space *space, const struct reel_programs *programs,
			    bool is_compat);
/* The child's, but for its id and the process's numbers. */
struct reel_record_space reel_space_fork(const struct reel_record_space *parent, uint64_t time);
/* A native program until more is known; `id` is the new space's. */
void reel_space_exec(struct reel_record_space *space, const struct reel_programs *programs,
		     uint64_t id, uint64_t time);

#endif

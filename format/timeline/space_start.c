/* SPDX-License-Identifier: Apache-2.0 */
#include "format/timeline/space_start.h"

void reel_space_set_program(struct reel_record_space *space, const struct reel_programs *programs,
			    bool is_compat)
{
	is_compat = is_compat && programs->compat_machine && programs->native.word_bits == 64;
	space->machine = is_compat ? programs->compat_machine : programs->native.machine;
	space->word_bits = is_compat ? 32 : programs->native.word_bits;
	space->byte_order = programs->native.byte_order;
	space->code_mask = is_compat ? 0 : programs->code_mask;
	space->data_mask = is_compat ? 0 : programs->data_mask;
}

struct reel_record_space reel_space_fork(const struct reel_record_space *parent, uint64_t time)
{
	struct reel_record_space space = *parent;

	space.parent = parent->id;
	space.origin = REEL_ORIGIN_FORK;
	space.namespace_pid = 0;
	/* Events of several CPUs may report the parent's exec with a later time. */
	space.time = time > parent->time ? time : parent->time;
	return space;
}

void reel_space_exec(struct reel_record_space *space, const struct reel_programs *programs,
		     uint64_t id, uint64_t time)
{
	space->parent = space->id;
	space->id = id;
	space->time = time;
	space->origin = REEL_ORIGIN_EXEC;
	space->vdso = 0;
	reel_space_set_program(space, programs, false);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process's interpreter must be asked for: where BPF finds its frames.  Everything is read
 * from the memory of a process that runs on, and may contain anything; so whatever does not look
 * as it should is no answer.  docs/runtimes.md: how to add a runtime.
 */
#ifndef RECORD_RUNTIME_RUNTIME_H
#define RECORD_RUNTIME_RUNTIME_H

#include "record/proc/runtime_place.h"

enum reel_runtime_answer {
	REEL_RUNTIME_UNKNOWN, /* a version that is not known, or memory that does not look like it */
	REEL_RUNTIME_LATER,   /* it has not started yet, or cannot be read now */
	REEL_RUNTIME_FOUND,
};

/* `at` of the place is the address of the state in the process. */
enum reel_runtime_answer reel_runtime_locate(uint32_t pid, const struct reel_runtime_place *place,
					     struct reel_bpf_interpreter *ret);
/* Whether what is read of a frame is within REEL_BPF_FRAME_SIZE. */
bool reel_runtime_is_valid(const struct reel_bpf_interpreter *interpreter);

#endif

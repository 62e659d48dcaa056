/* SPDX-License-Identifier: Apache-2.0 */
/* The native functions of interpreters that run the program's functions. */
#ifndef REPLAY_TRACES_RUNTIME_NATIVES_H
#define REPLAY_TRACES_RUNTIME_NATIVES_H

#include "include/stackreel.h"

enum reel_runtime_native {
	REEL_NATIVE_OTHER = 0,
	REEL_NATIVE_EVALUATION, /* runs the frames of an entry */
	REEL_NATIVE_PART,	/* a part of it that is a function of its own: its callee */
	REEL_NATIVE_ENTRY,	/* a part of a call of the program's function: its caller */
};

enum reel_runtime_native reel_runtime_native_of(uint64_t runtime, const struct reel_frame *frame);
/* Whether what the evaluation function calls is mostly a part of it, also without a name. */
bool reel_runtime_native_has_part(uint64_t runtime);

#endif

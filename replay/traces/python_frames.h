/* SPDX-License-Identifier: Apache-2.0 */
/* The native functions of CPython that run Python code. */
#ifndef REPLAY_TRACES_PYTHON_FRAMES_H
#define REPLAY_TRACES_PYTHON_FRAMES_H

#include "include/stackreel.h"

enum reel_python_native {
	REEL_PYTHON_OTHER = 0,
	REEL_PYTHON_EVALUATION, /* runs the frames of an entry */
	REEL_PYTHON_TAIL_CALL,	/* a part of it that is a function of its own: its callee */
	REEL_PYTHON_ENTRY,	/* a part of a call of a Python function: its caller */
};

enum reel_python_native reel_python_native_of(const struct reel_frame *frame);

#endif

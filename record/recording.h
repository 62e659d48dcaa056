/* SPDX-License-Identifier: Apache-2.0 */
/* A recording from its start to its end. */
#ifndef RECORD_RECORDING_H
#define RECORD_RECORDING_H

#include <sys/types.h>

#include "base/error.h"
#include "record/options/options.h"

/*
 * Records as specified by the options, and prints messages to standard error.  `exit_status_ret`
 * gets the program's exit status unless there is an error.
 */
struct reel_error *reel_recording_run(const struct reel_options *options,
				      int *exit_status_ret) REEL_MUST_CHECK;

/* Has the recorder of that number write its file, as SIGUSR2 does (recording_ask.c). */
struct reel_error *reel_recording_ask_dump(pid_t pid) REEL_MUST_CHECK;

#endif

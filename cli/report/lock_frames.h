/* SPDX-License-Identifier: Apache-2.0 */
/* The code that waits for a lock. */
#ifndef CLI_REPORT_LOCK_FRAMES_H
#define CLI_REPORT_LOCK_FRAMES_H

#include "include/stackreel.h"

/*
 * The innermost frame that is not a function for locking: not in the kernel, libc or libpthread, nor
 * of the standard library of C++ or Rust, or of Go's runtime. The outermost frame if all are; NULL
 * without frames.
 */
const struct reel_frame *lock_waiting_frame(const struct reel_trace *trace);

#endif

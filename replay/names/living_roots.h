/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recorded processes still alive on this host: /proc/PID/root gives access to files of containers
 * and of other processes with their own root directory or mounts.
 */
#ifndef REPLAY_NAMES_LIVING_ROOTS_H
#define REPLAY_NAMES_LIVING_ROOTS_H

#include "elf/file_search.h"
#include "format/timeline/space.h"

/*
 * Adds "/proc/PID/root" once for each root directory, with its mounts, that differs from this
 * process's.  Adds nothing if the capture is not of this host since its last boot.
 */
struct reel_error *reel_living_roots(const struct reel_timeline *timeline,
				     const struct reel_capture_info *info,
				     struct reel_strings *ret) REEL_MUST_CHECK;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recorded processes that live on this host still: through /proc/PID/root there are the files of
 * containers and of others with a root directory or mounts of their own.
 */
#ifndef REPLAY_NAMES_LIVING_H
#define REPLAY_NAMES_LIVING_H

#include "elf/file_search.h"
#include "target/space.h"

/*
 * Adds "/proc/PID/root" of each root directory that is another than this process's, with the mounts
 * that are seen there; each once.  Nothing if the capture is not of this host since its last boot.
 */
struct reel_error *reel_living_roots(const struct reel_timeline *timeline,
				     const struct reel_capture_info *info,
				     struct reel_strings *ret) REEL_MUST_CHECK;

#endif

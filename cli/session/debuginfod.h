/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --debuginfod: fetch the modules' missing files before the capture is replayed.
 *
 * Replay may be in a sandbox without a network, so separate processes do all of this and end before
 * replay begins.  A scout replays the capture, in the same sandbox, and reports the build-ids of
 * the modules that samples hit.  One process per file fetches it into the cache of elfutils'
 * debuginfod client and checks it.  Replay then finds the files there, as it does without a
 * network.
 */
#ifndef CLI_SESSION_DEBUGINFOD_H
#define CLI_SESSION_DEBUGINFOD_H

#include "cli/session/options.h"

/*
 * Call this when the capture file is open, before parsing it. Returns -1 when all is done, whether
 * or not it succeeded (failures are reported on stderr). In each scout it returns a descriptor:
 * that process goes on to open the capture and ends in debuginfod_scout.
 */
int debuginfod_fetch(const struct options *options);

/* Replays the capture (NULL: it could not be opened) and reports missing files. */
_Noreturn void debuginfod_scout(struct reel_capture *capture, const struct options *options,
				int told);

#endif

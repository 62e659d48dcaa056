/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --debuginfod: what modules lack is fetched before the capture is replayed.
 *
 * Replay may be in a sandbox without a network, so all of this is done by processes of their own,
 * which end before it begins.  A scout replays the capture, in the same sandbox, and tells which
 * modules samples hit, by their build-ids.  For each file a process fetches it into the cache of
 * elfutils' debuginfod client, and checks it.  Replay then finds the files there, as it does
 * without a network.
 */
#ifndef CLI_SESSION_DEBUGINFOD_H
#define CLI_SESSION_DEBUGINFOD_H

#include <stdbool.h>

#include "cli/session/options.h"

/* The client's cache folder, which need not exist; NULL if nothing says where it is.  To be freed.
 */
char *debuginfod_cache_path(void);

/*
 * To be called when the capture is open, and nothing of it was looked at.  Gives -1 when all is
 * done, however it went (that is said on stderr).  And in each scout it gives a descriptor: that
 * process goes on to open the capture, and ends in debuginfod_scout.
 */
int debuginfod_fetch(const struct options *options);

/* Replays the capture (NULL: it could not be opened) and tells what it lacks. */
_Noreturn void debuginfod_scout(struct reel_capture *capture, const struct options *options,
				int told);

#endif

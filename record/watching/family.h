/* SPDX-License-Identifier: Apache-2.0 */
/* Who belongs to a process: what it started, and its threads. By the helper (inspector.h). */
#ifndef RECORD_WATCHING_FAMILY_H
#define RECORD_WATCHING_FAMILY_H

#include "record/watching/inspector.h"

/*
 * Children of these processes that live, and theirs and so on, but those that are among them
 * already.  Whose parent ended is init's, and not found.  The caller frees *ret.
 */
struct reel_error *reel_family_children(struct reel_inspector *inspector, const uint32_t *pids,
					size_t n, uint32_t **ret, size_t *n_ret) REEL_MUST_CHECK;

/* A process's threads. The caller frees *ret. */
struct reel_error *reel_family_threads(struct reel_inspector *inspector, uint32_t pid,
				       uint32_t **ret, size_t *n_ret) REEL_MUST_CHECK;

#endif

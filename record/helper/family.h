/* SPDX-License-Identifier: Apache-2.0 */
/* Children and threads of processes, as read by the helper (inspector.h). */
#ifndef RECORD_HELPER_FAMILY_H
#define RECORD_HELPER_FAMILY_H

#include "record/helper/inspector.h"

/*
 * Living children of these processes, their children and so on, without those in `pids`.  Children
 * whose parent ended belong to init, and are not found.  The caller frees *ret.
 */
struct reel_error *reel_family_children(struct reel_inspector *inspector, const uint32_t *pids,
					size_t n, uint32_t **ret, size_t *n_ret) REEL_MUST_CHECK;

/* A process's threads. The caller frees *ret. */
struct reel_error *reel_family_threads(struct reel_inspector *inspector, uint32_t pid,
				       uint32_t **ret, size_t *n_ret) REEL_MUST_CHECK;

#endif

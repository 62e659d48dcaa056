/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the owner of a lock is known: only traces tell what kind of lock it is. */
#ifndef REPLAY_TRACES_LOCK_OWNER_H
#define REPLAY_TRACES_LOCK_OWNER_H

#include <stdbool.h>

#include "include/stackreel.h"

/*
 * Whether the thread is in a function of glibc that locks a mutex, whose futex has the owner after
 * it.  Other users of futexes (condition variables, read-write locks, Go, Rust) have other data
 * there.
 */
bool reel_trace_locks_mutex(const struct reel_trace *trace);

#endif

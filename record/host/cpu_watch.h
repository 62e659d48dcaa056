/* SPDX-License-Identifier: Apache-2.0 */
/* CPUs that come online and go offline. */
#ifndef RECORD_HOST_CPU_WATCH_H
#define RECORD_HOST_CPU_WATCH_H

#include "record/host/cpus.h"

struct reel_cpu_watch;

struct reel_error *reel_cpu_watch_create(struct reel_cpu_watch **ret) REEL_MUST_CHECK;
void reel_cpu_watch_destroy(struct reel_cpu_watch *watch);

/* Readable after an event from the kernel; -1 without events, so that the caller has to poll. */
int reel_cpu_watch_fd(const struct reel_cpu_watch *watch);

/*
 * Gets the current state; false if it is too early for the next check.  `online_ret`: CPUs that are
 * online. `left_ret`: CPUs that the kernel has reported offline since the last call. They may be
 * back, but their perf events are dead.  Both lists are valid until the next call.
 */
bool reel_cpu_watch_look(struct reel_cpu_watch *watch, uint64_t now,
			 const struct reel_cpus **online_ret, const struct reel_cpus **left_ret);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Which CPUs come online and go offline. */
#ifndef RECORD_HOST_CPU_WATCH_H
#define RECORD_HOST_CPU_WATCH_H

#include "record/host/cpus.h"

struct reel_cpu_watch;

struct reel_error *reel_cpu_watch_create(struct reel_cpu_watch **ret) REEL_MUST_CHECK;
void reel_cpu_watch_destroy(struct reel_cpu_watch *watch);

/* Readable when the kernel told something; -1 where it tells nothing, and one can only look. */
int reel_cpu_watch_fd(const struct reel_cpu_watch *watch);

/*
 * What there is to be known now: false if it is too early to look again.  `online_ret` are those
 * that are online, `left_ret` those of which the kernel said that they went offline since, though
 * they may be back: their perf events are not.  Both live until the next call.
 */
bool reel_cpu_watch_look(struct reel_cpu_watch *watch, uint64_t now,
			 const struct reel_cpus **online_ret, const struct reel_cpus **left_ret);

#endif

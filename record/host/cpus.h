/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of CPUs, and the CPUs that come online and go offline. */
#ifndef RECORD_HOST_CPUS_H
#define RECORD_HOST_CPUS_H

#include "base/error.h"

struct reel_cpus {
	uint32_t *numbers;
	size_t n, capacity;
	uint32_t highest; /* ever in the list */
};

/* Copies `numbers`, or lists all online CPUs if it is NULL. */
struct reel_error *reel_cpus_create(const uint32_t *numbers, size_t n,
				    struct reel_cpus *ret) REEL_MUST_CHECK;
struct reel_error *reel_cpus_add(struct reel_cpus *cpus, uint32_t number) REEL_MUST_CHECK;
void reel_cpus_remove(struct reel_cpus *cpus, uint32_t number);
bool reel_cpus_has(const struct reel_cpus *cpus, uint32_t number);
void reel_cpus_destroy(struct reel_cpus *cpus);

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
/*
 * The host has slept: to the next call, all CPUs have been offline.  The kernel takes all but one
 * offline, without events (kernel/cpu.c, freeze_secondary_cpus).
 */
void reel_cpu_watch_sleep(struct reel_cpu_watch *watch);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of CPUs. */
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
/* For repeated reads of the kernel's list of online CPUs. */
struct reel_error *reel_cpus_open_online(int *fd_ret) REEL_MUST_CHECK;
struct reel_error *reel_cpus_read_online(int fd, struct reel_cpus *ret) REEL_MUST_CHECK;
struct reel_error *reel_cpus_add(struct reel_cpus *cpus, uint32_t number) REEL_MUST_CHECK;
void reel_cpus_remove(struct reel_cpus *cpus, uint32_t number);
bool reel_cpus_has(const struct reel_cpus *cpus, uint32_t number);
void reel_cpus_destroy(struct reel_cpus *cpus);

#endif

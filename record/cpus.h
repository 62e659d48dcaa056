/* SPDX-License-Identifier: Apache-2.0 */
/* The CPUs that are sampled. */
#ifndef RECORD_CPUS_H
#define RECORD_CPUS_H

#include "format/error.h"

struct reel_cpus {
	uint32_t *numbers;
	size_t n;
	uint32_t highest;
};

/* These, or all that are online if `numbers` is NULL. */
struct reel_error *reel_cpus_create(const uint32_t *numbers, size_t n,
				    struct reel_cpus *ret) REEL_MUST_CHECK;
void reel_cpus_destroy(struct reel_cpus *cpus);

#endif

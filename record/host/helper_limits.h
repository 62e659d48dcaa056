/* SPDX-License-Identifier: Apache-2.0 */
/* Resource limits for the recorder's helper processes, which read files and memory of strangers: a
 * backstop behind the recorder's own deadlines. */
#ifndef RECORD_HOST_HELPER_LIMITS_H
#define RECORD_HOST_HELPER_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

/* 0 leaves a limit as it is. */
struct reel_helper_limits {
	uint64_t memory;      /* bytes of addresses; ignored under a sanitizer */
	uint64_t cpu_seconds; /* then the kernel kills the helper */
	uint64_t files;	      /* descriptors */
	bool writes;	      /* it may write files */
};

/* Limits the calling process, for good, before it gives up its privileges. It dumps no core either. */
void reel_helper_limits_set(const struct reel_helper_limits *limits);

#endif

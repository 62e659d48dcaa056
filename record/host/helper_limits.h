/* SPDX-License-Identifier: Apache-2.0 */
/* Resource limits for the recorder's helper processes, which read other users' files and memory: a
 * backstop for the recorder's own deadlines. */
#ifndef RECORD_HOST_HELPER_LIMITS_H
#define RECORD_HOST_HELPER_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

/* 0 keeps a limit unchanged. */
struct reel_helper_limits {
	uint64_t memory;      /* bytes of addresses; ignored under a sanitizer */
	uint64_t cpu_seconds; /* then the kernel kills the helper */
	uint64_t files;	      /* descriptors */
	bool writes;	      /* may write files */
};

/* Limits the data of helpers whose spawners are made from now on; 0: no longer. */
void reel_helper_limits_data(uint64_t bytes);

/* Limits the calling process for good, before it drops privileges. Also disables core dumps. */
void reel_helper_limits_set(const struct reel_helper_limits *limits);

#endif

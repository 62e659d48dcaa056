/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shrinks finished profiles.  The rarest calls become one per caller, "[rare calls, left out]", so
 * that no other numbers change; steps of time get wider.
 */
#ifndef CLI_FLAMEGRAPH_FLAME_SHRINK_H
#define CLI_FLAMEGRAPH_FLAME_SHRINK_H

#include "cli/flamegraph/flame_profile.h"

struct flame_limits {
	uint64_t step; /* steps of time are at least so wide */
	size_t nodes;
	/* The threads with the fewest samples become one for each process. */
	size_t threads;
	/* Of a label, the values with the fewest samples become one. */
	size_t values;
};

void flame_profile_limit(struct flame_profile *profile, const struct flame_limits *limits);

#endif

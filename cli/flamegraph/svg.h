/* SPDX-License-Identifier: Apache-2.0 */
/* A flame graph as a picture, for documents and reviews: no script, only boxes and text. */
#ifndef CLI_FLAMEGRAPH_SVG_H
#define CLI_FLAMEGRAPH_SVG_H

#include "cli/flamegraph/flame_profile.h"

struct svg_options {
	unsigned int width; /* pixels */
	uint64_t min_share; /* skip boxes below this share of all; in PERCENT */
	bool icicle;	    /* the root is on top */
};

/* `event` belongs to a finished profile. */
void svg_write(const struct flame_event *event, const struct flame_source *source,
	       const struct svg_options *options, FILE *file);

#endif

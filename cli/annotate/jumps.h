/* SPDX-License-Identifier: Apache-2.0 */
/* Jumps within a function, as lines beside its instructions. */
#ifndef CLI_ANNOTATE_JUMPS_H
#define CLI_ANNOTATE_JUMPS_H

#include "cli/annotate/listing.h"

/* Maximum number of parallel lines; a jump without a free lane is not drawn. */
#define JUMP_LANES_MAX 12

struct jump {
	size_t from, to; /* rows */
	uint8_t lane;	 /* 0: next to the instructions */
	bool drawn;
};

struct jumps {
	struct jump *all;
	size_t n;
	size_t left_out;
	unsigned int lanes; /* that are in use */
	/* For each row, bits of the lanes whose line runs through it, or ends in it. */
	uint16_t *through, *top, *bottom;
	bool *is_target, *is_source;
};

void jumps_make(struct jumps *jumps, const struct listing *listing);
void jumps_free(struct jumps *jumps);
/* Prints the `lanes` + 1 columns beside a row, or beside a line above it, where no jump ends. */
void jumps_print(const struct jumps *jumps, size_t row, bool above, const struct output *output);

#endif

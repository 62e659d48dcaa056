/* SPDX-License-Identifier: Apache-2.0 */
/* Number of samples in each step of time, in a bounded number of cells, whatever the times are. */
#ifndef CLI_FLAMEGRAPH_FLAME_HEAT_H
#define CLI_FLAMEGRAPH_FLAME_HEAT_H

#include <stddef.h>
#include <stdint.h>

struct flame_heat {
	uint64_t step;	 /* ns */
	uint64_t *cells; /* NULL: empty */
	size_t n;	 /* up to the last that is not 0 */
};

void flame_heat_init(struct flame_heat *heat);
void flame_heat_free(struct flame_heat *heat);
/* `time`: ns since the beginning. */
void flame_heat_add(struct flame_heat *heat, uint64_t time);

#endif

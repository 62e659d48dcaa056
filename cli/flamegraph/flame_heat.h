/* SPDX-License-Identifier: Apache-2.0 */
/* Number of samples in each step of time, in a bounded number of cells, whatever the times are. */
#ifndef CLI_FLAMEGRAPH_FLAME_HEAT_H
#define CLI_FLAMEGRAPH_FLAME_HEAT_H

#include <stddef.h>
#include <stdint.h>

/*
 * Steps of time: the resolution of samples' times. Each is a multiple of the previous one, and
 * those up to a second divide a second, since the columns of a heat map are seconds.
 */
#define FLAME_STEP_FIRST UINT64_C(1000000)  /* ns */
#define FLAME_STEP_CELL	 UINT64_C(20000000) /* of the heat map, as FlameScope's */

/* The next one, in ns. */
uint64_t flame_step_after(uint64_t step);

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

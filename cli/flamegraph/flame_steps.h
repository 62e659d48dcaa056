/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of time: the resolution of samples' times. Each is a multiple of the previous one, and
 * those up to a second divide a second, since the columns of a heat map are seconds.
 */
#ifndef CLI_FLAMEGRAPH_FLAME_STEPS_H
#define CLI_FLAMEGRAPH_FLAME_STEPS_H

#include <stdint.h>

#define FLAME_STEP_FIRST UINT64_C(1000000)  /* ns */
#define FLAME_STEP_CELL	 UINT64_C(20000000) /* of the heat map, as FlameScope's */

/* The next one, in ns. */
uint64_t flame_step_after(uint64_t step);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of time: how finely is kept when samples were.  Each is a multiple of the one before, and
 * those up to a second divide it, as the columns of a heat map are seconds.
 */
#ifndef CLI_FLAMEGRAPH_FLAME_STEPS_H
#define CLI_FLAMEGRAPH_FLAME_STEPS_H

#include <stdint.h>

#define FLAME_STEP_FIRST UINT64_C(1000000)  /* ns */
#define FLAME_STEP_CELL	 UINT64_C(20000000) /* of the heat map, as FlameScope's */

/* The next one, in ns. */
uint64_t flame_step_after(uint64_t step);

#endif

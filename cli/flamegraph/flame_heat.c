/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "cli/flamegraph/flame_heat.h"
#include "cli/print/text.h"

/* Some twenty minutes of cells of 20 ms; longer recordings have wider ones. */
#define CELLS_MAX 65536

uint64_t flame_step_after(uint64_t step)
{
	static const uint64_t ms[] = { 1, 2, 4, 20, 100, 200, 1000 };

	for (size_t i = 0; i + 1 < sizeof(ms) / sizeof(*ms); i++) {
		if (step == ms[i] * 1000000)
			return ms[i + 1] * 1000000;
	}
	return step * 2;
}

void flame_heat_init(struct flame_heat *heat)
{
	*heat = (struct flame_heat){ .step = FLAME_STEP_CELL };
}

void flame_heat_free(struct flame_heat *heat)
{
	free(heat->cells);
}

static void widen(struct flame_heat *heat)
{
	uint64_t next = flame_step_after(heat->step);
	size_t ratio = (size_t)(next / heat->step);

	for (size_t i = 0; i < heat->n; i++) {
		uint64_t count = heat->cells[i];

		heat->cells[i] = 0;
		heat->cells[i / ratio] += count;
	}
	heat->n = (heat->n + ratio - 1) / ratio;
	heat->step = next;
}

void flame_heat_add(struct flame_heat *heat, uint64_t time)
{
	size_t at;

	if (!heat->cells)
		heat->cells = memory_get(CELLS_MAX * sizeof(*heat->cells));
	while (time / heat->step >= CELLS_MAX)
		widen(heat);
	at = (size_t)(time / heat->step);
	heat->cells[at]++;
	if (at >= heat->n)
		heat->n = at + 1;
}

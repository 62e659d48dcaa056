/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>

#include "cli/flamegraph/flame_steps.h"

uint64_t flame_step_after(uint64_t step)
{
	static const uint64_t ms[] = { 1, 2, 4, 20, 100, 200, 1000 };

	for (size_t i = 0; i + 1 < sizeof(ms) / sizeof(*ms); i++) {
		if (step == ms[i] * 1000000)
			return ms[i + 1] * 1000000;
	}
	return step * 2;
}

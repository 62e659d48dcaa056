/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/array.h"
#include "replay/unwind/unwind.h"

/* Room at first. */
#define FRAMES_MIN 128

void reel_unwind_frames_free(struct reel_unwind_frames *frames)
{
	free(frames->addresses);
	free(frames->lookups);
	free(frames->sps);
	free(frames->steps);
	free(frames->states);
	*frames = (struct reel_unwind_frames){ 0 };
}

/* Of a frame whose caller's sp is unknown. */
#define FRAME_SIZE_MAX 4096

size_t reel_unwind_frames_find(const struct reel_unwind_frames *frames, size_t from,
			       uint64_t address)
{
	for (size_t i = from; i < frames->n; i++) {
		uint64_t sp = frames->sps[i], size = FRAME_SIZE_MAX;

		if (i + 1 < frames->n && frames->sps[i + 1] > sp)
			size = frames->sps[i + 1] - sp;
		if (sp && address - sp < size)
			return i;
	}
	return SIZE_MAX;
}

struct reel_error *reel_unwind_frames_fit(struct reel_unwind_frames *frames, size_t n)
{
	size_t capacity = frames->capacity;

	if (n <= capacity)
		return NULL;
	n = n < FRAMES_MIN ? FRAMES_MIN : n;
	if (!reel_array_fit(&frames->addresses, n, &(size_t){ capacity }, sizeof(uint64_t)) ||
	    !reel_array_fit(&frames->lookups, n, &(size_t){ capacity }, sizeof(uint64_t)) ||
	    !reel_array_fit(&frames->sps, n, &(size_t){ capacity }, sizeof(uint64_t)) ||
	    !reel_array_fit(&frames->steps, n, &capacity, 1))
		return reel_error_no_memory();
	frames->capacity = capacity;
	return NULL;
}

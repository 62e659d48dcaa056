/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "replay/traces/lock_owner.h"

/* From the system call to the function: __futex_lll_wait, __lll_lock_wait, and one to spare. */
#define FRAMES_MAX 6

/* pthread_mutex_lock, _timedlock, _clocklock, with prefixes such as ___ and __GI___ and suffixes
 * such as _full; __pthread_mutex_cond_lock takes the mutex back after a wait for a condition. */
static bool is_lock(const char *function)
{
	const char *operation = strstr(function, "pthread_mutex_");

	return operation && strstr(operation, "lock") && !strstr(operation, "unlock");
}

bool reel_trace_locks_mutex(const struct reel_trace *trace)
{
	size_t end = trace->n_frames;

	if (end > trace->n_kernel_frames + FRAMES_MAX)
		end = trace->n_kernel_frames + FRAMES_MAX;
	for (size_t i = trace->n_kernel_frames; i < end; i++) {
		const struct reel_frame *frame = trace->frames[i];

		/* musl's mutexes are laid out differently. */
		if (frame->module_id != trace->frames[trace->n_kernel_frames]->module_id ||
		    strstr(frame->module_path, "musl"))
			return false;
		if (is_lock(frame->function))
			return true;
	}
	return false;
}

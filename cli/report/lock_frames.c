/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/profile/symbols.h"
#include "cli/report/lock_frames.h"

static bool begins_with_any(const char *text, const char *const *beginnings)
{
	for (; *beginnings; beginnings++) {
		if (!strncmp(text, *beginnings, strlen(*beginnings)))
			return true;
	}
	return false;
}

static bool is_locking(const struct reel_frame *frame)
{
	static const char *const modules[] = { "libc.so",   "libc-",  "libpthread",  "ld-musl-",
					       "libstdc++", "libc++", "libgcc_s.so", NULL };
	/* Also where they are inlined, or linked statically. */
	static const char *const functions[] = { "pthread_",
						 "__pthread_",
						 "___pthread_",
						 "__GI___pthread_",
						 "__lll_",
						 "lll_",
						 "__futex_",
						 "futex",
						 "__GI___lll_",
						 "__GI___futex_",
						 "__internal_syscall_cancel",
						 "__syscall_cancel",
						 "sem_wait",
						 "sem_timedwait",
						 "sem_clockwait",
						 "__new_sem_",
						 "__gthread_",
						 "std::",
						 "core::",
						 "<std::",
						 "<core::",
						 "runtime.",
						 "sync.",
						 "internal/sync.",
						 "sync/atomic.",
						 "parking_lot",
						 "lock_api::",
						 NULL };

	return frame->kernel || begins_with_any(path_base(frame->module_path), modules) ||
	       begins_with_any(frame->function, functions);
}

const struct reel_frame *lock_waiting_frame(const struct reel_trace *trace)
{
	for (size_t i = 0; i < trace->n_frames; i++) {
		if (!is_locking(trace->frames[i]))
			return trace->frames[i];
	}
	return trace->n_frames ? trace->frames[trace->n_frames - 1] : NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What side records tell: losses, marks, and when threads started, ended and became other programs. */
#ifndef CLI_SESSION_MOMENTS_H
#define CLI_SESSION_MOMENTS_H

#include "include/commands.h"

enum moment_kind { MOMENT_LOSS, MOMENT_THREAD, MOMENT_EXIT, MOMENT_EXEC, MOMENT_MARK };

struct moment {
	enum moment_kind kind;
	uint64_t time;	 /* of the capture's clock, in ns */
	uint64_t thread; /* its number in the capture; 0 of losses and marks */
	/* Of a thread: whether it started then, rather than ran before the recording or its part. */
	uint32_t tid;
	bool is_start;
	/* Of losses; UINT32_MAX: of all CPUs. */
	enum reel_loss cause;
	uint64_t count;
	uint32_t cpu;
	/* Of an exec: the thread's name from then on, as recorded; NULL if unknown.  For the call. */
	const char *program;
	/* Of a mark, as recorded; the name of its kind. */
	const char *text, *name;
};

/* In the file's order, but an exec follows when the thread's new name is known, and marks come last.
 * A damaged part is left out: visits of samples report it. */
void moments_visit(struct reel_capture *capture,
		   void (*visit)(void *context, const struct moment *moment), void *context);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a thread of the recorder may still do once all is set up: a mistake in it, found by whom
 * it records, must not be worth root.  Each thread and process takes a role, or several, and loses
 * for good what these do not need:
 *
 * - of the capabilities, and of what an exec could bring back (bounding and ambient sets,
 *   no_new_privs);
 * - by seccomp, system calls.  What is not on a role's list is answered by ENOSYS, as a kernel that
 *   does not know it would: a C library that wants something else then falls back, and a
 *   recording does not die of it.  The kernel logs it.
 *
 * The command was forked before, and loses nothing.
 */
#ifndef RECORD_HOST_PRIVILEGES_H
#define RECORD_HOST_PRIVILEGES_H

#include <linux/capability.h>
#include <sys/types.h>

#include "base/place.h"

/* linux/capability.h has them since 5.8 and 5.9. */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_BPF
#define CAP_BPF 39
#endif
#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40
#endif

enum reel_role {
	/* Takes what the kernel gives: rings, process events, CPUs that come, kernel symbols. */
	REEL_ROLE_MAIN = 1,
	/* Opens files of other processes, and reads their memory and /proc. */
	REEL_ROLE_READER = 2,
	/* Compresses and writes to what is open. */
	REEL_ROLE_WRITER = 4,
	/* Reads files that it is given, and opens nothing. */
	REEL_ROLE_IMAGER = 8,
};

struct reel_privileges {
	unsigned int roles;
	pid_t command;			/* may get signals; 0: none */
	const struct reel_place *parts; /* new files are made there, and deleted; NULL: none */
};

/*
 * Of the calling thread.  An error is one of memory; *lacks_ret tells what this kernel can't do,
 * NULL for nothing, and all the rest is done.
 */
struct reel_error *reel_privileges_drop(const struct reel_privileges *privileges,
					const char **lacks_ret) REEL_MUST_CHECK;

#endif

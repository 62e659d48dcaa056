/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits the recorder's threads once everything is set up: a bug in one of these, found by a
 * recorded program, must not give root.  Each thread and process takes one or more roles, and
 * permanently loses unneeded rights:
 *
 * - capabilities, including any that an exec could bring back (bounding and ambient sets,
 *   no_new_privs);
 * - system calls, by seccomp.  A call that is not on a role's list fails with ENOSYS, as in a
 *   kernel without it: a C library can fall back, and the recording continues.  The kernel logs it.
 *
 * The command was forked earlier, and loses nothing.
 */
#ifndef RECORD_HOST_PRIVILEGES_H
#define RECORD_HOST_PRIVILEGES_H

#include <linux/capability.h>
#include <sys/types.h>

#include "base/output_place.h"

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
	/* Takes the kernel's data: rings, process events, new CPUs, kernel symbols. */
	REEL_ROLE_MAIN = 1,
	/* Opens files of other processes, and reads their memory and /proc. */
	REEL_ROLE_READER = 2,
	/* Compresses and writes to open files. */
	REEL_ROLE_WRITER = 4,
	/* Reads files that it is given, and opens none. */
	REEL_ROLE_IMAGER = 8,
	/* Has a BPF program scan waiting threads. */
	REEL_ROLE_SCANNER = 16,
	REEL_ROLE_COPIER = 32, /* a scanner that reads memory */
	/* Starts helpers, which take another role and so lose its rights to start processes. */
	REEL_ROLE_SPAWNER = 64,
};

struct reel_privileges {
	unsigned int roles;
	pid_t command; /* may get signals; 0: none */
	const struct reel_output_place
		*parts, /* places for creating and deleting files; NULL: none */
		*status;
};

/* Whether this process may read other users' processes, if they are in its user namespace. */
bool reel_privileges_reads_others(void);

/*
 * Limits the calling thread.  The only errors are of memory; *lacks_ret is a feature that this
 * kernel does not support, or NULL; the other limits are applied.
 */
struct reel_error *reel_privileges_drop(const struct reel_privileges *privileges,
					const char **lacks_ret) REEL_MUST_CHECK;

#endif

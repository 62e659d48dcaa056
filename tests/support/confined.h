/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tries forbidden actions in a child process: `check` and `refused` end it with the line number of
 * an unexpected result.
 */
#ifndef TESTS_SUPPORT_CONFINED_H
#define TESTS_SUPPORT_CONFINED_H

#include <errno.h>
#include <sys/wait.h>

#include "tests/support/test.h"

/* Ends the process: the kernel does not support the tested restriction. */
#define CONFINED_SKIP 77

#define check(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			dprintf(2, "line %d: not %s (errno %d)\n", __LINE__, #condition, errno);   \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)
#define refused(call) check((call) == -1)

/* The process that the child must not reach. */
static pid_t parent;

/* Calls `act` in a child process; a skip reports the feature missing in this kernel. */
static inline void in_process(void (*act)(void), const char *lacks)
{
	int status;
	pid_t pid;

	parent = getpid();
	pid = fork();
	if (!pid) {
		act();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == CONFINED_SKIP) {
		print_message("%s\n", lacks);
		skip();
	}
	assert_int_equal(WEXITSTATUS(status), 0);
}

#endif

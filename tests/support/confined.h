/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process can't do any more, tried in one of its own: `check` and `refused` end it with the
 * line of what was not as expected.
 */
#ifndef TESTS_SUPPORT_CONFINED_H
#define TESTS_SUPPORT_CONFINED_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* Ends the process: the kernel can't do what is tried. */
#define CONFINED_SKIP 77

#define check(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			dprintf(2, "line %d: not %s (errno %d)\n", __LINE__, #condition, errno);   \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)
#define refused(call) check((call) == -1)

/* Whom the process must not reach. */
static pid_t parent;

/* Calls `act` in a process; a skip says what this kernel lacks. */
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

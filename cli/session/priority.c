/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/session/priority.h"

/* As the recorder's (record/recording_setup.c). */
#define PRIORITY "-20"

/*
 * Unless cgroups share out the CPUs, the kernel does so among sessions, whatever the priorities of
 * their processes (sched(7), autogroup): beside 16 busy services, a terminal gets a 17th.
 */
static const char autogroup[] = "/proc/self/autogroup";

/* The session has no priority other than the default one. */
static bool is_default(void)
{
	char text[64] = "";
	int fd = open(autogroup, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	const char *nice = size > 0 ? strstr(text, " nice ") : NULL;

	if (fd >= 0)
		close(fd);
	return nice && !strcmp(nice, " nice 0\n");
}

static bool set_autogroup(const char *nice)
{
	int fd = open(autogroup, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, nice, strlen(nice)) > 0;

	if (fd >= 0)
		close(fd);
	return ok;
}

/* The session's other programs must not keep the priority, even if this one is killed. */
static _Noreturn void restore_at_end(int lifeline)
{
	sigset_t all;
	char byte;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	if (dup2(lifeline, 0) < 0)
		_exit(1);
#ifdef SYS_close_range
	/* Not the library's function, which is newer. A terminal must not wait for this process. */
	syscall(SYS_close_range, STDOUT_FILENO, ~0U, 0);
#endif
	while (read(0, &byte, 1) > 0)
		;
	_exit(!set_autogroup("0"));
}

void priority_raise(struct priority *priority)
{
	int ends[2];

	*priority = (struct priority){ 0 };
	if (getpriority(PRIO_PROCESS, 0) || setpriority(PRIO_PROCESS, 0, atoi(PRIORITY)) ||
	    !is_default() || pipe2(ends, O_CLOEXEC))
		return;
	fflush(NULL);
	priority->restorer = fork();
	if (!priority->restorer) {
		close(ends[1]);
		restore_at_end(ends[0]);
	}
	close(ends[0]);
	priority->lifeline = ends[1];
	if (priority->restorer > 0 && set_autogroup(PRIORITY))
		return;
	priority_restore(priority);
}

void priority_restore(struct priority *priority)
{
	if (priority->restorer)
		close(priority->lifeline);
	if (priority->restorer > 0)
		waitpid(priority->restorer, NULL, 0);
	priority->restorer = 0;
}

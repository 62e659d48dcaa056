/* SPDX-License-Identifier: Apache-2.0 */
/*
 * see_opens FILE... -- COMMAND...: runs the command, and prints each FILE that any process opened.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/wait.h>
#include <unistd.h>

static int fail(const char *what)
{
	fprintf(stderr, "see_opens: %s: %s\n", what, strerror(errno));
	return 125;
}

int main(int argc, char **argv)
{
	/* Room for consecutive events of an inode, without names. */
	struct inotify_event events[64];
	int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC), i = 1, status;
	ssize_t n;
	pid_t pid;

	for (; i < argc && strcmp(argv[i], "--"); i++)
		if (inotify_add_watch(fd, argv[i], IN_OPEN) < 0)
			return fail(argv[i]);
	pid = fork();
	if (!pid) {
		execvp(argv[i + 1], argv + i + 1);
		_exit(fail(argv[i + 1]));
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	while ((n = read(fd, events, sizeof(events))) > 0)
		for (size_t at = 0; at < (size_t)n / sizeof(*events); at++)
			/* Descriptors of watches count from 1. */
			printf("%s\n", argv[events[at].wd]);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

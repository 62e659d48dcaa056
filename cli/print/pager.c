/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/print/complain.h"
#include "cli/print/pager.h"
#include "cli/print/text.h"

#define DEFAULT_PAGER "less"
/* A shell's exit status if a command was not found or could not be run. */
#define CANNOT_RUN 126

static struct {
	pid_t process; /* 0: none */
	int pipe;
	int output, messages; /* original standard output and error; -1: not replaced */
	const char *command;
} pager = { .output = -1, .messages = -1 };

static bool is_in_path(const char *name)
{
	_cleanup_free_ char *path = memory_print("%s", getenv("PATH") ? getenv("PATH") : "");
	char *rest;

	for (char *dir = strtok_r(path, ":", &rest); dir; dir = strtok_r(NULL, ":", &rest)) {
		_cleanup_free_ char *file = memory_print("%s/%s", dir, name);

		if (!access(file, X_OK))
			return true;
	}
	return false;
}

/* NULL: none. */
static const char *wanted_pager(void)
{
	const char *command = getenv("STACKREEL_PAGER"), *term = getenv("TERM");

	if (!term || !strcmp(term, "dumb"))
		return NULL;
	if (!command)
		command = getenv("PAGER");
	if (!command)
		command = is_in_path(DEFAULT_PAGER) ? DEFAULT_PAGER : "";
	return *command && strcmp(command, "cat") != 0 ? command : NULL;
}

/*
 * Waits for input: until then progress and messages use the terminal, and after an error there is
 * nothing to show.
 */
static _Noreturn void become_pager(int input)
{
	struct pollfd waiting = { .fd = input, .events = POLLIN };

	while (poll(&waiting, 1, -1) < 0 && errno == EINTR)
		;
	if (!(waiting.revents & POLLIN))
		_exit(0);
	dup2(input, STDIN_FILENO);
	close(input);
	/* As git: F exits at once if all fits on the screen, R shows colours, X leaves the text on
	 * the screen. */
	setenv("LESS", "FRX", 0);
	execl("/bin/sh", "sh", "-c", pager.command, (char *)NULL);
	_exit(CANNOT_RUN);
}

void pager_prepare(void)
{
	int ends[2];

	if (!isatty(STDOUT_FILENO))
		return;
	pager.command = wanted_pager();
	if (!pager.command || pipe2(ends, O_CLOEXEC))
		return;
	fflush(NULL);
	pager.process = fork();
	if (!pager.process) {
		close(ends[1]);
		become_pager(ends[0]);
	}
	close(ends[0]);
	pager.pipe = ends[1];
	if (pager.process < 0) {
		pager.process = 0;
		close(ends[1]);
	}
}

static void end_at_exit(void)
{
	pager_end();
}

void pager_start(void)
{
	if (!pager.process)
		return;
	fflush(stdout);
	complain_after(stdout);
	pager.output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
	dup2(pager.pipe, STDOUT_FILENO);
	if (isatty(STDERR_FILENO)) {
		pager.messages = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
		dup2(pager.pipe, STDERR_FILENO);
	}
	/* The user may quit the pager early, which is not an error; the pager handles the keys, and
	 * a --time-limit does not limit reading. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	signal(SIGALRM, SIG_IGN);
	atexit(end_at_exit);
}

static void restore(int *saved, int fd)
{
	if (*saved < 0)
		return;
	dup2(*saved, fd);
	close(*saved);
	*saved = -1;
}

bool pager_end(void)
{
	int status = 0;

	if (!pager.process)
		return true;
	fflush(stdout);
	complain_after(NULL);
	restore(&pager.output, STDOUT_FILENO);
	restore(&pager.messages, STDERR_FILENO);
	close(pager.pipe);
	while (waitpid(pager.process, &status, 0) < 0 && errno == EINTR)
		;
	pager.process = 0;
	if (!WIFEXITED(status) || WEXITSTATUS(status) < CANNOT_RUN)
		return true;
	complain("cannot run the pager '%s'; use --no-pager", pager.command);
	return false;
}

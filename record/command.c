/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/command.h"

static struct reel_error *exec_error(int errnum, const char *name)
{
	if (errnum == ENOENT)
		return reel_error_create(REEL_ERROR_NOT_FOUND, "'%s': command not found", name);
	return reel_error_os(errnum, "cannot execute '%s'", name);
}

struct reel_error *reel_command_check(const char *name)
{
	const char *path = getenv("PATH");
	int errnum = ENOENT;

	if (strchr(name, '/'))
		return access(name, X_OK) ? exec_error(errno, name) : NULL;
	/* execvp's default if PATH is not set. */
	for (path = path ? path : "/bin:/usr/bin"; *name; path++) {
		size_t size = strcspn(path, ":");
		char candidate[PATH_MAX];
		struct stat status;

		snprintf(candidate, sizeof(candidate), "%.*s%s%s", (int)size, path, size ? "/" : "",
			 name);
		if (!stat(candidate, &status) && S_ISREG(status.st_mode)) {
			if (!access(candidate, X_OK))
				return NULL;
			errnum = EACCES;
		}
		path += size;
		if (!*path)
			break;
	}
	return exec_error(errnum, name);
}

int reel_command_error_status(const struct reel_error *error)
{
	return reel_error_code(error) == REEL_ERROR_NOT_FOUND ? REEL_EXIT_NOT_FOUND
							      : REEL_EXIT_NOT_EXECUTABLE;
}

static void run_child(char **arguments, const struct reel_command_options *options, int start,
		      int failure) __attribute__((noreturn));

static void run_child(char **arguments, const struct reel_command_options *options, int start,
		      int failure)
{
	int errnum;
	char byte;
	ssize_t n;

	do {
		n = read(start, &byte, 1);
	} while (n < 0 && errno == EINTR);
	/* The recorder gave up, or was killed. */
	if (n != 1)
		_exit(REEL_EXIT_NOT_EXECUTABLE);
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, &options->signals, NULL);
	if (options->prints_to_stderr)
		dup2(STDERR_FILENO, STDOUT_FILENO);
	execvp(arguments[0], arguments);
	errnum = errno;
	n = write(failure, &errnum, sizeof(errnum));
	_exit(errnum == ENOENT ? REEL_EXIT_NOT_FOUND : REEL_EXIT_NOT_EXECUTABLE);
}

struct reel_error *reel_command_prepare(char **arguments,
					const struct reel_command_options *options,
					struct reel_command *ret)
{
	int start[2], failure[2];

	if (pipe2(start, O_CLOEXEC))
		return reel_error_os(errno, "making a pipe");
	if (pipe2(failure, O_CLOEXEC)) {
		close(start[0]);
		close(start[1]);
		return reel_error_os(errno, "making a pipe");
	}
	*ret = (struct reel_command){ .start = start[1], .failure = failure[0] };
	ret->pid = fork();
	if (!ret->pid) {
		close(start[1]);
		close(failure[0]);
		run_child(arguments, options, start[0], failure[1]);
	}
	close(start[0]);
	close(failure[1]);
	if (ret->pid < 0) {
		struct reel_error *error = reel_error_os(errno, "starting '%s'", arguments[0]);

		ret->pid = 0;
		close(ret->start);
		close(ret->failure);
		return error;
	}
	return NULL;
}

struct reel_error *reel_command_start(struct reel_command *command, const char *name)
{
	int errnum = 0;
	ssize_t n;

	if (write(command->start, "", 1) != 1)
		return reel_error_os(errno, "starting '%s'", name);
	close(command->start);
	command->start = -1;
	do {
		n = read(command->failure, &errnum, sizeof(errnum));
	} while (n < 0 && errno == EINTR);
	close(command->failure);
	command->failure = -1;
	if (n != sizeof(errnum))
		return NULL;
	return exec_error(errnum, name);
}

bool reel_command_poll(struct reel_command *command)
{
	if (command->pid && !command->ended)
		command->ended = waitpid(command->pid, &command->status, WNOHANG) == command->pid;
	return command->pid && command->ended;
}

void reel_command_terminate(struct reel_command *command)
{
	if (!command->pid)
		return;
	/* The end of the pipe ends a command that was not started yet. */
	if (command->start >= 0)
		close(command->start);
	if (command->failure >= 0)
		close(command->failure);
	command->start = command->failure = -1;
	if (reel_command_poll(command))
		return;
	kill(command->pid, SIGTERM);
	/* A stopped process handles SIGTERM only after SIGCONT. */
	kill(command->pid, SIGCONT);
	for (int i = 0; i < 100; i++) {
		if (reel_command_poll(command))
			return;
		usleep(10000);
	}
	fprintf(stderr, "stackreel-record: waiting for the command (process %d) to end\n",
		(int)command->pid);
	while (waitpid(command->pid, &command->status, 0) < 0 && errno == EINTR)
		;
	command->ended = true;
}

int reel_command_exit_status(const struct reel_command *command)
{
	if (WIFSIGNALED(command->status))
		return 128 + WTERMSIG(command->status);
	return WEXITSTATUS(command->status);
}

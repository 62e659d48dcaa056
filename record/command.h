/* SPDX-License-Identifier: Apache-2.0 */
/* The recorded command: forked first, started when all is ready. */
#ifndef RECORD_COMMAND_H
#define RECORD_COMMAND_H

#include <signal.h>
#include <sys/types.h>

#include "base/error.h"

/* As in shells and env. */
#define REEL_EXIT_NOT_EXECUTABLE 126
#define REEL_EXIT_NOT_FOUND	 127

struct reel_command {
	pid_t pid;   /* 0: none */
	int start;   /* write end: a byte starts the command, closing it kills the command */
	int failure; /* read end: errno of exec, or nothing if it succeeded */
	bool ended;
	int status; /* as returned by wait(2) */
};

/* NOT_FOUND or PERMISSION if the program cannot be found or run; exec may still fail. */
struct reel_error *reel_command_check(const char *name) REEL_MUST_CHECK;
/* The exit status for an error of reel_command_check and reel_command_start. */
int reel_command_error_status(const struct reel_error *error);
struct reel_command_options {
	sigset_t signals; /* its signal mask */
	/* Standard output is used for the capture: the command gets standard error instead. */
	bool prints_to_stderr;
};

/* Forks; the child waits. */
struct reel_error *reel_command_prepare(char **arguments,
					const struct reel_command_options *options,
					struct reel_command *ret) REEL_MUST_CHECK;
/* NOT_FOUND, PERMISSION or OS if it cannot be executed. */
struct reel_error *reel_command_start(struct reel_command *command,
				      const char *name) REEL_MUST_CHECK;
/* True if it has ended. */
bool reel_command_poll(struct reel_command *command);
/* Asks the command to end if it runs, and waits for its end. */
void reel_command_terminate(struct reel_command *command);
/* Its exit status as a shell reports it. */
int reel_command_exit_status(const struct reel_command *command);

#endif

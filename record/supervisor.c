/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/options/options.h"
#include "record/supervisor.h"

static void say(const char *text)
{
	fprintf(stderr, "stackreel-record: %s\n", text);
}

/* In a process of its own, since an invalid option ends it. */
static bool is_valid(int argc, char **argv)
{
	struct reel_options options;
	int status;
	pid_t pid = fork();

	if (!pid) {
		reel_options_parse(argc, argv, &options);
		exit(0);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return false;
	}
	return pid > 0 && WIFEXITED(status) && !WEXITSTATUS(status);
}

static void wait_for(pid_t recorder, const sigset_t *signals, int argc, char **argv)
{
	bool restarts = false;
	int status;

	for (;;) {
		int number = sigwaitinfo(signals, NULL);

		if (number == SIGHUP && !restarts && is_valid(argc, argv)) {
			restarts = true;
			kill(recorder, SIGTERM);
		} else if (number == SIGHUP && !restarts) {
			say("going on with the previous configuration");
		} else if (number == SIGTERM || number == SIGINT) {
			restarts = false;
			kill(recorder, number);
		} else if (number == SIGUSR2) {
			kill(recorder, number);
		}
		if (waitpid(recorder, &status, WNOHANG) == recorder)
			break;
	}
	if (restarts) {
		execvp(argv[0], argv);
		fprintf(stderr, "stackreel-record: %s: %s\n", argv[0], strerror(errno));
		exit(EXIT_FAILURE);
	}
	exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

bool reel_supervisor_fork(int argc, char **argv)
{
	pid_t parent = getpid(), recorder;
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGHUP);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGUSR2);
	sigaddset(&signals, SIGCHLD);
	/* They stay blocked: one that arrives while either starts is taken afterwards. */
	sigprocmask(SIG_BLOCK, &signals, NULL);
	recorder = fork();
	if (recorder < 0)
		say(strerror(errno));
	if (recorder > 0)
		wait_for(recorder, &signals, argc, argv);
	if (!recorder) {
		/* A killed parent must not leave a recorder that nobody knows. */
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (getppid() != parent)
			exit(EXIT_FAILURE);
	}
	return !recorder;
}

/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/quantity.h"
#include "record/jit/java_asker.h"
#include "record/watching/nursery.h"

/* ns for all that are asked: jcmd is a JVM itself, and takes half a second to start. */
#define PATIENCE (20 * REEL_NS_PER_SECOND)
/* Of what a process has mapped, so many lines are looked at: a JVM maps its library early. */
#define LINES_MAX 65536
/* What a shell says of a command that is not there. */
#define NOT_FOUND 127

enum answer { TOLD, NO_JVM, NO_JCMD, FAILED };

static const char *const reasons[] = {
	[TOLD] = NULL,
	[NO_JVM] = NULL,
	[NO_JCMD] = "there is no jcmd in $PATH (it is a part of the JDK)",
	[FAILED] = "jcmd could not ask it (try: jcmd PID Compiler.perfmap)",
};

/* ---- the helper ------------------------------------------------------------------------------ */

/* Only a JVM is sent SIGQUIT, as which being asked begins. */
static bool is_jvm(uint32_t pid)
{
	_cleanup_free_ char *line = NULL;
	char path[32];
	size_t size = 0;
	bool found = false;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	maps = fopen(path, "re");
	for (int i = 0; maps && !found && i < LINES_MAX && getline(&line, &size, maps) >= 0; i++)
		found = strstr(line, "/libjvm.so") != NULL;
	if (maps)
		fclose(maps);
	return found;
}

static enum answer run_jcmd(uint32_t pid)
{
	char number[16];
	char *const arguments[] = { "jcmd", number, "Compiler.perfmap", NULL };
	pid_t helper = getpid(), child;
	int status;

	snprintf(number, sizeof(number), "%u", pid);
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() == helper)
			execvp(*arguments, arguments);
		_exit(NOT_FOUND);
	}
	while (child > 0 && waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return FAILED;
	if (child < 0 || !WIFEXITED(status))
		return FAILED;
	return WEXITSTATUS(status) == NOT_FOUND ? NO_JCMD : WEXITSTATUS(status) ? FAILED : TOLD;
}

static void serve(int socket)
{
	uint32_t pid;

	while (recv(socket, &pid, sizeof(pid), 0) == sizeof(pid)) {
		uint8_t answer = is_jvm(pid) ? run_jcmd(pid) : NO_JVM;

		if (send(socket, &answer, sizeof(answer), MSG_NOSIGNAL) < 0)
			return;
	}
}

/* ---- the recorder's side --------------------------------------------------------------------- */

struct reel_java_asker {
	struct reel_nursery *nursery;
	int helper;	   /* our end of its socket, -1: none */
	uint64_t deadline; /* 0: nobody was asked up to now */
};

struct reel_error *reel_java_asker_create(struct reel_java_asker **ret)
{
	struct reel_java_asker *asker = calloc(1, sizeof(*asker));
	struct reel_error *error;

	if (!asker)
		return reel_error_no_memory();
	asker->helper = -1;
	error = reel_nursery_create(serve, NULL, &asker->nursery);
	if (error)
		free(asker);
	else
		*ret = asker;
	return error;
}

static void end_helper(struct reel_java_asker *asker)
{
	if (asker->helper >= 0)
		close(asker->helper);
	asker->helper = -1;
}

void reel_java_asker_destroy(struct reel_java_asker *asker)
{
	if (!asker)
		return;
	end_helper(asker);
	reel_nursery_destroy(asker->nursery);
	free(asker);
}

/* False: there is no answer in time, or nobody who would give one. */
static bool wait_for_answer(struct reel_java_asker *asker, uint8_t *ret)
{
	struct pollfd poll_fd = { .fd = asker->helper, .events = POLLIN };
	uint64_t now = reel_now();
	int timeout = now < asker->deadline
			      ? (int)((asker->deadline - now) / (REEL_NS_PER_SECOND / 1000))
			      : 0;

	return poll(&poll_fd, 1, timeout) == 1 && recv(asker->helper, ret, sizeof(*ret), 0) == 1;
}

const char *reel_java_asker_ask(struct reel_java_asker *asker, uint32_t pid)
{
	uint8_t answer = FAILED;

	if (!asker->deadline)
		asker->deadline = reel_now() + PATIENCE;
	if (asker->helper < 0)
		asker->helper = reel_nursery_start(asker->nursery);
	if (asker->helper < 0 || reel_now() >= asker->deadline)
		return "there was no time left to ask it";
	if (send(asker->helper, &pid, sizeof(pid), MSG_NOSIGNAL) == sizeof(pid) &&
	    wait_for_answer(asker, &answer))
		return reasons[answer <= FAILED ? answer : FAILED];
	end_helper(asker);
	return "it did not answer in time";
}

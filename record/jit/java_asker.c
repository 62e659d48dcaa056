/* SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/quantity.h"
#include "record/helper/spawner.h"
#include "record/jit/java_asker.h"
#include "record/jit/java_attach.h"

/* For all JVMs, which are asked at the same time; each has less (java_attach.c). */
#define PATIENCE (6 * REEL_NS_PER_SECOND)
/* JVMs asked at most; each takes a process for a moment. */
#define ASKED_MAX 64

static const char *const reasons[] = {
	[REEL_JAVA_TOLD] = NULL,
	[REEL_JAVA_NO_JVM] = NULL,
	[REEL_JAVA_DEAF] = "does not handle SIGQUIT, which makes a JVM listen (-Xrs?)",
	[REEL_JAVA_NO_ACCESS] = "cannot access it as its own user",
	[REEL_JAVA_REFUSED] = "the JVM refused (try: jcmd PID Compiler.perfmap)",
	[REEL_JAVA_SILENT] = "does not listen like a JVM",
};

struct answer {
	uint32_t pid, answer;
};

/* ---- the helper ------------------------------------------------------------------------------ */

static void serve(int socket)
{
	uint32_t pid;

	signal(SIGCHLD, SIG_IGN);
	while (recv(socket, &pid, sizeof(pid), 0) == sizeof(pid)) {
		struct answer answer = { pid, REEL_JAVA_NO_ACCESS };

		if (fork())
			continue;
		answer.answer = reel_java_attach(pid);
		send(socket, &answer, sizeof(answer), MSG_NOSIGNAL);
		_exit(0);
	}
}

/* ---- the recorder's side --------------------------------------------------------------------- */

struct reel_java_asker {
	struct reel_spawner *spawner;
	int helper; /* our end of its socket, -1: none */
	uint32_t asked[ASKED_MAX];
	size_t n_asked;
};

struct reel_error *reel_java_asker_create(struct reel_java_asker **ret)
{
	struct reel_java_asker *asker = calloc(1, sizeof(*asker));
	struct reel_error *error;

	if (!asker)
		return reel_error_no_memory();
	asker->helper = -1;
	error = reel_spawner_create(serve, 0, NULL, &asker->spawner);
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
	reel_spawner_destroy(asker->spawner);
	free(asker);
}

const char *reel_java_asker_ask(struct reel_java_asker *asker, uint32_t pid)
{
	if (asker->helper < 0)
		asker->helper = reel_spawner_start(asker->spawner);
	if (asker->n_asked == ASKED_MAX)
		return "too many other JVMs are being asked";
	if (asker->helper < 0 ||
	    send(asker->helper, &pid, sizeof(pid), MSG_NOSIGNAL) != sizeof(pid))
		return "no helper process to ask it";
	asker->asked[asker->n_asked++] = pid;
	return NULL;
}

/* False: the process was not asked, or has answered. */
static bool take_asked(struct reel_java_asker *asker, uint32_t pid)
{
	for (size_t i = 0; i < asker->n_asked; i++) {
		if (asker->asked[i] != pid)
			continue;
		asker->asked[i] = asker->asked[--asker->n_asked];
		return true;
	}
	return false;
}

void reel_java_asker_wait(struct reel_java_asker *asker,
			  void (*fail)(void *context, uint32_t pid, const char *why), void *context)
{
	struct pollfd poll_fd = { .fd = asker->helper, .events = POLLIN };
	uint64_t end = reel_now() + PATIENCE;
	struct answer answer;

	while (asker->n_asked) {
		uint64_t now = reel_now();
		int timeout = now < end ? (int)((end - now) / REEL_NS_PER_MS) : 0;

		if (poll(&poll_fd, 1, timeout) != 1 ||
		    recv(asker->helper, &answer, sizeof(answer), 0) != sizeof(answer))
			break;
		if (take_asked(asker, answer.pid) && answer.answer < REEL_JAVA_ANSWERS &&
		    reasons[answer.answer])
			fail(context, answer.pid, reasons[answer.answer]);
	}
	while (asker->n_asked)
		fail(context, asker->asked[--asker->n_asked], "no answer in time");
	end_helper(asker);
}

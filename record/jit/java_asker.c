/* SPDX-License-Identifier: Apache-2.0 */
#include "record/jit/java_asker.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/quantity.h"
#include "record/helper/spawner.h"

/* For all JVMs, which are asked at the same time; each has less (DEADLINE_S). */
#define PATIENCE (6 * REEL_NS_PER_SECOND)
/* JVMs asked at most; each takes a process for a moment. */
#define ASKED_MAX 64
/* For one JVM. */
#define DEADLINE_S 5
/* A JVM looks for the file when it gets the signal, and then makes its socket. */
#define LOOK_US	  20000
#define LOOK_TIME (3 * REEL_NS_PER_SECOND)
/* A JVM maps its library early. */
#define LINES_MAX 65536

enum answer {
	TOLD,
	NO_JVM,
	DEAF,	   /* SIGQUIT would end it */
	NO_ACCESS, /* cannot become its user, or enter its root */
	REFUSED,
	SILENT,
	ANSWERS,
};

static const char *const reasons[] = {
	[TOLD] = NULL,
	[NO_JVM] = NULL,
	[DEAF] = "does not handle SIGQUIT, which makes a JVM listen (-Xrs?)",
	[NO_ACCESS] = "cannot access it as its own user",
	[REFUSED] = "the JVM refused (try: jcmd PID Compiler.perfmap)",
	[SILENT] = "does not listen like a JVM",
};

struct jvm {
	uint32_t pid;
	int proc; /* /proc/PID, which never refers to another process later */
	int pidfd;
	unsigned long uid, gid, own_pid; /* effective IDs, and pid in its own PID namespace */
};

/* ---- checking the process ------------------------------------------------------------------- */

static FILE *open_text(const struct jvm *jvm, const char *name)
{
	int fd = openat(jvm->proc, name, O_RDONLY | O_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");

	if (fd >= 0 && !file)
		close(fd);
	return file;
}

static bool maps_libjvm(const struct jvm *jvm)
{
	static const char name[] = "/libjvm.so\n";
	FILE *maps = open_text(jvm, "maps");
	char *line = NULL;
	size_t size = 0;
	bool found = false;
	ssize_t length;

	for (int i = 0; maps && !found && i < LINES_MAX; i++) {
		char protection[5] = "";

		length = getline(&line, &size, maps);
		if (length < 0)
			break;
		found = sscanf(line, "%*s %4s", protection) == 1 && protection[2] == 'x' &&
			(size_t)length > strlen(name) &&
			!strcmp(line + length - strlen(name), name);
	}
	free(line);
	if (maps)
		fclose(maps);
	return found;
}

static bool read_status(struct jvm *jvm, bool *handles_quit_ret)
{
	FILE *status = open_text(jvm, "status");
	unsigned long long caught = 0;
	bool has_uid = false, has_gid = false;
	char line[512];

	while (status && fgets(line, sizeof(line), status)) {
		const char *last = strrchr(line, '\t');

		has_uid |= sscanf(line, "Uid: %*u %lu", &jvm->uid) == 1;
		has_gid |= sscanf(line, "Gid: %*u %lu", &jvm->gid) == 1;
		sscanf(line, "SigCgt: %llx", &caught);
		if (!strncmp(line, "NSpid:", 6) && last)
			jvm->own_pid = strtoul(last, NULL, 10);
	}
	if (status)
		fclose(status);
	*handles_quit_ret = caught >> (SIGQUIT - 1) & 1;
	return has_uid && has_gid && jvm->own_pid;
}

/* TOLD: it is a JVM that handles SIGQUIT. */
static enum answer find_jvm(uint32_t pid, struct jvm *ret)
{
	bool handles_quit;
	char path[32];

	*ret = (struct jvm){ .pid = pid };
	snprintf(path, sizeof(path), "/proc/%u", pid);
	ret->proc = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ret->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	/* If the files can be read now, both descriptors refer to the same process. */
	if (ret->proc < 0 || ret->pidfd < 0 || !maps_libjvm(ret) ||
	    !read_status(ret, &handles_quit))
		return NO_JVM;
	return handles_quit ? TOLD : DEAF;
}

/* ---- its user ------------------------------------------------------------------------------- */

static bool drop_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	const struct __user_cap_data_struct none[2] = { 0 };

	return !syscall(SYS_capset, &header, none);
}

static bool become_its_user(const struct jvm *jvm)
{
	const struct rlimit files = { 16, 16 }, nothing = { 0, 0 },
			    cpu = { DEADLINE_S, DEADLINE_S };
	int root = openat(jvm->proc, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	bool entered = root >= 0 && !fchdir(root) && !chroot(".") && !chdir("/");

	if (root >= 0)
		close(root);
	return entered && !setgroups(0, NULL) &&
	       !setresgid((gid_t)jvm->gid, (gid_t)jvm->gid, (gid_t)jvm->gid) &&
	       !setresuid((uid_t)jvm->uid, (uid_t)jvm->uid, (uid_t)jvm->uid) &&
	       drop_capabilities() && !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) && !setrlimit(RLIMIT_NOFILE, &files) &&
	       !setrlimit(RLIMIT_FSIZE, &nothing) && !setrlimit(RLIMIT_CORE, &nothing) &&
	       !setrlimit(RLIMIT_CPU, &cpu);
}

/* ---- the protocol --------------------------------------------------------------------------- */

/* -1: no listener, or a process other than the intended one, which is not asked. */
static int connect_to(const struct jvm *jvm)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct ucred peer = { 0 };
	socklen_t size = sizeof(peer);

	snprintf(address.sun_path, sizeof(address.sun_path), "/tmp/.java_pid%lu", jvm->own_pid);
	if (fd >= 0 && !connect(fd, (struct sockaddr *)&address, sizeof(address)) &&
	    !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) && peer.pid == (pid_t)jvm->pid &&
	    peer.uid == jvm->uid)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/*
 * A JVM that was not asked before starts to listen on SIGQUIT if a file of that name is in its
 * working directory or in /tmp: here it is always in /tmp.
 */
static int wake(const struct jvm *jvm)
{
	uint64_t end = reel_now() + LOOK_TIME;
	int file, fd = -1;
	char path[64];

	snprintf(path, sizeof(path), "/tmp/.attach_pid%lu", jvm->own_pid);
	file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (file < 0 && errno != EEXIST)
		return -1;
	if (!syscall(SYS_pidfd_send_signal, jvm->pidfd, SIGQUIT, NULL, 0)) {
		while (fd < 0 && reel_now() < end) {
			usleep(LOOK_US);
			fd = connect_to(jvm);
		}
	}
	if (file >= 0) {
		unlink(path);
		close(file);
	}
	return fd;
}

static enum answer ask(int fd)
{
	/* Version, command, three arguments. */
	static const char question[] = "1\0jcmd\0Compiler.perfmap\0\0";
	char answer[256], status[2];
	ssize_t got;

	if (send(fd, question, sizeof(question), MSG_NOSIGNAL) != sizeof(question) ||
	    recv(fd, status, sizeof(status), MSG_WAITALL) != sizeof(status))
		return REFUSED;
	do
		got = recv(fd, answer, sizeof(answer), 0);
	while (got > 0);
	return got || memcmp(status, "0\n", 2) ? REFUSED : TOLD;
}

/*
 * In a process of its own, which can do nothing else afterwards: it enters the target's root, becomes
 * the target's user without any privilege, and is killed after some seconds.  A process that poses as
 * a JVM can thus only make it do things that its user may do anyway.
 */
static enum answer attach(uint32_t pid)
{
	enum answer found;
	struct jvm jvm;
	int fd;

	signal(SIGALRM, SIG_DFL);
	alarm(DEADLINE_S);
	found = find_jvm(pid, &jvm);
	if (found != TOLD)
		return found;
	if (!become_its_user(&jvm))
		return NO_ACCESS;
	fd = connect_to(&jvm);
	if (fd < 0)
		fd = wake(&jvm);
	return fd < 0 ? SILENT : ask(fd);
}

struct reply {
	uint32_t pid, answer;
};

/* ---- the helper ------------------------------------------------------------------------------ */

static void serve(int socket)
{
	uint32_t pid;

	signal(SIGCHLD, SIG_IGN);
	while (recv(socket, &pid, sizeof(pid), 0) == sizeof(pid)) {
		struct reply reply = { pid, NO_ACCESS };

		if (fork())
			continue;
		reply.answer = attach(pid);
		send(socket, &reply, sizeof(reply), MSG_NOSIGNAL);
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
static bool forget_asked(struct reel_java_asker *asker, uint32_t pid)
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
	struct reply reply;

	while (asker->n_asked) {
		uint64_t now = reel_now();
		int timeout = now < end ? (int)((end - now) / REEL_NS_PER_MS) : 0;

		if (poll(&poll_fd, 1, timeout) != 1 ||
		    recv(asker->helper, &reply, sizeof(reply), 0) != sizeof(reply))
			break;
		if (forget_asked(asker, reply.pid) && reply.answer < ANSWERS &&
		    reasons[reply.answer])
			fail(context, reply.pid, reasons[reply.answer]);
	}
	while (asker->n_asked)
		fail(context, asker->asked[--asker->n_asked], "no answer in time");
	end_helper(asker);
}

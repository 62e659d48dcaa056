/* SPDX-License-Identifier: Apache-2.0 */
#include "record/output/viewer.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/output_place.h"

#define TOOL "stackreel"

/* ---- in the process that waits -------------------------------------------------------------- */

/* The user's home; not by getpwuid, which a static program cannot have. */
static void set_home(uid_t user)
{
	FILE *file = fopen("/etc/passwd", "re");
	char line[4096];

	unsetenv("HOME");
	while (file && fgets(line, sizeof(line), file)) {
		/* name:password:uid:gid:comment:home:shell */
		char *rest = line, *fields[6];

		for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
			fields[i] = strsep(&rest, ":");
		if (fields[5] && strtoul(fields[2], NULL, 10) == user) {
			setenv("HOME", fields[5], true);
			break;
		}
	}
	if (file)
		fclose(file);
}

/* Where a desktop's programs find each other; sudo removes the variable. */
static void set_runtime_folder(uid_t user)
{
	char path[64];
	struct stat status;

	snprintf(path, sizeof(path), "/run/user/%u", user);
	if (!stat(path, &status) && S_ISDIR(status.st_mode) && status.st_uid == user)
		setenv("XDG_RUNTIME_DIR", path, true);
	else
		unsetenv("XDG_RUNTIME_DIR");
}

/* False if that failed: then nothing may be shown. */
static bool become_caller(void)
{
	uid_t user;
	gid_t group;

	if (!reel_output_place_caller(&user, &group))
		return true;
	if (setgroups(1, &group) || setresgid(group, group, group) || setresuid(user, user, user)) {
		fprintf(stderr, "stackreel-record: --view: cannot become user %u: %s\n", user,
			strerror(errno));
		return false;
	}
	set_home(user);
	set_runtime_folder(user);
	return true;
}

/* The tool beside this program, since both are installed together. */
static void show_by_neighbour(char **arguments)
{
	char path[PATH_MAX + sizeof(TOOL)];
	ssize_t size = readlink("/proc/self/exe", path, PATH_MAX);
	char *slash;

	path[size < 0 ? 0 : size] = '\0';
	slash = strrchr(path, '/');
	if (!slash)
		return;
	strcpy(slash + 1, TOOL);
	execv(path, arguments);
}

static void show(const char *capture, bool quiet) __attribute__((noreturn));

static void show(const char *capture, bool quiet)
{
	char *arguments[] = { (char *)TOOL,
			      (char *)"view",
			      (char *)(quiet ? "-q" : "--"),
			      (char *)(quiet ? "--" : capture),
			      (char *)(quiet ? capture : NULL),
			      NULL };

	if (!become_caller())
		_exit(EXIT_FAILURE);
	show_by_neighbour(arguments);
	execvp(TOOL, arguments);
	fprintf(stderr,
		"stackreel-record: --view: cannot execute " TOOL
		": %s; on a host that has it: " TOOL " view %s\n",
		strerror(errno), capture);
	_exit(EXIT_FAILURE);
}

/* Ctrl-C ends the recording, not this process; without the recorder, the pipe is empty. */
static void wait_and_show(int fd, const char *capture, bool quiet) __attribute__((noreturn));

static void wait_and_show(int fd, const char *capture, bool quiet)
{
	char byte;
	ssize_t n;

	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	do {
		n = read(fd, &byte, 1);
	} while (n < 0 && errno == EINTR);
	if (n != 1)
		_exit(EXIT_SUCCESS);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	show(capture, quiet);
}

/* ---- in the recorder ------------------------------------------------------------------------ */

struct reel_error *reel_viewer_start(struct reel_viewer *viewer, const char *capture, bool quiet)
{
	int fds[2];

	*viewer = (struct reel_viewer){ .fd = -1 };
	if (pipe2(fds, O_CLOEXEC))
		return reel_error_os(errno, "--view: cannot create a pipe");
	viewer->pid = fork();
	if (!viewer->pid) {
		close(fds[1]);
		wait_and_show(fds[0], capture, quiet);
	}
	close(fds[0]);
	viewer->fd = fds[1];
	if (viewer->pid > 0)
		return NULL;
	viewer->pid = 0;
	close(viewer->fd);
	return reel_error_os(errno, "--view: cannot start a process");
}

void reel_viewer_end(struct reel_viewer *viewer, bool shows)
{
	if (!viewer->pid)
		return;
	if (shows)
		(void)!write(viewer->fd, "", 1);
	close(viewer->fd);
	while (waitpid(viewer->pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/page/web_browser.h"
#include "cli/print/memory.h"

#define PROGRAM "xdg-open"

static bool is_set(const char *name)
{
	const char *value = getenv(name);

	return value && *value;
}

static bool is_installed(const char *program)
{
	const char *path = getenv("PATH");

	for (const char *end; path && *path; path = *end ? end + 1 : end) {
		_cleanup_free_ char *file = NULL;

		end = strchrnul(path, ':');
		file = memory_print("%.*s/%s", (int)(end - path), path, program);
		if (!access(file, X_OK))
			return true;
	}
	return false;
}

static const char *why_not(void)
{
	if (is_set("SSH_CONNECTION"))
		return "this is an ssh session";
	if (!is_set("DISPLAY") && !is_set("WAYLAND_DISPLAY"))
		return "there is no display";
	if (!geteuid())
		return "browsers do not run as root";
	if (!is_installed(PROGRAM))
		return PROGRAM " is not installed";
	return NULL;
}

/* In the child: opens the path that arrives, if one does. */
static void wait_for_path(int fd)
{
	char path[PATH_MAX];
	size_t size = 0;
	ssize_t n;

	while (size < sizeof(path) - 1 &&
	       (n = read(fd, path + size, sizeof(path) - 1 - size)) != 0) {
		if (n < 0 && errno != EINTR)
			_exit(EXIT_FAILURE);
		if (n > 0)
			size += (size_t)n;
	}
	if (!size)
		_exit(EXIT_SUCCESS);
	path[size] = '\0';
	execlp(PROGRAM, PROGRAM, path, (char *)NULL);
	_exit(EXIT_FAILURE);
}

void web_browser_prepare(struct web_browser *browser)
{
	int fds[2];

	*browser = (struct web_browser){ .missing = why_not(), .fd = -1 };
	if (browser->missing)
		return;
	if (pipe(fds)) {
		browser->missing = strerror(errno);
		return;
	}
	browser->pid = fork();
	if (!browser->pid) {
		close(fds[1]);
		wait_for_path(fds[0]);
	}
	close(fds[0]);
	browser->fd = fds[1];
	if (browser->pid < 0) {
		browser->missing = strerror(errno);
		close(browser->fd);
		browser->fd = -1;
	}
}

bool web_browser_show(struct web_browser *browser, const char *path)
{
	int status = 0;
	bool sent;

	if (browser->missing)
		return false;
	sent = write(browser->fd, path, strlen(path)) == (ssize_t)strlen(path);
	close(browser->fd);
	browser->fd = -1;
	while (waitpid(browser->pid, &status, 0) < 0 && errno == EINTR)
		;
	return sent && WIFEXITED(status) && !WEXITSTATUS(status);
}

void web_browser_close(struct web_browser *browser)
{
	if (browser->fd < 0)
		return;
	close(browser->fd);
	browser->fd = -1;
	waitpid(browser->pid, NULL, 0);
}

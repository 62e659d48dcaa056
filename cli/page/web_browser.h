/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a file in the user's browser. */
#ifndef CLI_PAGE_WEB_BROWSER_H
#define CLI_PAGE_WEB_BROWSER_H

#include <stdbool.h>
#include <sys/types.h>

struct web_browser {
	const char *missing; /* why no browser can be opened; NULL: one can */
	pid_t pid;
	int fd;
};

/* Starts a process that waits for the file: a sandboxed program cannot start one later. */
void web_browser_prepare(struct web_browser *browser);
/* Opens `path`; false if that failed. */
bool web_browser_show(struct web_browser *browser, const char *path);
/* If there is nothing to show; also after web_browser_show. */
void web_browser_close(struct web_browser *browser);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Serves a single page on this host's loopback interface, at an address that nobody can guess.  A
 * separate process serves it, since the program that reads the capture may be in a sandbox.
 */
#ifndef CLI_PAGE_PAGE_SERVER_H
#define CLI_PAGE_PAGE_SERVER_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

struct page_server {
	pid_t pid;
	FILE *page; /* to write the page to */
	char *url;
};

/* `address`: PORT, HOST:PORT or [HOST]:PORT, where HOST is this host's loopback; NULL: any free
 * port.  False after an error, which was reported. */
bool page_server_start(struct page_server *server, const char *address);
/* The page is written: serves it until a signal ends both processes.  Returns an exit status
 * if serving fails. */
int page_server_run(struct page_server *server);
/* Also if there is nothing to serve. */
void page_server_stop(struct page_server *server);

#endif

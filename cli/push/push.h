/* SPDX-License-Identifier: Apache-2.0 */
/* Sends a profile to a profile server by HTTP, with libcurl; never in the sandbox. */
#ifndef CLI_PUSH_PUSH_H
#define CLI_PUSH_PUSH_H

#include <stdbool.h>
#include <stdint.h>

struct push_server;

struct push {
	const struct push_server *server;
	const char *url;  /* of the server itself */
	const char *name; /* the profile's subject */
	uint64_t timeout; /* of one attempt, ns */
};

/* Parses SERVER:URL; false if invalid. */
bool push_parse(const char *text, struct push *ret);
/* Whether this program can push; reports why not. */
bool push_is_possible(void);
/* Sends the file `fd` from its start, a pprof profile of [from, until), ns since 1970.  Returns
 * false and reports why if the server did not accept it. */
bool push_profile(const struct push *push, int fd, uint64_t from, uint64_t until);

#endif

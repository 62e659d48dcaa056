/* SPDX-License-Identifier: Apache-2.0 */
/* A profile sent to a server of profiles, by HTTP, with libcurl; never in the sandbox. */
#ifndef CLI_PUSH_PUSH_H
#define CLI_PUSH_PUSH_H

#include <stdbool.h>
#include <stdint.h>

struct push_server;

struct push {
	const struct push_server *server;
	const char *url;  /* of the server itself */
	const char *name; /* what the profile is of */
	uint64_t timeout; /* of one attempt, ns */
};

/* Of SERVER:URL; false if it is none. */
bool push_parse(const char *text, struct push *ret);
/* Whether it can be done here; says why not. */
bool push_is_possible(void);
/* Sends the file `fd` from its start, a pprof profile of [from, until), ns since 1970.  False, and
 * says why, if the server did not take it. */
bool push_profile(const struct push *push, int fd, uint64_t from, uint64_t until);

#endif

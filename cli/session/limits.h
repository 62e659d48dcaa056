/* SPDX-License-Identifier: Apache-2.0 */
/* --memory-limit and --time-limit: limit a command's use of the host, for untrusted files. */
#ifndef CLI_SESSION_LIMITS_H
#define CLI_SESSION_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

struct limits {
	uint64_t memory; /* bytes; 0: none */
	uint64_t time;	 /* ns; 0: none */
};

/* Three quarters of the host's memory, and no time limit. */
struct limits limits_default(void);
/* "512M", "1.5GiB" or "none" (0); false for anything else, and for no bytes. */
bool limits_parse_size(const char *text, uint64_t *ret);
/* The same, or "80%" (of the host's memory), and at least what a command needs to report errors. */
bool limits_parse_memory(const char *text, uint64_t *ret);

/* Takes effect immediately; messages name `file`. */
void limits_apply(const struct limits *limits, const char *file);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* --memory-limit and --time-limit: limit what a command may take of the host, for files of
 * strangers. */
#ifndef CLI_SESSION_LIMITS_H
#define CLI_SESSION_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

struct limits {
	uint64_t memory; /* bytes; 0: none */
	uint64_t time;	 /* ns; 0: none */
};

/* Three quarters of the host's memory, and no limit of time. */
struct limits limits_default(void);
/* "512M", "1.5GiB", "80%" (of the host's memory) or "none". */
bool limits_parse_memory(const char *text, uint64_t *ret);

/* From here on; `file` is what the messages name. */
void limits_apply(const struct limits *limits, const char *file);
/* Says what memory was short for (harmless on a terminal; NULL: not known), and what may do. */
void limits_complain_of_memory(const char *what);

#endif

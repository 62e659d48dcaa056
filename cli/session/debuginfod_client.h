/* SPDX-License-Identifier: Apache-2.0 */
/* Fetches one file from a debuginfod server with elfutils' client, in a process of its own. */
#ifndef CLI_SESSION_DEBUGINFOD_CLIENT_H
#define CLI_SESSION_DEBUGINFOD_CLIENT_H

#include <stdint.h>

#include "include/commands.h"

enum fetch_kind {
	FETCH_EXECUTABLE,
	FETCH_DEBUGINFO,
};

/* The exit status of that process. */
enum fetch_result {
	FETCHED,
	FETCH_NOT_THERE,
	FETCH_UNREACHABLE,
	FETCH_SERVER_FAILED,
	FETCH_TOO_SLOW,
	FETCH_LYING,
	FETCH_TOO_LARGE,
	FETCH_NOT_WRITTEN,
	FETCH_NO_LIBRARY,
	FETCH_FAILED,
	/* Set by the parent. */
	FETCH_OUT_OF_TIME,
	FETCH_INTERRUPTED,
	FETCH_RESULTS, /* number of results */
};

struct fetch_request {
	enum fetch_kind kind;
	const char *build_id; /* hexadecimal */
	const char *urls;     /* NULL: $DEBUGINFOD_URLS */
	const char *cache;    /* a folder that exists */
	uint64_t max_size;    /* 0: no limit */
};

/* Progress, in shared memory: an attacker who takes over the process can write anything here. */
struct fetch_news {
	uint64_t bytes;
	/* The file's alternate (reel_file_identity.alternate). */
	char alternate[REEL_BUILD_ID_TEXT_SIZE];
};

/* Ends this process. SIGTERM ends it soon and leaves no partial file. */
_Noreturn void debuginfod_client_run(const struct fetch_request *request, struct fetch_news *news);

#endif

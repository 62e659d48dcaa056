/* SPDX-License-Identifier: Apache-2.0 */
/* One file from a debuginfod server, by elfutils' client, in a process that ends with it. */
#ifndef CLI_SESSION_DEBUGINFOD_CLIENT_H
#define CLI_SESSION_DEBUGINFOD_CLIENT_H

#include <stdint.h>

#include "include/stackreel.h"

enum fetch_kind {
	FETCH_EXECUTABLE,
	FETCH_DEBUGINFO,
};

/* How it went: the exit status of that process. */
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
	/* What the parent knows. */
	FETCH_OUT_OF_TIME,
	FETCH_INTERRUPTED,
	FETCH_RESULTS, /* how many there are */
};

struct fetch_request {
	enum fetch_kind kind;
	const char *build_id; /* hexadecimal */
	const char *urls;     /* NULL: $DEBUGINFOD_URLS */
	const char *cache;    /* a folder that exists */
	uint64_t max_size;    /* 0: no limit */
};

/* What it tells meanwhile, in memory that is shared: whoever took it over writes anything there. */
struct fetch_news {
	uint64_t bytes;
	/* Another file that belongs to it (reel_file_identity.alternate). */
	char alternate[REEL_BUILD_ID_TEXT_SIZE];
};

/* Ends this process.  SIGTERM ends it soon, and without leaving a part of the file behind. */
_Noreturn void debuginfod_client_run(const struct fetch_request *request, struct fetch_news *news);

#endif

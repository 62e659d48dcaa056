/* SPDX-License-Identifier: Apache-2.0 */
/* perf.data's features about the host and perf's command line. */
#ifndef REPLAY_IMPORT_PERF_HOST_H
#define REPLAY_IMPORT_PERF_HOST_H

#include "format/perf/perf_cursor.h"

struct perf_host {
	/* NULL: unknown. */
	char *hostname, *release, *version, *arch;
	uint32_t cpus_possible, cpus_online; /* 0: unknown */
	struct reel_buffer command_line;     /* arguments, each ended by a NUL */
	/* Read together; 0 if perf was run without -k. */
	uint64_t wall_time, clock_time;
	bool is_directory; /* perf record --threads: the data is in other files */
};

void reel_perf_host_free(struct perf_host *host);
/* Whether the feature is about the host. */
bool reel_perf_host_wants(unsigned int feature);
/* Reads a feature; ignores those not about the host.  CORRUPT if it is too short. */
struct reel_error *reel_perf_host_feature(struct perf_host *host, unsigned int feature,
					  struct perf_cursor cursor) REEL_MUST_CHECK;

#endif

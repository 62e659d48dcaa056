/* SPDX-License-Identifier: Apache-2.0 */
/* The sources of a merged capture (ORIGIN records) and their hosts. */
#ifndef FORMAT_TIMELINE_ORIGINS_H
#define FORMAT_TIMELINE_ORIGINS_H

#include "base/error.h"
#include "format/record.h"
#include "include/commands.h"

struct reel_origin_capture {
	uint64_t id, first_sample;
	size_t number; /* the record's, in the file's order */
	/* Module of the kernel proper, 0 if unknown: set when kernel symbols are read. */
	uint64_t kernel;
	const char *hostname, *kernel_release;
	uint8_t recording[16]; /* 0: none */
	uint64_t start_wall_time;
	uint64_t shift;	  /* start_wall_time - start_time */
	uint32_t host_id; /* from 1 on; 0 if there is one host */
};

struct reel_origins;

struct reel_error *reel_origins_create(struct reel_origins **ret) REEL_MUST_CHECK;
void reel_origins_destroy(struct reel_origins *origins);
struct reel_error *reel_origins_add(struct reel_origins *origins,
				    const struct reel_record_origin *record) REEL_MUST_CHECK;
/* Call after adding all: allows the following functions, from several threads. */
struct reel_error *reel_origins_seal(struct reel_origins *origins) REEL_MUST_CHECK;
/* NULL: none. */
struct reel_origin_capture *reel_origins_find(const struct reel_origins *origins, uint64_t id);
const struct reel_origin_capture *reel_origins_of_sample(const struct reel_origins *origins,
							 uint64_t sample);
/* Ascending by name. */
const struct reel_host_info *reel_origins_hosts(const struct reel_origins *origins,
						size_t *count_ret);
/* "HOST:COMM", which lives as long as `origins`, if there are several hosts; else `comm`. */
struct reel_error *reel_origins_comm(struct reel_origins *origins,
				     const struct reel_origin_capture *origin, const char *comm,
				     const char **ret) REEL_MUST_CHECK;

#endif

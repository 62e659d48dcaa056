/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a probe's name. */
#ifndef RECORD_PROBES_PROBE_NAME_H
#define RECORD_PROBES_PROBE_NAME_H

#include "record/sampling/sampler.h"

struct reel_probe_name {
	enum reel_sampler_probe kind;
	/* Owned; NULL: none.  USDT's name is `function`. */
	char *file, *provider, *function;
	uint64_t offset; /* from the function's start */
	bool has_offset;
};

/* REEL_SAMPLER_NO_PROBE if it is not a probe's name. */
enum reel_sampler_probe reel_probe_name_kind(const char *name);
/* Frees nothing on error: the caller does, always. */
struct reel_error *reel_probe_name_parse(const char *name,
					 struct reel_probe_name *ret) REEL_MUST_CHECK;
void reel_probe_name_free(struct reel_probe_name *name);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events at code: uprobe:FILE:FUNC[+OFFSET], uretprobe:FILE:FUNC, usdt:FILE:PROVIDER:NAME,
 * latency:FILE:FUNC, and in the kernel kprobe:FUNC[+OFFSET] and kretprobe:FUNC.
 *
 * FILE is a path, or a name that is looked up in PATH and in the loader's folders; with -p, it is
 * looked up in the processes' own root directories, and a name among their mapped files first.
 * FUNC is a symbol, a C++, Rust or Fortran name with or without parameters, or a pattern of either
 * (fnmatch); all functions with that name are meant.  PROVIDER and NAME may be patterns.
 */
#ifndef RECORD_PROBES_PROBES_H
#define RECORD_PROBES_PROBES_H

#include "record/sampling/sampler.h"

/* Probes of one event. */
#define REEL_PROBE_PLACES_MAX 1000

/* Processes in which files are looked up; none: this process's root directory. */
struct reel_probe_targets {
	const uint32_t *pids;
	size_t n_pids;
	bool system_wide;
	bool confined; /* files are read without rights */
};

bool reel_probe_event_is(const char *name);

/*
 * Implements reel_sampler_event_resolve for probes.  A process without rights reads the files, since
 * they may be other users'; it is ended after ten seconds.  `ret->warning` says why the probes may
 * have no hits.
 */
struct reel_error *reel_probe_event_resolve(const char *name,
					    const struct reel_probe_targets *targets,
					    struct reel_sampler_event *ret) REEL_MUST_CHECK;

typedef struct reel_error *reel_probe_name_visitor(void *context, const char *text);

/*
 * Visits the names, after FILE:, of all functions or static probes that a pattern such as
 * uprobe:FILE:FUNC means, some several times; they may have any bytes.
 */
struct reel_error *reel_probe_names_visit(const char *pattern,
					  const struct reel_probe_targets *targets,
					  reel_probe_name_visitor *visit,
					  void *context) REEL_MUST_CHECK;

#endif

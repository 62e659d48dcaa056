/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the cgroup that the user names: a directory, or below the mounts of cgroup v2. */
#ifndef RECORD_OPTIONS_CGROUP_SEARCH_H
#define RECORD_OPTIONS_CGROUP_SEARCH_H

#include "base/error.h"

struct reel_inspector;

/*
 * `name`: a directory; a path relative to a mount; a unit of systemd, such as nginx.service; a
 * container or a pod: its name, its id or at least the first 8 digits of that, or NAMESPACE/POD; a
 * container first if both have the name.  The caller frees *ret, a directory.  NOT_FOUND if there is
 * none; INVALID if there are several, which the message lists.
 * `inspector` looks for names that are not in paths, unless it is NULL.
 */
struct reel_error *reel_cgroup_search(const char *name, struct reel_inspector *inspector,
				      char **ret) REEL_MUST_CHECK;
/* The same below one mount. */
struct reel_error *reel_cgroup_search_below(const char *mount, const char *name,
					    struct reel_inspector *inspector,
					    char **ret) REEL_MUST_CHECK;

#endif

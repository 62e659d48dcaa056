/* SPDX-License-Identifier: Apache-2.0 */
/* The labels of a trace: those of its sample, and those of its process at that time. */
#ifndef REPLAY_TRACES_TRACE_LABELS_H
#define REPLAY_TRACES_TRACE_LABELS_H

#include "format/record.h"
#include "base/error.h"
#include "format/timeline/space.h"

#define REEL_TRACE_LABELS_MAX (REEL_LABELS_MAX + 7)

/* An empty one is all zero. */
struct reel_trace_labels {
	struct reel_label labels[REEL_TRACE_LABELS_MAX];
	size_t n;
	struct reel_buffer texts;
};

void reel_trace_labels_free(struct reel_trace_labels *labels);
/* Gives `trace` the labels of `sample`, which live until the next call, and of its process's cgroup
 * (NULL: unknown), which live with it.  `value_keys`: of its event, or NULL.  NO_MEMORY. */
struct reel_error *reel_trace_labels_make(struct reel_trace_labels *labels,
					  const struct reel_sample *sample,
					  const char *const *value_keys,
					  const struct reel_cgroup *cgroup,
					  struct reel_trace *trace) REEL_MUST_CHECK;

#endif

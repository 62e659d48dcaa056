/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of a filter's label matches. */
#ifndef REPLAY_TRACES_LABEL_FILTER_H
#define REPLAY_TRACES_LABEL_FILTER_H

#include <stdbool.h>

#include "base/error.h"
#include "include/stackreel.h"

/* Replaces `*matches` by a copy that owns its strings; NULL after an error. */
struct reel_error *reel_label_matches_copy(const struct reel_label_match **matches,
					   size_t n) REEL_MUST_CHECK;
void reel_label_matches_free(const struct reel_label_match *matches, size_t n);
/* For each key, one of its matches does. */
bool reel_label_matches_pass(const struct reel_label_match *matches, size_t n,
			     const struct reel_trace *trace);

#endif

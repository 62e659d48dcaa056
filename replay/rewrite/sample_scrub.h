/* SPDX-License-Identifier: Apache-2.0 */
/* A capture's samples without the recorded programs' data. */
#ifndef REPLAY_REWRITE_SAMPLE_SCRUB_H
#define REPLAY_REWRITE_SAMPLE_SCRUB_H

#include "replay/capture/capture.h"
#include "format/scrub/scrub.h"

struct reel_error *reel_capture_scrubber_create(const struct reel_capture *capture,
						struct reel_scrubber **ret) REEL_MUST_CHECK;
/* As reel_scrub_sample, with the capture's own scrubber. */
struct reel_error *reel_capture_scrub_sample(const struct reel_capture *capture,
					     struct reel_scrubber *scrubber,
					     struct reel_sample *sample) REEL_MUST_CHECK;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* --status: what running recorders publish (output/status.h), with their CPU and memory. */
#ifndef RECORD_STATUS_REPORT_H
#define RECORD_STATUS_REPORT_H

#include "base/error.h"
#include "record/options/options.h"

/* Of one recorder, a process ID or a file; of all if `which` is NULL. */
struct reel_error *reel_status_report(const char *which,
				      enum reel_status_format format) REEL_MUST_CHECK;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The map in which OpenTelemetry's eBPF instrumentation keeps which request each thread works for,
 * pinned in a BPF file system (OTEP 4855).
 */
#ifndef RECORD_SAMPLING_REQUEST_MAP_H
#define RECORD_SAMPLING_REQUEST_MAP_H

#include "base/error.h"

/* Where it is unless the instrumentation was told another file system. */
#define REEL_REQUEST_MAP "/sys/fs/bpf/otel/traces_ctx_v1"

/* Opens it for reading; the caller closes it.  INVALID if it is not such a map. */
struct reel_error *reel_request_map_open(const char *path, int *fd_ret) REEL_MUST_CHECK;

#endif

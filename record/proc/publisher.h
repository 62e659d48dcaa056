/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether an ELF file publishes which request each thread works for (OpenTelemetry's OTEP 4947):
 * whether it has the thread-local variable `otel_thread_ctx_v1`, and where its code finds that.
 */
#ifndef RECORD_PROC_PUBLISHER_H
#define RECORD_PROC_PUBLISHER_H

#include <linux/types.h>

#include "bpf/publisher.h"
#include "record/proc/dynamic_file.h"

/* The publisher's `at` is an offset from the thread pointer, or the file offset of the words that
 * the dynamic linker fills in; its kind is NONE if the file does not publish. */
void reel_publisher_find(const struct reel_dynamic_file *file, struct reel_bpf_publisher *ret);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether an ELF file has a thread-local variable that BPF reads, and where its code finds that:
 * `otel_thread_ctx_v1`, which publishes the request that the thread works for (OpenTelemetry's OTEP
 * 4947), or OCaml's `caml_state`.
 */
#ifndef RECORD_PROC_PUBLISHER_H
#define RECORD_PROC_PUBLISHER_H

#include "bpf/publisher.h"
#include "record/proc/dynamic_file.h"

/* The publisher's `at` is an offset from the thread pointer, or the file offset of the words that
 * the dynamic linker fills in; its kind is NONE if the file has none. */
void reel_publisher_find(const struct reel_dynamic_file *file, struct reel_bpf_publisher *ret);

#endif

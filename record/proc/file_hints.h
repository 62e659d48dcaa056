/* SPDX-License-Identifier: Apache-2.0 */
/* What an ELF file says of a process that maps it, by its dynamic symbols. */
#ifndef RECORD_PROC_FILE_HINTS_H
#define RECORD_PROC_FILE_HINTS_H

#include <stdint.h>

#include "bpf/runtime.h"

/* An interpreter, and where its state is. */
struct reel_runtime_place {
	uint32_t kind;	  /* enum reel_bpf_interpreter_kind */
	uint32_t version; /* major << 16 | minor << 8; 0: unknown */
	/* The state's address less that of a mapping of code, plus that mapping's file offset. */
	uint64_t at;
	uint64_t size; /* of the memory that has the state; 0: it is at `at` */
	uint64_t
		before; /* bytes of the file, mostly its code, that are mapped before this memory */
};

struct reel_file_hints {
	/*
	 * A thread-local variable that BPF reads: `otel_thread_ctx_v1`, which publishes the request
	 * that the thread works for (OpenTelemetry's OTEP 4947), or OCaml's `caml_state`.  `at` is
	 * an offset from the thread pointer, or the file offset of the words that the dynamic linker
	 * fills in.  Kind NONE: the file has none.
	 */
	struct reel_bpf_publisher publisher;
	struct reel_runtime_place runtime; /* kind NONE: none */
	/* The address of __jit_debug_descriptor (jit_list.h), as in struct reel_runtime_place; 0:
	 * none. */
	uint64_t jit_list;
};

/* All zero for a file that is not understood. */
void reel_file_hints_find(int fd, struct reel_file_hints *ret);

#endif

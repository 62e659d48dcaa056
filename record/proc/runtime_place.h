/* SPDX-License-Identifier: Apache-2.0 */
/* Whether an ELF file has the state of an interpreter, and where. */
#ifndef RECORD_PROC_RUNTIME_PLACE_H
#define RECORD_PROC_RUNTIME_PLACE_H

#include "bpf/interpreter.h"
#include "record/proc/dynamic_file.h"

struct reel_runtime_place {
	uint32_t kind;	  /* enum reel_bpf_interpreter_kind */
	uint32_t version; /* major << 16 | minor << 8; 0: unknown */
	/* The state's address less that of a mapping of code, plus that mapping's file offset. */
	uint64_t at;
	uint64_t size; /* of the memory that has the state; 0: it is at `at` */
	uint64_t
		before; /* bytes of the file, mostly its code, that are mapped before this memory */
};

/* The kind is NONE if the file has none. */
void reel_runtime_place_find(const struct reel_dynamic_file *file, struct reel_runtime_place *ret);

#endif

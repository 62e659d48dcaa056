/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of programs that interpreters run: FUNCTION records. */
#ifndef REPLAY_NAMES_RUNTIME_FUNCTIONS_H
#define REPLAY_NAMES_RUNTIME_FUNCTIONS_H

#include "base/error.h"
#include "base/hash_index.h"
#include "base/id_table.h"
#include "base/text.h"
#include "format/record.h"

struct reel_runtime_line {
	uint64_t position; /* the first one */
	uint32_t line;
};

struct reel_runtime_function {
	struct reel_id_entry by_id;
	enum reel_runtime_kind runtime;
	const char *name, *file; /* interned */
	uint32_t line;		 /* of its definition */
	/* The first one of that runtime, name, file and line: in another process, or defined
	 * again. */
	const struct reel_runtime_function *first;
	size_t n_lines;
	struct reel_runtime_line lines[]; /* by position */
};

/* All zero: none. */
struct reel_runtime_functions {
	struct reel_id_table by_id;
	struct reel_texts *texts;
	const struct reel_runtime_function **distinct;
	size_t n_distinct, distinct_capacity;
	struct reel_hash_index index; /* of these */
};

void reel_runtime_functions_free(struct reel_runtime_functions *functions);
struct reel_error *reel_runtime_functions_add(struct reel_runtime_functions *functions,
					      const struct reel_record_function *record)
	REEL_MUST_CHECK;
/* NULL: there is no such record. */
const struct reel_runtime_function *reel_runtime_functions_find(
	const struct reel_runtime_functions *functions, uint64_t id);
/* 0: unknown. */
uint32_t reel_runtime_function_line(const struct reel_runtime_function *function,
				    uint64_t position);

#endif

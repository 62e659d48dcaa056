/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of interpreters in samples, for FUNCTION records.  A function gets its number with the
 * first sample that has it; the inspector's helper then reads its name from the process's memory.
 * A function is its code's address in a space and the identity that BPF read with each frame, so
 * another one at that address later has another number.
 */
#ifndef RECORD_JIT_FUNCTION_TABLE_H
#define RECORD_JIT_FUNCTION_TABLE_H

#include "record/helper/inspector.h"
#include "record/processes/module_table.h"
#include "format/timeline/space.h"

struct reel_function_table;

struct reel_function_table_options {
	struct reel_inspector *inspector;
	struct reel_budget *budget;
	struct reel_record_sink sink;
};

struct reel_error *reel_function_table_create(const struct reel_function_table_options *options,
					      struct reel_function_table **ret) REEL_MUST_CHECK;
void reel_function_table_destroy(struct reel_function_table *table);

/* Gives a sample of the space the frames that BPF found of an interpreter (enum
 * reel_bpf_interpreter_kind); they live until the next call. */
struct reel_error *reel_function_table_set_frames(struct reel_function_table *table,
						  const struct reel_space_view *view,
						  uint32_t interpreter,
						  const struct reel_bpf_frame *frames, size_t n,
						  bool is_cut,
						  struct reel_sample *sample) REEL_MUST_CHECK;

/* A process's interpreter; kind NONE if it has none. */
typedef struct reel_runtime_place reel_interpreter_of(void *context, uint32_t pid);

/* Reads and writes some names; *ret is false if there is nothing to read, or all that could be read
 * is beyond the budget. */
struct reel_error *reel_function_table_read(struct reel_function_table *table,
					    reel_interpreter_of *interpreter, void *context,
					    bool *ret) REEL_MUST_CHECK;

/* A file ends: functions without names are counted. */
void reel_function_table_end(struct reel_function_table *table);
/* A new file begins: functions get new numbers there. */
void reel_function_table_restart(struct reel_function_table *table);

/* Functions without a number, or a name, for lack of room or time. */
uint64_t reel_function_table_left_out(const struct reel_function_table *table);

#endif

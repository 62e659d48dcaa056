/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names for addresses, each looked up once: (module, address) -> interned frames, inlined ones
 * first.  Several threads may use it concurrently; known addresses are found without a lock.
 */
#ifndef REPLAY_NAMES_FRAME_TABLE_H
#define REPLAY_NAMES_FRAME_TABLE_H

#include "replay/names/code_map.h"
#include "replay/names/kernel_code.h"
#include "replay/names/runtime_functions.h"

struct reel_frame_table;

struct reel_address_frames {
	const struct reel_frame *const *frames;
	size_t n;
	/* An interrupt entered the kernel here: the next address is not a return address. */
	bool is_interrupt;
	/* The frames' module; REEL_NO_MODULE if unknown. */
	size_t module;
};

/* All are borrowed.  `file_size`, of the capture, limits the table's size. */
struct reel_error *reel_frame_table_create(const struct reel_kernel_symbol_map *kernel_symbols,
					   struct reel_kernel_code *kernel_code, uint64_t file_size,
					   struct reel_frame_table **ret) REEL_MUST_CHECK;
void reel_frame_table_destroy(struct reel_frame_table *table);

/*
 * The frames at a runtime address in `range`.  `jit`, if not NULL, has the names from JITs.
 * `program` is the result of reel_code_map_jit_program.  The function is looked up at `lookup`: the
 * same address, or one less for a return address.
 */
struct reel_error *reel_frame_table_user(struct reel_frame_table *table,
					 const struct reel_code_range *range,
					 const struct reel_space_view *jit,
					 const struct reel_record_module *program, uint64_t address,
					 uint64_t lookup,
					 struct reel_address_frames *ret) REEL_MUST_CHECK;
/* A frame that is only a text, by whose address it is found: a line between two stacks, or for a
 * part of one that was not kept (REEL_STEP_GAP). */
struct reel_error *reel_frame_table_text(struct reel_frame_table *table, const char *text,
					 struct reel_address_frames *ret) REEL_MUST_CHECK;
/* The frame at a line of a function that an interpreter runs; NULL: its record is missing. */
struct reel_error *reel_frame_table_runtime(struct reel_frame_table *table, uint64_t runtime,
					    const struct reel_runtime_function *function,
					    uint32_t line,
					    struct reel_address_frames *ret) REEL_MUST_CHECK;
/* The frames at a kernel address, at a time; `origin` is the sample's, or NULL if none. */
struct reel_error *reel_frame_table_kernel(struct reel_frame_table *table,
					   const struct reel_origin_capture *origin, uint64_t time,
					   uint64_t address, uint64_t lookup,
					   struct reel_address_frames *ret) REEL_MUST_CHECK;

#endif

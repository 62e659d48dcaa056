/* SPDX-License-Identifier: Apache-2.0 */
/* Which module's code lies at an address of a space at a time: the unwinder's find_code. */
#ifndef REPLAY_NAMES_CODE_MAP_H
#define REPLAY_NAMES_CODE_MAP_H

#include "replay/names/jit_rows.h"
#include "replay/names/module.h"

/* A range of addresses of one state of a space, and the code in it. */
struct reel_code_range {
	uint64_t generation; /* reel_space_view's; 0: the entry is empty */
	uint64_t begin, end;
	enum reel_code_found found;
	struct reel_module *module; /* NULL: none is known */
	uint64_t bias;
};

/* Rows of code whose bytes were recorded, in one state of one space. */
struct reel_recorded_rows {
	struct reel_synthesis *synthesis;
	const struct reel_arch *arch;
	const void *code;
	uint64_t generation;
};

/* The code is in no file, so that a JIT's word on it counts. */
bool reel_code_range_may_be_jit(const struct reel_code_range *range);

struct reel_code_map;
/* The program that made the code of a range in anonymous memory: the lowest executable mapping of a
 * file is taken for it.  NULL for other code, and where there is no such file. */
const struct reel_record_module *reel_code_map_jit_program(struct reel_code_map *map,
							   const struct reel_code_range *range);

#define REEL_CODE_CACHE_SIZE 1024

struct reel_code_map {
	struct reel_modules *modules;
	const struct reel_arch *arch;
	struct reel_space_view view;
	bool big_endian; /* the space is */
	/* The first NO_MEMORY that a look-up met. */
	struct reel_error *error;
	struct reel_code_range cache[REEL_CODE_CACHE_SIZE];
	/* Two: a sample may be tried with what was recorded before and after it. */
	struct reel_recorded_rows recorded[2];
	unsigned last_recorded;
	struct reel_jit_rows *jit_rows; /* NULL: none were asked for */
	/* Of reel_code_map_jit_program. */
	uint64_t program_generation;
	const struct reel_record_module *program;
};

/* What the map has made itself; its members are the caller's. */
void reel_code_map_free(struct reel_code_map *map);

/* Sets the space that the look-ups that follow are of. */
void reel_code_map_set_space(struct reel_code_map *map, struct reel_space_view view,
			     const struct reel_arch *arch);
/* What makes traces of the space wrong, as reel_rows_problem, or the first error of a look-up; it
 * is told once. NULL: nothing did. */
struct reel_error *reel_code_map_problem(struct reel_code_map *map) REEL_MUST_CHECK;
/* The code at `address`; never NULL, borrowed until the next call. */
const struct reel_code_range *reel_code_map_find(struct reel_code_map *map, uint64_t address);

/*
 * For reel_unwind_input and reel_memory_view; `context` is the map.  Code without a file, whose
 * bytes were recorded (CODE records), can be read as any other: *ret has `read_code` then, whatever
 * was found, and `synthesis`, but no rows; and reel_code_map_read reads both.  It has `jit_rows` if
 * a JIT has told how it is unwound (JIT_UNWIND), until the next reel_code_map_set_space.
 */
enum reel_code_found reel_code_map_find_code(void *context, uint64_t address,
					     struct reel_code *ret);
bool reel_code_map_read(void *context, uint64_t address, size_t size, uint8_t *bytes_ret);

#endif

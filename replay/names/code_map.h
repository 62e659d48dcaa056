/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the module with the code at an address, by space and time: the unwinder's find_code. */
#ifndef REPLAY_NAMES_CODE_MAP_H
#define REPLAY_NAMES_CODE_MAP_H

#include "replay/names/jit_rows.h"
#include "replay/names/module.h"

/* A range of addresses in one state of a space, and its code. */
struct reel_code_range {
	uint64_t generation; /* reel_space_view's; 0: the entry is empty */
	uint64_t begin, end;
	enum reel_code_found found;
	struct reel_module *module; /* NULL: unknown */
	uint64_t bias;
	/* The view's; they matter if recorded bytes were compared with the file's. */
	const void *code, *next_code;
	bool is_compared;
};

/* Rows of recorded code, last used in one state of one space. */
struct reel_recorded_rows {
	struct reel_synthesis *synthesis;
	const struct reel_arch *arch;
	const void *code;
	uint64_t generation;
};

/* The code is not in a file, so information from a JIT applies. */
bool reel_code_range_may_be_jit(const struct reel_code_range *range);

struct reel_code_map;
/* The program that made a range's code in anonymous memory: the lowest executable file
 * mapping's.  NULL for other code, or without such a mapping. */
const struct reel_record_module *reel_code_map_jit_program(struct reel_code_map *map,
							   const struct reel_code_range *range);

#define REEL_CODE_CACHE_SIZE 1024
#define REEL_RECORDED_SPACES 4

struct reel_code_map {
	struct reel_modules *modules;
	const struct reel_arch *arch;
	struct reel_space_view view;
	bool big_endian; /* the space's byte order */
	/* The first NO_MEMORY of a look-up. */
	struct reel_error *error;
	struct reel_code_range cache[REEL_CODE_CACHE_SIZE];
	struct reel_recorded_rows recorded[2][REEL_RECORDED_SPACES];
	bool has_used_recorded;		/* since it was last cleared */
	struct reel_jit_rows *jit_rows; /* NULL: not needed so far */
	/* Cache of reel_code_map_jit_program. */
	uint64_t program_generation;
	const struct reel_record_module *program;
};

/* Frees what the map allocated; the other members belong to the caller. */
void reel_code_map_free(struct reel_code_map *map);

/* Sets the space for the following look-ups. */
void reel_code_map_set_space(struct reel_code_map *map, struct reel_space_view view,
			     const struct reel_arch *arch);
/* The reason why traces of the space are wrong, as reel_rows_problem, or the first error of a
 * look-up, returned once.  NULL: none. */
struct reel_error *reel_code_map_problem(struct reel_code_map *map) REEL_MUST_CHECK;
/* The code at `address`; never NULL, borrowed until the next call. */
const struct reel_code_range *reel_code_map_find(struct reel_code_map *map, uint64_t address);

/*
 * For reel_unwind_input and reel_memory_view; `context` is the map.  Code without a file whose
 * bytes were recorded (CODE records) can be read like other code: *ret has `read_code`, whatever
 * the result, and `synthesis`, but no rows; reel_code_map_read reads both kinds.  If a JIT gave
 * unwind information (JIT_UNWIND), *ret has `jit_rows` until the next reel_code_map_set_space.
 */
enum reel_code_found reel_code_map_find_code(void *context, uint64_t address,
					     struct reel_code *ret);
bool reel_code_map_read(void *context, uint64_t address, size_t size, uint8_t *bytes_ret);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The unwinder: (arch, where code lies, registers, memory) -> addresses and
 * why it stopped.  No I/O, no symbols, no globals.
 */
#ifndef REPLAY_UNWIND_UNWIND_H
#define REPLAY_UNWIND_UNWIND_H

#include "include/stackreel.h"
#include "cfi/row.h"
#include "cfi/state.h"

struct reel_synthesis;

/* The code that an address belongs to. */
struct reel_code {
	struct reel_rows *rows; /* NULL: the module's file is missing */
	/* Rows where there is no CFI; NULL: none can be made. */
	struct reel_synthesis *synthesis;
	/* Of code in no file: rows that a JIT has told, by runtime address; NULL: none. */
	struct reel_rows *jit_rows;
	uint64_t bias; /* runtime address - bias = ELF address */
	/* Bytes of the code at runtime address `address` for signal trampolines; may be NULL. */
	bool (*read_code)(void *module, uint64_t elf_address, size_t size, uint8_t *bytes_ret);
	void *module;
	/* Runtime addresses, the one asked for among them, that all this holds for. */
	uint64_t begin, size;
	/* Names rows, read_code and module among all that one cache ever meets; 0: nobody knows,
	 * and nothing is remembered. */
	uint64_t id;
};

enum reel_code_found {
	REEL_CODE_FOUND = 0,
	REEL_CODE_NO_MAPPING,	  /* nothing executable there */
	REEL_CODE_MODULE_MISSING, /* a mapping, but no file for it */
	REEL_CODE_ANONYMOUS,	  /* a mapping without a file: no CFI can be there */
};

/*
 * What one thread's walks remember of code, wherever that is mapped: 2 MB.  With it, frames of the
 * usual kind take the fast path (FAST_PATH.md), with the same results.
 */
struct reel_unwind_cache;
struct reel_error *reel_unwind_cache_create(struct reel_unwind_cache **ret) REEL_MUST_CHECK;
void reel_unwind_cache_destroy(struct reel_unwind_cache *cache);

struct reel_unwind_input {
	const struct reel_arch *arch;
	uint64_t code_mask; /* bits to strip from code addresses */
	const struct reel_memory_view *memory;
	/* Which code lies at a runtime address; called for each frame, must be fast. */
	enum reel_code_found (*find_code)(void *context, uint64_t address, struct reel_code *ret);
	void *context;
	/* Identifies a state of the mappings: where two walks have the same number, find_code gives
	 * the same answers.  0: unknown. */
	uint64_t generation;
	struct reel_unwind_cache *cache; /* NULL: every frame takes the slow path */
	/* The task is in a system call: where pc is behind the instruction, pc - 1 is looked up;
	 * the link register counts. */
	bool after_syscall;
	bool no_frame_pointers;
	/* The recorder cut the stack: running out of bytes is STACK_CUT. */
	bool stack_cut;
	/* What was kept of the far end of such a stack, one of memory's regions; NULL: nothing. */
	const struct reel_memory_region *root_part;
	/* Go's gobuf, one of memory's regions: where a goroutine goes on that waits for this
	 * stack's functions, or, where none does, this stack begins; NULL: nothing is known. */
	const struct reel_memory_region *goroutine;
	bool is_idle; /* there is no such goroutine */
	size_t max_frames;
};

/* A growing list of frames, to be reused from trace to trace. */
struct reel_unwind_frames {
	uint64_t *addresses; /* frame 0: pc; others: return addresses, stripped */
	uint64_t *lookups;   /* the address to look symbols up with: pc, or pc - 1 */
	uint64_t *sps;	     /* 0: unknown */
	uint8_t *steps;	     /* enum reel_step */
	size_t n, capacity;
};

void reel_unwind_frames_free(struct reel_unwind_frames *frames);

/* The arch's own programs, compiled; made once an arch. */
struct reel_unwind_programs;
struct reel_error *reel_unwind_programs_create(const struct reel_arch *arch,
					       struct reel_unwind_programs **ret) REEL_MUST_CHECK;
void reel_unwind_programs_destroy(struct reel_unwind_programs *programs);

/*
 * Unwinds from `state` (which is used up): ret->n frames, at least one unless
 * memory is short.  Only errors of this host (NO_MEMORY) are errors; everything about
 * the trace is in *stop_ret.
 */
struct reel_error *reel_unwind_trace(const struct reel_unwind_input *input,
				     const struct reel_unwind_programs *programs,
				     struct reel_unwind_state *state,
				     struct reel_unwind_frames *ret,
				     enum reel_stop *stop_ret) REEL_MUST_CHECK;

/*
 * The frames of a chain that the recorder walked, leaf first: nothing is left to check it with, but
 * whether the last one can have a caller.  `step` says how: by frame pointers (RECORDED), and then
 * `state` may know the link register, with which a leaf function's caller is found that such a
 * chain lacks; or by the CPU's record of calls (RECORDED_CALL), whose addresses are the calls'.
 */
struct reel_error *reel_unwind_recorded(const struct reel_unwind_input *input,
					const struct reel_unwind_programs *programs,
					struct reel_unwind_state *state, const uint64_t *chain,
					size_t count, enum reel_step step,
					struct reel_unwind_frames *ret,
					enum reel_stop *stop_ret) REEL_MUST_CHECK;

#endif

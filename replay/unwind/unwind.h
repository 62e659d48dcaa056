/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The unwinder: (arch, map of code, registers, memory) -> addresses and why it stopped.  No I/O, no
 * symbols, no globals.
 */
#ifndef REPLAY_UNWIND_UNWIND_H
#define REPLAY_UNWIND_UNWIND_H

#include "include/commands.h"
#include "cfi/row.h"
#include "cfi/state.h"

struct reel_synthesis;

/* The code at an address. */
struct reel_code {
	struct reel_rows *rows; /* NULL: the module's file is missing */
	/* Makes rows without CFI; NULL: impossible. */
	struct reel_synthesis *synthesis;
	/* For code without a file: rows from a JIT, by runtime address; NULL: none. */
	struct reel_rows *jit_rows;
	uint64_t bias; /* runtime address - bias = ELF address */
	/* Bytes of the code at runtime address `address` for signal trampolines; may be NULL. */
	bool (*read_code)(void *module, uint64_t elf_address, size_t size, uint8_t *bytes_ret);
	void *module;
	/* The runtime addresses with this code, including the one looked up. */
	uint64_t begin, size;
	/* Identifies rows, read_code and module for one cache; 0: unknown, so nothing is cached. */
	uint64_t id;
};

enum reel_code_found {
	REEL_CODE_FOUND = 0,
	REEL_CODE_NO_MAPPING,	  /* no executable mapping */
	REEL_CODE_MODULE_MISSING, /* a mapping, but no file for it */
	REEL_CODE_ANONYMOUS,	  /* a mapping without a file, so without CFI */
};

/*
 * One thread's cache of facts about code, wherever mapped: 2 MiB.  With it, usual frames take the
 * fast path (FAST_PATH.md), with the same results.
 */
struct reel_unwind_cache;
struct reel_error *reel_unwind_cache_create(struct reel_unwind_cache **ret) REEL_MUST_CHECK;
void reel_unwind_cache_destroy(struct reel_unwind_cache *cache);

struct reel_unwind_input {
	const struct reel_arch *arch;
	uint64_t code_mask; /* bits to strip from code addresses */
	const struct reel_memory_view *memory;
	/* Finds the code at a runtime address; called for each frame, must be fast. */
	enum reel_code_found (*find_code)(void *context, uint64_t address, struct reel_code *ret);
	void *context;
	/* Identifies a state of the mappings: for walks with the same number, find_code returns the
	 * same results.  0: unknown. */
	uint64_t generation;
	struct reel_unwind_cache *cache; /* NULL: every frame takes the slow path */
	/* The task is in a system call: if pc follows the instruction, pc - 1 is looked up; the
	 * link register is valid. */
	bool after_syscall;
	bool no_frame_pointers;
	/* The recorder cut the stack: running out of bytes is STACK_CUT. */
	bool stack_cut;
	/* The kept far end of such a stack, one of memory's regions; NULL: none. */
	const struct reel_memory_region *root_part;
	/* Go's gobufs (go_stack.c), each one of memory's regions or NULL: where the stack that waits
	 * continues, and where the one that runs does when it has been left. */
	const struct reel_memory_region *waiting, *own;
	size_t max_frames;
};

/* A growing list of frames, reused for all traces. */
struct reel_unwind_frames {
	uint64_t *addresses; /* frame 0: pc; others: return addresses, stripped */
	uint64_t *lookups;   /* the address for symbol look-ups: pc, or pc - 1 */
	uint64_t *sps;	     /* 0: unknown */
	uint8_t *steps;	     /* enum reel_step */
	size_t n, capacity;
	/* Also keep each frame's registers, which excludes the fast path; set by the caller. */
	bool keeps_states;
	struct reel_unwind_state *states; /* NULL if none are kept */
	size_t states_capacity;
};

void reel_unwind_frames_free(struct reel_unwind_frames *frames);
/* Makes room for `n` frames. */
struct reel_error *reel_unwind_frames_fit(struct reel_unwind_frames *frames,
					  size_t n) REEL_MUST_CHECK;
/* The first frame, from `from` on, whose part of the stack has the address; SIZE_MAX if none. */
size_t reel_unwind_frames_find(const struct reel_unwind_frames *frames, size_t from,
			       uint64_t address);

/* The arch's own programs, compiled once per arch. */
struct reel_unwind_programs;
struct reel_error *reel_unwind_programs_create(const struct reel_arch *arch,
					       struct reel_unwind_programs **ret) REEL_MUST_CHECK;
void reel_unwind_programs_destroy(struct reel_unwind_programs *programs);

/*
 * Unwinds from `state` (which is overwritten): ret->n frames, at least one unless memory is short.
 * Only errors of this host (NO_MEMORY) are errors; problems of the trace are in *stop_ret.
 */
struct reel_error *reel_unwind_trace(const struct reel_unwind_input *input,
				     const struct reel_unwind_programs *programs,
				     struct reel_unwind_state *state,
				     struct reel_unwind_frames *ret,
				     enum reel_stop *stop_ret) REEL_MUST_CHECK;

/*
 * The frames of a chain that the recorder walked, leaf first.  Only whether the last frame can have
 * a caller is checked.  `step` is the method.  RECORDED: by frame pointers; if `state` has the link
 * register, it gives the caller of a leaf function, which such chains miss.  RECORDED_CALL: from
 * the CPU's record of calls, with the addresses of the call instructions.
 */
struct reel_error *reel_unwind_recorded(const struct reel_unwind_input *input,
					const struct reel_unwind_programs *programs,
					struct reel_unwind_state *state, const uint64_t *chain,
					size_t count, enum reel_step step,
					struct reel_unwind_frames *ret,
					enum reel_stop *stop_ret) REEL_MUST_CHECK;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and follows the code of a synthesis.  Internal to replay/synthesis/. */
#ifndef REPLAY_SYNTHESIS_CODE_H
#define REPLAY_SYNTHESIS_CODE_H

#include "replay/synthesis/instruction.h"
#include "replay/synthesis/synthesis.h"

/* Several parts of the code: the targets of calls are elsewhere. */
#define REEL_CODE_WINDOW  256
#define REEL_CODE_WINDOWS 8

struct reel_code_window {
	uint64_t begin;
	size_t size; /* 0: none */
	uint8_t bytes[REEL_CODE_WINDOW];
};

/* Code on which a result depends (seen.c): of a source, or readable bytes, or unreadable. */
struct reel_code_part {
	uint64_t address, source; /* 0: the bytes count */
	size_t size;		  /* 0: the address was unreadable */
};

struct reel_code_seen {
	struct reel_code_seen *next;
	struct reel_code_part *parts;
	size_t n, capacity;
	uint8_t *bytes; /* of the parts without a source, in order */
	/* The reader's when the code was last compared; 0: it has changed. */
	uint64_t state;
	uint64_t number, added_to; /* the number of the last one that got its parts */
	bool lost;		   /* not all parts are known, or one has changed */
};

struct reel_code_reader {
	struct reel_synthesis_input input;
	struct reel_decoder *decoder;
	uint64_t state; /* of the code: counts from 1 */
	uint64_t n_seen;
	struct reel_code_seen *seen; /* gets the parts that are read; may be NULL */
	bool is_readable;	     /* the address decoded last */
	struct reel_code_window windows[REEL_CODE_WINDOWS];
};

/* The instruction at an address; false if it is unreadable or unknown. */
bool reel_code_decode(struct reel_code_reader *reader, uint64_t address,
		      struct reel_instruction *ret);

/* Begins to note the parts that are read; NULL in *ret if the code never changes.  False if memory
 * is short. */
bool reel_code_seen_begin(struct reel_code_reader *reader, struct reel_code_seen **ret);
void reel_code_seen_note(struct reel_code_reader *reader, uint64_t address, size_t size);
/* That the address has a source or not; only one that it has is noted. */
void reel_code_seen_note_source(struct reel_code_reader *reader, uint64_t address);
/* The result that is being made also depends on that result's code. */
void reel_code_seen_add(struct reel_code_seen *to, struct reel_code_seen *seen);
/* Keeps the bytes as they are now. */
void reel_code_seen_end(struct reel_code_reader *reader, struct reel_code_seen *seen);
/* Whether the code is still the same; NULL: always. */
bool reel_code_seen_holds(const struct reel_code_reader *reader, struct reel_code_seen *seen);
void reel_code_seen_free(struct reel_code_seen *seen);

/*
 * The instructions reachable from `begin`, each with its possible successors; at most
 * REEL_CODE_NODES_MAX.
 */
#define REEL_CODE_NODES_MAX 16384
#define REEL_CODE_NO_NODE   UINT32_MAX

enum reel_code_flags {
	/* Unknown successors: it is not decoded, or jumps through a register. */
	REEL_CODE_OPEN = 1 << 0,
	/* It jumps out of this code, or through a register or memory. */
	REEL_CODE_LEAVES = 1 << 1,
	/* Not decoded: CFI has a row here, which suffices. */
	REEL_CODE_HAS_CFI = 1 << 2,
	/* It is the target of a jump. */
	REEL_CODE_JUMPED_TO = 1 << 3,
	/* Not decoded: the result here is known. */
	REEL_CODE_KNOWN = 1 << 4,
};

struct reel_code_node {
	uint64_t address;
	uint32_t next, target; /* nodes, or NO_NODE; a call has a target if that pops the address */
	uint32_t instruction;  /* offset in the bytes of instructions */
	unsigned flags;	       /* enum reel_code_flags */
};

struct reel_code_graph {
	struct reel_code_node *nodes;
	size_t n, capacity;
	uint8_t *instructions;
	size_t size, instructions_capacity;
	uint32_t *index; /* node + 1 by address; open-addressed; NULL once sorted */
	size_t index_mask;
	bool truncated; /* there is more code than the limit */
	bool ends_at_cfi;
};

/*
 * False if memory is short.  `use_cfi`: code that begins without CFI ends where CFI exists.
 * `is_known`: code after the first instruction ends where this is true; may be NULL.
 */
bool reel_code_follow(struct reel_code_reader *reader, uint64_t begin, bool use_cfi,
		      bool (*is_known)(void *context, uint64_t address, bool ends_at_cfi),
		      void *context, struct reel_code_graph *ret);
/* Sorts the nodes into reverse postorder, in which only loops lead back; the first stays.  False if
 * memory is short. */
bool reel_code_sort(struct reel_code_graph *graph);
/* Makes a call an instruction that only pushes its address. */
void reel_code_make_push(const struct reel_arch *arch, struct reel_instruction *instruction);

void reel_code_graph_free(struct reel_code_graph *graph);
const struct reel_instruction *reel_code_instruction(const struct reel_code_graph *graph,
						     const struct reel_code_node *node);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows for code without CFI, from the code itself.  It is followed to its returns, whose needs are
 * expressed by the registers here (returns.c), or followed from a function's start, tracking the
 * changes to the stack (entries.c).  README.md explains both.
 */
#ifndef REPLAY_SYNTHESIS_SYNTHESIS_H
#define REPLAY_SYNTHESIS_SYNTHESIS_H

#include "base/error.h"
#include "cfi/row.h"

/* Rows of one module or one piece of code, by ELF address.  Several threads may use it. */
struct reel_synthesis;

struct reel_synthesis_input {
	const struct reel_arch *arch;
	/* False if not all bytes are readable. */
	bool (*read_code)(void *module, uint64_t address, size_t size, uint8_t *bytes_ret);
	void *module;
	/* The CFI's row if there is one: code that leads there uses it. */
	enum reel_cfi_found (*find_row)(void *rows, uint64_t address, struct reel_cfi_row *ret);
	void *rows;
	/* For code that may change (reel_synthesis_changed), else NULL: equal numbers mean the same
	 * code and CFI at `address`; 0: no CFI, and perhaps other bytes. */
	uint64_t (*find_source)(void *module, uint64_t address);
};

/* The usual find_row: `rows` is a struct reel_cfi, or NULL. */
enum reel_cfi_found reel_synthesis_cfi_row(void *rows, uint64_t address, struct reel_cfi_row *ret);

/* NULL in *ret: the CPU's instructions are unknown. */
struct reel_error *reel_synthesis_create(const struct reel_synthesis_input *input,
					 struct reel_synthesis **ret) REEL_MUST_CHECK;
void reel_synthesis_destroy(struct reel_synthesis *synthesis);
/* The code may have changed: results are used again only if their code has not.  Rows may go. */
void reel_synthesis_changed(struct reel_synthesis *synthesis);

/* The source of a row, the most certain first. */
enum reel_synthesized_by {
	REEL_BY_RETURN = 0,
	/* The code makes a frame record right below the return address. */
	REEL_BY_RECORD,
	/* Only a jump through a register or memory was found, which is assumed to be a tail call.
	 * After a restore of the frame pointer it certainly is one, and counts as a return. */
	REEL_BY_JUMP,
};

/* A row that may hold at an address. */
struct reel_synthesized {
	const struct reel_row *row; /* lives with the synthesis */
	enum reel_synthesized_by by;
};

#define REEL_SYNTHESIZED_MAX 4

struct reel_synthesized_rows {
	struct reel_synthesized rows[REEL_SYNTHESIZED_MAX];
	unsigned n;
	/* All of the code was followed, so other rows do not exist. */
	bool whole;
	/* The code uses the frame pointer: it reads or writes memory by it before changing it. */
	bool by_fp;
	/* It calls on the way, and is assumed to continue, though the call may never return. */
	bool calls;
	/* Registers, by slot, that have the same value when the function returns. */
	uint64_t untouched;
	/* Registers whose unchanged value is stored, copied or jumped to. */
	uint64_t passed_on;
};

/*
 * The rows from the code between `address` and its returns: none if it has no returns, several if
 * they disagree.
 */
void reel_synthesis_at(struct reel_synthesis *synthesis, uint64_t address,
		       struct reel_synthesized_rows *ret);

/*
 * The row for an instruction of an FDE from `begin` to `end` if its CFI may be late there (`edge`
 * is not INNER), from a few instructions: those before it, which have made a part of the frame, or
 * those after it, which only lead to a return or the jump of a tail call.  NULL without one.
 * *certain_ret: they are one straight way.
 */
const struct reel_row *reel_synthesis_edge(struct reel_synthesis *synthesis, uint64_t begin,
					   uint64_t end, uint64_t address, enum reel_row_edge edge,
					   bool *certain_ret);

/* Does code that begins at `entry`, right after a call to it, reach `address`? */
enum reel_leads {
	REEL_LEADS_NOT = 0,
	REEL_LEADS_PERHAPS, /* it also jumps through registers or memory */
	REEL_LEADS_THERE,
};
/* *row_ret: the row from the changes to the stack there; NULL if they are not always the same. */
enum reel_leads reel_synthesis_leads(struct reel_synthesis *synthesis, uint64_t entry,
				     uint64_t address, const struct reel_row **row_ret);

/* Whether code that begins at `entry` reaches the instruction with the byte at `address`.  Calls
 * are not followed. */
bool reel_synthesis_holds(struct reel_synthesis *synthesis, uint64_t entry, uint64_t address);
/*
 * Possible beginnings of a function that reaches `address`, for functions that never return: after
 * code that does not continue, and not where their own code jumps to.  `by_record`: instead, the
 * nearest one whose first instructions store the frame pointer right below the return address.
 * *rows_ret: the row from each one's changes to the stack since then.  The nearest is first.
 */
unsigned reel_synthesis_beginnings(struct reel_synthesis *synthesis, uint64_t address,
				   bool by_record,
				   const struct reel_row *rows_ret[REEL_SYNTHESIZED_MAX]);

/* The code from `address` on can only end the thread: a few instructions without calls or branches,
 * followed by one that never continues; or, with `by_loop`, a loop of them (an ending system call,
 * repeated until it succeeds). */
bool reel_synthesis_only_ends(struct reel_synthesis *synthesis, uint64_t address, bool by_loop);

/* Code that begins at `entry` reaches the instruction with the byte at `address` before its first
 * call returns, with no branch taken. */
bool reel_synthesis_is_until_call(struct reel_synthesis *synthesis, uint64_t entry,
				  uint64_t address);

/* The code from `from` to `to` changes nothing but the flags; it may branch elsewhere. */
bool reel_synthesis_only_looks(struct reel_synthesis *synthesis, uint64_t from, uint64_t to);

/*
 * The row from the changes to the stack by code that begins at `entry` and leaves, with a frame, by
 * a jump through a register or memory; NULL if it does not leave so, or the changes differ.  The
 * row knows only saved registers, since the target of the jump may have changed the others.
 */
const struct reel_row *reel_synthesis_leaving(struct reel_synthesis *synthesis, uint64_t entry);

/* The CFI has `entry` within a function, as in hand-written code: compilers' functions are called
 * only at their beginning. */
bool reel_synthesis_is_inner(struct reel_synthesis *synthesis, uint64_t entry);

/* The target of the call of `size` bytes that ends at `address`; false if it contains none. */
bool reel_synthesis_call_target(struct reel_synthesis *synthesis, uint64_t address, size_t size,
				uint64_t *target_ret);

#endif

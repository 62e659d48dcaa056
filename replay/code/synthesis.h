/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows for code without CFI, made of the code itself: it is followed to its returns, and what they
 * need is told in terms of the registers here (synthesis.c); or followed from a function's start,
 * and what was done to the stack since is told (entry.c).  README.md explains both.
 */
#ifndef REPLAY_CODE_SYNTHESIS_H
#define REPLAY_CODE_SYNTHESIS_H

#include "base/error.h"
#include "cfi/row.h"

/* Rows of one module or one piece of code, by ELF address.  Several threads may use it. */
struct reel_synthesis;

struct reel_synthesis_input {
	const struct reel_arch *arch;
	/* False if not all of the bytes can be had. */
	bool (*read_code)(void *module, uint64_t address, size_t size, uint8_t *bytes_ret);
	void *module;
	/* What CFI says where there is some: code that leads there has its rows. */
	enum reel_cfi_found (*find_row)(void *rows, uint64_t address, struct reel_cfi_row *ret);
	void *rows;
};

/* The usual find_row: `rows` is a struct reel_cfi, or NULL. */
enum reel_cfi_found reel_synthesis_cfi_row(void *rows, uint64_t address, struct reel_cfi_row *ret);

/* NULL in *ret: instructions of the CPU are not known here. */
struct reel_error *reel_synthesis_create(const struct reel_synthesis_input *input,
					 struct reel_synthesis **ret) REEL_MUST_CHECK;
void reel_synthesis_destroy(struct reel_synthesis *synthesis);
/* The code has changed: rows are gone, too. */
void reel_synthesis_forget(struct reel_synthesis *synthesis);

/* What tells a row, the surest first. */
enum reel_synthesized_by {
	REEL_BY_RETURN = 0,
	/* The code makes a frame record, which lies right below the return address. */
	REEL_BY_RECORD,
	/* Only a jump to where a register or memory says was found: it is taken for one to another
	 * function (a tail call).  Where it comes behind the frame pointer was restored, it is one,
	 * and counts as a return. */
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
	/* All of the code could be followed, so that there is no other row than these. */
	bool whole;
	/* The code uses the frame pointer for one: it reads or writes memory by it, before it
	 * changes.
	 */
	bool by_fp;
	/* It calls on the way, and is taken to go on where that call may never return. */
	bool calls;
	/* Registers, by slot, that hold what they hold now when the function returns. */
	uint64_t untouched;
	/* Registers whose value goes elsewhere as it is: it is stored, copied or jumped to. */
	uint64_t passed_on;
};

/*
 * What the code from `address` on says, up to its returns: no row where it has none, several where
 * it is not of one mind.
 */
void reel_synthesis_at(struct reel_synthesis *synthesis, uint64_t address,
		       struct reel_synthesized_rows *ret);

/* Does code that begins at `entry`, right behind a call to it, come to `address`? */
enum reel_leads {
	REEL_LEADS_NOT = 0,
	REEL_LEADS_PERHAPS, /* it also goes where its registers and memory say */
	REEL_LEADS_THERE,
};
/* *row_ret is what has been done to the stack there; NULL if that is not always the same. */
enum reel_leads reel_synthesis_leads(struct reel_synthesis *synthesis, uint64_t entry,
				     uint64_t address, const struct reel_row **row_ret);

/* Whether code that begins at `entry` comes to the instruction that holds the byte at `address`.
 * Calls are not followed. */
bool reel_synthesis_holds(struct reel_synthesis *synthesis, uint64_t entry, uint64_t address);
/*
 * Where a function may begin that comes to `address`, for those that never return: behind what does
 * not go on, and not where their own code jumps to; *rows_ret, what each has done to the stack
 * since. The nearest first.
 */
unsigned reel_synthesis_beginnings(struct reel_synthesis *synthesis, uint64_t address,
				   const struct reel_row *rows_ret[REEL_SYNTHESIZED_MAX]);

/* All that is left to do from `address` on is to end: a few instructions that neither call nor
 * branch, and none that can be gone on from; or `by_loop`, all of them again (a system call that
 * ends, until it does). */
bool reel_synthesis_only_ends(struct reel_synthesis *synthesis, uint64_t address, bool by_loop);

/* Code that begins at `entry` reaches the instruction with the byte at `address` before its first
 * call returns, with no branch taken. */
bool reel_synthesis_is_until_call(struct reel_synthesis *synthesis, uint64_t entry,
				  uint64_t address);

/* The code from `from` to `to` changes nothing but the flags; it may branch elsewhere. */
bool reel_synthesis_only_looks(struct reel_synthesis *synthesis, uint64_t from, uint64_t to);

/*
 * What code that begins at `entry` has done to the stack where it leaves by a jump to what a
 * register or memory says, with a frame; NULL if it does not, or not always the same.  Of
 * registers, the row knows only those that were saved: what it has jumped to may have changed the
 * others.
 */
const struct reel_row *reel_synthesis_leaving(struct reel_synthesis *synthesis, uint64_t entry);

/* The call that ends at `address` and is `size` bytes long: true if it names its target. */
bool reel_synthesis_call_target(struct reel_synthesis *synthesis, uint64_t address, size_t size,
				uint64_t *target_ret);

#endif

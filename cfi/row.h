/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiled rows: a row of CFI, which has a rule for each register at a pc, reduced to the needs of
 * a step.  Each (module, address) is compiled once; equal rows are stored once.
 */
#ifndef CFI_ROW_H
#define CFI_ROW_H

#include "include/commands.h"
#include "cfi/cfi.h"
#include "cfi/state.h"

enum reel_row_outcome {
	REEL_ROW_STEP = 0, /* a caller can be computed */
	REEL_ROW_ROOT,	   /* the return address is undefined: outermost frame */
	REEL_ROW_NONE,	   /* no CFI */
	REEL_ROW_BAD,	   /* CFI that cannot be interpreted */
	REEL_ROW_SWITCHES, /* CFI of a function that changes stacks, which is not valid */
};

/* A compiled row.  This header declares only what the unwinder's loop uses. */
struct reel_row;

/* The rows of one module, by ELF address. Safe to use from several threads. */
struct reel_rows;

/*
 * `cfi` is borrowed (NULL if the module has none).  `entry` is the ELF file's e_entry, 0 for none:
 * the entry has no caller, and so have the REEL_ROW_ENTRY_SIZE bytes from there, unless
 * they have an FDE.
 */
#define REEL_ROW_ENTRY_SIZE 64
struct reel_error *reel_rows_create(const struct reel_arch *arch, struct reel_cfi *cfi,
				    uint64_t entry, struct reel_rows **ret) REEL_MUST_CHECK;
void reel_rows_destroy(struct reel_rows *rows);
/* The ELF file's e_entry; 0 if none. */
uint64_t reel_rows_entry(const struct reel_rows *rows);

/*
 * The row at an ELF address; never NULL, lives with `rows`.  If memory is short, or the CFI takes
 * many times the usual work for its size, the row may be BAD or NONE: reel_rows_problem reports it,
 * and no trace that used the row should be shown.
 */
const struct reel_row *reel_rows_at(struct reel_rows *rows, uint64_t address);
/* The range of the FDE that holds the address; false if none does. */
bool reel_rows_function_at(const struct reel_rows *rows, uint64_t address, uint64_t *begin_ret,
			   uint64_t *end_ret);
/* The begin of a function whose row is REEL_ROW_SWITCHES; false if none was found. */
bool reel_rows_switch_begins(const struct reel_rows *rows, uint64_t address, uint64_t *ret);
/* NULL without a problem. */
struct reel_error *reel_rows_problem(const struct reel_rows *rows) REEL_MUST_CHECK;
/* On a problem, sets *told to `what`, not NULL; for callers with the rows of many modules. */
void reel_rows_tell(struct reel_rows *rows, void *_Atomic *told, void *what);

enum reel_row_outcome reel_row_outcome(const struct reel_row *row);
bool reel_row_is_signal_frame(const struct reel_row *row);
/* The row's address is the last one of its function: the return address after it is outside. */
bool reel_row_ends_function(const struct reel_row *row);
/* The row's address is one of its function's first REEL_ROW_BEGIN_SIZE bytes. */
#define REEL_ROW_BEGIN_SIZE 4
bool reel_row_begins_function(const struct reel_row *row);
/* The function has a personality routine: it may catch exceptions or destroy objects there. */
bool reel_row_has_personality(const struct reel_row *row);

/* The FDE's only row, by the frame pointer: wrong where a function has not made its frame. */
bool reel_row_assumes_frame(const struct reel_row *row, const struct reel_arch *arch);

/*
 * Compilers may describe a prologue only at its end, and an epilogue not at all (LLVM before 15 on
 * arm64, later ones on other CPUs).  EARLY: the FDE's first row, which says as `at_entry` that
 * nothing has happened yet.  LATE: its last row, which says that the frame is still there.
 */
enum reel_row_edge {
	REEL_ROW_INNER = 0, /* neither */
	REEL_ROW_EARLY,
	REEL_ROW_LATE,
};
enum reel_row_edge reel_row_edge(const struct reel_row *row, const struct reel_row *at_entry);
/* Both find the CFA and the return address in the same way. */
bool reel_row_same_frame(const struct reel_row *a, const struct reel_row *b);

/* The CFA may depend on the register's value. */
bool reel_row_needs(const struct reel_row *row, uint8_t slot);

/* The CFA is an expression's result. */
bool reel_row_computes_cfa(const struct reel_row *row);
/* The return address is in memory. */
bool reel_row_saves_return_address(const struct reel_row *row);
/* By the row, the return address is elsewhere than right after a call. */
bool reel_row_denies_return(const struct reel_row *row, const struct reel_arch *arch);

/*
 * If the row finds the CFA by sp, and the caller's fp and return address in two words of the frame,
 * in this order (a frame record): computes sp from an fp that points to them.
 */
bool reel_row_sp_of_record(const struct reel_row *row, const struct reel_arch *arch, uint64_t fp,
			   uint64_t *sp_ret);

/* Compiles a row; for arch programs, kept by the unwinder. */
struct reel_error *reel_row_create(const struct reel_arch *arch, const struct reel_cfi_row *cfi_row,
				   struct reel_row **ret) REEL_MUST_CHECK;
void reel_row_destroy(struct reel_row *row);

/* The result of a step. */
enum reel_next {
	REEL_NEXT_CALLER = 0,
	REEL_NEXT_ROOT, /* no caller */
	REEL_NEXT_STOP, /* the caller cannot be found; an enum reel_stop has the reason */
};

/*
 * Computes the caller's state from the callee's (changes `state` only on success).  `first`: the
 * frame is the sample's own or was interrupted by a signal, so a register whose slot is below sp
 * still has its value (it was just popped).  In the red zone the slot's bytes, if recorded, are
 * equally good, and also right for a leaf function that saves there without moving sp.  Registers
 * other than the return address that cannot be recovered become unknown, and so does a used link
 * register: it is only valid in frames that nobody called from.
 *
 * *stop_ret is set only for REEL_NEXT_STOP: STACK_END, NO_UNWIND_INFO, BAD_UNWIND_INFO,
 * REGISTER_UNKNOWN or SCRUBBED.
 */
enum reel_next reel_row_apply(const struct reel_row *row, struct reel_unwind_state *state,
			      bool first, uint64_t text_bias, enum reel_stop *stop_ret);

/* The same for a row that is REEL_ROW_SWITCHES, as it would be on one stack. */
enum reel_next reel_row_apply_switch(const struct reel_row *row, struct reel_unwind_state *state,
				     uint64_t text_bias, enum reel_stop *stop_ret);

/* The frame's CFA; false if the row has none, or it cannot be computed. */
bool reel_row_cfa(const struct reel_row *row, const struct reel_unwind_state *state,
		  uint64_t text_bias, uint64_t *ret);

/* Statistics, for info and benchmarks. */
struct reel_rows_counts {
	uint64_t addresses; /* compiled so far */
	uint64_t rows;	    /* different ones */
	uint64_t bytes;	    /* memory of both */
};
struct reel_rows_counts reel_rows_counts(const struct reel_rows *rows);

#endif

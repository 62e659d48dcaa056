/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call frame information: finds the FDE of an address in .eh_frame and
 * .debug_frame, and runs its instructions up to that address (DWARF 5, 6.4;
 * LSB Core, "Exception Frames").  Pure: bytes in, a row of rules out.
 */
#ifndef CFI_CFI_H
#define CFI_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"
#include "base/bytes.h"
#include "base/error.h"

/* Bytes are borrowed for the table's life. */
struct reel_cfi_input {
	const struct reel_arch *arch;
	bool big_endian;
	struct reel_loaded_bytes eh_frame; /* size 0: there is none */
	struct reel_loaded_bytes eh_frame_hdr;
	struct reel_loaded_bytes debug_frame;
	/* NULL, or where the bytes of one of them are that no file has: from malloc, freed with the
	 * table, and where none is created. */
	uint8_t *owned;
	/* Bases of DW_EH_PE_textrel and DW_EH_PE_datarel pointers. */
	uint64_t text_base, data_base;
	/*
	 * From the first to the last executable address of the module: FDEs that begin elsewhere
	 * are leftovers of removed sections.  Both 0: not known, all FDEs are taken.
	 */
	uint64_t text_begin, text_end;
};

/* The CFI of a module. Immutable after creation but for an index that is built once, under a lock.
 */
struct reel_cfi;

struct reel_error *reel_cfi_create(const struct reel_cfi_input *input,
				   struct reel_cfi **ret) REEL_MUST_CHECK;
void reel_cfi_destroy(struct reel_cfi *cfi);

/* Functions that change stacks, while their FDEs are as if they did not (Go's). */
struct reel_cfi_range {
	uint64_t begin, end;
};
/* Before any row is asked for. In ascending order; copied. */
struct reel_error *reel_cfi_set_switches(struct reel_cfi *cfi, const struct reel_cfi_range *ranges,
					 size_t n) REEL_MUST_CHECK;
/* The one that the address lies in; NULL if none. */
const struct reel_cfi_range *reel_cfi_switch_at(const struct reel_cfi *cfi, uint64_t address);
const struct reel_cfi_range *reel_cfi_switches(const struct reel_cfi *cfi, size_t *n_ret);

/* From here on, which FDEs answered is remembered; the CFI is one thread's then. */
void reel_cfi_keep_hits(struct reel_cfi *cfi);
/*
 * A .debug_frame of these FDEs, with which all that was asked for since has the same answer.
 * UNSUPPORTED if it is larger than `limit`.
 */
struct reel_error *reel_cfi_write_hits(struct reel_cfi *cfi, size_t limit,
				       struct reel_buffer *ret) REEL_MUST_CHECK;

enum reel_rule_kind {
	REEL_RULE_UNSPECIFIED = 0, /* neither CIE, FDE nor the ABI says anything */
	REEL_RULE_UNDEFINED,
	REEL_RULE_SAME,
	REEL_RULE_OFFSET,	  /* at CFA + offset */
	REEL_RULE_VAL_OFFSET,	  /* is CFA + offset */
	REEL_RULE_REGISTER,	  /* in register `reg` */
	REEL_RULE_EXPRESSION,	  /* at the address that the expression gives */
	REEL_RULE_VAL_EXPRESSION, /* is what the expression gives */
	/* Only as a CFA: */
	REEL_RULE_REGISTER_OFFSET, /* register `reg` + offset */
};

struct reel_cfi_rule {
	uint8_t kind; /* enum reel_rule_kind */
	uint16_t reg;
	union {
		int64_t offset;
		struct {
			const uint8_t *bytes; /* in the section */
			size_t size;
		} expression;
	};
};

struct reel_cfi_row {
	/* Addresses for which the row holds, and those of its FDE. */
	uint64_t begin, end;
	uint64_t fde_begin, fde_end;
	/* Addresses for which reel_cfi_row_at is certain to give this row. */
	uint64_t same_begin, same_end;
	struct reel_cfi_rule
		cfa; /* REGISTER_OFFSET or VAL_EXPRESSION; UNSPECIFIED if there is none */
	uint16_t return_column;
	/* How much work it took, counted in instructions; set for REEL_CFI_BAD, too. */
	uint32_t work;
	bool signal_frame;    /* augmentation S */
	bool has_personality; /* augmentation P */
	/* aarch64: odd number of DW_CFA_AARCH64_negate_ra_state. */
	bool return_address_signed;
	/* By DWARF number. */
	struct reel_cfi_rule rules[REEL_ARCH_DWARF_MAX];
};

enum reel_cfi_found {
	REEL_CFI_FOUND = 0,
	/* No FDE holds the address. */
	REEL_CFI_NONE,
	/* One does, and it is malformed; the row's ranges are set. */
	REEL_CFI_BAD,
	/* reel_cfi_set_switches has named it. */
	REEL_CFI_SWITCHES,
};

/*
 * The row that holds at `address` (of the ELF file).  .eh_frame is asked
 * first, then .debug_frame, for each address.  `problem_ret` (may be NULL) gets a
 * static text for BAD.
 */
enum reel_cfi_found reel_cfi_row_at(struct reel_cfi *cfi, uint64_t address,
				    struct reel_cfi_row *ret, const char **problem_ret);

/* The addresses of the FDE that holds one, whatever its instructions are; false: none does. */
bool reel_cfi_function_at(struct reel_cfi *cfi, uint64_t address, uint64_t *begin_ret,
			  uint64_t *end_ret);

/* Bytes of .eh_frame and .debug_frame. */
uint64_t reel_cfi_size(const struct reel_cfi *cfi);
/* There was no memory for an index once, so an FDE may have been missed. */
bool reel_cfi_is_short_of_memory(const struct reel_cfi *cfi);

/* Runs an arch program: a row without begin and end. False if its bytes are wrong (a bug of the
 * table). */
bool reel_cfi_run_program(const struct reel_arch *arch, struct reel_arch_program program,
			  struct reel_cfi_row *ret);

/* As if every FDE had been asked for; false: there is no memory for that. */
bool reel_cfi_hit_all(struct reel_cfi *cfi);

/* The gap between FDEs that holds `address`, which has none. */
bool reel_cfi_gap_at(struct reel_cfi *cfi, uint64_t address, uint64_t *begin_ret,
		     uint64_t *end_ret);
/* True if `address` lies in the gap between FDEs that also holds `other` (both without an FDE). */
bool reel_cfi_same_gap(struct reel_cfi *cfi, uint64_t address, uint64_t other);

/* Every row of every FDE, in address order; see include/stackreel.h's reel_table_next. */
struct reel_cfi_iterator {
	uint64_t address; /* where the next row begins, or behind which it does; 0 to start */
};

enum reel_cfi_found reel_cfi_next_row(struct reel_cfi *cfi, struct reel_cfi_iterator *iterator,
				      struct reel_cfi_row *ret, const char **problem_ret);

#endif

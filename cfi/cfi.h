/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call frame information: finds the FDE of an address in .eh_frame,
 * .debug_frame and .sframe, and runs its instructions up to that address (DWARF 5, 6.4;
 * LSB Core, "Exception Frames"; sframe.h).  Pure: bytes in, a row of rules out.
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
	struct reel_loaded_bytes eh_frame; /* size 0 if missing */
	struct reel_loaded_bytes eh_frame_hdr;
	struct reel_loaded_bytes debug_frame;
	struct reel_loaded_bytes sframe;
	uint64_t entry; /* the ELF file's e_entry, 0 for none; only for .sframe */
	/* NULL, or the bytes of a generated section, from malloc: freed with the table, or if
	 * creating the table fails. */
	uint8_t *owned;
	/* Bases of DW_EH_PE_textrel and DW_EH_PE_datarel pointers. */
	uint64_t text_base, data_base;
	/*
	 * From the first to the last executable address of the module: FDEs that begin outside are
	 * leftovers of removed sections.  Both 0: unknown, accept all FDEs.
	 */
	uint64_t text_begin, text_end;
};

/* The CFI of a module.  Immutable after creation except for an index, built once, under a lock. */
struct reel_cfi;

struct reel_error *reel_cfi_create(const struct reel_cfi_input *input,
				   struct reel_cfi **ret) REEL_MUST_CHECK;
void reel_cfi_destroy(struct reel_cfi *cfi);

/* Functions that change stacks, although their FDEs (Go's) do not show it. */
struct reel_cfi_range {
	uint64_t begin, end;
};
/* Call it before asking for rows.  In ascending order; copied. */
struct reel_error *reel_cfi_set_switches(struct reel_cfi *cfi, const struct reel_cfi_range *ranges,
					 size_t n) REEL_MUST_CHECK;
/* The range that holds the address; NULL if none does. */
const struct reel_cfi_range *reel_cfi_switch_at(const struct reel_cfi *cfi, uint64_t address);
const struct reel_cfi_range *reel_cfi_switches(const struct reel_cfi *cfi, size_t *n_ret);

/* From here on records which FDEs answered; only one thread may use the CFI then. */
void reel_cfi_keep_hits(struct reel_cfi *cfi);
/*
 * Writes a .debug_frame with these FDEs, which gives the same answers to all look-ups since.
 * UNSUPPORTED if it is larger than `limit`.
 */
struct reel_error *reel_cfi_write_hits(struct reel_cfi *cfi, size_t limit,
				       struct reel_buffer *ret) REEL_MUST_CHECK;

enum reel_rule_kind {
	REEL_RULE_UNSPECIFIED = 0, /* no rule in the CIE, the FDE or the ABI */
	REEL_RULE_UNDEFINED,
	REEL_RULE_SAME,
	REEL_RULE_OFFSET,	  /* at CFA + offset */
	REEL_RULE_VAL_OFFSET,	  /* is CFA + offset */
	REEL_RULE_REGISTER,	  /* in register `reg` */
	REEL_RULE_EXPRESSION,	  /* at the address computed by the expression */
	REEL_RULE_VAL_EXPRESSION, /* is the value of the expression */
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
	/* The row's range of addresses, and its FDE's. */
	uint64_t begin, end;
	uint64_t fde_begin, fde_end;
	/* Addresses for which reel_cfi_row_at surely returns this row. */
	uint64_t same_begin, same_end;
	struct reel_cfi_rule cfa; /* REGISTER_OFFSET or VAL_EXPRESSION; UNSPECIFIED if missing */
	uint16_t return_column;
	/* The work done, counted in instructions; also set for REEL_CFI_BAD. */
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
	/* The FDE is malformed; the row's ranges are set. */
	REEL_CFI_BAD,
	/* The address is in a range of reel_cfi_set_switches; its row, if it has one, is set. */
	REEL_CFI_SWITCHES,
};

/*
 * The row for `address` (of the ELF file).  For each address, looks in .eh_frame first, then in
 * .debug_frame, then in .sframe.  `problem_ret` (may be NULL) gets a static text for BAD.
 */
enum reel_cfi_found reel_cfi_row_at(struct reel_cfi *cfi, uint64_t address,
				    struct reel_cfi_row *ret, const char **problem_ret);

/* The range of the FDE that holds the address, whatever its instructions; false if none does. */
bool reel_cfi_function_at(struct reel_cfi *cfi, uint64_t address, uint64_t *begin_ret,
			  uint64_t *end_ret);

/* Bytes of .eh_frame, .debug_frame and .sframe. */
uint64_t reel_cfi_size(const struct reel_cfi *cfi);
/* Memory once ran out for an index, so an FDE may have been missed. */
bool reel_cfi_is_short_of_memory(const struct reel_cfi *cfi);

/* Runs an arch program: a row without begin and end.  False if its bytes are invalid (a bug in the
 * table). */
bool reel_cfi_run_program(const struct reel_arch *arch, struct reel_arch_program program,
			  struct reel_cfi_row *ret);

/* As if every FDE had been looked up; false if out of memory. */
bool reel_cfi_hit_all(struct reel_cfi *cfi);

/* The gap between FDEs around `address`, which has no FDE. */
bool reel_cfi_gap_at(struct reel_cfi *cfi, uint64_t address, uint64_t *begin_ret,
		     uint64_t *end_ret);
/* Whether `address` is in the same gap between FDEs as `other` (both without an FDE). */
bool reel_cfi_same_gap(struct reel_cfi *cfi, uint64_t address, uint64_t other);

/* Every row of every FDE, in address order; see include/commands.h's reel_table_next. */
struct reel_cfi_iterator {
	uint64_t address; /* the next row begins at or after it; 0 to start */
};

enum reel_cfi_found reel_cfi_next_row(struct reel_cfi *cfi, struct reel_cfi_iterator *iterator,
				      struct reel_cfi_row *ret, const char **problem_ret);

#endif

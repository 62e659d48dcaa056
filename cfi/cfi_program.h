/* SPDX-License-Identifier: Apache-2.0 */
/* The interpreter of call frame instructions (DWARF 5, 6.4.2). Internal to cfi*.c. */
#ifndef CFI_CFI_PROGRAM_H
#define CFI_CFI_PROGRAM_H

#include "cfi/cfi_entry.h"

/*
 * The instructions of a CIE and an FDE together: rustc's largest FDE has some 12,000.  A CIE's are
 * run for each row of each FDE; there are at most as many as registers, usually 15.
 */
#define CFI_INSTRUCTIONS_MAX	 (1u << 16)
#define CFI_CIE_INSTRUCTIONS_MAX (1u << 10)

/*
 * Fills in the row of `fde` for `address`, an address within it.  NULL or the error; after an error
 * the row is unusable.
 */
const char *reel_cfi_program_row(const struct cfi_data *data, const struct cfi_fde *fde,
				 uint64_t address, struct reel_cfi_row *ret);

/* The same for consecutive rows: each continues where the previous ended. */
struct cfi_walk;

struct cfi_walk *reel_cfi_walk_create(void);
void reel_cfi_walk_destroy(struct cfi_walk *walk);
const char *reel_cfi_walk_row(struct cfi_walk *walk, const struct cfi_data *data,
			      const struct cfi_fde *fde, uint64_t address,
			      struct reel_cfi_row *ret);

#endif

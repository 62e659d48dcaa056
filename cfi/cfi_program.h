/* SPDX-License-Identifier: Apache-2.0 */
/* The interpreter of call frame instructions (DWARF 5, 6.4.2). Internal to cfi*.c. */
#ifndef CFI_CFI_PROGRAM_H
#define CFI_CFI_PROGRAM_H

#include "cfi/cfi_entry.h"

/*
 * Instructions of a CIE and an FDE, together: the largest FDE of rustc's has some 12,000.  A CIE's
 * are run for each row of each FDE; there are as many as registers at most, 15 mostly.
 */
#define CFI_INSTRUCTIONS_MAX	 (1u << 16)
#define CFI_CIE_INSTRUCTIONS_MAX (1u << 10)

/*
 * Fills in the row of `fde` that holds at `address`, an address within it. NULL
 * or what is wrong, and then the row is of no use.
 */
const char *reel_cfi_program_row(const struct cfi_data *data, const struct cfi_fde *fde,
				 uint64_t address, struct reel_cfi_row *ret);

/* The same for rows one after the other: each goes on where the one before ended. */
struct cfi_walk;

struct cfi_walk *reel_cfi_walk_create(void);
void reel_cfi_walk_destroy(struct cfi_walk *walk);
const char *reel_cfi_walk_row(struct cfi_walk *walk, const struct cfi_data *data,
			      const struct cfi_fde *fde, uint64_t address,
			      struct reel_cfi_row *ret);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which symbol names an address. */
#ifndef CFI_SYMBOL_REACH_H
#define CFI_SYMBOL_REACH_H

#include "cfi/cfi.h"
#include "elf/symbol_table.h"

enum reel_symbol_reach {
	REEL_SYMBOL_REACHES,
	REEL_SYMBOL_ENDS_BEFORE,
	/* Neither its size nor an FDE is known: check the code between. */
	REEL_SYMBOL_ASK_CODE,
};

/*
 * Whether the table's symbol for an address really names it.  A symbol without a size extends to
 * the next one, but not beyond its FDE or into a different one: in a stripped file the symbols in
 * between are gone.  `cfi` may be NULL.
 */
enum reel_symbol_reach reel_symbol_reach(const struct reel_symbol *symbol, uint64_t address,
					 struct reel_cfi *cfi);

#endif

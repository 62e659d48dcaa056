/* SPDX-License-Identifier: Apache-2.0 */
#include "cfi/symbol_reach.h"

enum reel_symbol_reach reel_symbol_reach(const struct reel_symbol *symbol, uint64_t address,
					 struct reel_cfi *cfi)
{
	uint64_t begin, end;

	if (symbol->sized || symbol->address == address)
		return REEL_SYMBOL_REACHES;
	if (cfi && reel_cfi_function_at(cfi, address, &begin, &end))
		return symbol->address >= begin ? REEL_SYMBOL_REACHES : REEL_SYMBOL_ENDS_BEFORE;
	if (cfi && !reel_cfi_same_gap(cfi, symbol->address, address))
		return REEL_SYMBOL_ENDS_BEFORE;
	return REEL_SYMBOL_ASK_CODE;
}

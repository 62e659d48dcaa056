/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "replay/kernel_symbols.h"

struct reel_kernel_symbols {
	struct reel_kernel_symbol *all;
	size_t n, capacity;
	bool sorted;
};

struct reel_error *reel_kernel_symbols_create(struct reel_kernel_symbols **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? NULL : reel_error_no_memory();
}

void reel_kernel_symbols_destroy(struct reel_kernel_symbols *symbols)
{
	if (!symbols)
		return;
	free(symbols->all);
	free(symbols);
}

struct reel_error *reel_kernel_symbols_add(struct reel_kernel_symbols *symbols,
					   const struct reel_kernel_symbol *symbol)
{
	if (symbols->n == symbols->capacity) {
		size_t capacity = symbols->capacity ? symbols->capacity * 2 : 256;
		struct reel_kernel_symbol *all = reallocarray(symbols->all, capacity, sizeof(*all));

		if (!all)
			return reel_error_no_memory();
		symbols->all = all;
		symbols->capacity = capacity;
	}
	symbols->all[symbols->n++] = *symbol;
	symbols->sorted = false;
	return NULL;
}

static int by_address(const void *a, const void *b)
{
	const struct reel_kernel_symbol *left = a, *right = b;

	return (left->address > right->address) - (left->address < right->address);
}

const struct reel_kernel_symbol *reel_kernel_symbols_find(struct reel_kernel_symbols *symbols,
							  uint64_t address)
{
	const struct reel_kernel_symbol *symbol;
	size_t low = 0, high = symbols->n;

	if (!symbols->sorted && symbols->n)
		qsort(symbols->all, symbols->n, sizeof(*symbols->all), by_address);
	symbols->sorted = true;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (symbols->all[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NULL;
	symbol = &symbols->all[low - 1];
	return !symbol->size || address - symbol->address < symbol->size ? symbol : NULL;
}

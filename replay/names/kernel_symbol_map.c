/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modules and BPF programs are loaded and unloaded, and addresses are reused.  So symbols are kept
 * in a timeline, as mappings are.  Its spaces are origins, its modules indexes of symbols.
 */
#include <stdlib.h>

#include "base/array.h"
#include "replay/names/kernel_symbol_map.h"
#include "format/timeline/space.h"

/* Size of a symbol of unknown size if no other symbol ends it (SPEC.md, KERNEL_SYMBOL). */
#define UNKNOWN_SIZE 4096

struct reel_kernel_symbol_map {
	struct reel_kernel_symbol *all;
	size_t n, capacity;
	struct reel_timeline *timeline;
};

struct reel_error *reel_kernel_symbol_map_create(struct reel_kernel_symbol_map **ret)
{
	struct reel_kernel_symbol_map *symbols = calloc(1, sizeof(*symbols));
	struct reel_error *error;

	if (!symbols)
		return reel_error_no_memory();
	error = reel_timeline_create(true, &symbols->timeline);
	if (error) {
		free(symbols);
		return error;
	}
	*ret = symbols;
	return NULL;
}

void reel_kernel_symbol_map_destroy(struct reel_kernel_symbol_map *symbols)
{
	if (!symbols)
		return;
	reel_timeline_destroy(symbols->timeline);
	free(symbols->all);
	free(symbols);
}

struct reel_error *reel_kernel_symbol_map_add(struct reel_kernel_symbol_map *symbols,
					      const struct reel_kernel_symbol *symbol)
{
	if (!reel_array_reserve(&symbols->all, symbols->n, &symbols->capacity,
				sizeof(*symbols->all)))
		return reel_error_no_memory();
	symbols->all[symbols->n++] = *symbol;
	return NULL;
}

struct place {
	uint64_t origin, address;
};

static int compare_places(const void *a, const void *b)
{
	const struct place *left = a, *right = b;

	if (left->origin != right->origin)
		return left->origin < right->origin ? -1 : 1;
	return (left->address > right->address) - (left->address < right->address);
}

/* The first address of that origin above the place, or `otherwise`. */
static uint64_t next_above(const struct place *places, size_t n, struct place place,
			   uint64_t otherwise)
{
	size_t low = REEL_PARTITION_POINT(n, i, compare_places(&places[i], &place) <= 0);

	return low < n && places[low].origin == place.origin && places[low].address < otherwise
		       ? places[low].address
		       : otherwise;
}

static struct reel_error *map_symbol(struct reel_kernel_symbol_map *symbols, size_t index,
				     const struct place *places)
{
	const struct reel_kernel_symbol *symbol = &symbols->all[index];
	uint64_t room = UINT64_MAX - symbol->address, size = symbol->size;
	struct reel_record record = { .id = *symbol->name ? REEL_RECORD_MAP : REEL_RECORD_UNMAP };

	if (!size)
		size = next_above(places, symbols->n,
				  (struct place){ symbol->origin, symbol->address },
				  symbol->address + (room < UNKNOWN_SIZE ? room : UNKNOWN_SIZE)) -
		       symbol->address;
	/* End at the last address but one, so that the end fits a number. */
	if (size > room)
		size = room;
	if (!size)
		return NULL;
	if (*symbol->name)
		record.map = (struct reel_record_map){
			.time = symbol->since,
			.space = symbol->origin + 1,
			.address = symbol->address,
			.size = size,
			.module = index + 1,
		};
	else
		record.unmap = (struct reel_record_unmap){
			.time = symbol->since,
			.space = symbol->origin + 1,
			.address = symbol->address,
			.size = size,
		};
	return reel_timeline_add(symbols->timeline, &record);
}

struct reel_error *reel_kernel_symbol_map_seal(struct reel_kernel_symbol_map *symbols)
{
	_cleanup_free_ struct place *places = calloc(symbols->n + 1, sizeof(*places));

	if (!places)
		return reel_error_no_memory();
	for (size_t i = 0; i < symbols->n; i++)
		places[i] = (struct place){ symbols->all[i].origin, symbols->all[i].address };
	qsort(places, symbols->n, sizeof(*places), compare_places);
	for (size_t i = 0; i < symbols->n; i++)
		TRY(map_symbol(symbols, i, places));
	return reel_timeline_seal(symbols->timeline);
}

const struct reel_kernel_symbol *reel_kernel_symbol_map_all(
	const struct reel_kernel_symbol_map *symbols, size_t *count_ret)
{
	*count_ret = symbols->n;
	return symbols->all;
}

const struct reel_kernel_symbol *reel_kernel_symbol_map_find(
	const struct reel_kernel_symbol_map *symbols, uint64_t origin, uint64_t address,
	uint64_t time)
{
	struct reel_mapping mapping;

	if (!reel_timeline_find(symbols->timeline, origin + 1, time, address, &mapping))
		return NULL;
	return &symbols->all[mapping.module - 1];
}

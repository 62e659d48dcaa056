/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "elf/image/image_parts.h"

struct reel_error *reel_embedded_symbols_create(struct reel_embedded_symbols *ret)
{
	*ret = (struct reel_embedded_symbols){ .texts = reel_texts_create() };
	return ret->texts ? NULL : reel_error_no_memory();
}

void reel_embedded_symbols_free(struct reel_embedded_symbols *symbols)
{
	reel_texts_destroy(symbols->texts);
	free(symbols->all);
	*symbols = (struct reel_embedded_symbols){ 0 };
}

struct reel_error *reel_embedded_symbols_add(struct reel_embedded_symbols *symbols, uint64_t begin,
					     uint64_t end, const char *name)
{
	struct reel_embedded_symbol *symbol;

	if (!reel_array_reserve(&symbols->all, symbols->n, &symbols->capacity,
				sizeof(*symbols->all)))
		return reel_error_no_memory();
	symbol = &symbols->all[symbols->n++];
	*symbol = (struct reel_embedded_symbol){ begin, end,
						 reel_texts_add_string(symbols->texts, name) };
	return symbol->name ? NULL : reel_error_no_memory();
}

/* For one beginning the longest first, then by name, so that the order is always the same. */
static int compare_symbols(const void *a, const void *b)
{
	const struct reel_embedded_symbol *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin > y->begin ? 1 : -1;
	if (x->end != y->end)
		return x->end < y->end ? 1 : -1;
	return strcmp(x->name, y->name);
}

void reel_embedded_symbols_join(struct reel_embedded_symbols *symbols)
{
	size_t n = 0;

	if (symbols->n)
		qsort(symbols->all, symbols->n, sizeof(*symbols->all), compare_symbols);
	for (size_t i = 0; i < symbols->n; i++) {
		if (!n || symbols->all[n - 1].begin != symbols->all[i].begin)
			symbols->all[n++] = symbols->all[i];
	}
	symbols->n = n;
}

struct reel_error *reel_image_parts_write(const struct reel_image_parts *parts, size_t limit,
					  struct reel_buffer *ret)
{
	_cleanup_buffer_ struct reel_buffer frames = { 0 };
	struct reel_embedded_input input = {
		.file = parts->file,
		.code = parts->code,
		.symbols = parts->symbols->all,
		.n_symbols = parts->symbols->n,
		.lines = parts->lines,
		.constants = parts->constants,
		.sections = parts->sections,
		.n_sections = parts->n_sections,
	};
	struct reel_error *error = NULL;

	_Static_assert(sizeof(struct reel_address_range) == sizeof(struct reel_cfi_range) &&
			       offsetof(struct reel_address_range, end) ==
				       offsetof(struct reel_cfi_range, end),
		       "ranges of switches are passed on as they are");
	if (parts->cfi && !parts->no_switches)
		input.switches = (const struct reel_address_range *)reel_cfi_switches(
			parts->cfi, &input.n_switches);
	if (parts->cfi)
		error = reel_cfi_write_hits(parts->cfi, limit, &frames);
	if (error)
		return error;
	input.debug_frame = (struct reel_bytes){ frames.bytes, frames.size };
	return reel_embedded_image_write(&input, limit, ret);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/array.h"
#include "base/text.h"
#include "replay/elf/embedded_image.h"
#include "replay/rewrite/module_image.h"

struct symbols {
	struct reel_embedded_symbol *all;
	size_t n, capacity;
	struct reel_texts *texts;
};

/* A symbol without a size names what was looked up, and no more: what lies behind may have another
 * name. */
static struct reel_error *add_symbol(struct symbols *symbols, uint64_t address,
				     const struct reel_symbol_frame *frame)
{
	uint64_t end = frame->symbol_end ? frame->symbol_end : address + 1;
	struct reel_embedded_symbol *symbol;

	if (!reel_array_reserve(&symbols->all, symbols->n, &symbols->capacity,
				sizeof(*symbols->all)))
		return reel_error_no_memory();
	symbol = &symbols->all[symbols->n++];
	symbol->begin = address - frame->function_offset;
	symbol->end = end;
	symbol->name = reel_texts_add_string(symbols->texts, frame->function);
	return symbol->name ? NULL : reel_error_no_memory();
}

static struct reel_error *look_up(struct reel_symbolizer *symbolizer,
				  const struct reel_address_ranges *addresses,
				  struct symbols *symbols)
{
	const struct reel_symbol_frame *frames;
	struct reel_error *error = NULL;
	size_t n;

	for (size_t i = 0; i < addresses->n && !error; i++) {
		const struct reel_address_range *range = &addresses->all[i];

		for (uint64_t at = range->begin; at < range->end && !error; at++) {
			error = reel_symbolizer_look_up(symbolizer, at, &frames, &n);
			if (!error && *frames[n - 1].function)
				error = add_symbol(symbols, at, &frames[n - 1]);
		}
	}
	return error;
}

static int compare_symbols(const void *a, const void *b)
{
	const struct reel_embedded_symbol *x = a, *y = b;

	return (x->begin > y->begin) - (x->begin < y->begin);
}

/* One for each beginning, as long as the longest. */
static void join(struct symbols *symbols)
{
	size_t n = 0;

	if (symbols->n)
		qsort(symbols->all, symbols->n, sizeof(*symbols->all), compare_symbols);
	for (size_t i = 0; i < symbols->n; i++) {
		const struct reel_embedded_symbol *it = &symbols->all[i];

		if (!n || symbols->all[n - 1].begin != it->begin)
			symbols->all[n++] = *it;
		else if (symbols->all[n - 1].end < it->end)
			symbols->all[n - 1].end = it->end;
	}
	symbols->n = n;
}

/* Names as the file has them: who reads the image demangles them. */
static struct reel_error *find_symbols(const struct reel_module *module,
				       const struct reel_module_search *search,
				       const struct reel_address_ranges *addresses,
				       struct symbols *ret)
{
	const struct reel_symbolizer_options options = { .no_inlines = true,
							 .no_demangle = true,
							 .search = search };
	struct reel_symbolizer *symbolizer;
	struct reel_error *error;

	ret->texts = reel_texts_create();
	if (!ret->texts)
		return reel_error_no_memory();
	error = reel_symbolizer_create(module->files.file, module->files.debug, &options,
				       &symbolizer);
	if (error)
		return error;
	reel_symbolizer_set_code(symbolizer, module->cfi, module->synthesis);
	error = look_up(symbolizer, addresses, ret);
	reel_symbolizer_destroy(symbolizer);
	join(ret);
	return error;
}

/* What has no name is told by the FDE that holds it. */
static void ask_for_fdes(struct reel_cfi *cfi, const struct reel_address_ranges *addresses)
{
	uint64_t begin, end;

	for (size_t i = 0; i < addresses->n; i++) {
		for (uint64_t at = addresses->all[i].begin; at < addresses->all[i].end; at++)
			reel_cfi_function_at(cfi, at, &begin, &end);
	}
}

static struct reel_error *write_image(const struct reel_module *module,
				      const struct symbols *symbols, struct reel_buffer *ret)
{
	static const struct reel_address_ranges no_code = { 0 };
	_cleanup_buffer_ struct reel_buffer frames = { 0 };
	struct reel_embedded_input input = {
		.file = module->files.file,
		.code = module->code_read ? module->code_read : &no_code,
		.symbols = symbols->all,
		.n_symbols = symbols->n,
	};
	struct reel_error *error = NULL;

	_Static_assert(sizeof(struct reel_address_range) == sizeof(struct reel_cfi_range) &&
			       offsetof(struct reel_address_range, end) ==
				       offsetof(struct reel_cfi_range, end),
		       "ranges of switches are passed on as they are");
	if (module->cfi) {
		input.switches = (const struct reel_address_range *)reel_cfi_switches(
			module->cfi, &input.n_switches);
		error = reel_cfi_write_hits(module->cfi, REEL_IMAGE_MAX, &frames);
	}
	if (error)
		return error;
	input.debug_frame = (struct reel_bytes){ frames.bytes, frames.size };
	return reel_embedded_image_write(&input, REEL_IMAGE_MAX, ret);
}

struct reel_error *reel_module_image_make(const struct reel_module *module,
					  const struct reel_module_search *search,
					  struct reel_address_ranges *addresses,
					  struct reel_buffer *ret)
{
	struct symbols symbols = { 0 };
	struct reel_error *error = NULL;

	/* What is read from here on was not asked for. */
	reel_elf_file_keep_reads(module->files.file, NULL);
	if (module->code_read)
		reel_address_ranges_tidy(module->code_read);
	reel_address_ranges_tidy(addresses);
	if (module->cfi)
		ask_for_fdes(module->cfi, addresses);
	if (search)
		error = find_symbols(module, search, addresses, &symbols);
	if (!error)
		error = write_image(module, &symbols, ret);
	reel_texts_destroy(symbols.texts);
	free(symbols.all);
	return error;
}

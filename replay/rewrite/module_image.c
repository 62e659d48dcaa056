/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/array.h"
#include "base/range_map.h"
#include "elf/image/image_parts.h"
#include "replay/dwarf/debug_parts.h"
#include "replay/dwarf/embedded_lines.h"
#include "replay/rewrite/images.h"

struct names {
	struct reel_symbolizer *symbolizer;
	struct reel_cfi *cfi;
	struct reel_embedded_symbols symbols;
	/* The symbols' ranges as a reader will see them: values are indexes. */
	struct reel_range_map ranges;
	struct reel_lines_writer *lines;
	/* An address's frames in the form for lines. */
	struct reel_debug_frame *frames;
	size_t capacity;
};

static void names_free(struct names *names)
{
	reel_embedded_symbols_free(&names->symbols);
	reel_range_map_free(&names->ranges);
	reel_lines_writer_destroy(names->lines);
	free(names->frames);
}

static struct reel_error *look_up_all(
	struct names *names, const struct reel_address_ranges *addresses,
	struct reel_error *(*use)(struct names *names, uint64_t address,
				  const struct reel_symbol_frame *, size_t n))
{
	const struct reel_symbol_frame *frames;
	size_t n;

	for (size_t i = 0; i < addresses->n; i++) {
		const struct reel_address_range *range = &addresses->all[i];

		for (uint64_t at = range->begin; at < range->end; at++) {
			TRY(reel_symbolizer_look_up(names->symbolizer, at, &frames, &n));
			TRY(use(names, at, frames, n));
		}
	}
	return NULL;
}

/* ---- symbols ------------------------------------------------------------------------------ */

/* A symbol without a size covers only the looked-up address, since later ones may have another
 * name. */
static struct reel_error *add_symbol(struct names *names, uint64_t address,
				     const struct reel_symbol_frame *frames, size_t n)
{
	const struct reel_symbol_frame *frame = &frames[n - 1];

	if (!*frame->function)
		return NULL;
	return reel_embedded_symbols_add(&names->symbols, address - frame->function_offset,
					 frame->symbol_end ? frame->symbol_end : address + 1,
					 frame->function);
}

/* A shorter symbol inside a longer one wins, as in elf/symbol_table.c. */
static struct reel_error *order_symbols(struct names *names)
{
	const struct reel_embedded_symbols *symbols = &names->symbols;

	reel_embedded_symbols_join(&names->symbols);
	for (size_t i = 0; i < symbols->n; i++) {
		const struct reel_embedded_symbol *it = &symbols->all[i];

		if (!reel_range_map_add(&names->ranges, it->begin, it->end, (uint32_t)i,
					(uint32_t)i))
			return reel_error_no_memory();
	}
	return reel_range_map_build(&names->ranges);
}

/* ---- lines -------------------------------------------------------------------------------- */

/* Whether the image's symbols give the same name and start. */
static bool has_symbol(const struct names *names, uint64_t address,
		       const struct reel_symbol_frame *frame)
{
	const struct reel_range_entry *entry = reel_range_map_find(&names->ranges, address);
	const struct reel_embedded_symbol *symbol =
		entry ? &names->symbols.all[entry->value] : NULL;

	if (!*frame->function)
		return !symbol;
	return symbol && symbol->begin == address - frame->function_offset &&
	       !strcmp(symbol->name, frame->function);
}

/* Adds lines unless a symbol alone gives the same result. */
static struct reel_error *add_lines(struct names *names, uint64_t address,
				    const struct reel_symbol_frame *frames, size_t n)
{
	const struct reel_symbol_frame *outermost = &frames[n - 1];

	if (n == 1 && !*outermost->file && !outermost->line && !outermost->column &&
	    has_symbol(names, address, outermost))
		return NULL;
	TRY(REEL_FIT(names->frames, n, names->capacity));
	for (size_t i = 0; i < n; i++)
		names->frames[i] = (struct reel_debug_frame){
			.function = frames[i].function,
			.file = frames[i].file,
			.line = frames[i].line,
			.column = frames[i].column,
		};
	return reel_lines_writer_add(names->lines, address, names->frames, n,
				     address - outermost->function_offset);
}

static struct reel_error *find_names(const struct reel_address_ranges *addresses,
				     struct names *names, struct reel_buffer *lines_ret)
{
	TRY(reel_embedded_symbols_create(&names->symbols));
	TRY(reel_lines_writer_create(&names->lines));
	TRY(look_up_all(names, addresses, add_symbol));
	TRY(order_symbols(names));
	TRY(look_up_all(names, addresses, add_lines));
	return reel_lines_writer_finish(names->lines, lines_ret);
}

/* ---- the image ---------------------------------------------------------------------------- */

/* Looks up the FDE of an address without a name, so that the image includes it. */
static struct reel_error *ask_for_fde(struct names *names, uint64_t address,
				      const struct reel_symbol_frame *frames, size_t n)
{
	uint64_t begin, end;

	if (!*frames[n - 1].function)
		reel_cfi_function_at(names->cfi, address, &begin, &end);
	return NULL;
}

/* Does so for all addresses, in case they are looked up without names. */
static void ask_for_fdes(struct reel_cfi *cfi, const struct reel_address_ranges *addresses)
{
	uint64_t begin, end;

	for (size_t i = 0; i < addresses->n; i++) {
		for (uint64_t at = addresses->all[i].begin; at < addresses->all[i].end; at++)
			reel_cfi_function_at(cfi, at, &begin, &end);
	}
}

/* ---- what values need --------------------------------------------------------------------- */

struct values {
	struct reel_debug_parts parts;
	struct reel_embedded_section sections[REEL_DEBUG_PARTS_MAX];
	struct reel_address_ranges constants;
};

static void values_free(struct values *values)
{
	reel_debug_parts_free(&values->parts);
	reel_address_ranges_free(&values->constants);
}

static struct reel_error *find_values(const struct reel_module *module,
				      const struct reel_address_ranges *addresses,
				      struct values *values, char **problem_ret)
{
	struct reel_debug_info *info;
	struct reel_error *error;

	reel_elf_file_constants(module->files.file, &values->constants);
	if (values->constants.failed)
		return reel_error_no_memory();
	TRY(reel_symbolizer_debug_info(module->symbolizer, &info));
	if (!info)
		return NULL;
	error = reel_debug_parts_make(info, addresses, &values->parts);
	if (error && reel_error_code(error) != REEL_ERROR_NO_MEMORY) {
		*problem_ret = strdup(reel_error_message(error));
		reel_error_destroy(error);
		return *problem_ret ? NULL : reel_error_no_memory();
	}
	for (size_t i = 0; i < values->parts.n; i++)
		values->sections[i] =
			(struct reel_embedded_section){ values->parts.all[i].name,
							{ values->parts.all[i].bytes.bytes,
							  values->parts.all[i].bytes.size } };
	return error;
}

struct reel_error *reel_module_image_make(const struct reel_module *module,
					  const struct reel_module_image_options *options,
					  struct reel_address_ranges *addresses,
					  struct reel_buffer *ret, char **problem_ret)
{
	static const struct reel_address_ranges no_code = { 0 };
	_cleanup_buffer_ struct reel_buffer lines = { 0 };
	struct names names = { .symbolizer = module->symbolizer, .cfi = module->cfi };
	struct values values = { 0 };
	struct reel_error *error = NULL;

	*problem_ret = NULL;
	/* Later reads are not for traces. */
	reel_elf_file_keep_reads(module->files.file, NULL);
	if (module->code_read)
		reel_address_ranges_tidy(module->code_read);
	reel_address_ranges_tidy(addresses);
	if (module->cfi)
		reel_cfi_keep_hits(module->cfi);
	if (module->cfi && (options->no_names || !options->names_alone))
		ask_for_fdes(module->cfi, addresses);
	if (!options->no_names)
		error = find_names(addresses, &names, &lines);
	if (!error && !options->no_names && module->cfi)
		error = look_up_all(&names, addresses, ask_for_fde);
	if (!error && options->values)
		error = find_values(module, addresses, &values, problem_ret);
	if (!error)
		error = reel_image_parts_write(
			&(struct reel_image_parts){
				.file = module->files.file,
				.cfi = module->cfi,
				.code = module->code_read ? module->code_read : &no_code,
				.symbols = &names.symbols,
				.lines = { lines.bytes, lines.size },
				.constants = &values.constants,
				.sections = values.sections,
				.n_sections = values.parts.n,
				.no_switches = options->names_alone,
			},
			REEL_IMAGE_MAX, ret);
	values_free(&values);
	names_free(&names);
	return error;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/page/page_instructions.h"
#include "cli/print/text.h"
#include "cli/profile/profile.h"

/* Of text, before it is packed to a tenth or so. */
#define BYTES_MAX (512u << 10)

void page_instructions_init(struct page_instructions *instructions)
{
	*instructions = (struct page_instructions){ 0 };
	/* Part of every name. */
	functions_init(&instructions->functions, "");
}

void page_instructions_free(struct page_instructions *instructions)
{
	for (size_t i = 0; i < instructions->n; i++)
		listing_free(&instructions->listings[i]);
	free(instructions->listings);
	free(instructions->symbols);
	functions_free(&instructions->functions);
}

void page_instructions_count(struct page_instructions *instructions, const struct reel_trace *trace,
			     const struct reel_event_info *event)
{
	struct functions *functions = &instructions->functions;

	if (!functions->whole.samples || profile_is_same_event(event, functions->event))
		functions_add(functions, trace, event);
}

/* ---- choosing ------------------------------------------------------------------------------- */

/* 0 if no instruction is known. */
static size_t bytes_of(const struct listing *listing)
{
	size_t bytes = 0;

	for (size_t i = 0; i < listing->n; i++)
		bytes += strlen(listing->rows[i].text);
	return bytes;
}

static void keep(struct page_instructions *instructions, struct listing *listing,
		 const struct symbol *symbol)
{
	size_t bytes = bytes_of(listing);

	instructions->omitted += bytes && instructions->bytes + bytes > BYTES_MAX;
	if (!bytes || instructions->bytes + bytes > BYTES_MAX) {
		listing_free(listing);
		return;
	}
	instructions->bytes += bytes;
	instructions->listings = memory_reserve(instructions->listings, &instructions->capacity,
						instructions->n, sizeof(*instructions->listings));
	instructions->symbols =
		memory_reserve(instructions->symbols, &instructions->symbols_capacity,
			       instructions->n, sizeof(const struct symbol *));
	instructions->listings[instructions->n] = *listing;
	instructions->symbols[instructions->n++] = symbol;
}

void page_instructions_find(struct page_instructions *instructions, const struct session *session,
			    struct symbol_table *symbols)
{
	struct functions *functions = &instructions->functions;

	/* Sorted by their own samples, then. */
	for (size_t i = 0; i < functions->n; i++)
		functions->all[i]->fit = FIT_WHOLE;
	functions_finish(functions);
	for (size_t i = 0; i < functions->n && functions->all[i]->self.samples; i++) {
		const struct function *function = functions->all[i];
		struct listing listing;

		/* Every further listing would take its time, just to be left out. */
		if (instructions->omitted) {
			instructions->omitted++;
			continue;
		}
		if (listing_make(&listing, session, functions, function, false))
			keep(instructions, &listing, symbol_of_frame(symbols, function->frame));
		else
			listing_free(&listing);
	}
}

/* ---- writing -------------------------------------------------------------------------------- */

static uint32_t text_number(const struct row *row, struct page_strings *strings)
{
	_cleanup_free_ char *text = memory_print(
		"%s%s%s%s", *row->text ? row->text : "[no code]", row->target_name ? "  <" : "",
		row->target_name ? row->target_name : "", row->target_name ? ">" : "");

	return page_strings_get(strings, text);
}

void page_instructions_add(const struct page_instructions *instructions,
			   struct page_strings *strings, struct columns *columns)
{
	struct column names = { .name = "listingName" }, modules = { .name = "listingModule" };
	struct column begins = { .name = "listingBegin" }, rows = { .name = "listingRows" };
	struct column offsets = { .name = "rowOffset" };
	struct column texts = { .name = "rowText" }, weights = { .name = "rowWeight" };
	struct column files = { .name = "rowFile" }, lines = { .name = "rowLine" };

	for (size_t i = 0; i < instructions->n; i++) {
		const struct listing *listing = &instructions->listings[i];
		const struct symbol *symbol = instructions->symbols[i];
		/* As text: a script's numbers have fewer bits than the kernel's addresses. */
		_cleanup_free_ char *begin = memory_print("%" PRIx64, listing->info->begin);

		column_add_difference(&names, page_strings_get(strings, symbol->name));
		column_add_difference(&modules, page_strings_get(strings, symbol->module));
		column_add_difference(&begins, page_strings_get(strings, begin));
		column_add(&rows, listing->n);
		for (size_t j = 0; j < listing->n; j++) {
			const struct row *row = &listing->rows[j];
			_cleanup_free_ char *file = text_escape(row->places[0].file, "");

			column_add_difference(&offsets,
					      (int64_t)(row->address - listing->info->begin));
			column_add_difference(&texts, text_number(row, strings));
			column_add_signed(&weights, (int64_t)row->self.weight);
			column_add_difference(&files, page_strings_get(strings, file));
			column_add_difference(&lines, row->places[0].line);
		}
	}
	columns_add(columns, names);
	columns_add(columns, modules);
	columns_add(columns, begins);
	columns_add(columns, rows);
	columns_add(columns, offsets);
	columns_add(columns, texts);
	columns_add(columns, weights);
	columns_add(columns, files);
	columns_add(columns, lines);
}

void page_instructions_print(const struct page_instructions *instructions, FILE *file)
{
	fprintf(file, "\"instructions\":{\"whole\":%" PRIu64 ",\"omitted\":%zu},\n",
		instructions->functions.whole.weight, instructions->omitted);
}

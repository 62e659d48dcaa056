/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "cli/annotate/listing.h"
#include "cli/print/text.h"

/* ---- rows --------------------------------------------------------------------------------- */

static struct row *row_add(struct listing *listing)
{
	listing->rows = memory_reserve(listing->rows, &listing->capacity, listing->n,
				       sizeof(*listing->rows));
	listing->rows[listing->n] = (struct row){ .target_row = SIZE_MAX };
	return &listing->rows[listing->n++];
}

static char *make_target_name(const struct listing *listing,
			      const struct reel_function_instruction *from)
{
	_cleanup_free_ char *name = NULL;
	bool is_own = from->target - from->target_offset == listing->info->begin;

	if (!*from->target_name)
		return NULL;
	if (is_own && from->target_offset)
		return memory_print("+0x%" PRIx64, from->target_offset);
	name = text_escape(from->target_name, "");
	if (!from->target_offset)
		return memory_print("%s", name);
	return memory_print("%s+0x%" PRIx64, name, from->target_offset);
}

static void append_instruction(struct listing *listing,
			       const struct reel_function_instruction *from)
{
	struct row *row = row_add(listing);

	row->address = from->address;
	row->size = from->size;
	row->text = text_escape(from->text, "");
	row->flow = from->flow;
	row->has_target = from->has_target;
	row->target = from->target;
	if (from->has_target)
		row->target_name = make_target_name(listing, from);
	row->n_places = from->n_places;
	row->places = memory_resize(NULL, from->n_places, sizeof(*row->places));
	memcpy(row->places, from->places, from->n_places * sizeof(*row->places));
	if (!from->bytes) {
		listing->bytes_missing += from->size;
		return;
	}
	row->bytes = memory_get(from->size);
	memcpy(row->bytes, from->bytes, from->size);
	listing->unknown += !*from->text;
}

static bool read_instructions(struct listing *listing)
{
	const struct reel_function_instruction *instruction;
	struct reel_error *error;

	while (!(error = reel_function_next(listing->function, &instruction)) && instruction)
		append_instruction(listing, instruction);
	return no_error(error);
}

struct row *listing_find(const struct listing *listing, uint64_t address)
{
	size_t n = REEL_PARTITION_POINT(listing->n, i, listing->rows[i].address <= address);

	if (!n || address - listing->rows[n - 1].address >= listing->rows[n - 1].size)
		return NULL;
	return &listing->rows[n - 1];
}

static void find_jumps(struct listing *listing)
{
	for (size_t i = 0; i < listing->n; i++) {
		struct row *row = &listing->rows[i];
		const struct row *target = NULL;

		if (row->has_target &&
		    (row->flow == REEL_FUNCTION_BRANCH || row->flow == REEL_FUNCTION_JUMP))
			target = listing_find(listing, row->target);
		if (target && target->address == row->target)
			row->target_row = (size_t)(target - listing->rows);
	}
}

/* ---- samples ------------------------------------------------------------------------------ */

/* A row without code. */
static struct row *row_without_code(struct listing *listing, uint64_t address,
				    struct reel_function_place place)
{
	struct row *row = row_add(listing);

	row->address = address;
	row->size = 1;
	row->text = memory_print("%s", "");
	row->places = memory_get(sizeof(*row->places));
	*row->places = place;
	row->n_places = 1;
	return row;
}

/* Samples at an address beyond the known function. */
static struct row *row_behind(struct listing *listing, uint64_t address)
{
	return row_without_code(listing, address,
				(struct reel_function_place){ .function = "", .file = "" });
}

static void count_samples(struct listing *listing, const struct function *function)
{
	for (size_t i = 0; i < function->n_sampled; i++) {
		const struct sampled *sampled = &function->sampled[i];
		struct row *row = listing_find(listing, sampled->address);

		/* They are sorted, and so are the following rows. */
		if (!row)
			row = row_behind(listing, sampled->address);
		amount_add(&row->self, sampled->amount);
	}
}

/* Start addresses of instructions. */
static uint64_t *starts_of(const struct function *function, size_t *n_ret)
{
	uint64_t *starts = memory_resize(NULL, function->n_sampled + 1, sizeof(*starts));

	*n_ret = 0;
	for (size_t i = 0; i < function->n_sampled; i++) {
		if (function->sampled[i].exact)
			starts[(*n_ret)++] = function->sampled[i].address;
	}
	return starts;
}

/* The lines of an interpreter's function that have samples, and its definition's. */
static void append_lines(struct listing *listing, const struct function *function)
{
	const struct reel_frame *frame = function->frame;
	struct reel_function_place place = {
		.function = frame->function,
		.file = frame->file,
		.line = frame->function_line,
	};

	listing->is_source = true;
	listing->source_info = (struct reel_function_info){
		.name = frame->function,
		.module_path = frame->module_path,
		.arch = "",
		.code_path = "",
		.disassembler = "",
	};
	listing->info = &listing->source_info;
	if (place.line && !(function->n_sampled && function->sampled[0].address == place.line))
		row_without_code(listing, place.line, place);
	for (size_t i = 0; i < function->n_sampled; i++) {
		place.line = (uint32_t)function->sampled[i].address;
		row_without_code(listing, place.line, place)->self = function->sampled[i].amount;
	}
}

bool listing_make(struct listing *listing, const struct session *session,
		  const struct functions *functions, const struct function *function, bool intel)
{
	REEL_SIZED(reel_function_options, options, .thread = function->thread,
		   .time = function->time, .intel = intel);
	_cleanup_free_ uint64_t *starts = starts_of(function, &options.n_starts);
	const struct reel_event_info *event = functions->event;

	*listing = (struct listing){
		.self = function->self,
		.inlined = function->inlined,
		.whole = functions->whole,
		.is_time = functions->has_weights && event && !strcmp(event->weight_unit, "ns"),
	};
	if (function->frame->runtime) {
		append_lines(listing, function);
		return true;
	}
	options.starts = starts;
	if (!no_error(reel_function_open(session->capture, function->frame, &options,
					 &listing->function)))
		return false;
	listing->info = reel_function_get_info(listing->function);
	if (!read_instructions(listing))
		return false;
	count_samples(listing, function);
	find_jumps(listing);
	return true;
}

void listing_free(struct listing *listing)
{
	for (size_t i = 0; i < listing->n; i++) {
		free(listing->rows[i].bytes);
		free(listing->rows[i].text);
		free(listing->rows[i].target_name);
		free(listing->rows[i].places);
	}
	free(listing->rows);
	reel_function_close(listing->function);
}

void share_print(const struct listing *listing, struct amount self, const struct output *output)
{
	if (!self.samples) {
		fprintf(output->file, "%*s", SHARE_WIDTH, "");
		return;
	}
	fprintf(output->file, "%s%7s%s ",
		color_of_share(output, percent_of(self.weight, listing->self.weight)),
		format_percent(self.weight, listing->self.weight).text, color_end(output));
}

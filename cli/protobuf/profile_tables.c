/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cli/print/text.h"
#include "cli/profile/symbols.h"
#include "cli/protobuf/profile_tables.h"

/* Page size for rounding a mapping's ends if the capture does not state it. */
#define USUAL_PAGE 4096

void profile_tables_init(struct profile_tables *tables)
{
	*tables = (struct profile_tables){ 0 };
	numbers_init(&tables->texts);
	numbers_init(&tables->functions);
	numbers_init(&tables->mappings);
	numbers_init(&tables->locations);
	numbers_init(&tables->stacks);
}

void profile_tables_free(struct profile_tables *tables)
{
	numbers_free(&tables->texts);
	numbers_free(&tables->functions);
	numbers_free(&tables->mappings);
	numbers_free(&tables->locations);
	numbers_free(&tables->stacks);
	pointer_map_free(&tables->frames);
	pointer_map_free(&tables->known_texts);
	free(tables->mapping_uses);
	free(tables->path);
	free(tables->scratch);
}

void profile_tables_begin_capture(struct profile_tables *tables, struct session *session)
{
	tables->session = session;
	pointer_map_free(&tables->frames);
	pointer_map_free(&tables->known_texts);
}

/* ---- texts and functions ----------------------------------------------------------------- */

uint32_t profile_text(struct profile_tables *tables, const char *text)
{
	_cleanup_free_ char *escaped = text_escape(text, "");

	return *text ? numbers_put(&tables->texts, escaped, strlen(escaped) + 1) : 0;
}

uint32_t profile_known_text(struct profile_tables *tables, const char *text)
{
	uintptr_t number = (uintptr_t)pointer_map_get(&tables->known_texts, text);

	if (number || !*text)
		return (uint32_t)number;
	number = profile_text(tables, text);
	pointer_map_put(&tables->known_texts, text, (void *)number);
	return (uint32_t)number;
}

const char *profile_text_of(const struct profile_tables *tables, uint32_t number)
{
	return number ? numbers_get(&tables->texts, number) : "";
}

static uint32_t function_of(struct profile_tables *tables, const struct reel_frame *frame)
{
	struct profile_function function = {
		.file = profile_known_text(tables, frame->file),
		.line = frame->function_line,
	};

	if (*frame->function) {
		function.name = profile_known_text(tables, frame->function);
	} else {
		_cleanup_free_ char *name = frame_name(frame);

		function.name = profile_text(tables, name);
	}
	function.system_name = *frame->linkage_name
				       ? profile_known_text(tables, frame->linkage_name)
				       : function.name;
	return numbers_put(&tables->functions, &function, sizeof(function));
}

/* ---- mappings ---------------------------------------------------------------------------- */

/* As it is mapped: whole pages. */
static void set_segment(struct profile_mapping *mapping, const struct reel_segment *segment,
			uint64_t page)
{
	uint64_t before = segment->offset & (page - 1), end;

	if (before > segment->address)
		before = 0;
	mapping->start = segment->address - before;
	mapping->offset = segment->offset - before;
	if (__builtin_add_overflow(segment->address, segment->size, &end) ||
	    end > UINT64_MAX - page)
		end = UINT64_MAX - page;
	mapping->limit = (end + page - 1) & ~(page - 1);
}

static uint64_t page_of(const struct session *session)
{
	uint64_t page = session->info->page_size;

	return page && !(page & (page - 1)) ? page : USUAL_PAGE;
}

static uint32_t mapping_of(struct profile_tables *tables, const struct reel_frame *frame)
{
	const struct session *session = tables->session;
	REEL_SIZED(reel_module_info, module);
	struct profile_mapping mapping;
	struct reel_segment segment;
	const char *build_id = "";

	if (!*frame->module_path && !frame->module_id)
		return 0;
	/* Clear its padding, which is compared as well. */
	memset(&mapping, 0, sizeof(mapping));
	if (frame->module_id)
		no_error(reel_capture_module(session->capture, frame->module_id, &module));
	if (module.id)
		build_id = module.build_id;
	else if (frame->kernel && !strcmp(frame->module_path, "[kernel]"))
		build_id = session->info->kernel_build_id;
	mapping.path = profile_known_text(tables, frame->module_path);
	mapping.build_id = profile_text(tables, build_id);
	mapping.kernel = frame->kernel;
	mapping.runtime = frame->runtime;
	mapping.is_file = module.kind == REEL_MODULE_FILE;
	if (reel_capture_segment(session->capture, frame->module_id, frame->module_address,
				 &segment))
		set_segment(&mapping, &segment, page_of(session));
	return numbers_put(&tables->mappings, &mapping, sizeof(mapping));
}

static void record_use(struct profile_tables *tables, const struct profile_location *location,
		       bool has_file)
{
	struct mapping_use *use;
	uint32_t number = location->mapping;

	tables->mapping_uses = memory_reserve_zeroed(
		tables->mapping_uses, &tables->mapping_uses_capacity, number, sizeof(*use));
	use = &tables->mapping_uses[number];
	if (!use->count || location->address < use->low)
		use->low = location->address;
	if (location->address > use->high)
		use->high = location->address;
	use->count++;
	use->has_files |= has_file;
	use->has_lines |= location->lines[location->n_lines - 1].line != 0;
	use->has_inlines |= location->n_lines > 1;
}

struct profile_mapping profile_mapping_of(const struct profile_tables *tables, uint32_t number)
{
	struct profile_mapping mapping =
		*(const struct profile_mapping *)numbers_get(&tables->mappings, number);
	const struct mapping_use *use = &tables->mapping_uses[number];

	if (mapping.limit)
		return mapping;
	mapping.start = use->low & ~(uint64_t)(USUAL_PAGE - 1);
	mapping.limit = (use->high | (USUAL_PAGE - 1)) + (use->high < UINT64_MAX - USUAL_PAGE);
	/* Without the file, addresses are offsets in it. */
	mapping.offset = mapping.is_file ? mapping.start : 0;
	return mapping;
}

/* ---- locations --------------------------------------------------------------------------- */

static struct profile_location *scratch_of(struct profile_tables *tables, size_t n)
{
	size_t size = sizeof(*tables->scratch) + n * sizeof(struct profile_line);

	tables->scratch = memory_reserve(tables->scratch, &tables->scratch_capacity, size, 1);
	return tables->scratch;
}

static uint32_t number_location(struct profile_tables *tables, size_t n)
{
	tables->scratch->n_lines = (uint32_t)n;
	return numbers_put(&tables->locations, tables->scratch,
			   sizeof(*tables->scratch) + n * sizeof(struct profile_line));
}

/* `n` frames at one address, innermost first. */
static uint32_t location_of(struct profile_tables *tables, const struct reel_frame *const *frames,
			    size_t n)
{
	uintptr_t number = (uintptr_t)pointer_map_get(&tables->frames, frames[0]);
	struct profile_location *location;
	bool has_file = false;

	if (number)
		return (uint32_t)number;
	location = scratch_of(tables, n);
	for (size_t i = 0; i < n; i++) {
		location->lines[i] = (struct profile_line){ function_of(tables, frames[i]),
							    frames[i]->line, frames[i]->column };
		has_file |= *frames[i]->file != '\0';
	}
	/* The byte before a return address belongs to the call. */
	location->address =
		frames[0]->module_address - (!frames[0]->exact && frames[0]->module_address != 0);
	location->mapping = mapping_of(tables, frames[0]);
	number = number_location(tables, n);
	if (location->mapping)
		record_use(tables, location, has_file);
	pointer_map_put(&tables->frames, frames[0], (void *)number);
	return (uint32_t)number;
}

/* A location that only carries a text. */
static uint32_t mark_of(struct profile_tables *tables, const char *text)
{
	const struct profile_function function = { .name = profile_text(tables, text) };
	struct profile_location *location = scratch_of(tables, 1);

	location->address = 0;
	location->mapping = 0;
	location->lines[0] = (struct profile_line){
		.function = numbers_put(&tables->functions, &function, sizeof(function)),
	};
	return number_location(tables, 1);
}

const struct profile_location *profile_location_of(const struct profile_tables *tables,
						   uint32_t number)
{
	return numbers_get(&tables->locations, number);
}

/* ---- stacks ------------------------------------------------------------------------------ */

static uint32_t mark_of_trace(struct profile_tables *tables, const struct reel_trace *trace)
{
	if (trace_is_cut(trace)) {
		_cleanup_free_ char *text =
			memory_print("[incomplete: %s]", reel_stop_name(trace->stop));

		return mark_of(tables, text);
	}
	return trace->n_frames ? 0 : mark_of(tables, "[no frames]");
}

static void push(struct profile_tables *tables, uint32_t location, size_t *depth)
{
	struct profile_stack stack = { .location = location };
	struct stack_part *part;

	tables->path =
		memory_reserve(tables->path, &tables->path_capacity, *depth, sizeof(*tables->path));
	part = &tables->path[*depth];
	if (*depth)
		stack.caller = part[-1].stack;
	if (*depth >= tables->path_length || part->location != location) {
		part->location = location;
		part->stack = numbers_put(&tables->stacks, &stack, sizeof(stack));
		tables->path_length = *depth + 1;
	}
	++*depth;
}

uint32_t profile_stack(struct profile_tables *tables, const struct reel_trace *trace)
{
	uint32_t mark = mark_of_trace(tables, trace);
	size_t depth = 0;

	if (mark)
		push(tables, mark, &depth);
	for (size_t end = trace->n_frames, begin; end; end = begin) {
		/* Find the outermost function, which is not inlined into another. */
		for (begin = end - 1; begin && trace->frames[begin - 1]->inlined;)
			begin--;
		push(tables, location_of(tables, trace->frames + begin, end - begin), &depth);
	}
	return tables->path[depth - 1].stack;
}

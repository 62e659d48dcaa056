/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cli/print/text.h"
#include "cli/protobuf/interned.h"

typedef Perfetto__Protos__InternedString String;
typedef Perfetto__Protos__Mapping Mapping;
typedef Perfetto__Protos__Frame Frame;
typedef Perfetto__Protos__Callstack Callstack;

/* Kinds; the first four are places in interned.texts. */
enum {
	FUNCTION_NAME,
	BUILD_ID,
	PATH,
	SOURCE_PATH,
	N_TEXTS,
	MAPPING = N_TEXTS,
	FRAME,
	STACK,
};

/*
 * Readers require a mapping for each frame: frames without one use 1, real mappings have higher
 * ids.
 */
#define NO_MAPPING    1
#define MAPPING_SHIFT 1

void interned_init(struct interned *interned)
{
	*interned = (struct interned){ 0 };
	profile_tables_init(&interned->tables);
	numbers_init(&interned->said);
	numbers_init(&interned->frames);
}

static void list_free(struct interned_list *list)
{
	free(list->items);
	free(list->pointers);
}

void interned_free(struct interned *interned)
{
	interned_forget(interned);
	profile_tables_free(&interned->tables);
	numbers_free(&interned->said);
	numbers_free(&interned->frames);
	for (size_t i = 0; i < N_TEXTS; i++)
		list_free(&interned->texts[i]);
	list_free(&interned->mappings);
	list_free(&interned->new_frames);
	list_free(&interned->stacks);
}

bool interned_is_new(struct interned *interned, uint32_t kind, uint64_t id)
{
	const struct {
		uint64_t id;
		uint32_t sequence, kind;
	} key = { id, interned->sequence, kind };
	uint32_t count = interned->said.count;

	return numbers_put(&interned->said, &key, sizeof(key)) > count;
}

/* Room for one more message, of `size` bytes. */
static void *list_add(struct interned *interned, struct interned_list *list, size_t size)
{
	if (list->n == list->capacity) {
		list->capacity = list->capacity * 2 + 16;
		list->items = memory_resize(list->items, list->capacity, size);
		list->pointers = memory_resize(list->pointers, list->capacity, sizeof(void *));
	}
	interned->any = true;
	return (char *)list->items + list->n++ * size;
}

/* Pointers to the messages; these moved as the list grew. */
static void *list_pointers(struct interned_list *list, size_t size)
{
	void **pointers = list->pointers;

	for (size_t i = 0; i < list->n; i++)
		pointers[i] = (char *)list->items + i * size;
	return pointers;
}

/* ---- texts and mappings --------------------------------------------------------------------- */

static uint64_t intern_bytes(struct interned *interned, uint32_t kind, uint32_t number,
			     const void *bytes, size_t size)
{
	String *string;

	if (!number || !interned_is_new(interned, kind, number))
		return number;
	string = list_add(interned, &interned->texts[kind], sizeof(*string));
	*string = (String)PERFETTO__PROTOS__INTERNED_STRING__INIT;
	string->has_iid = string->has_str = true;
	string->iid = number;
	string->str.len = size;
	string->str.data = memory_get(size + 1);
	memcpy(string->str.data, bytes, size);
	return number;
}

static uint64_t intern_text(struct interned *interned, uint32_t kind, uint32_t number)
{
	const char *text = profile_text_of(&interned->tables, number);

	return intern_bytes(interned, kind, number, text, strlen(text));
}

static uint8_t digit_of(char c)
{
	return (uint8_t)(c <= '9' ? c - '0' : c - 'a' + 10);
}

/* As bytes: the capture has them in hexadecimal. */
static uint64_t intern_build_id(struct interned *interned, uint32_t number)
{
	const char *text = profile_text_of(&interned->tables, number);
	size_t size = strlen(text) / 2;
	uint8_t *bytes = memory_get(size + 1);

	for (size_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)(digit_of(text[2 * i]) << 4 | digit_of(text[2 * i + 1]));
	intern_bytes(interned, BUILD_ID, number, bytes, size);
	free(bytes);
	return number;
}

static Mapping *new_mapping(struct interned *interned, uint64_t id, uint32_t path)
{
	uint64_t text = intern_text(interned, PATH, path);
	Mapping *mapping = list_add(interned, &interned->mappings, sizeof(*mapping));

	*mapping = (Mapping)PERFETTO__PROTOS__MAPPING__INIT;
	mapping->has_iid = true;
	mapping->iid = id;
	mapping->n_path_string_ids = 1;
	mapping->path_string_ids = memory_get(sizeof(uint64_t));
	mapping->path_string_ids[0] = text;
	return mapping;
}

static uint64_t intern_mapping(struct interned *interned, uint32_t number)
{
	const struct profile_mapping *from;
	uint64_t id = number + MAPPING_SHIFT, build_id;
	Mapping *mapping;

	if (!interned_is_new(interned, MAPPING, id))
		return id;
	if (!number) {
		new_mapping(interned, NO_MAPPING, profile_text(&interned->tables, "[no file]"));
		return NO_MAPPING;
	}
	from = numbers_get(&interned->tables.mappings, number);
	build_id = intern_build_id(interned, from->build_id);
	mapping = new_mapping(interned, id, from->path);
	mapping->has_build_id = build_id;
	mapping->build_id = build_id;
	mapping->has_start = mapping->has_end = mapping->has_exact_offset = from->limit != 0;
	mapping->start = from->start;
	mapping->end = from->limit;
	mapping->exact_offset = from->offset;
	/* p_vaddr - p_offset. */
	mapping->has_load_bias = from->limit != 0;
	mapping->load_bias = from->start - from->offset;
	return id;
}

/* ---- frames and stacks ------------------------------------------------------------------- */

static uint64_t intern_frame(struct interned *interned, uint32_t location_number, uint32_t place)
{
	const struct profile_location *location =
		profile_location_of(&interned->tables, location_number);
	const struct profile_line line = location->lines[place];
	const struct profile_function function = *(const struct profile_function *)numbers_get(
		&interned->tables.functions, line.function);
	const struct {
		uint32_t location, place;
	} key = { location_number, place };
	uint64_t id = numbers_put(&interned->frames, &key, sizeof(key));
	uint64_t address = location->address, name, source, mapping;
	Frame *frame;

	if (!interned_is_new(interned, FRAME, id))
		return id;
	mapping = intern_mapping(interned, location->mapping);
	name = intern_text(interned, FUNCTION_NAME, function.name);
	source = intern_text(interned, SOURCE_PATH, function.file);
	frame = list_add(interned, &interned->new_frames, sizeof(*frame));
	*frame = (Frame)PERFETTO__PROTOS__FRAME__INIT;
	frame->has_iid = frame->has_function_name_id = frame->has_mapping_id = true;
	frame->iid = id;
	frame->function_name_id = name;
	frame->mapping_id = mapping;
	frame->has_rel_pc = true;
	frame->rel_pc = address;
	frame->has_source_path_iid = source != 0;
	frame->source_path_iid = source;
	frame->has_line_number = line.line != 0;
	frame->line_number = line.line;
	return id;
}

/* The stack's number of functions. */
static size_t depth_of(const struct profile_tables *tables, uint32_t stack)
{
	size_t n = 0;

	while (stack) {
		const struct profile_stack *at = numbers_get(&tables->stacks, stack);

		n += profile_location_of(tables, at->location)->n_lines;
		stack = at->caller;
	}
	return n;
}

uint64_t interned_stack(struct interned *interned, uint32_t stack)
{
	const struct profile_tables *tables = &interned->tables;
	size_t n = depth_of(tables, stack);
	uint64_t *ids;
	Callstack *callstack;

	if (!interned_is_new(interned, STACK, stack))
		return stack;
	callstack = list_add(interned, &interned->stacks, sizeof(*callstack));
	*callstack = (Callstack)PERFETTO__PROTOS__CALLSTACK__INIT;
	callstack->has_iid = true;
	callstack->iid = stack;
	callstack->n_frame_ids = n;
	callstack->frame_ids = ids = memory_get(n * sizeof(*ids));
	/* Outermost first. */
	for (uint32_t at = stack; at;) {
		const struct profile_stack *part = numbers_get(&tables->stacks, at);
		uint32_t location = part->location;

		at = part->caller;
		for (uint32_t i = 0; i < profile_location_of(tables, location)->n_lines; i++)
			ids[--n] = intern_frame(interned, location, i);
	}
	return stack;
}

/* ---- packets -------------------------------------------------------------------------------- */

Perfetto__Protos__InternedData *interned_data(struct interned *interned)
{
	Perfetto__Protos__InternedData *data = &interned->data;
	struct interned_list *texts = interned->texts;

	if (!interned->any)
		return NULL;
	*data = (Perfetto__Protos__InternedData)PERFETTO__PROTOS__INTERNED_DATA__INIT;
	data->n_function_names = texts[FUNCTION_NAME].n;
	data->function_names = list_pointers(&texts[FUNCTION_NAME], sizeof(String));
	data->n_build_ids = texts[BUILD_ID].n;
	data->build_ids = list_pointers(&texts[BUILD_ID], sizeof(String));
	data->n_mapping_paths = texts[PATH].n;
	data->mapping_paths = list_pointers(&texts[PATH], sizeof(String));
	data->n_source_paths = texts[SOURCE_PATH].n;
	data->source_paths = list_pointers(&texts[SOURCE_PATH], sizeof(String));
	data->n_mappings = interned->mappings.n;
	data->mappings = list_pointers(&interned->mappings, sizeof(Mapping));
	data->n_frames = interned->new_frames.n;
	data->frames = list_pointers(&interned->new_frames, sizeof(Frame));
	data->n_callstacks = interned->stacks.n;
	data->callstacks = list_pointers(&interned->stacks, sizeof(Callstack));
	return data;
}

void interned_forget(struct interned *interned)
{
	for (size_t kind = 0; kind < N_TEXTS; kind++) {
		String *strings = interned->texts[kind].items;

		for (size_t i = 0; i < interned->texts[kind].n; i++)
			free(strings[i].str.data);
		interned->texts[kind].n = 0;
	}
	for (size_t i = 0; i < interned->mappings.n; i++)
		free(((Mapping *)interned->mappings.items)[i].path_string_ids);
	for (size_t i = 0; i < interned->stacks.n; i++)
		free(((Callstack *)interned->stacks.items)[i].frame_ids);
	interned->mappings.n = interned->new_frames.n = interned->stacks.n = 0;
	interned->any = false;
}

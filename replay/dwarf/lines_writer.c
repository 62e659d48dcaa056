/* SPDX-License-Identifier: Apache-2.0 */
/* Writes .stackreel.lines. */
#include <stdlib.h>

#include "base/array.h"
#include "base/id_table.h"
#include "base/text.h"
#include "replay/dwarf/embedded_lines.h"

/* Marks a place as the number of a call until the number of functions is known. */
#define IS_CALL (1u << 31)

struct text_number {
	struct reel_id_entry by_pointer;
	uint32_t number;
};

/* Texts in the order of their numbers, which count from 1. */
struct numbered {
	struct reel_texts *texts;
	struct reel_id_table numbers; /* struct text_number */
	struct reel_buffer bytes;
	uint32_t n;
};

struct function {
	uint64_t begin;
	uint32_t name;
};

struct call {
	uint32_t name, caller, file, line, column;
};

struct call_number {
	struct reel_id_entry by_hash;
	uint32_t number;
};

struct reel_lines_writer {
	struct numbered names, files;
	struct function *functions;
	struct call *calls;
	uint32_t n_functions, n_calls, n_addresses;
	size_t functions_capacity, calls_capacity;
	struct reel_id_table call_numbers; /* struct call_number */
	uint64_t last;			   /* address */
	/* For each address: difference, place and position, all except the first u32, since the
	 * number of functions is not known yet. */
	struct reel_buffer addresses;
};

static void free_entry(void *context, struct reel_id_entry *entry)
{
	(void)context;
	free(entry);
}

static void numbered_free(struct numbered *numbered)
{
	reel_id_table_visit(&numbered->numbers, free_entry, NULL);
	reel_id_table_free(&numbered->numbers);
	reel_buffer_free(&numbered->bytes);
	reel_texts_destroy(numbered->texts);
}

void reel_lines_writer_destroy(struct reel_lines_writer *writer)
{
	if (!writer)
		return;
	numbered_free(&writer->names);
	numbered_free(&writer->files);
	reel_id_table_visit(&writer->call_numbers, free_entry, NULL);
	reel_id_table_free(&writer->call_numbers);
	reel_buffer_free(&writer->addresses);
	free(writer->functions);
	free(writer->calls);
	free(writer);
}

struct reel_error *reel_lines_writer_create(struct reel_lines_writer **ret)
{
	struct reel_lines_writer *writer = calloc(1, sizeof(*writer));

	if (!writer)
		return reel_error_no_memory();
	writer->names.texts = reel_texts_create();
	writer->files.texts = reel_texts_create();
	if (!writer->names.texts || !writer->files.texts) {
		reel_lines_writer_destroy(writer);
		return reel_error_no_memory();
	}
	*ret = writer;
	return NULL;
}

static struct reel_error *number_of(struct numbered *numbered, const char *text, uint32_t *ret)
{
	struct text_number *number;
	const char *known;

	*ret = 0;
	if (!*text)
		return NULL;
	known = reel_texts_add_string(numbered->texts, text);
	if (!known)
		return reel_error_no_memory();
	number = (struct text_number *)reel_id_table_find(&numbered->numbers, (uintptr_t)known);
	if (!number) {
		number = reel_id_table_add(&numbered->numbers, (uintptr_t)known, sizeof(*number));
		if (!number)
			return reel_error_no_memory();
		number->number = ++numbered->n;
		reel_buffer_append(&numbered->bytes, known, strlen(known) + 1);
	}
	*ret = number->number;
	return NULL;
}

/* Addresses ascend, so a function's are mostly adjacent. */
static struct reel_error *function_of(struct reel_lines_writer *writer, const char *name,
				      uint64_t begin, uint32_t *ret)
{
	struct function function = { .begin = begin };
	struct function *last =
		writer->n_functions ? &writer->functions[writer->n_functions - 1] : NULL;
	struct reel_error *error = number_of(&writer->names, name, &function.name);

	*ret = 0;
	if (error || !function.name)
		return error;
	if (!last || last->name != function.name || last->begin != begin) {
		if (!reel_array_reserve(&writer->functions, writer->n_functions,
					&writer->functions_capacity, sizeof(*writer->functions)))
			return reel_error_no_memory();
		writer->functions[writer->n_functions++] = function;
	}
	*ret = writer->n_functions;
	return NULL;
}

static uint64_t hash(const struct call *call)
{
	const uint32_t parts[] = { call->name, call->caller, call->file, call->line, call->column };
	uint64_t value = 0;

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		value = (value ^ parts[i]) * 0x9e3779b97f4a7c15;
		value ^= value >> 29;
	}
	return value;
}

/* Different calls with the same hash are not merged. */
static struct reel_error *call_of(struct reel_lines_writer *writer, const struct call *call,
				  uint32_t *ret)
{
	uint64_t id = hash(call);
	struct call_number *known =
		(struct call_number *)reel_id_table_find(&writer->call_numbers, id);

	if (known && !memcmp(&writer->calls[known->number - 1], call, sizeof(*call))) {
		*ret = known->number | IS_CALL;
		return NULL;
	}
	if (!reel_array_reserve(&writer->calls, writer->n_calls, &writer->calls_capacity,
				sizeof(*writer->calls)))
		return reel_error_no_memory();
	writer->calls[writer->n_calls++] = *call;
	*ret = writer->n_calls | IS_CALL;
	if (known)
		return NULL;
	known = reel_id_table_add(&writer->call_numbers, id, sizeof(*known));
	if (!known)
		return reel_error_no_memory();
	known->number = writer->n_calls;
	return NULL;
}

/* The place of the innermost frame, from the function inwards. */
static struct reel_error *place_of(struct reel_lines_writer *writer,
				   const struct reel_debug_frame *frames, size_t n, uint64_t begin,
				   uint32_t *ret)
{
	TRY(function_of(writer, frames[n - 1].function, begin, ret));
	for (size_t i = n - 1; i-- > 0;) {
		struct call call = { .caller = *ret,
				     .line = frames[i + 1].line,
				     .column = frames[i + 1].column };

		TRY(number_of(&writer->names, frames[i].function, &call.name));
		TRY(number_of(&writer->files, frames[i + 1].file, &call.file));
		TRY(call_of(writer, &call, ret));
	}
	return NULL;
}

struct reel_error *reel_lines_writer_add(struct reel_lines_writer *writer, uint64_t address,
					 const struct reel_debug_frame *frames, size_t n,
					 uint64_t begin)
{
	struct reel_buffer *out = &writer->addresses;
	uint32_t place, file;

	TRY(place_of(writer, frames, n, begin, &place));
	TRY(number_of(&writer->files, frames[0].file, &file));
	reel_buffer_u64(out, address - writer->last);
	reel_buffer_u32(out, place);
	reel_buffer_u32(out, file);
	reel_buffer_u32(out, frames[0].line);
	reel_buffer_u32(out, frames[0].column);
	writer->last = address;
	writer->n_addresses++;
	return NULL;
}

static void put_strings(const struct numbered *numbered, struct reel_buffer *ret)
{
	reel_buffer_uleb(ret, numbered->n);
	reel_buffer_append(ret, numbered->bytes.bytes, numbered->bytes.size);
}

static void put_place(const struct reel_lines_writer *writer, uint32_t place,
		      struct reel_buffer *ret)
{
	reel_buffer_uleb(ret, place & IS_CALL ? (place & ~IS_CALL) + writer->n_functions : place);
}

static void put_addresses(const struct reel_lines_writer *writer, struct reel_buffer *ret)
{
	struct reel_cursor from = reel_cursor(writer->addresses.bytes, writer->addresses.size);

	reel_buffer_uleb(ret, writer->n_addresses);
	while (reel_cursor_left(&from)) {
		reel_buffer_uleb(ret, reel_cursor_u64(&from));
		put_place(writer, reel_cursor_u32(&from), ret);
		for (int i = 0; i < 3; i++)
			reel_buffer_uleb(ret, reel_cursor_u32(&from));
	}
}

struct reel_error *reel_lines_writer_finish(struct reel_lines_writer *writer,
					    struct reel_buffer *ret)
{
	uint64_t begin = 0;

	if (!writer->n_addresses)
		return NULL;
	put_strings(&writer->names, ret);
	put_strings(&writer->files, ret);
	reel_buffer_uleb(ret, writer->n_functions);
	for (uint32_t i = 0; i < writer->n_functions; i++) {
		reel_buffer_uleb(ret, writer->functions[i].name);
		reel_buffer_zigzag(ret, (int64_t)(writer->functions[i].begin - begin));
		begin = writer->functions[i].begin;
	}
	reel_buffer_uleb(ret, writer->n_calls);
	for (uint32_t i = 0; i < writer->n_calls; i++) {
		const struct call *call = &writer->calls[i];

		reel_buffer_uleb(ret, call->name);
		put_place(writer, call->caller, ret);
		reel_buffer_uleb(ret, call->file);
		reel_buffer_uleb(ret, call->line);
		reel_buffer_uleb(ret, call->column);
	}
	put_addresses(writer, ret);
	if (ret->failed || writer->addresses.failed || writer->names.bytes.failed ||
	    writer->files.bytes.failed)
		return reel_error_no_memory();
	return NULL;
}

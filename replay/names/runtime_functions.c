/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/array.h"
#include "replay/names/runtime_functions.h"

void reel_runtime_functions_free(struct reel_runtime_functions *functions)
{
	reel_id_table_free_all(&functions->by_id);
	reel_texts_destroy(functions->texts);
	reel_hash_index_free(&functions->index);
	free(functions->distinct);
}

static uint32_t line_number(uint64_t line)
{
	return line <= UINT32_MAX ? (uint32_t)line : 0;
}

/* Pairs of differences; see SPEC.md, FUNCTION. */
static size_t decode_lines(const struct reel_record_function *record, struct reel_runtime_line *ret)
{
	struct reel_cursor cursor = reel_cursor(record->lines.data, record->lines.size);
	uint64_t position = 0, line = record->line;
	size_t n = 0;

	while (reel_cursor_left(&cursor)) {
		uint64_t distance = reel_cursor_uleb(&cursor);

		if (distance > UINT64_MAX - position)
			break;
		position += distance;
		line += (uint64_t)reel_cursor_zigzag(&cursor);
		ret[n++] = (struct reel_runtime_line){ position, line_number(line) };
	}
	return n;
}

static bool are_same(const struct reel_runtime_function *a, const struct reel_runtime_function *b)
{
	return a->runtime == b->runtime && a->name == b->name && a->file == b->file &&
	       a->line == b->line;
}

static bool set_first(struct reel_runtime_functions *functions,
		      struct reel_runtime_function *function)
{
	uint64_t hash = (uint64_t)(uintptr_t)function->name ^
			(uint64_t)(uintptr_t)function->file << 20 ^ (uint64_t)function->line << 44;
	uint32_t known = REEL_HASH_FIND(&functions->index, hash, i,
					are_same(functions->distinct[i], function));

	if (known != REEL_HASH_NONE) {
		function->first = functions->distinct[known];
		return true;
	}
	function->first = function;
	if (!reel_array_reserve(&functions->distinct, functions->n_distinct,
				&functions->distinct_capacity, sizeof(*functions->distinct)) ||
	    !reel_hash_index_add(&functions->index, hash, (uint32_t)functions->n_distinct))
		return false;
	functions->distinct[functions->n_distinct++] = function;
	return true;
}

struct reel_error *reel_runtime_functions_add(struct reel_runtime_functions *functions,
					      const struct reel_record_function *record)
{
	/* A pair takes at least two bytes. */
	size_t most = record->lines.size / 2;
	struct reel_runtime_function *function;

	if (reel_id_table_find(&functions->by_id, record->id))
		return NULL;
	if (!functions->texts)
		functions->texts = reel_texts_create();
	function = malloc(sizeof(*function) + most * sizeof(function->lines[0]));
	if (!functions->texts || !function) {
		free(function);
		return reel_error_no_memory();
	}
	*function = (struct reel_runtime_function){
		.by_id.id = record->id,
		.runtime = record->runtime <= REEL_RUNTIME_RUBY
				   ? (enum reel_runtime_kind)record->runtime
				   : REEL_RUNTIME_NONE,
		.name = reel_texts_add(functions->texts, record->name.data, record->name.size),
		.file = reel_texts_add(functions->texts, record->file.data, record->file.size),
		.line = line_number(record->line),
	};
	function->n_lines = decode_lines(record, function->lines);
	if (function->name && function->file &&
	    reel_id_table_insert(&functions->by_id, &function->by_id))
		return set_first(functions, function) ? NULL : reel_error_no_memory();
	free(function);
	return reel_error_no_memory();
}

const struct reel_runtime_function *reel_runtime_functions_find(
	const struct reel_runtime_functions *functions, uint64_t id)
{
	return (struct reel_runtime_function *)reel_id_table_find(&functions->by_id, id);
}

uint32_t reel_runtime_function_line(const struct reel_runtime_function *function, uint64_t position)
{
	size_t n =
		REEL_PARTITION_POINT(function->n_lines, i, function->lines[i].position <= position);

	return n ? function->lines[n - 1].line : function->n_lines ? 0 : function->line;
}

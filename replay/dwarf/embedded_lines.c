/* SPDX-License-Identifier: Apache-2.0 */
/* Reads .stackreel.lines: opening checks everything, so that look-ups need not. */
#include <stdlib.h>

#include "base/array.h"
#include "replay/dwarf/embedded_lines.h"

/* As in replay/dwarf/inline_chain.c, and the function. */
#define CHAIN_MAX 4097

struct position {
	uint32_t file, line, column;
};

struct function {
	uint64_t begin;
	uint32_t name;
};

/* `caller` is a place as in struct known. */
struct call {
	uint32_t name, caller, depth;
	struct position position;
};

struct known {
	uint64_t address;
	/* 0: in an unknown function; then numbers of functions, followed by numbers of calls. */
	uint32_t place;
	struct position position;
};

/* Strings by their numbers; 0 is "". */
struct strings {
	const char **all;
	uint32_t n;
};

struct reel_embedded_lines {
	struct strings names, files;
	struct function *functions;
	struct call *calls;
	struct known *known;
	uint32_t n_functions, n_calls, n_known;
	struct reel_debug_frame *frames; /* as many as in the longest chain */
	uint32_t depth;
};

void reel_embedded_lines_close(struct reel_embedded_lines *lines)
{
	if (!lines)
		return;
	free(lines->names.all);
	free(lines->files.all);
	free(lines->functions);
	free(lines->calls);
	free(lines->known);
	free(lines->frames);
	free(lines);
}

static struct reel_error *malformed(const struct reel_cursor *cursor, const char *what)
{
	return reel_error_create(REEL_ERROR_CORRUPT,
				 "section " REEL_EMBEDDED_LINES ", before byte %zu: %s",
				 reel_cursor_offset(cursor), what);
}

/* Reads the number of items, each of `least` bytes or more, and allocates them. */
static struct reel_error *read_count(struct reel_cursor *cursor, size_t least, size_t size,
				     uint32_t *n_ret, void *items_ret)
{
	uint64_t n = reel_cursor_uleb(cursor);
	void *items;

	*n_ret = 0;
	if (cursor->failed || n > reel_cursor_left(cursor) / least || n > UINT32_MAX / 4)
		return malformed(cursor, "fewer items than declared");
	items = calloc(n + 1, size);
	if (!items)
		return reel_error_no_memory();
	memcpy(items_ret, &items, sizeof(items));
	*n_ret = (uint32_t)n;
	return NULL;
}

static struct reel_error *read_strings(struct reel_cursor *cursor, struct strings *ret)
{
	TRY(read_count(cursor, 1, sizeof(*ret->all), &ret->n, &ret->all));
	ret->all[0] = "";
	for (uint32_t i = 1; i <= ret->n; i++) {
		size_t left = reel_cursor_left(cursor);
		const uint8_t *end = left ? memchr(cursor->at, 0, left) : NULL;

		if (!end)
			return malformed(cursor, "unterminated string");
		ret->all[i] = (const char *)cursor->at;
		cursor->at = end + 1;
	}
	return NULL;
}

/* A number up to `max`; otherwise the cursor fails. */
static uint32_t read_number(struct reel_cursor *cursor, uint32_t max)
{
	uint64_t value = reel_cursor_uleb(cursor);

	if (value <= max)
		return (uint32_t)value;
	reel_cursor_fail(cursor);
	return 0;
}

static struct position read_position(struct reel_cursor *cursor, const struct strings *files)
{
	struct position position;

	position.file = read_number(cursor, files->n);
	position.line = read_number(cursor, UINT32_MAX);
	position.column = read_number(cursor, UINT32_MAX);
	return position;
}

static struct reel_error *read_functions(struct reel_cursor *cursor,
					 struct reel_embedded_lines *lines)
{
	uint64_t begin = 0;

	TRY(read_count(cursor, 2, sizeof(*lines->functions), &lines->n_functions,
		       &lines->functions));
	for (uint32_t i = 0; i < lines->n_functions; i++) {
		lines->functions[i].name = read_number(cursor, lines->names.n);
		begin += (uint64_t)reel_cursor_zigzag(cursor);
		lines->functions[i].begin = begin;
	}
	return cursor->failed ? malformed(cursor, "a function's name is out of range") : NULL;
}

/* The number of frames at a place. */
static uint32_t depth_of(const struct reel_embedded_lines *lines, uint32_t place)
{
	return place > lines->n_functions ? lines->calls[place - lines->n_functions - 1].depth : 1;
}

static struct reel_error *read_calls(struct reel_cursor *cursor, struct reel_embedded_lines *lines)
{
	struct reel_error *error =
		read_count(cursor, 5, sizeof(*lines->calls), &lines->n_calls, &lines->calls);

	for (uint32_t i = 0; !error && i < lines->n_calls; i++) {
		struct call *call = &lines->calls[i];

		call->name = read_number(cursor, lines->names.n);
		call->caller = read_number(cursor, lines->n_functions + i);
		call->position = read_position(cursor, &lines->files);
		call->depth = depth_of(lines, call->caller) + 1;
		if (call->depth > lines->depth)
			lines->depth = call->depth;
		if (cursor->failed || call->depth > CHAIN_MAX)
			error = malformed(cursor, "a call's name, caller or file is out of range, "
						  "or calls are nested too deeply");
	}
	return error;
}

static struct reel_error *read_addresses(struct reel_cursor *cursor,
					 struct reel_embedded_lines *lines)
{
	struct reel_error *error =
		read_count(cursor, 5, sizeof(*lines->known), &lines->n_known, &lines->known);
	uint64_t address = 0;

	for (uint32_t i = 0; !error && i < lines->n_known; i++) {
		struct known *known = &lines->known[i];
		uint64_t difference = reel_cursor_uleb(cursor);

		known->address = address += difference;
		known->place = read_number(cursor, lines->n_functions + lines->n_calls);
		known->position = read_position(cursor, &lines->files);
		if (cursor->failed || address < difference || (i && !difference))
			error = malformed(cursor, "addresses are not ascending, or an address's "
						  "function or file is out of range");
	}
	return error;
}

static struct reel_error *read_all(struct reel_cursor *cursor, struct reel_embedded_lines *lines)
{
	lines->depth = 1;
	TRY(read_strings(cursor, &lines->names));
	TRY(read_strings(cursor, &lines->files));
	TRY(read_functions(cursor, lines));
	TRY(read_calls(cursor, lines));
	TRY(read_addresses(cursor, lines));
	if (reel_cursor_left(cursor))
		return malformed(cursor, "extra bytes after the last address");
	lines->frames = calloc(lines->depth, sizeof(*lines->frames));
	return lines->frames ? NULL : reel_error_no_memory();
}

struct reel_error *reel_embedded_lines_open(struct reel_bytes section,
					    struct reel_embedded_lines **ret)
{
	struct reel_cursor cursor = reel_cursor(section.data, section.size);
	struct reel_embedded_lines *lines = calloc(1, sizeof(*lines));
	struct reel_error *error;

	if (!lines)
		return reel_error_no_memory();
	error = read_all(&cursor, lines);
	if (error) {
		reel_embedded_lines_close(lines);
		return error;
	}
	*ret = lines;
	return NULL;
}

static const struct known *find(const struct reel_embedded_lines *lines, uint64_t address)
{
	uint32_t low = REEL_PARTITION_POINT(lines->n_known, i, lines->known[i].address < address);

	return low < lines->n_known && lines->known[low].address == address ? &lines->known[low]
									    : NULL;
}

void reel_embedded_lines_look_up(struct reel_embedded_lines *lines, uint64_t address,
				 const struct reel_debug_frame **frames_ret, size_t *n_ret,
				 uint64_t *begin_ret)
{
	const struct known *known = find(lines, address);
	struct position position;
	uint32_t place;

	*n_ret = 0;
	*begin_ret = 0;
	if (!known)
		return;
	position = known->position;
	place = known->place;
	*frames_ret = lines->frames;
	for (;;) {
		struct reel_debug_frame *frame = &lines->frames[(*n_ret)++];
		const struct call *call = place > lines->n_functions
						  ? &lines->calls[place - lines->n_functions - 1]
						  : NULL;
		const struct function *function =
			!call && place ? &lines->functions[place - 1] : NULL;

		frame->function = lines->names.all[call	      ? call->name
						   : function ? function->name
							      : 0];
		frame->file = lines->files.all[position.file];
		frame->line = position.line;
		frame->column = position.column;
		if (!call) {
			*begin_ret = function ? function->begin : 0;
			return;
		}
		position = call->position;
		place = call->caller;
	}
}

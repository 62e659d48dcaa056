/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "format/perf/perf_map.h"

static int digit_of(uint8_t character)
{
	if (character >= '0' && character <= '9')
		return character - '0';
	character |= 0x20;
	return character >= 'a' && character <= 'f' ? character - 'a' + 10 : -1;
}

/* A number and the following blank. */
static bool take_number(struct reel_cursor *line, uint64_t *ret)
{
	const uint8_t *start;
	uint64_t value = 0;

	if (reel_cursor_left(line) >= 2 && line->at[0] == '0' && (line->at[1] | 0x20) == 'x')
		line->at += 2;
	start = line->at;
	for (int digit; line->at < line->end && (digit = digit_of(*line->at)) >= 0; line->at++) {
		if (value >> 60)
			return false;
		value = value << 4 | (uint64_t)digit;
	}
	*ret = value;
	return line->at > start && reel_cursor_u8(line) == ' ';
}

static bool parse_line(const uint8_t *bytes, size_t size, struct reel_perf_map_line *ret)
{
	struct reel_cursor line = reel_cursor(bytes, size);

	if (!take_number(&line, &ret->address) || !take_number(&line, &ret->size))
		return false;
	ret->name = (struct reel_bytes){ line.at, reel_cursor_left(&line) };
	return ret->size && ret->address + (ret->size - 1) >= ret->address && ret->name.size &&
	       !memchr(ret->name.data, 0, ret->name.size);
}

struct reel_error *reel_perf_map_parse(
	struct reel_perf_map *map, const uint8_t *bytes, size_t size,
	struct reel_error *(*visit)(void *context, const struct reel_perf_map_line *line),
	void *context, size_t *taken_ret)
{
	struct reel_error *error = NULL;
	const uint8_t *end;
	size_t at = 0;

	for (; at < size && !error && (end = memchr(bytes + at, '\n', size - at));
	     at = (size_t)(end - bytes) + 1) {
		size_t length = (size_t)(end - bytes) - at;
		struct reel_perf_map_line line;

		if (map->skips)
			map->skips = false; /* already counted */
		else if (length < REEL_PERF_MAP_LINE_MAX && parse_line(bytes + at, length, &line))
			error = visit(context, &line);
		else
			map->n_bad++;
	}
	if (!error && size - at >= REEL_PERF_MAP_LINE_MAX) {
		map->n_bad += !map->skips;
		map->skips = true;
	}
	*taken_ret = map->skips ? size : at;
	return error;
}

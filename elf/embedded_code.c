/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the code of an embedded image. */
#include <stdlib.h>

#include "base/array.h"
#include "elf/embedded_code.h"

static struct reel_error *malformed(const char *what)
{
	return reel_error_create(REEL_ERROR_CORRUPT, "%s", what);
}

static struct reel_error *read_pieces(struct reel_cursor *table, struct reel_cursor *bytes,
				      bool big_endian, struct reel_embedded_code *ret)
{
	for (size_t i = 0; i < ret->n; i++) {
		struct reel_embedded_piece *piece = &ret->pieces[i];

		piece->address = reel_load_target(reel_cursor_take(table, 8), 8, big_endian);
		piece->size = reel_load_target(reel_cursor_take(table, 8), 8, big_endian);
		piece->bytes = reel_cursor_take(bytes, piece->size);
		if (!piece->size || !piece->bytes || piece->address > UINT64_MAX - piece->size)
			return malformed("a piece is empty or exceeds the section");
		if (i && piece->address <= piece[-1].address + piece[-1].size)
			return malformed("pieces are out of order, or not separated");
	}
	return NULL;
}

struct reel_error *reel_embedded_code_open(struct reel_bytes section, bool big_endian,
					   struct reel_embedded_code *ret)
{
	struct reel_cursor table = reel_cursor(section.data, section.size), bytes;
	const uint8_t *count = reel_cursor_take(&table, 8);
	struct reel_error *error;
	uint64_t n;

	*ret = (struct reel_embedded_code){ 0 };
	if (!count)
		return section.size ? malformed("ends too early") : NULL;
	n = reel_load_target(count, 8, big_endian);
	bytes = table;
	if (n > reel_cursor_left(&table) / 16)
		return malformed("fewer pieces than declared");
	reel_cursor_take(&bytes, 16 * n);
	ret->pieces = calloc((size_t)n + 1, sizeof(*ret->pieces));
	if (!ret->pieces)
		return reel_error_no_memory();
	ret->n = (size_t)n;
	error = read_pieces(&table, &bytes, big_endian, ret);
	if (error)
		reel_embedded_code_free(ret);
	return error;
}

void reel_embedded_code_free(struct reel_embedded_code *code)
{
	free(code->pieces);
	*code = (struct reel_embedded_code){ 0 };
}

bool reel_embedded_code_read(const struct reel_embedded_code *code, uint64_t address, size_t size,
			     uint8_t *bytes_ret)
{
	const struct reel_embedded_piece *piece;
	size_t low;
	uint64_t into;

	low = REEL_PARTITION_POINT(code->n, i, code->pieces[i].address <= address);
	if (!low)
		return false;
	piece = &code->pieces[low - 1];
	into = address - piece->address;
	if (into > piece->size || size > piece->size - into)
		return false;
	memcpy(bytes_ret, piece->bytes + into, size);
	return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A perf map and a jitdump: their names must not depend on the chunks in which they are read. */
#include <zlib.h>

#include "format/perf/jitdump.h"
#include "format/perf/perf_map.h"
#include "tests/fuzz/fuzz.h"

struct said {
	uint64_t count;
	uLong checksum;
};

static void say(struct said *said, const void *bytes, size_t size)
{
	said->count++;
	said->checksum = crc32_z(said->checksum, bytes, size);
}

static void must_be_range(uint64_t address, uint64_t size)
{
	must_be(size && address + (size - 1) >= address, "a range");
}

static struct reel_error *see_line(void *context, const struct reel_perf_map_line *line)
{
	must_be_range(line->address, line->size);
	must_be(line->name.size && line->name.size < REEL_PERF_MAP_LINE_MAX &&
			!memchr(line->name.data, 0, line->name.size),
		"a name");
	say(context, line->name.data, line->name.size);
	say(context, &line->address, sizeof(line->address));
	return NULL;
}

static struct reel_error *see_function(void *context, const struct reel_jitdump_function *function)
{
	struct reel_jitdump_lines lines = function->lines;
	struct reel_jitdump_line line;

	must_be_range(function->address, function->size);
	must_be(!memchr(function->name.data, 0, function->name.size), "a name");
	must_be(function->frame_address - function->address - function->size < 8, "after the code");
	say(context, function->name.data, function->name.size);
	say(context, function->eh_frame.data, function->eh_frame.size);
	say(context, &function->time, sizeof(function->time));
	while (reel_jitdump_next_line(&lines, &line)) {
		say(context, &line.address, sizeof(line.address));
		say(context, line.file.data, line.file.size);
	}
	return NULL;
}

static struct reel_error *see_move(void *context, const struct reel_jitdump_move *move)
{
	must_be_range(move->from, move->size);
	must_be_range(move->to, move->size);
	say(context, move, sizeof(*move));
	return NULL;
}

/* Reads it while it grows by `step`. */
static struct said read_map(struct reel_bytes file, size_t step)
{
	struct reel_perf_map map = { 0 };
	struct said said = { 0 };
	size_t from = 0, taken;

	for (size_t to = 0; to < file.size;) {
		to = file.size - to < step ? file.size : to + step;
		must(reel_perf_map_parse(&map, file.data + from, to - from, see_line, &said,
					 &taken));
		must_be(taken <= to - from, "no more than exist");
		from += taken;
	}
	said.count += map.n_bad << 32;
	return said;
}

static struct said read_dump(struct reel_bytes file, size_t step)
{
	struct reel_jitdump dump = { 0 };
	struct said said = { 0 };
	const struct reel_jitdump_visitor visitor = { see_function, see_move, &said };
	uint64_t from = 0, taken;

	for (size_t to = 0; to < file.size;) {
		to = file.size - to < step ? file.size : to + step;
		if (from >= to)
			continue;
		if (!fuzz_fine(reel_jitdump_parse(&dump, file.data + from, to - from, &visitor,
						  &taken)))
			break;
		from += taken;
	}
	said.count += dump.n_bad << 32;
	return said;
}

static void must_agree(struct said a, struct said b)
{
	must_be(a.count == b.count && a.checksum == b.checksum, "the same, however it is read");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reel_cursor input = reel_cursor(data, size);
	size_t step = 1 + reel_cursor_u16(&input);
	struct reel_bytes map = fuzz_part(&input), dump = fuzz_rest(&input);

	must_agree(read_map(map, step), read_map(map, SIZE_MAX));
	must_agree(read_dump(dump, step), read_dump(dump, SIZE_MAX));
	return 0;
}

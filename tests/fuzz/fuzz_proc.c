/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorder's readers of /proc: a process's maps, as one text and in pieces of any size, and its
 * status; what a process publishes of its requests (in a mapped file) and its service; CPython's
 * tables of lines.
 */
#include <sys/mman.h>

#include "record/proc/file_hints.h"
#include "record/proc/maps_reader.h"
#include "record/proc/proc.c"
#include "record/proc/service.c"
#include "record/runtime/python.h"
#include "tests/fuzz/fuzz.h"

struct seen {
	uint64_t sum;
	size_t n;
};

static void visit(void *context, const struct reel_proc_map *map)
{
	struct seen *seen = context;

	must_be(map->size > 0 && map->address + map->size - 1 >= map->address, "a range");
	must_be(map->path && strlen(map->path) < PATH_MAX, "a path");
	must_be(map->protection & PROT_EXEC || map->path[0] == '/', "code, or a file's data");
	seen->sum = seen->sum * 31 + map->address + map->size + map->offset + map->inode;
	seen->sum = seen->sum * 31 + crc32(0, (const uint8_t *)map->path, (uInt)strlen(map->path));
	seen->n++;
}

static struct seen read_maps(struct reel_bytes part, size_t piece)
{
	static struct reel_maps_reader reader;
	struct seen seen = { 0 };

	reader.used = 0;
	reader.skips = false;
	reader.copy_end = 0;
	reader.data[0] = '\0';
	for (size_t at = 0; at < part.size; at += piece)
		reel_maps_reader_parse(&reader, (const char *)part.data + at,
				       part.size - at < piece ? part.size - at : piece, visit,
				       &seen);
	return seen;
}

static void read_status(struct reel_bytes part)
{
	_cleanup_free_ char *text = fuzz_text(part);

	status_number(text, "\nTgid:\t");
	status_number(text, "\nNStgid:\t");
	status_number(text, "\nNSpid:\t");
}

static void read_published(struct reel_bytes part)
{
	_cleanup_fd_ int fd = memfd_create("published", MFD_CLOEXEC);
	struct reel_proc_service service = { 0 };
	struct reel_file_hints hints;

	parse_message(part, &service);
	must_be(memchr(service.name, 0, sizeof(service.name)) &&
			memchr(service.environment, 0, sizeof(service.environment)),
		"ended texts");
	must_be(fd >= 0 && write(fd, part.data, part.size) == (ssize_t)part.size, "a file");
	reel_file_hints_find(fd, &hints);
	must_be(hints.publisher.kind < REEL_BPF_PUBLISHER_KINDS, "a kind");
}

static void read_lines(struct reel_bytes table, uint64_t number)
{
	static const uint32_t versions[] = { 0x030900, 0x030a00, 0x030b00 };
	_cleanup_buffer_ struct reel_buffer lines = { 0 };
	struct reel_cursor cursor;
	uint64_t last = 0;

	python_lines_write(versions[number % 3], table, number, 200, &lines);
	cursor = reel_cursor(lines.bytes, lines.size);
	for (size_t i = 0; reel_cursor_left(&cursor); i++) {
		uint64_t distance = reel_cursor_uleb(&cursor);

		must_be(!i || distance <= UINT32_MAX, "ascending positions");
		last += distance;
		reel_cursor_zigzag(&cursor);
	}
	must_be(!cursor.failed && last <= UINT32_MAX, "whole pairs");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reel_cursor input = reel_cursor(data, size);
	struct reel_bytes status = fuzz_part(&input), maps = fuzz_rest(&input);
	struct seen whole = read_maps(maps, maps.size + 1);
	struct seen pieces = read_maps(maps, 1 + status.size % 61);

	read_status(status);
	read_published(maps);
	read_lines(maps, status.size);
	must_be(whole.n == pieces.n && whole.sum == pieces.sum, "the same in pieces");
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "record/proc/maps_reader.h"
#include "base/quantity.h"

/* Text per read: a file returns a page, or one longer line, for each read (fs/seq_file.c). */
#define CHUNK (16u << 10)

/* fs/proc escapes only newlines in a path, as \012 (seq_path with "\n"). */
static void unescape(char *path)
{
	char *to = path;

	for (; *path; to++) {
		if (!strncmp(path, "\\012", 4)) {
			*to = '\n';
			path += 4;
		} else {
			*to = *path++;
		}
	}
	*to = '\0';
}

/* "7f0a-7f0b r-xp 00001000 fe:01 1234    /usr/lib/x.so" (fs/proc/task_mmu.c, show_map_vma) */
static bool parse_map(char *line, bool is_cut, struct reel_proc_map *ret)
{
	uint64_t end;
	char access[5];
	int path = 0;

	if (sscanf(line,
		   "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %" SCNx32 ":%" SCNx32 " %" SCNu64 " %n",
		   &ret->address, &end, access, &ret->offset, &ret->device_major,
		   &ret->device_minor, &ret->inode, &path) < 7 ||
	    !path || end <= ret->address)
		return false;
	ret->size = end - ret->address;
	ret->protection = (access[0] == 'r' ? PROT_READ : 0) | (access[1] == 'w' ? PROT_WRITE : 0) |
			  (access[2] == 'x' ? PROT_EXEC : 0);
	ret->flags = access[3] == 's' ? MAP_SHARED : MAP_PRIVATE;
	unescape(line + path);
	ret->path = line[path] ? line + path : "//anon";
	/* As in perf's events (perf_event_mmap_event). */
	if (is_cut || strlen(ret->path) >= PATH_MAX)
		ret->path = "//toolong";
	return true;
}

/* Most mappings are data; checking this first costs much less than parsing them. */
static bool is_executable(const char *line)
{
	const char *access = strchr(line, ' ');

	return access && strnlen(access, 4) == 4 && access[3] == 'x';
}

static bool is_without_file(const char *path)
{
	return path[0] != '/' || path[1] == '/' || reel_path_is_deleted(reel_bytes_of_string(path));
}

/* The executable mapping may be a copy of text. */
static void visit_data_below(struct reel_maps_reader *reader, const struct reel_proc_map *copy,
			     void (*visit)(void *context, const struct reel_proc_map *map),
			     void *context)
{
	struct reel_proc_map data;

	if (reader->data[0] && parse_map(reader->data, false, &data) && data.path[0] == '/' &&
	    data.address + data.size == copy->address)
		visit(context, &data);
}

static void parse_data(struct reel_maps_reader *reader, char *line,
		       void (*visit)(void *context, const struct reel_proc_map *map), void *context)
{
	struct reel_proc_map data;
	uint64_t below = reader->copy_end;

	reader->data[0] = '\0';
	reader->copy_end = 0;
	if (!strchr(line, '/') || strlen(line) >= sizeof(reader->data))
		return;
	if (!below)
		strcpy(reader->data, line);
	else if (parse_map(line, false, &data) && data.path[0] == '/' && data.address == below)
		visit(context, &data);
}

static void parse_line(struct reel_maps_reader *reader, char *line, bool is_cut,
		       void (*visit)(void *context, const struct reel_proc_map *map), void *context)
{
	struct reel_proc_map map;
	bool is_copy;

	if (!is_executable(line)) {
		parse_data(reader, line, visit, context);
		return;
	}
	if (!parse_map(line, is_cut, &map) || !(map.protection & PROT_EXEC))
		return;
	is_copy = is_without_file(map.path);
	if (is_copy)
		visit_data_below(reader, &map, visit, context);
	reader->data[0] = '\0';
	reader->copy_end = is_copy ? map.address + map.size : 0;
	visit(context, &map);
}

/* Takes the whole lines in the buffer; moves the rest to its front. */
static void parse_lines(struct reel_maps_reader *reader,
			void (*visit)(void *context, const struct reel_proc_map *map),
			void *context)
{
	char *line = reader->buffer, *end = reader->buffer + reader->used, *newline;

	while ((newline = memchr(line, '\n', (size_t)(end - line)))) {
		*newline = '\0';
		if (!reader->skips)
			parse_line(reader, line, false, visit, context);
		reader->skips = false;
		line = newline + 1;
	}
	/* A line that fills the buffer has a path that is too long: skip the rest. */
	if (line == reader->buffer && reader->used == sizeof(reader->buffer) - 1) {
		*end = '\0';
		if (!reader->skips)
			parse_line(reader, line, true, visit, context);
		reader->skips = true;
		line = end;
	}
	reader->used = (size_t)(end - line);
	memmove(reader->buffer, line, reader->used);
}

void reel_maps_reader_parse(struct reel_maps_reader *reader, const char *text, size_t size,
			    void (*visit)(void *context, const struct reel_proc_map *map),
			    void *context)
{
	while (size) {
		/* Reserve one byte for a NUL. */
		size_t room = sizeof(reader->buffer) - 1 - reader->used;
		size_t part = size < room ? size : room;

		memcpy(reader->buffer + reader->used, text, part);
		reader->used += part;
		text += part;
		size -= part;
		parse_lines(reader, visit, context);
	}
}

/* Passes mappings on up to the limits. */
struct gate {
	const struct reel_maps_limits *limits;
	size_t mappings, path_bytes;
	bool is_closed;
	void (*visit)(void *context, const struct reel_proc_map *map);
	void *context;
};

static void pass(void *context, const struct reel_proc_map *map)
{
	struct gate *gate = context;

	gate->mappings++;
	gate->path_bytes += strlen(map->path);
	gate->is_closed = gate->is_closed || gate->mappings > gate->limits->mappings ||
			  gate->path_bytes > gate->limits->path_bytes;
	if (!gate->is_closed)
		gate->visit(gate->context, map);
}

enum reel_answer reel_maps_read(int fd, const struct reel_maps_limits *limits,
				void (*visit)(void *context, const struct reel_proc_map *map),
				void *context)
{
	struct reel_maps_reader *reader = calloc(1, sizeof(*reader));
	struct gate gate = { .limits = limits, .visit = visit, .context = context };
	char text[CHUNK];
	bool any = false;
	ssize_t n = -1;

	if (!reader)
		return REEL_ANSWER_NONE;
	while (!gate.is_closed) {
		n = read(fd, text, sizeof(text));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		any = true;
		reel_maps_reader_parse(reader, text, (size_t)n, pass, &gate);
		if (reel_now() > limits->deadline)
			gate.is_closed = true;
	}
	free(reader);
	if (!any)
		return REEL_ANSWER_NONE;
	return n ? REEL_ANSWER_PART : REEL_ANSWER_WHOLE;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints what the recorder's helper finds out about a process's Python code:
 *
 *   code_reader PID <ADDRESSES
 *
 * First the version and the offset of a code object's identity, or how locating failed; then for
 * each code object, whose address is a line in hexadecimal, its address, its definition's line, its
 * name and file, separated by tabs, and POSITION:LINE pairs; nothing for objects without a name.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/helper/inspector.h"

struct found {
	struct reel_inspector *inspector;
	uint32_t pid;
	struct reel_runtime_place place;
};

static void look(void *context, const struct reel_proc_map *map)
{
	struct found *found = context;
	struct reel_proc_file file;
	bool exact;
	int fd, place;

	if (found->place.kind || map->path[0] != '/')
		return;
	place = reel_proc_find_mapped(found->pid, map, &exact);
	if (place < 0)
		return;
	if (reel_proc_file(place, &file, &fd)) {
		close(fd);
		if (file.hints.runtime.kind) {
			found->place = file.hints.runtime;
			found->place.at += map->address - map->offset;
		}
	}
	close(place);
}

static void print(void *context, const struct reel_runtime_function *function)
{
	struct reel_cursor lines = reel_cursor(function->lines.data, function->lines.size);
	uint64_t position = 0, line = function->line;

	(void)context;
	printf("%" PRIx64 "\t%" PRIu64 "\t%.*s\t%.*s\t", function->code.address, function->line,
	       (int)function->name.size, (const char *)function->name.data,
	       (int)function->file.size,
	       function->file.size ? (const char *)function->file.data : "");
	while (reel_cursor_left(&lines)) {
		position += reel_cursor_uleb(&lines);
		line += (uint64_t)reel_cursor_zigzag(&lines);
		printf(" %" PRIu64 ":%" PRIu64, position, line);
	}
	printf("%s\n", lines.failed ? " damaged" : "");
}

static void note(void *context, const char *line)
{
	(void)context;
	fprintf(stderr, "%s\n", line);
}

int main(int argc, char **argv)
{
	struct reel_maps_limits limits = { 65536, 64 << 20, UINT64_MAX };
	struct reel_runtime_code codes[REEL_RUNTIME_CODES_MAX];
	struct found found = { .pid = argc > 1 ? (uint32_t)atoi(argv[1]) : 0 };
	struct reel_bpf_interpreter interpreter;
	enum reel_runtime_answer answer;
	size_t n = 0;
	bool more = true;

	if (reel_inspector_create(NULL, false, note, NULL, &found.inspector))
		return 1;
	reel_proc_maps(found.pid, &limits, look, &found);
	answer = reel_inspector_interpreter(found.inspector, found.pid, &found.place, &interpreter);
	if (answer != REEL_RUNTIME_FOUND) {
		printf("kind %" PRIu32 " version %" PRIx32 ": %s\n", found.place.kind,
		       found.place.version, answer == REEL_RUNTIME_LATER ? "later" : "unknown");
		return 1;
	}
	printf("%" PRIx32 " %u\n", found.place.version, interpreter.python.code_identity);
	while (more) {
		__u64 words[REEL_BPF_IDENTITY_SIZE / 8];
		uint64_t address;

		more = scanf("%" SCNx64, &address) == 1;
		if (more && reel_proc_memory(found.pid, address + interpreter.python.code_identity,
					     words, sizeof(words)))
			codes[n++] =
				(struct reel_runtime_code){ address, reel_bpf_identity(words), 0 };
		if (n && (n == REEL_RUNTIME_CODES_MAX || !more)) {
			if (reel_inspector_functions(found.inspector, found.pid, &found.place,
						     codes, n, UINT64_MAX, print,
						     NULL) != REEL_ANSWER_WHOLE)
				printf("no answer\n");
			n = 0;
		}
	}
	reel_inspector_destroy(found.inspector);
	return 0;
}

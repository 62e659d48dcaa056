/* SPDX-License-Identifier: Apache-2.0 */
/* What the recorder reads of a process in /proc: maps and status. */
#define _GNU_SOURCE
#include "record/proc.c"
#include "tests/fuzz/fuzz.h"

static void read_status(struct reel_bytes part)
{
	_cleanup_free_ char *text = fuzz_text(part);

	status_number(text, "\nTgid:\t");
	status_number(text, "\nNStgid:\t");
	status_number(text, "\nNSpid:\t");
}

static void read_maps(struct reel_bytes part)
{
	_cleanup_free_ char *text = fuzz_text(part);

	for (char *line = text, *next; *line; line = next) {
		char *end = strchrnul(line, '\n');
		size_t size = (size_t)(end - line);
		struct reel_proc_map map;

		next = *end ? end + 1 : end;
		*end = '\0';
		if (!parse_map(line, &map))
			continue;
		must_be(map.size > 0 && map.address + map.size - 1 >= map.address, "a range");
		must_be(map.path && (strlen(map.path) <= size || !strcmp(map.path, "//anon")),
			"a path of the line");
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reel_cursor input = reel_cursor(data, size);

	read_status(fuzz_part(&input));
	read_maps(fuzz_rest(&input));
	return 0;
}

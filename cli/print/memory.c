/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/print/memory.h"

static const char *report_before = "", *report_after = "";

void memory_set_report(const char *before, const char *after)
{
	report_before = before;
	report_after = after;
}

void memory_complain(const char *what)
{
	/* In a pager, the report must follow the earlier output. */
	fflush(stdout);
	fprintf(stderr, "stackreel: %s%s%s\n", report_before, what ? what : "out of memory",
		report_after);
}

void memory_check(const void *memory)
{
	if (memory)
		return;
	memory_complain(NULL);
	exit(EXIT_FAILURE);
}

void *memory_get(size_t size)
{
	void *memory = calloc(1, size ? size : 1);

	memory_check(memory);
	return memory;
}

void *memory_resize(void *memory, size_t count, size_t size)
{
	memory = reallocarray(memory, count ? count : 1, size);
	memory_check(memory);
	return memory;
}

void *memory_reserve(void *memory, size_t *capacity, size_t count, size_t size)
{
	if (count < *capacity)
		return memory;
	*capacity = count + count / 2 + 64;
	return memory_resize(memory, *capacity, size);
}

void *memory_reserve_zeroed(void *memory, size_t *capacity, size_t count, size_t size)
{
	size_t before = *capacity;

	if (count < before)
		return memory;
	memory = memory_reserve(memory, capacity, count, size);
	memset((char *)memory + before * size, 0, (*capacity - before) * size);
	return memory;
}

char *memory_vprint(const char *format, va_list args)
{
	char *text;

	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	memory_check(text);
	return text;
}

char *memory_print(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = memory_vprint(format, args);
	va_end(args);
	return text;
}

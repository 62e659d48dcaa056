/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "format/reader_internal.h"

void reel_problems_init(struct reel_problems *problems, size_t max)
{
	*problems = (struct reel_problems){ .max = max };
}

void reel_problems_clear(struct reel_problems *problems)
{
	while (problems->n)
		free(problems->list[--problems->n].message);
	problems->more = 0;
	problems->failed = false;
}

void reel_problems_free(struct reel_problems *problems)
{
	reel_problems_clear(problems);
	free(problems->list);
	problems->list = NULL;
}

/* The last item of a full list counts itself and all that follow. */
static void count_one_more(struct reel_problems *problems)
{
	struct reel_problem *last = &problems->list[problems->max - 1];
	char *message;

	problems->more++;
	if (asprintf(&message, "%llu more problems, from offset %llu",
		     (unsigned long long)problems->more + 1,
		     (unsigned long long)last->offset) < 0) {
		problems->failed = true;
		return;
	}
	free(last->message);
	last->message = message;
}

void reel_problems_add(struct reel_problems *problems, enum reel_error_code code, uint64_t offset,
		       const char *format, ...)
{
	va_list args;
	char *message;
	int size;

	if (problems->n == problems->max) {
		count_one_more(problems);
		return;
	}
	if (!problems->list)
		problems->list = calloc(problems->max, sizeof(*problems->list));
	if (!problems->list) {
		problems->failed = true;
		return;
	}
	va_start(args, format);
	size = vasprintf(&message, format, args);
	va_end(args);
	if (size < 0) {
		problems->failed = true;
		return;
	}
	problems->list[problems->n++] = (struct reel_problem){ code, offset, message };
}

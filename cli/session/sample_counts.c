/* SPDX-License-Identifier: Apache-2.0 */
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "cli/print/text.h"
#include "cli/session/sample_counts.h"

static int compare_names(const void *a, const void *b)
{
	return strcmp(((const struct sample_count *)a)->name,
		      ((const struct sample_count *)b)->name);
}

static int compare_numbers(const void *a, const void *b)
{
	const struct sample_count *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

struct sample_count *sample_counts_find(const struct sample_counts *counts, uint64_t number,
					const char *name)
{
	const struct sample_count wanted = { .name = (char *)name, .number = number };
	struct sample_count **found =
		tfind(&wanted, &counts->tree, counts->by_name ? compare_names : compare_numbers);

	return found ? *found : NULL;
}

static struct sample_count *value_of(struct sample_counts *counts, uint64_t number,
				     const char *name)
{
	struct sample_count *value = sample_counts_find(counts, number, name);

	if (!value) {
		value = memory_get(sizeof(*value));
		*value =
			(struct sample_count){ .name = memory_print("%s", name), .number = number };
		memory_check(tsearch(value, &counts->tree,
				     counts->by_name ? compare_names : compare_numbers));
		counts->values = memory_reserve(counts->values, &counts->capacity, counts->n,
						sizeof(*counts->values));
		counts->values[counts->n++] = value;
	}
	return value;
}

void sample_counts_add(struct sample_counts *counts, uint64_t number, const char *name)
{
	value_of(counts, number, name)->samples++;
}

void sample_counts_join(struct sample_counts *counts, const struct sample_counts *more)
{
	for (size_t i = 0; i < more->n; i++) {
		const struct sample_count *value = more->values[i];

		value_of(counts, value->number, value->name)->samples += value->samples;
	}
}

static int compare_values(const void *a, const void *b)
{
	const struct sample_count *x = *(struct sample_count *const *)a;
	const struct sample_count *y = *(struct sample_count *const *)b;

	if (x->is_near != y->is_near)
		return x->is_near ? -1 : 1;
	if (x->samples != y->samples)
		return x->samples > y->samples ? -1 : 1;
	return x->number != y->number ? compare_numbers(x, y) : compare_names(x, y);
}

void sample_counts_sort(struct sample_counts *counts)
{
	if (counts->n)
		qsort(counts->values, counts->n, sizeof(*counts->values), compare_values);
}

/* "100 (example), 101 (example) and 3 more". */
char *sample_counts_list(struct sample_counts *counts, size_t max)
{
	char *list = memory_print("%s", "");

	sample_counts_sort(counts);
	for (size_t i = 0; i < counts->n && i < max; i++) {
		const struct sample_count *value = counts->values[i];
		_cleanup_free_ char *before = list;
		const char *comma = i ? ", " : "";

		if (counts->by_name)
			list = memory_print("%s%s'%s'", before, comma, value->name);
		else
			list = memory_print(
				"%s%s%llu%s%s%s", before, comma, (unsigned long long)value->number,
				*value->name ? " (" : "", value->name, *value->name ? ")" : "");
	}
	if (counts->n > max) {
		_cleanup_free_ char *before = list;

		list = memory_print("%s and %s more", before, format_count(counts->n - max).text);
	}
	return list;
}

void sample_counts_free(struct sample_counts *counts)
{
	for (size_t i = 0; i < counts->n; i++)
		free(counts->values[i]->name);
	tdestroy(counts->tree, free);
	free(counts->values);
}

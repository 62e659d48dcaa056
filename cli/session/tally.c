/* SPDX-License-Identifier: Apache-2.0 */
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "cli/print/text.h"
#include "cli/session/tally.h"

static int compare_names(const void *a, const void *b)
{
	return strcmp(((const struct tally_value *)a)->name, ((const struct tally_value *)b)->name);
}

static int compare_numbers(const void *a, const void *b)
{
	const struct tally_value *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

struct tally_value *tally_find(const struct tally *tally, uint64_t number, const char *name)
{
	const struct tally_value wanted = { .name = name, .number = number };
	struct tally_value **found =
		tfind(&wanted, &tally->tree, tally->by_name ? compare_names : compare_numbers);

	return found ? *found : NULL;
}

void tally_add(struct tally *tally, uint64_t number, const char *name)
{
	struct tally_value *value = tally_find(tally, number, name);

	if (!value) {
		value = memory_get(sizeof(*value));
		*value = (struct tally_value){ .name = name, .number = number };
		memory_check(tsearch(value, &tally->tree,
				     tally->by_name ? compare_names : compare_numbers));
		tally->values = memory_reserve(tally->values, &tally->capacity, tally->n,
					       sizeof(*tally->values));
		tally->values[tally->n++] = value;
	}
	value->samples++;
}

static int compare_values(const void *a, const void *b)
{
	const struct tally_value *x = *(struct tally_value *const *)a;
	const struct tally_value *y = *(struct tally_value *const *)b;

	if (x->is_near != y->is_near)
		return x->is_near ? -1 : 1;
	if (x->samples != y->samples)
		return x->samples > y->samples ? -1 : 1;
	return x->number != y->number ? compare_numbers(x, y) : compare_names(x, y);
}

void tally_sort(struct tally *tally)
{
	if (tally->n)
		qsort(tally->values, tally->n, sizeof(*tally->values), compare_values);
}

void tally_free(struct tally *tally)
{
	tdestroy(tally->tree, free);
	free(tally->values);
}

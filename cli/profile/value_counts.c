/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "cli/print/text.h"
#include "cli/profile/value_counts.h"

/* More different numbers are shown as ranges. */
#define EXACT_MAX 16

/* Values are in the order of their texts. */
static struct value_count *find_value(struct value_counts *counts,
				      const struct reel_frame_value *value)
{
	const char *text = text_at_pointer(value->text);
	size_t low = REEL_PARTITION_POINT(counts->n, i, strcmp(counts->values[i].text, text) < 0);

	if (low < counts->n && !strcmp(counts->values[low].text, text))
		return &counts->values[low];
	counts->values = memory_reserve(counts->values, &counts->capacity, counts->n,
					sizeof(*counts->values));
	memmove(&counts->values[low + 1], &counts->values[low],
		(counts->n - low) * sizeof(*counts->values));
	counts->n++;
	counts->values[low] = (struct value_count){
		.text = memory_print("%s", text),
		.is_number = value->is_number && text == value->text,
		.is_signed = value->is_signed,
		.number = value->number,
	};
	return &counts->values[low];
}

static void vote(struct value_count *value, const struct reel_frame *caller, uint64_t lead)
{
	if (!value->caller_lead ||
	    (value->caller && caller && value->caller->function_id == caller->function_id)) {
		value->caller = caller;
		value->caller_lead += lead;
	} else if (lead > value->caller_lead) {
		value->caller = caller;
		value->caller_lead = lead - value->caller_lead;
	} else {
		value->caller_lead -= lead;
	}
}

void value_counts_add(struct value_counts *counts, const struct reel_frame_value *value,
		      uint64_t weight, const struct reel_frame *caller)
{
	struct amount amount = { weight, 1 };
	struct value_count *seen;

	amount_add(&counts->unknown[value->state], amount);
	if (value->state != REEL_VALUE_KNOWN)
		return;
	seen = find_value(counts, value);
	amount_add(&seen->amount, amount);
	vote(seen, caller, 1);
}

void value_counts_free(struct value_counts *counts)
{
	for (size_t i = 0; i < counts->n; i++)
		free(counts->values[i].text);
	free(counts->values);
	free(counts->name);
}

static int compare_weights(const void *a, const void *b)
{
	const struct value_count *x = a, *y = b;

	if (x->amount.weight != y->amount.weight)
		return x->amount.weight < y->amount.weight ? 1 : -1;
	return strcmp(x->text, y->text);
}

void value_counts_sort(struct value_counts *counts)
{
	if (counts->n)
		qsort(counts->values, counts->n, sizeof(*counts->values), compare_weights);
}

/* ---- ranges ----------------------------------------------------------------------------- */

/* The sign and the bits of a number: equal for all of a range. */
static int range_of(const struct value_count *value)
{
	uint64_t number = value->number;
	int sign = 1;

	if (value->is_signed && (int64_t)number < 0) {
		number = 0 - number;
		sign = -1;
	}
	return number ? sign * (64 - __builtin_clzll(number)) : 0;
}

static char *range_text(int range)
{
	int bits = range < 0 ? -range : range;
	uint64_t low = (uint64_t)1 << (bits - 1), high = low + (low - 1);

	if (range < 0)
		return memory_print("-%" PRIu64 " to -%" PRIu64, high, low);
	return memory_print("%" PRIu64 " to %" PRIu64, low, high);
}

static int compare_numbers(const void *a, const void *b)
{
	const struct value_count *x = a, *y = b;

	if (x->is_signed)
		return ((int64_t)x->number > (int64_t)y->number) -
		       ((int64_t)x->number < (int64_t)y->number);
	return (x->number > y->number) - (x->number < y->number);
}

/* Pointers are not ranged: their text is an address. */
bool value_counts_have_ranges(const struct value_counts *counts)
{
	for (size_t i = 0; i < counts->n; i++) {
		char *end;

		if (!counts->values[i].is_number)
			return false;
		strtoll(counts->values[i].text, &end, 10);
		if (*end)
			return false;
	}
	return counts->n > EXACT_MAX;
}

/* Replaces values by their ranges, in order. */
void value_counts_make_ranges(struct value_counts *counts)
{
	size_t n = 0;

	qsort(counts->values, counts->n, sizeof(*counts->values), compare_numbers);
	for (size_t i = 0; i < counts->n; i++) {
		struct value_count *value = &counts->values[i],
				   *last = n ? &counts->values[n - 1] : NULL;

		if (last && range_of(last) == range_of(value)) {
			amount_add(&last->amount, value->amount);
			vote(last, value->caller, value->caller_lead);
			free(value->text);
			continue;
		}
		if (range_of(value) > 1 || range_of(value) < -1) {
			free(value->text);
			value->text = range_text(range_of(value));
		}
		counts->values[n++] = *value;
	}
	counts->n = n;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/flamegraph/flame_labels.h"
#include "cli/print/memory.h"

#define MORE "[more values]"
/* While samples arrive; MORE may be added. */
#define VALUES_MAX (1u << 16)
#define SETS_MAX   (1u << 16)
/* Of a sample; more than a trace can have. */
#define MEMBERS_MAX 64

/* FNV-1a. */
#define HASH_FIRST UINT64_C(0xcbf29ce484222325)

static uint64_t hash_more(uint64_t hash, const void *bytes, size_t size)
{
	const uint8_t *at = bytes;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
	return hash;
}

static void add_index(struct reel_hash_index *index, uint64_t hash, uint32_t number)
{
	if (!reel_hash_index_add(index, hash, number))
		memory_check(NULL);
}

/* ---- ranges of numbers ---------------------------------------------------------------------- */

/* Room for "-18446744073709551615 .. -9223372036854775808". */
#define RANGE_SIZE 48

/* The range that a decimal number of `size` characters is in; false: it is none, or 0 or 1. */
static bool range_of(const char *text, size_t size, char *range)
{
	bool is_negative = *text == '-';
	uint64_t number, low, high;

	if (size <= is_negative || strspn(text + is_negative, "0123456789") < size - is_negative)
		return false;
	number = strtoull(text + is_negative, NULL, 10);
	if (number < 2)
		return false;
	low = UINT64_C(1) << (63 - __builtin_clzll(number));
	high = low + (low - 1);
	if (is_negative)
		snprintf(range, RANGE_SIZE, "-%" PRIu64 " .. -%" PRIu64, high, low);
	else
		snprintf(range, RANGE_SIZE, "%" PRIu64 " .. %" PRIu64, low, high);
	return true;
}

/* It represents many values: there are few of these. */
static bool is_of_many(const char *text)
{
	char range[RANGE_SIZE];

	return !strcmp(text, MORE) ||
	       (range_of(text, strcspn(text, " "), range) && !strcmp(text, range));
}

/* What a value is if there are too many: the numbers from one power of two to the next, or MORE. */
static const char *text_of_many(const char *text, char *range)
{
	if (is_of_many(text))
		return text;
	return range_of(text, strlen(text), range) ? range : MORE;
}

/* ---- values and sets ------------------------------------------------------------------------ */

static uint32_t value_number(struct flame_labels *labels, const char *key, const char *text)
{
	char range[RANGE_SIZE];
	uint64_t hash = hash_more(hash_more(HASH_FIRST, key, strlen(key) + 1), text, strlen(text));
	uint32_t found = REEL_HASH_FIND(&labels->by_text, hash, i,
					!strcmp(labels->values[i].text, text) &&
						!strcmp(labels->values[i].key, key));

	if (found != REEL_HASH_NONE)
		return found;
	if (labels->n_values >= VALUES_MAX && !is_of_many(text))
		return value_number(labels, key, text_of_many(text, range));
	labels->values = memory_reserve(labels->values, &labels->values_capacity, labels->n_values,
					sizeof(*labels->values));
	labels->values[labels->n_values] =
		(struct flame_label_value){ .key = memory_print("%s", key),
					    .text = memory_print("%s", text) };
	add_index(&labels->by_text, hash, labels->n_values);
	return labels->n_values++;
}

static uint32_t set_find(const struct flame_labels *labels, const uint32_t *members, uint32_t n)
{
	const struct flame_label_set *sets = labels->sets;

	return REEL_HASH_FIND(&labels->by_members,
			      hash_more(HASH_FIRST, members, n * sizeof(*members)), i,
			      sets[i].n == n && (!n || !memcmp(labels->members + sets[i].first,
							       members, n * sizeof(*members))));
}

static uint32_t set_number(struct flame_labels *labels, const uint32_t *members, uint32_t n)
{
	uint32_t found = set_find(labels, members, n);

	if (found != REEL_HASH_NONE)
		return found;
	labels->sets = memory_reserve(labels->sets, &labels->sets_capacity, labels->n_sets,
				      sizeof(*labels->sets));
	for (uint32_t i = 0; i < n; i++) {
		labels->members = memory_reserve(labels->members, &labels->members_capacity,
						 labels->n_members + i, sizeof(*members));
		labels->members[labels->n_members + i] = members[i];
	}
	labels->sets[labels->n_sets] =
		(struct flame_label_set){ .first = (uint32_t)labels->n_members, .n = n };
	labels->n_members += n;
	add_index(&labels->by_members, hash_more(HASH_FIRST, members, n * sizeof(*members)),
		  labels->n_sets);
	return labels->n_sets++;
}

void flame_labels_init(struct flame_labels *labels)
{
	*labels = (struct flame_labels){ 0 };
	set_number(labels, NULL, 0);
}

void flame_labels_free(struct flame_labels *labels)
{
	for (uint32_t i = 0; i < labels->n_values; i++) {
		free(labels->values[i].key);
		free(labels->values[i].text);
	}
	free(labels->values);
	free(labels->sets);
	free(labels->members);
	reel_hash_index_free(&labels->by_text);
	reel_hash_index_free(&labels->by_members);
}

/* ---- samples -------------------------------------------------------------------------------- */

uint32_t flame_labels_add(struct flame_labels *labels, const struct reel_trace *trace)
{
	uint32_t members[MEMBERS_MAX] = { 0 }, n = 0, set;

	for (size_t i = 0; i < trace->n_labels && n < MEMBERS_MAX; i++) {
		if (strcmp(trace->labels[i].key, "waker-sample") != 0)
			members[n++] =
				value_number(labels, trace->labels[i].key, trace->labels[i].text);
	}
	if (labels->n_sets >= SETS_MAX && set_find(labels, members, n) == REEL_HASH_NONE) {
		for (uint32_t i = 0; i < n; i++)
			members[i] = value_number(labels, labels->values[members[i]].key, MORE);
	}
	set = set_number(labels, members, n);
	labels->sets[set].samples++;
	for (uint32_t i = 0; i < n; i++)
		labels->values[members[i]].samples++;
	return set;
}

/* ---- limits --------------------------------------------------------------------------------- */

struct rank {
	const struct flame_label_value *value;
	uint32_t number;
};

static int compare_ranks(const void *a, const void *b)
{
	const struct rank *x = a, *y = b;
	int order = strcmp(x->value->key, y->value->key);

	if (!order)
		order = (x->value->samples < y->value->samples) -
			(x->value->samples > y->value->samples);
	return order ? order : (x->number > y->number) - (x->number < y->number);
}

/* The values by key, each key's from the most frequent on. */
static struct rank *rank_values(const struct flame_labels *labels)
{
	struct rank *ranks = memory_get((labels->n_values + 1) * sizeof(*ranks));

	for (uint32_t i = 0; i < labels->n_values; i++)
		ranks[i] = (struct rank){ &labels->values[i], i };
	qsort(ranks, labels->n_values, sizeof(*ranks), compare_ranks);
	return ranks;
}

/* By value: its number in `to`, where rare ones share one. */
static uint32_t *limit_values(const struct rank *ranks, uint32_t n, size_t max,
			      struct flame_labels *to)
{
	uint32_t *mapped = memory_get((n + 1) * sizeof(*mapped));

	for (uint32_t i = 0, of_key = 0; i < n; i++) {
		const struct flame_label_value *value = ranks[i].value;
		char range[RANGE_SIZE];

		of_key = i && !strcmp(value->key, ranks[i - 1].value->key) ? of_key + 1 : 0;
		mapped[ranks[i].number] =
			value_number(to, value->key,
				     of_key < max ? value->text : text_of_many(value->text, range));
		to->values[mapped[ranks[i].number]].samples += value->samples;
	}
	return mapped;
}

static bool has_more_than(const struct rank *ranks, uint32_t n, size_t max)
{
	size_t of_key = 0;

	for (uint32_t i = 0; i < n && of_key <= max; i++) {
		if (i && strcmp(ranks[i].value->key, ranks[i - 1].value->key) != 0)
			of_key = 0;
		of_key += !is_of_many(ranks[i].value->text);
	}
	return of_key > max;
}

uint32_t *flame_labels_limit(struct flame_labels *labels, size_t max)
{
	struct flame_labels limited;
	_cleanup_free_ struct rank *ranks = rank_values(labels);
	_cleanup_free_ uint32_t *values = NULL;
	uint32_t *mapped, members[MEMBERS_MAX];

	if (!has_more_than(ranks, labels->n_values, max))
		return NULL;
	flame_labels_init(&limited);
	values = limit_values(ranks, labels->n_values, max, &limited);
	mapped = memory_get(labels->n_sets * sizeof(*mapped));
	for (uint32_t i = 0; i < labels->n_sets; i++) {
		const struct flame_label_set *set = &labels->sets[i];

		for (uint32_t j = 0; j < set->n; j++)
			members[j] = values[labels->members[set->first + j]];
		mapped[i] = set_number(&limited, members, set->n);
		limited.sets[mapped[i]].samples += set->samples;
	}
	flame_labels_free(labels);
	*labels = limited;
	return mapped;
}

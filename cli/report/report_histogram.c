/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/print/text.h"
#include "cli/report/report_histogram.h"

/* Columns: before the range's name, and of the longest bar. */
#define FIXED_WIDTH 31
#define BAR_WIDTH   40

/*
 * Negative numbers by magnitude, 0, positive numbers by magnitude: -2^63, ..., -3 .. -2, -1, 0, 1,
 * 2 .. 3, ..., 2^63 .. 2^64 - 1.
 */
#define ZERO   64
#define RANGES 129

/* Without a number: no label, and the states of unknown variables. */
#define OTHERS_MAX 4

struct other {
	const struct symbol *group;
	struct amount amount;
};

struct histogram {
	struct amount ranges[RANGES];
	struct other others[OTHERS_MAX];
	size_t n_others;
	size_t first, last;
	uint64_t most; /* weight of a range */
};

/* 1 for 1, 2 for 2 and 3, 3 for 4 to 7 … */
static unsigned int magnitude(uint64_t number)
{
	return 64 - (unsigned int)__builtin_clzll(number);
}

static size_t range_of(const struct group_value *value)
{
	if (!value->number)
		return ZERO;
	if (value->kind == REEL_LABEL_SIGNED && value->number >> 63)
		return ZERO - magnitude(0 - value->number);
	return ZERO + magnitude(value->number);
}

/* The caller frees it. */
static char *range_text(const struct group_key *key, size_t range)
{
	bool is_negative = range < ZERO;
	size_t size = is_negative ? ZERO - range : range - ZERO;
	uint64_t low = size ? UINT64_C(1) << (size - 1) : 0;
	/* Signed numbers end at -2^63. */
	uint64_t high = size && !(is_negative && size == 64) ? low + (low - 1) : low;
	const char *sign = is_negative ? "-" : "";

	if (key->kind == GROUP_DURATION)
		return memory_print("%s .. %s", format_nanoseconds(low).text,
				    format_nanoseconds(high).text);
	if (low == high)
		return memory_print("%s%" PRIu64, sign, low);
	return memory_print("%s%" PRIu64 " .. %s%" PRIu64, sign, is_negative ? high : low, sign,
			    is_negative ? low : high);
}

bool report_histogram_is_possible(const struct profiles *profiles)
{
	const struct groups *groups = &profiles->groups[0];

	for (size_t i = 0; i < profiles->count && groups->key.kind == GROUP_DURATION; i++) {
		if (profiles->items[i].is_time)
			continue;
		complain("--histogram: samples of %s have no durations; use --by with a label, or "
			 "--event with a latency",
			 event_name(profiles->items[i].event));
		return false;
	}
	for (size_t i = 0; i < groups->n_values; i++) {
		enum reel_label_kind kind = groups->values[i].kind;

		if (kind == REEL_LABEL_UNSIGNED || kind == REEL_LABEL_SIGNED)
			continue;
		complain("--histogram: the values of '%s' are not numbers, such as '%s'",
			 groups->key.name, groups->values[i].text);
		return false;
	}
	return true;
}

static void sum_up(const struct profiles *profiles, const struct call_tree *tree,
		   struct histogram *ret)
{
	const struct groups *groups = &profiles->groups[0];
	struct pointer_map values = { 0 };
	uint32_t node = tree->nodes[CALL_TREE_ROOT].first_child;

	for (size_t i = 0; i < groups->n_values; i++)
		pointer_map_put(&values, groups->values[i].symbol, &groups->values[i]);
	*ret = (struct histogram){ .first = RANGES };
	for (; node != CALL_TREE_NONE; node = tree->nodes[node].next_sibling) {
		const struct group_value *value = pointer_map_get(&values, tree->nodes[node].key);
		size_t range = value ? range_of(value) : 0;

		if (!value && ret->n_others < OTHERS_MAX)
			ret->others[ret->n_others++] =
				(struct other){ tree->nodes[node].key, tree->nodes[node].total };
		if (!value)
			continue;
		amount_add(&ret->ranges[range], tree->nodes[node].total);
		if (range < ret->first)
			ret->first = range;
		if (range > ret->last)
			ret->last = range;
		if (ret->ranges[range].weight > ret->most)
			ret->most = ret->ranges[range].weight;
	}
	pointer_map_free(&values);
}

static void print_row(const struct profile *profile, const char *name, size_t width,
		      struct amount amount, const struct output *output)
{
	uint64_t all = profile->tree.nodes[CALL_TREE_ROOT].total.weight;

	fprintf(output->file, "%s%6s %%%s %9s  %9s  %*s",
		color_of_share(output, percent_of(amount.weight, all)),
		format_percent(amount.weight, all).text, color_end(output),
		profile_format(profile, amount.weight).text, format_count(amount.samples).text,
		(int)width, name);
}

/* The columns that are left for bars after `used` ones. */
static size_t bar_width(size_t used, const struct output *output)
{
	size_t left = output->width > used ? output->width - used : 0;

	return !output->width || left > BAR_WIDTH ? BAR_WIDTH : left;
}

static void print_bar(uint64_t weight, uint64_t most, size_t width, const struct output *output)
{
	uint64_t n = most ? (uint64_t)((double)weight / (double)most * (double)width + 0.5) : 0;

	fputs(n ? "  " : "", output->file);
	for (uint64_t i = 0; i < n; i++)
		fputs(output->utf8 ? "█" : "#", output->file);
	fputc('\n', output->file);
}

void report_histogram_print(const struct profiles *profiles, const struct profile *profile,
			    const struct output *output)
{
	const struct group_key *key = &profiles->groups[0].key;
	_cleanup_free_ char *head = memory_print("%s", key->name);
	struct histogram histogram;
	size_t width = strlen(head), bar;

	sum_up(profiles, &profile->tree, &histogram);
	for (size_t i = 0; i < histogram.n_others; i++) {
		size_t length = strlen(group_value_text(key, histogram.others[i].group));

		width = length > width ? length : width;
	}
	for (size_t i = histogram.first; i <= histogram.last; i++) {
		_cleanup_free_ char *name = range_text(key, i);

		if (strlen(name) > width)
			width = strlen(name);
	}
	bar = bar_width(FIXED_WIDTH + width + 2, output);
	for (char *c = head; *c && key->kind != GROUP_VARIABLE; c++)
		*c = (char)toupper((unsigned char)*c);
	fprintf(output->file, "%s%8s %9s  %9s  %*s%s\n", color_bold(output), "TOTAL",
		profile_unit(profile), "SAMPLES", (int)width, head, color_end(output));
	for (size_t i = histogram.first; i <= histogram.last; i++) {
		_cleanup_free_ char *name = range_text(key, i);

		print_row(profile, name, width, histogram.ranges[i], output);
		print_bar(histogram.ranges[i].weight, histogram.most, bar, output);
	}
	for (size_t i = 0; i < histogram.n_others; i++) {
		print_row(profile, group_value_text(key, histogram.others[i].group), width,
			  histogram.others[i].amount, output);
		fputc('\n', output->file);
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/decimal.h"
#include "base/quantity.h"

#define LIST_MAX 65536

static const char number_characters[] = "0123456789.";

uint64_t reel_clock_now(clockid_t clock)
{
	struct timespec now = { 0 };

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * REEL_NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

uint64_t reel_now(void)
{
	return reel_clock_now(CLOCK_MONOTONIC);
}

/* Digits at the start of `text`; false if there are none or they are too large. */
static bool parse_digits(const char *text, const char **end_ret, uint64_t *ret)
{
	char *end;

	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	*ret = strtoull(text, &end, 10);
	*end_ret = end;
	return !errno;
}

struct reel_error *reel_quantity_number(const char *text, uint64_t min, uint64_t max, uint64_t *ret)
{
	const char *end;

	if (parse_digits(text, &end, ret) && !*end && *ret >= min && *ret <= max)
		return NULL;
	return reel_error_create(REEL_ERROR_INVALID, "invalid number '%s' (expected %llu to %llu)",
				 text, (unsigned long long)min, (unsigned long long)max);
}

/* K, M, G or T, then B or iB; both may be missing. */
static bool parse_size(const char *text, uint64_t *ret)
{
	static const char prefixes[] = "KMGT";
	const char *unit = text + strspn(text, number_characters), *end;
	const char *prefix = *unit ? strchr(prefixes, toupper((unsigned char)*unit)) : NULL;
	const char *rest = prefix ? unit + 1 : unit;
	unsigned int shift = prefix ? 10 * (unsigned int)(prefix - prefixes + 1) : 0;

	if (*rest && strcasecmp(rest, "B") && !(prefix && !strcasecmp(rest, "iB")))
		return false;
	return reel_decimal_parse(text, UINT64_C(1) << shift, &end, ret) && end == unit;
}

struct reel_error *reel_quantity_size(const char *text, uint64_t *ret)
{
	if (parse_size(text, ret) && *ret)
		return NULL;
	return reel_error_create(REEL_ERROR_INVALID,
				 "invalid size '%s' (expected e.g. 65536, 64K, 16M, 1G)", text);
}

static const struct {
	const char *name;
	uint64_t ns;
} time_units[] = {
	{ "", REEL_NS_PER_SECOND },
	{ "s", REEL_NS_PER_SECOND },
	{ "ms", REEL_NS_PER_MS },
	{ "us", 1000 },
	{ "ns", 1 },
	{ "m", 60 * REEL_NS_PER_SECOND },
	{ "min", 60 * REEL_NS_PER_SECOND },
	{ "h", 3600 * REEL_NS_PER_SECOND },
	{ "d", 86400 * REEL_NS_PER_SECOND },
};

static bool parse_time(const char *text, uint64_t *ret)
{
	const char *unit = text + strspn(text, number_characters), *end;

	for (size_t i = 0; i < sizeof(time_units) / sizeof(*time_units); i++)
		if (!strcmp(unit, time_units[i].name))
			return reel_decimal_parse(text, time_units[i].ns, &end, ret) && end == unit;
	return false;
}

static struct reel_error *time_error(const char *text)
{
	return reel_error_create(REEL_ERROR_INVALID,
				 "invalid duration '%s' (expected e.g. 10s, 500ms, 2m, 1h)", text);
}

struct reel_error *reel_quantity_time(const char *text, uint64_t *ret)
{
	return parse_time(text, ret) ? NULL : time_error(text);
}

struct reel_error *reel_quantity_duration(const char *text, uint64_t *ret)
{
	return parse_time(text, ret) && *ret && *ret <= INT64_MAX ? NULL : time_error(text);
}

static struct reel_error *list_add(uint32_t **list, size_t *count, uint32_t value)
{
	/* Mostly the largest. */
	size_t at = *count && (*list)[*count - 1] < value
			    ? *count
			    : REEL_PARTITION_POINT(*count, i, (*list)[i] < value);
	uint32_t *grown;

	if (at < *count && (*list)[at] == value)
		return NULL;
	grown = realloc(*list, (*count + 1) * sizeof(**list));
	if (!grown)
		return reel_error_no_memory();
	*list = grown;
	memmove(grown + at + 1, grown + at, (*count - at) * sizeof(*grown));
	grown[at] = value;
	++*count;
	return NULL;
}

static struct reel_error *list_error(const char *text, bool ranges)
{
	return reel_error_create(REEL_ERROR_INVALID, "invalid list '%s' (expected e.g. %s)", text,
				 ranges ? "0,2-5" : "12,34");
}

struct reel_error *reel_quantity_list(const char *text, bool ranges, uint32_t max, uint32_t **list,
				      size_t *count)
{
	const char *at = text;

	for (;;) {
		struct reel_error *error = NULL;
		uint64_t first, last;

		if (!parse_digits(at, &at, &first))
			return list_error(text, ranges);
		last = first;
		if (ranges && *at == '-' && !parse_digits(at + 1, &at, &last))
			return list_error(text, ranges);
		if (last < first || (*at && *at != ','))
			return list_error(text, ranges);
		if (last > max)
			return reel_error_create(REEL_ERROR_INVALID,
						 "invalid list '%s': %llu is too large", text,
						 (unsigned long long)last);
		if (*count >= LIST_MAX || last - first >= LIST_MAX - *count)
			return reel_error_create(REEL_ERROR_INVALID,
						 "invalid list '%s': more than %d numbers", text,
						 LIST_MAX);
		for (uint64_t value = first; value <= last && !error; value++)
			error = list_add(list, count, (uint32_t)value);
		if (error || !*at)
			return error;
		at++;
	}
}

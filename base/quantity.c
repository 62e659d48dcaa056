/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/quantity.h"

uint64_t reel_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * REEL_NS_PER_SECOND + (uint64_t)now.tv_nsec;
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

static const struct {
	const char *suffix;
	unsigned int shift;
} size_units[] = {
	{ "", 0 },    { "B", 0 },   { "K", 10 }, { "k", 10 },  { "KB", 10 },
	{ "kB", 10 }, { "M", 20 },  { "m", 20 }, { "MB", 20 }, { "G", 30 },
	{ "g", 30 },  { "GB", 30 }, { "T", 40 }, { "TB", 40 },
};

struct reel_error *reel_quantity_size(const char *text, uint64_t *ret)
{
	const char *suffix;
	uint64_t number;

	if (parse_digits(text, &suffix, &number) && number) {
		for (size_t i = 0; i < sizeof(size_units) / sizeof(*size_units); i++) {
			unsigned int shift = size_units[i].shift;

			if (strcmp(suffix, size_units[i].suffix) || number > UINT64_MAX >> shift)
				continue;
			*ret = number << shift;
			return NULL;
		}
	}
	return reel_error_create(REEL_ERROR_INVALID,
				 "invalid size '%s' (expected e.g. 65536, 64K, 16M, 1G)", text);
}

static const struct {
	const char *suffix;
	uint64_t ns;
} duration_units[] = {
	{ "", REEL_NS_PER_SECOND },
	{ "s", REEL_NS_PER_SECOND },
	{ "ms", REEL_NS_PER_MS },
	{ "m", 60 * REEL_NS_PER_SECOND },
	{ "min", 60 * REEL_NS_PER_SECOND },
	{ "h", 3600 * REEL_NS_PER_SECOND },
	{ "d", 86400 * REEL_NS_PER_SECOND },
};

/* ".25" as thousandths; further digits are dropped. */
static uint64_t parse_fraction(const char **text)
{
	uint64_t thousandths = 0, unit = 100;

	if (**text != '.')
		return 0;
	for ((*text)++; isdigit((unsigned char)**text); (*text)++, unit /= 10)
		thousandths += (uint64_t)(**text - '0') * unit;
	return thousandths;
}

struct reel_error *reel_quantity_duration(const char *text, uint64_t *ret)
{
	const char *suffix;
	uint64_t whole, thousandths;

	if (parse_digits(text, &suffix, &whole)) {
		thousandths = parse_fraction(&suffix);
		for (size_t i = 0; i < sizeof(duration_units) / sizeof(*duration_units); i++) {
			uint64_t ns = duration_units[i].ns;

			if (strcmp(suffix, duration_units[i].suffix) || whole > INT64_MAX / ns - 1)
				continue;
			*ret = whole * ns + thousandths * (ns / 1000);
			if (*ret)
				return NULL;
		}
	}
	return reel_error_create(REEL_ERROR_INVALID,
				 "invalid duration '%s' (expected e.g. 10s, 500ms, 2m, 1h)", text);
}

static struct reel_error *list_add(uint32_t **list, size_t *count, uint32_t value)
{
	size_t at = 0;
	uint32_t *grown;

	while (at < *count && (*list)[at] < value)
		at++;
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
		for (uint64_t value = first; value <= last && !error; value++)
			error = list_add(list, count, (uint32_t)value);
		if (error || !*at)
			return error;
		at++;
	}
}

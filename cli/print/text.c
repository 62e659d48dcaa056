/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/decimal.h"
#include "cli/print/text.h"

/* ---- UTF-8 ------------------------------------------------------------------- */

/* The length of a sequence by its first byte; 0 if invalid. */
static size_t sequence_length(uint8_t first)
{
	if (first < 0x80)
		return 1;
	if (first >= 0xc2 && first <= 0xdf)
		return 2;
	if (first >= 0xe0 && first <= 0xef)
		return 3;
	return first >= 0xf0 && first <= 0xf4 ? 4 : 0;
}

int32_t text_decode(const uint8_t *bytes, size_t size, size_t *length_ret)
{
	static const int32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t length = sequence_length(bytes[0]);
	int32_t point;

	*length_ret = 1;
	if (length <= 1)
		return length ? bytes[0] : -1;
	if (length > size)
		return -1;
	point = bytes[0] & (0x7f >> length);
	for (size_t i = 1; i < length; i++) {
		if ((bytes[i] & 0xc0) != 0x80)
			return -1;
		point = point << 6 | (bytes[i] & 0x3f);
	}
	if (point < smallest[length] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
		return -1;
	*length_ret = length;
	return point;
}

/*
 * Characters that are invisible, act on a terminal, or move other characters: Unicode 17's general
 * categories Cc, Cf, Zl and Zp (UnicodeData.txt), and Default_Ignorable_Code_Point
 * (DerivedCoreProperties.txt): tags, variation selectors, Hangul fillers and others.
 */
static const struct {
	int32_t first, last;
} hidden[] = {
	{ 0x0000, 0x001f },   { 0x007f, 0x009f },   { 0x00ad, 0x00ad },	  { 0x034f, 0x034f },
	{ 0x0600, 0x0605 },   { 0x061c, 0x061c },   { 0x06dd, 0x06dd },	  { 0x070f, 0x070f },
	{ 0x0890, 0x0891 },   { 0x08e2, 0x08e2 },   { 0x115f, 0x1160 },	  { 0x17b4, 0x17b5 },
	{ 0x180b, 0x180f },   { 0x200b, 0x200f },   { 0x2028, 0x202e },	  { 0x2060, 0x206f },
	{ 0x3164, 0x3164 },   { 0xfe00, 0xfe0f },   { 0xfeff, 0xfeff },	  { 0xffa0, 0xffa0 },
	{ 0xfff0, 0xfffb },   { 0x110bd, 0x110bd }, { 0x110cd, 0x110cd }, { 0x13430, 0x1343f },
	{ 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a }, { 0xe0000, 0xe0fff },
};

static bool is_visible(int32_t point)
{
	size_t i = 0;

	if (point < 0)
		return false;
	while (i < sizeof(hidden) / sizeof(*hidden) && point > hidden[i].last)
		i++;
	return i == sizeof(hidden) / sizeof(*hidden) || point < hidden[i].first;
}

/* The number of leading bytes that are ASCII and need no escape: most texts are entirely. */
static size_t plain_length(const uint8_t *bytes, size_t size, const char *also)
{
	size_t n = 0;

	while (n < size && bytes[n] >= 0x20 && bytes[n] < 0x7f && bytes[n] != '\\')
		n++;
	for (; *also && n; also++) {
		const uint8_t *found = memchr(bytes, *also, n);

		if (found)
			n = (size_t)(found - bytes);
	}
	return n;
}

static char *escape(const uint8_t *bytes, size_t size, const char *also, const char *backslash)
{
	static const char hex[] = "0123456789abcdef";
	size_t plain = plain_length(bytes, size, also);
	char *copy = memory_resize(NULL, plain + (size - plain) * 4 + 1, 1);
	char *to = copy + plain;

	if (plain)
		memcpy(copy, bytes, plain);
	for (size_t i = plain; i < size;) {
		size_t length;
		int32_t point = text_decode(bytes + i, size - i, &length);

		if (point == '\\')
			to = stpcpy(to, backslash);
		if (is_visible(point) && !(point < 0x80 && strchr(also, point))) {
			memcpy(to, bytes + i, length);
			to += length;
			i += length;
			continue;
		}
		for (; length; length--, i++) {
			*to++ = '\\';
			*to++ = 'x';
			*to++ = hex[bytes[i] >> 4];
			*to++ = hex[bytes[i] & 15];
		}
	}
	*to = '\0';
	return copy;
}

char *text_escape_bytes(const uint8_t *bytes, size_t size, const char *also)
{
	return escape(bytes, size, also, "\\");
}

char *text_hex(const uint8_t *bytes, size_t size)
{
	char *text = memory_get(2 * size + 1);

	for (size_t i = 0; i < size; i++)
		sprintf(text + 2 * i, "%02x", bytes[i]);
	return text;
}

char *text_percent_encode(const char *text)
{
	char *encoded = memory_get(3 * strlen(text) + 1), *to = encoded;

	for (; *text; text++) {
		if (strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~",
			   *text))
			*to++ = *text;
		else
			to += sprintf(to, "%%%02X", (unsigned char)*text);
	}
	return encoded;
}

char *text_escape_again(const uint8_t *bytes, size_t size, const char *also)
{
	return escape(bytes, size, also, "");
}

char *text_escape(const char *text, const char *also)
{
	return text_escape_bytes((const uint8_t *)text, strlen(text), also);
}

const char *text_at_pointer(const char *value)
{
	const char *address = value + (*value == '@'), *blank = strchr(address, ' ');

	return !strncmp(address, "0x", 2) && blank ? blank + 1 : value;
}

static int hexadecimal(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool text_unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from; to++) {
		int high, low;

		if (*from != '\\' || from[1] == '\\') {
			from += *from == '\\';
			*to = *from++;
			continue;
		}
		high = from[1] == 'x' ? hexadecimal(from[2]) : -1;
		low = high < 0 ? -1 : hexadecimal(from[3]);
		if (low < 0 || high + low == 0)
			return false;
		*to = (char)(high << 4 | low);
		from += 4;
	}
	*to = '\0';
	return true;
}

size_t text_width(const char *text)
{
	size_t width = 0;

	for (; *text; text++)
		width += ((uint8_t)*text & 0xc0) != 0x80;
	return width;
}

/* ---- numbers ------------------------------------------------------------------- */

struct short_text format_count(uint64_t value)
{
	struct short_text ret;
	char digits[24];
	int n = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)value);
	char *to = ret.text;

	for (int i = 0; i < n; i++) {
		if (i && (n - i) % 3 == 0)
			*to++ = ',';
		*to++ = digits[i];
	}
	*to = '\0';
	return ret;
}

/* `value` is scaled by a power of ten: prints `digits` digits after the point. */
static struct short_text format_point(uint64_t value, int digits)
{
	struct short_text ret;
	uint64_t one = digits == 1 ? 10 : 100;

	snprintf(ret.text, sizeof(ret.text), "%llu.%0*llu", (unsigned long long)(value / one),
		 digits, (unsigned long long)(value % one));
	return ret;
}

/* `value` in a unit that leaves about three digits. */
static struct short_text format_scaled(uint64_t value, uint64_t unit, const char *name)
{
	int digits = value / unit < 10 ? 2 : 1;
	struct short_text ret = format_point(
		reel_decimal_ratio_rounded(value, digits == 1 ? 10 : 100, unit), digits);
	size_t length = strlen(ret.text);

	snprintf(ret.text + length, sizeof(ret.text) - length, " %s", name);
	return ret;
}

struct short_text format_plural(uint64_t count, const char *noun)
{
	struct short_text ret;

	snprintf(ret.text, sizeof(ret.text), "%.26s %.15s%s", format_count(count).text, noun,
		 count == 1 ? "" : "s");
	return ret;
}

struct short_text format_bytes(uint64_t value)
{
	static const char *const units[] = { "kB", "MB", "GB", "TB", "PB", "EB" };
	struct short_text ret;
	uint64_t scale = 1000;
	size_t unit = 0;

	if (value < 1000) {
		snprintf(ret.text, sizeof(ret.text), "%u B", (unsigned int)value);
		return ret;
	}
	for (; value / scale >= 1000 && unit + 1 < sizeof(units) / sizeof(*units); unit++)
		scale *= 1000;
	return format_scaled(value, scale, units[unit]);
}

struct short_text format_nanoseconds(uint64_t value)
{
	struct short_text ret;

	if (value < 1000) {
		snprintf(ret.text, sizeof(ret.text), "%u ns", (unsigned int)value);
		return ret;
	}
	if (value < 1000000)
		return format_scaled(value, 1000, "us");
	if (value < 1000000000)
		return format_scaled(value, 1000000, "ms");
	return format_scaled(value, 1000000000, "s");
}

uint64_t percent_of(uint64_t part, uint64_t whole)
{
	return whole ? reel_decimal_ratio(part, 100 * PERCENT, whole) : 0;
}

struct short_text format_percent(uint64_t part, uint64_t whole)
{
	return format_point(whole ? reel_decimal_ratio_rounded(part, 10000, whole) : 0, 2);
}

struct short_text format_ratio(uint64_t part, uint64_t whole)
{
	return format_point(whole ? reel_decimal_ratio_rounded(part, 100, whole) : 0, 2);
}

struct short_text format_limit(uint64_t limit)
{
	struct short_text ret;
	size_t length;

	snprintf(ret.text, sizeof(ret.text), "%llu.%06llu", (unsigned long long)(limit / PERCENT),
		 (unsigned long long)(limit % PERCENT));
	length = strlen(ret.text);
	while (ret.text[length - 1] == '0')
		length--;
	if (ret.text[length - 1] == '.')
		length--;
	ret.text[length] = '\0';
	return ret;
}

struct short_text format_share(uint64_t part, uint64_t whole)
{
	struct short_text ret = { "-" };

	if (whole) {
		ret = format_percent(part, whole);
		strcat(ret.text, " %");
	}
	return ret;
}

struct short_text format_share_short(uint64_t part, uint64_t whole)
{
	struct short_text ret =
		format_point(whole ? reel_decimal_ratio_rounded(part, 1000, whole) : 0, 1);
	size_t length = strlen(ret.text);

	if (!strcmp(ret.text + length - 2, ".0"))
		length -= 2;
	strcpy(ret.text + length, "%");
	return ret;
}

struct short_text format_wall_time(uint64_t nanoseconds)
{
	time_t seconds = (time_t)(nanoseconds / 1000000000);
	struct short_text ret;
	struct tm tm;

	if (!nanoseconds || !gmtime_r(&seconds, &tm) ||
	    !strftime(ret.text, sizeof(ret.text), "%Y-%m-%d %H:%M:%S UTC", &tm))
		strcpy(ret.text, "unknown");
	return ret;
}

/* ---- alike ------------------------------------------------------------------------ */

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* The optimal string alignment distance. */
size_t text_distance(const char *a, const char *b)
{
	size_t rows[TEXT_DISTANCE_MAX + 1][TEXT_DISTANCE_MAX + 1];
	size_t n = strnlen(a, TEXT_DISTANCE_MAX + 1), m = strnlen(b, TEXT_DISTANCE_MAX + 1);

	if (n > TEXT_DISTANCE_MAX || m > TEXT_DISTANCE_MAX)
		return SIZE_MAX;
	for (size_t i = 0; i <= n; i++) {
		for (size_t j = 0; j <= m; j++) {
			size_t *here = &rows[i][j];

			if (!i || !j) {
				*here = i + j;
				continue;
			}
			*here = least(rows[i - 1][j], rows[i][j - 1]) + 1;
			*here = least(*here, rows[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				*here = least(*here, rows[i - 2][j - 2] + 1);
		}
	}
	return rows[n][m];
}

/* ---- CSV ------------------------------------------------------------------------------------- */

void csv_print_quoted(const char *text, FILE *file)
{
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', file);
		fputc(*text, file);
	}
}

void csv_print(const char *text, FILE *file)
{
	const char *quote = text[strcspn(text, "\",")] ? "\"" : "";

	fputs(quote, file);
	csv_print_quoted(text, file);
	fputs(quote, file);
}

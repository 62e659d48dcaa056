/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names for a terminal and for JSON, strings in JSON, and user input: numbers, sizes, durations,
 * lists.  Printed text has no character that controls a terminal, whatever was recorded.
 */
#include "base/decimal.h"
#include "base/json_strings.h"
#include "cli/print/json.h"
#include "base/quantity.h"
#include "cli/print/text.h"
#include "tests/fuzz/fuzz.h"

static bool acts_on_terminals(int32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x202a && c <= 0x202e) ||
	       (c >= 0x2066 && c <= 0x2069) || c == 0x2028 || c == 0x2029;
}

static void escape(struct reel_bytes part)
{
	_cleanup_free_ char *text = text_escape_bytes(part.data, part.size, ";");
	size_t size = strlen(text), length;

	for (size_t i = 0; i < size; i += length) {
		int32_t c = text_decode((const uint8_t *)text + i, size - i, &length);

		must_be(length > 0 && length <= size - i, "a length");
		must_be(!acts_on_terminals(c), "a character without effect on the terminal");
		must_be(c != ';', "free of the excluded character");
	}
	must_be(text_width(text) <= size, "a width");
	must_be(text_unescape(text) == !memchr(part.data, '\0', part.size),
		"restored, except for a NUL");
	must_be(memchr(part.data, '\0', part.size) ||
			(strlen(text) == part.size && !memcmp(text, part.data, part.size)),
		"the original");
}

static size_t json_escape_size(const char *at)
{
	must_be(strchr("\"\\/bfnrtu", at[1]) != NULL && at[1], "an escape of JSON's");
	if (at[1] != 'u')
		return 2;
	must_be(strspn(at + 2, "0123456789abcdefABCDEF") >= 4, "four digits");
	return 6;
}

static void write_json(struct reel_bytes part)
{
	_cleanup_free_ char *text = NULL;
	size_t size = 0, at = 1;
	FILE *file = open_memstream(&text, &size);

	must_be(file != NULL, "memory");
	json_string(part.data, part.size, file);
	fclose(file);
	must_be(size >= 2 && text[0] == '"' && text[size - 1] == '"', "quotes");
	while (at < size - 1) {
		must_be((uint8_t)text[at] >= 0x20 && (uint8_t)text[at] < 0x7f && text[at] != '"',
			"a character of a string in ASCII");
		at += text[at] == '\\' ? json_escape_size(text + at) : 1;
	}
	must_be(at == size - 1, "a last quote without an escape");
}

static void scan_json(struct reel_bytes part)
{
	struct reel_json_strings json;
	struct reel_bytes string;
	const uint8_t *after = part.data;

	reel_json_strings_begin(&json, part);
	while (reel_json_strings_next(&json, &string)) {
		must_be(string.data > after && string.size < part.size &&
				string.data + string.size < part.data + part.size,
			"a string in the text, after the one before");
		must_be(json.depth <= REEL_JSON_DEPTH, "a depth within its limit");
		for (size_t i = 0; i < json.depth; i++)
			must_be(!json.levels[i].key.size || json.levels[i].is_object,
				"keys of objects only");
		after = string.data;
	}
}

static void parse_list(const char *text, bool ranges)
{
	uint32_t *list = NULL;
	size_t count = 0;

	if (fuzz_fine(reel_quantity_list(text, ranges, 8192, &list, &count)))
		for (size_t i = 0; i < count; i++)
			must_be(list[i] <= 8192 && (!i || list[i - 1] < list[i]), "in order");
	free(list);
}

static void parse(const char *text)
{
	const char *end;
	uint64_t value;

	if (reel_decimal_parse(text, 1000000, &end, &value))
		must_be(end > text && end <= text + strlen(text), "a number in the text");
	if (fuzz_fine(reel_quantity_number(text, 3, 1000, &value)))
		must_be(value >= 3 && value <= 1000, "within its limits");
	if (fuzz_fine(reel_quantity_size(text, &value)))
		must_be(value > 0, "not 0");
	if (fuzz_fine(reel_quantity_duration(text, &value)))
		must_be(value > 0, "not 0");
	parse_list(text, false);
	parse_list(text, true);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reel_bytes part = { data, size };
	_cleanup_free_ char *text = fuzz_text(part);

	escape(part);
	write_json(part);
	scan_json(part);
	parse(text);
	return 0;
}

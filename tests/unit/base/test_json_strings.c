/* SPDX-License-Identifier: Apache-2.0 */
/* The strings of JSON texts, good and bad ones. */
#include "base/json_strings.h"
#include "tests/support/test.h"

/* All strings, with their keys: "a.b=text ". */
static void expect_part(const char *text, size_t size, const char *expected)
{
	char found[512] = "";
	struct reel_json_strings json;
	struct reel_bytes string;

	reel_json_strings_begin(&json, (struct reel_bytes){ (const uint8_t *)text, size });
	while (reel_json_strings_next(&json, &string)) {
		for (size_t i = 0; i < json.depth; i++) {
			struct reel_bytes key = json.levels[i].key;
			size_t end = strlen(found);

			snprintf(found + end, sizeof(found) - end, "%s%.*s", i ? "." : "",
				 (int)key.size, key.size ? (const char *)key.data : "");
		}
		snprintf(found + strlen(found), sizeof(found) - strlen(found), "=%.*s ",
			 (int)string.size, (const char *)string.data);
	}
	assert_string_equal(found, expected);
}

static void expect(const char *text, const char *expected)
{
	expect_part(text, strlen(text), expected);
}

TEST(keys_lead_to_strings)
{
	expect("{\"a\":\"1\",\"b\":{\"c\":\"2\",\"d\":[\"3\",{\"e\":\"4\"},\"5\"],\"f\":\"6\"}, "
	       "\"g\" : \"7\"}",
	       "a=1 b.c=2 b.d.=3 b.d..e=4 b.d.=5 b.f=6 g=7 ");
	expect("{\"n\":1,\"t\":true,\"u\":null,\"l\":[],\"o\":{},\"s\":\"\"}", "s= ");
	expect("\"alone\"", "=alone ");
	expect("{\"a\\\"b\":\"c\\\\\",\"d\":\"\\u0041\"}", "a\\\"b=c\\\\ d=\\u0041 ");
}

TEST(bad_texts)
{
	const char *text = "{\"a\":{\"b\":\"c\\\"\",\"d\":[\"e\"]}}";
	char deep[100] = "";

	expect("", "");
	expect("}{\"a\":\"b\"}", "");
	expect("{\"a\" \"b\":\"c\"}", "b=c ");
	expect("{\"a\":\"b", "");
	expect("{\"a\":\"b\\", "");
	expect("{\"a\":\"b\\\"", "");
	/* Cut anywhere, there is no string that the whole text has not. */
	for (size_t size = 0; size <= strlen(text); size++)
		expect_part(text, size,
			    size >= 24	 ? "a.b=c\\\" a.d.=e "
			    : size >= 15 ? "a.b=c\\\" "
					 : "");
	memset(deep, '[', sizeof(deep) - 1);
	memcpy(deep + REEL_JSON_DEPTH, "\"x\"", 4);
	expect(deep, "...............................=x ");
	memcpy(deep + REEL_JSON_DEPTH, "[\"x\"", 5);
	expect(deep, "");
}

TEST(only_the_whole_path_matches)
{
	static const char *const a[] = { "a", NULL }, *const ab[] = { "a", "b", NULL };
	static const char *const abc[] = { "a", "b", "c", NULL }, *const ax[] = { "a", "", NULL };
	const char *text = "{\"a\":{\"b\":\"1\"}}", *list = "{\"a\":[\"1\"]}";
	struct reel_json_strings json;
	struct reel_bytes string;

	reel_json_strings_begin(&json, reel_bytes_of_string(text));
	assert_true(reel_json_strings_next(&json, &string));
	assert_true(reel_json_strings_is_at(&json, ab));
	assert_false(reel_json_strings_is_at(&json, a));
	assert_false(reel_json_strings_is_at(&json, abc));
	reel_json_strings_begin(&json, reel_bytes_of_string(list));
	assert_true(reel_json_strings_next(&json, &string));
	assert_false(reel_json_strings_is_at(&json, ax));
	assert_false(reel_json_strings_is_at(&json, a));
}

RUN_TESTS()

/* SPDX-License-Identifier: Apache-2.0 */
/* Short names of functions. */
#include "cli/print/short_name.h"
#include "cli/print/text.h"
#include "tests/support/test.h"

#define TABLE "tests/names/short-names.tsv"

TEST(names_are_those_of_the_table)
{
	FILE *file = fopen(TABLE, "r");
	size_t room = 0, n = 0;
	char *line = NULL;

	assert_non_null(file);
	while (getline(&line, &room, file) > 0) {
		char *tab = strchr(line, '\t'), *name;

		line[strcspn(line, "\n")] = '\0';
		assert_non_null(tab);
		*tab = '\0';
		name = short_name(line);
		assert_string_equal(name, tab + 1);
		assert_true(text_width(name) <= text_width(line));
		free(name);
		n++;
	}
	assert_true(n > 50);
	free(line);
	fclose(file);
}

/* Would take hours if the time were not linear, or the stack if depth had no limit. */
TEST(hostile_names_end)
{
	static const char *const parts[] = {
		"<",	"(",	     "{",    "operator<", "::",	   " ",	    ">",
		"a<b,", "a<b>(c)::", "<a::", " [clone .", "[abi:", "a<b>(", "[abi:x]"
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		size_t size = strlen(parts[i]), count = 500000;
		char *full = malloc(size * count + 1), *name;

		for (size_t j = 0; j < count; j++)
			memcpy(full + j * size, parts[i], size);
		full[size * count] = '\0';
		name = short_name(full);
		assert_true(*name);
		assert_true(text_width(name) <= text_width(full));
		free(name);
		free(full);
	}
}

TEST(an_empty_name_stays)
{
	char *name = short_name("");

	assert_string_equal(name, "");
	free(name);
}

RUN_TESTS()

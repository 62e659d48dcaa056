/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile written by somebody else.  If it is accepted, it is written, and reading that text
 * again gives the same profile: each set of stacks has a single text.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/print/text.h"
#include "cli/profile/profile_file.h"
#include "tests/fuzz/fuzz.h"

/* The text written for it; NULL if it is rejected. */
static char *read_and_write(const char *path, enum symbols_by by, size_t *size_ret)
{
	struct profile_totals totals = { 0 };
	struct profiles profiles;
	char *text = NULL;

	profiles_init(&profiles, &(struct by){ .symbols = by }, by != SYMBOLS_BY_MODULE);
	if (profile_file_is(path) && profile_file_read(path, &profiles, &totals)) {
		FILE *file = open_memstream(&text, size_ret);

		must_be(file != NULL, "memory");
		profile_file_write(&profiles, &totals, file);
		fclose(file);
		profiles_finish(&profiles);
	}
	profiles_free(&profiles);
	return text;
}

/* Every problem would be printed for each input. */
__attribute__((constructor)) static void say_nothing(void)
{
	stderr = fopen("/dev/null", "we");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fuzz_file file;
	_cleanup_free_ char *first = NULL, *again = NULL, *other = NULL;
	size_t n, m;

	fuzz_file_fill(&file, data, size);
	other = read_and_write(file.path, SYMBOLS_BY_MODULE, &n);
	first = read_and_write(file.path, SYMBOLS_BY_FUNCTION, &n);
	must_be(!first == !other, "the same for all that is shown");
	if (first) {
		fuzz_file_fill(&file, first, n);
		again = read_and_write(file.path, SYMBOLS_BY_FUNCTION, &m);
		must_be(again && n == m && !memcmp(first, again, n), "the same text");
	}
	return 0;
}

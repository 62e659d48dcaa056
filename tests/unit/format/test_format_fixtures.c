/* SPDX-License-Identifier: Apache-2.0 */
/* Every file of testdata/format gives the result in tests/fixtures/format_fixtures.h. */
#include <dirent.h>
#include <fcntl.h>

#include "tests/fixtures/format_fixtures.h"
#include "tests/support/test.h"

#define DIRECTORY "testdata/format"

static void read_file(const char *name, struct reel_buffer *ret)
{
	char path[256];
	_cleanup_fd_ int fd = -1;

	snprintf(path, sizeof(path), DIRECTORY "/%s.reel", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		fail_msg("%s is missing: run tests in the root of the tree", path);
	file_content(fd, ret);
}

static void test_fixture(void **state)
{
	const struct fixture *fixture = *state;
	_cleanup_buffer_ struct reel_buffer bytes = { 0 };
	struct outcome outcome;
	const char *text;

	read_file(fixture->name, &bytes);
	read_all(bytes.bytes, bytes.size, &outcome);
	text = (const char *)outcome.text.bytes;
	if (outcome.codes != fixture->codes)
		fail_msg("codes 0x%x, not 0x%x: %s", outcome.codes, fixture->codes, text);
	assert_int_equal(outcome.opened, fixture->blocks >= 0);
	if (fixture->blocks >= 0)
		assert_int_equal(outcome.blocks, fixture->blocks);
	assert_int_equal(outcome.samples, fixture->samples);
	if (fixture->says && !strstr(text, fixture->says))
		fail_msg("no \"%s\" in: %s", fixture->says, text);
	/* A good fixture is complete. */
	if (!fixture->codes)
		assert_true(outcome.has_trailer && outcome.has_end);
	/* Every problem of an opened file names its place. */
	if (fixture->codes && outcome.opened)
		assert_non_null(strstr(text, "offset"));
	reel_buffer_free(&outcome.text);
}

/* No file may be missing from the table. */
static void test_table(void **state)
{
	DIR *directory = opendir(DIRECTORY);
	const struct dirent *entry;
	size_t n = 0;

	assert_non_null(directory);
	while ((entry = readdir(directory))) {
		const char *dot = strrchr(entry->d_name, '.');

		n += dot && !strcmp(dot, ".reel");
	}
	closedir(directory);
	assert_int_equal(n, N_FIXTURES);
}

/* The bytes of a line `offset  bytes  meaning` in SPEC.md's annotated capture, 0 for others. */
static size_t annotated_bytes(const char *line, size_t offset, uint8_t *ret)
{
	size_t n = 0;
	unsigned value;
	int read;

	if (sscanf(line, "%3x  %n", &value, &read) != 1 || value != offset)
		return 0;
	/* Bytes are one space apart; two spaces end them. */
	for (line += read - 1; n < 8 && sscanf(line, " %2X%n", &value, &read) == 1; line += read) {
		if (n && (line[0] != ' ' || line[1] == ' '))
			break;
		ret[n++] = (uint8_t)value;
	}
	return n;
}

/* SPEC.md's annotated capture is good-one-sample.reel. */
static void test_annotated(void **state)
{
	_cleanup_buffer_ struct reel_buffer bytes = { 0 };
	uint8_t annotated[1024];
	char line[4096];
	size_t size = 0;
	FILE *spec = fopen("SPEC.md", "r");

	assert_non_null(spec);
	read_file("good-one-sample", &bytes);
	while (fgets(line, sizeof(line), spec) && strncmp(line, "### F.1", 7))
		;
	while (fgets(line, sizeof(line), spec) && strncmp(line, "### F.2", 7) &&
	       size < sizeof(annotated) - 8)
		size += annotated_bytes(line, size, annotated + size);
	fclose(spec);
	assert_int_equal(size, bytes.size);
	assert_memory_equal(annotated, bytes.bytes, size);
}

int main(void)
{
	struct CMUnitTest tests[N_FIXTURES + 2];

	for (size_t i = 0; i < N_FIXTURES; i++)
		tests[i] = (struct CMUnitTest){
			.name = fixtures[i].name,
			.test_func = test_fixture,
			.initial_state = (void *)&fixtures[i],
		};
	tests[N_FIXTURES] = (struct CMUnitTest)cmocka_unit_test(test_table);
	tests[N_FIXTURES + 1] = (struct CMUnitTest)cmocka_unit_test(test_annotated);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Imports a perf.data that perf_builder.h made, and opens the resulting capture as any program
 * would: each record is a line of text.
 */
#ifndef TESTS_SUPPORT_IMPORT_H
#define TESTS_SUPPORT_IMPORT_H

#include <fcntl.h>
#include <inttypes.h>

#include "include/commands.h"
#include "tests/support/perf_builder.h"

struct imported {
	/* 0: success. */
	unsigned int code;
	struct reel_import_counts counts;
	struct reel_buffer text; /* the error, or the capture's records, a line each */
	/* Reported problems, a line each; and a bit for each of their codes. */
	struct reel_buffer problems;
	unsigned int problem_codes;
};

static inline void imported_free(struct imported *imported)
{
	reel_buffer_free(&imported->text);
	reel_buffer_free(&imported->problems);
}
#define _cleanup_imported_ __attribute__((cleanup(imported_free)))

static inline void say(struct reel_buffer *to, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static inline void say(struct reel_buffer *to, const char *format, ...)
{
	char text[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	reel_buffer_append(to, text, strlen(text));
}

static inline void say_field(struct reel_buffer *to, const struct reel_field *field)
{
	switch (field->kind) {
	case REEL_FIELD_UNSIGNED:
		say(to, "%" PRIu64, field->value);
		return;
	case REEL_FIELD_ADDRESS:
		say(to, "%#" PRIx64, field->value);
		return;
	case REEL_FIELD_TEXT:
		say(to, "\"%.*s\"", (int)field->n_bytes, (const char *)field->bytes);
		return;
	case REEL_FIELD_BYTES:
		for (size_t i = 0; i < field->n_bytes; i++)
			say(to, "%02x", field->bytes[i]);
		return;
	case REEL_FIELD_NULL:
		say(to, "-");
		return;
	case REEL_FIELD_LIST:
	case REEL_FIELD_OBJECT:
		say(to, "[");
		for (size_t i = 0; i < field->n_items; i++) {
			const char *name = field->items[i].name;

			say(to, "%s%s%s", i ? " " : "", name, *name ? "=" : "");
			say_field(to, &field->items[i]);
		}
		say(to, "]");
		return;
	}
}

static inline bool say_record(void *context, const struct reel_record_view *record)
{
	struct reel_buffer *to = context;

	say(to, "%s", record->name);
	for (size_t i = 0; i < record->n_fields; i++) {
		say(to, " %s=", record->fields[i].name);
		say_field(to, &record->fields[i]);
	}
	/* End with a blank, so that a test can match a number with its end. */
	say(to, " \n");
	return true;
}

static inline void take_problem(void *context, enum reel_error_code code, const char *message)
{
	struct imported *imported = context;

	imported->problem_codes |= 1u << code;
	say(&imported->problems, "%s\n", message);
}

/* Reads a capture, which must be complete and without problems. */
static inline void read_capture(const char *path, struct imported *ret)
{
	REEL_SIZED(reel_capture_options, options, .no_host_files = true);
	struct reel_capture *capture;
	size_t n;

	must(reel_capture_open(path, &options, &capture));
	must_be(reel_capture_info(capture)->complete, "complete");
	reel_capture_problems(capture, &n);
	must_be(!n, "without problems");
	must(reel_capture_visit_records(capture, say_record, &ret->text));
	reel_capture_close(capture);
}

static inline int temporary_file(void)
{
	const char *directory = getenv("TMPDIR");
	int fd = open(directory ? directory : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	must_be(fd >= 0, "a temporary file");
	return fd;
}

/* `options` may be NULL.  The output is an unnamed file, written in place. */
static inline void import_bytes(const void *bytes, size_t size,
				const struct reel_import_options *options, struct imported *ret)
{
	REEL_SIZED(reel_import_options, own);
	int in = memory_file(bytes, size), out = memfd_create("out", MFD_CLOEXEC);
	char from[64], to[64];
	struct reel_error *error;

	*ret = (struct imported){ .counts = { .size = sizeof(ret->counts) } };
	if (options)
		own = *options;
	own.size = sizeof(own);
	/* tests/cli/test-import.sh covers stacks that are not raw. */
	own.raw_stacks = true;
	own.problem = take_problem;
	own.context = ret;
	snprintf(from, sizeof(from), "/proc/self/fd/%d", in);
	snprintf(to, sizeof(to), "/proc/self/fd/%d", out);
	error = reel_import_perf(from, to, &own, &ret->counts);
	if (error) {
		ret->code = reel_error_code(error);
		say(&ret->text, "%s", reel_error_message(error));
		reel_error_destroy(error);
	} else {
		read_capture(to, ret);
	}
	reel_buffer_u8(&ret->text, 0);
	reel_buffer_u8(&ret->problems, 0);
	close(in);
	close(out);
}

static inline void import_built(struct perf_builder *b, const struct reel_import_options *options,
				struct imported *ret)
{
	struct reel_buffer bytes = { 0 };

	build(b, &bytes);
	import_bytes(bytes.bytes, bytes.size, options, ret);
	reel_buffer_free(&bytes);
}

/* Number of lines that begin with `name` and contain each of the texts; ends with NULL. */
static inline size_t count_lines(const struct reel_buffer *text, const char *name, ...)
	__attribute__((sentinel));
static inline size_t count_lines(const struct reel_buffer *text, const char *name, ...)
{
	char *copy = strdup((const char *)text->bytes), *rest = copy, *line;
	size_t n = 0;

	while ((line = strsep(&rest, "\n"))) {
		va_list texts;
		const char *wanted;
		bool all = !strncmp(line, name, strlen(name));

		va_start(texts, name);
		while ((wanted = va_arg(texts, const char *)))
			all &= strstr(line, wanted) != NULL;
		va_end(texts);
		n += all;
	}
	free(copy);
	return n;
}

#define assert_lines(n, imported, ...)                                                             \
	do {                                                                                       \
		size_t _n = count_lines(&(imported)->text, __VA_ARGS__, NULL);                     \
		if (_n != (n))                                                                     \
			fprintf(stderr, "%s\n%s", (const char *)(imported)->text.bytes,            \
				(const char *)(imported)->problems.bytes);                         \
		assert_int_equal(_n, n);                                                           \
	} while (0)

#define assert_says(buffer, wanted)                                                                \
	do {                                                                                       \
		if (!strstr((const char *)(buffer).bytes, wanted))                                 \
			fprintf(stderr, "%s\n", (const char *)(buffer).bytes);                     \
		assert_non_null(strstr((const char *)(buffer).bytes, wanted));                     \
	} while (0)

#endif

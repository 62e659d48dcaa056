/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by all targets.  An input is split into numbers and parts (three bytes of size, then that
 * many bytes), each 0 or empty after the input's end: tests/fuzz/seeds.py writes the same format.
 * A target aborts when a property is violated.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <sys/prctl.h>

#include "tests/support/capture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * With large pages, big tables would be zeroed 2 MB at a time, even for inputs that use little of
 * them.
 */
__attribute__((constructor)) static inline void fuzz_small_pages(void)
{
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
}

/* At most the remaining bytes; no NUL follows. */
static inline struct reel_bytes fuzz_part(struct reel_cursor *input)
{
	size_t size = reel_cursor_u16(input);
	const uint8_t *bytes;

	size |= (size_t)reel_cursor_u8(input) << 16;
	if (size > reel_cursor_left(input))
		size = reel_cursor_left(input);
	bytes = reel_cursor_take(input, size);
	return (struct reel_bytes){ bytes, bytes ? size : 0 };
}

/* The remaining bytes, as a part. */
static inline struct reel_bytes fuzz_rest(struct reel_cursor *input)
{
	size_t size = reel_cursor_left(input);

	return (struct reel_bytes){ reel_cursor_take(input, size), size };
}

/* A text, with its NUL; the caller frees it. */
static inline char *fuzz_text(struct reel_bytes part)
{
	char *text = malloc(part.size + 1);

	must_be(text != NULL, "memory");
	if (part.size)
		memcpy(text, part.data, part.size);
	text[part.size] = '\0';
	return text;
}

/* A file in memory that is created once, and rewritten for each input. */
struct fuzz_file {
	int fd;
	char path[64];
};

static inline void fuzz_file_fill(struct fuzz_file *file, const void *bytes, size_t size)
{
	if (!file->path[0]) {
		file->fd = memfd_create("fuzz", MFD_CLOEXEC);
		must_be(file->fd >= 0, "memfd_create");
		snprintf(file->path, sizeof(file->path), "/proc/self/fd/%d", file->fd);
	}
	/* Writers that use its path may continue at this offset. */
	must_be(!ftruncate(file->fd, 0) && lseek(file->fd, 0, SEEK_SET) == 0 &&
			pwrite(file->fd, bytes, size, 0) == (ssize_t)size,
		"a file in memory");
}

/* An error in the input is as good as a result; an error of this host is not. */
static inline bool fuzz_fine(struct reel_error *error)
{
	if (!error)
		return true;
	if (reel_error_code(error) == REEL_ERROR_NO_MEMORY ||
	    reel_error_code(error) == REEL_ERROR_OS)
		must(error);
	must_be(strlen(reel_error_message(error)) > 0, "a message");
	reel_error_destroy(error);
	return false;
}

#endif

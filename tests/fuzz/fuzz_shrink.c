/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Captures, shrunk, with an ELF file of the same input: what comes out is a whole capture with the
 * same traces (which `shrink` looks at itself: it must never have to refuse one).
 */
#define _GNU_SOURCE
#include "tests/fuzz/replay_parts.h"
#include "tests/support/read_all.h"

static void check_shrunk(const struct fuzz_file *file, uint64_t samples)
{
	_cleanup_buffer_ struct reel_buffer bytes = { 0 };
	struct outcome outcome;

	file_content(file->fd, &bytes);
	read_all(bytes.bytes, bytes.size, &outcome);
	must_be(outcome.opened && outcome.has_trailer, "a whole capture");
	must_be(outcome.samples == samples, "as many samples as were counted");
	reel_buffer_free(&outcome.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reel_shrink_counts counts = { .size = sizeof(counts) };
	static struct replay_parts parts;
	static struct fuzz_file shrunk;
	struct reel_cursor input = reel_cursor(data, size);
	struct reel_capture *capture;
	struct reel_error *error;

	replay_parts_take(&input, &parts);
	if (!replay_open(&parts, parts.capture.path, 1, &capture))
		return 0;
	fuzz_file_fill(&shrunk, "", 0);
	error = reel_capture_shrink(capture, shrunk.path, NULL, &counts);
	if (error && reel_error_code(error) == REEL_ERROR_MISMATCH)
		must(error);
	if (fuzz_fine(error))
		check_shrunk(&shrunk, counts.samples);
	reel_capture_close(capture);
	return 0;
}

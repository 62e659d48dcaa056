/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Captures, shrunk, with an ELF file from the same input: the result is a whole capture with the
 * same traces (`shrink` checks that itself, and must never have to give up).
 */
#include "tests/fuzz/rewritten.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	REEL_SIZED(reel_rewrite_counts, counts);
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
	must_be_rewritten(error, &shrunk, counts.samples);
	reel_capture_close(capture);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Captures, packed or resolved, with an ELF file from the same input: the result is a whole capture
 * with the same traces (both commands check that themselves, and must never have to give up).
 */
#include "tests/fuzz/rewritten.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	REEL_SIZED(reel_rewrite_counts, counts);
	static struct replay_parts parts;
	static struct fuzz_file packed;
	struct reel_cursor input = reel_cursor(data, size);
	uint8_t bits = reel_cursor_u8(&input);
	const REEL_SIZED(reel_rewrite_options, options, .no_symbols = bits & 2, .values = bits & 4);
	struct reel_capture *capture;
	struct reel_error *error;

	replay_parts_take(&input, &parts);
	if (!replay_open(&parts, parts.capture.path, 1, &capture))
		return 0;
	fuzz_file_fill(&packed, "", 0);
	error = (bits & 1 ? reel_capture_resolve : reel_capture_pack)(capture, packed.path,
								      &options, &counts);
	/* Debug information that no compiler writes may need what is left out for values. */
	if (bits & 4 && error && reel_error_code(error) == REEL_ERROR_MISMATCH) {
		reel_error_destroy(error);
		reel_capture_close(capture);
		return 0;
	}
	must_be_rewritten(error, &packed, counts.samples);
	reel_capture_close(capture);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Captures, verified and repaired: the result is whole, which `repair` checks itself, and has the
 * reported number of samples.
 */
#include "tests/fuzz/rewritten.h"

static void look(void *context, const struct reel_finding *finding)
{
	must_be(finding->message[0] && finding->lost, "a finding's texts");
	++*(uint64_t *)context;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	REEL_SIZED(reel_rewrite_counts, counts);
	REEL_SIZED(reel_verify_counts, verified);
	uint64_t n = 0;
	const REEL_SIZED(reel_verify_options, options, .found = look, .context = &n);
	static struct replay_parts parts;
	static struct fuzz_file repaired;
	struct reel_cursor input = reel_cursor(data, size);
	struct reel_capture *capture;
	struct reel_error *error;

	replay_parts_take(&input, &parts);
	if (!replay_open(&parts, parts.capture.path, 1, &capture))
		return 0;
	must(reel_capture_verify(capture, &options, &verified));
	must_be(n == verified.problems + verified.remarks, "each finding reported");
	fuzz_file_fill(&repaired, "", 0);
	error = reel_capture_repair(capture, repaired.path, NULL, &counts);
	must_be_rewritten(error, &repaired, counts.samples);
	reel_capture_close(capture);
	return 0;
}

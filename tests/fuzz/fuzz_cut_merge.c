/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Captures, cut by CPU and thread, or merged: the result is a whole capture with the reported
 * number of samples.  Merged with its own cut, a capture gives the samples of both.
 */
#include "tests/fuzz/rewritten.h"

static struct fuzz_file part, merged;

static uint64_t cut(struct reel_capture *capture, const struct reel_walk_options *walk)
{
	const REEL_SIZED(reel_rewrite_options, options, .filter = walk);
	REEL_SIZED(reel_rewrite_counts, counts);
	struct reel_error *error;

	fuzz_file_fill(&part, "", 0);
	error = reel_capture_cut(capture, part.path, &options, &counts);
	must_be_rewritten(error, &part, counts.samples);
	return counts.samples;
}

static void merge(const struct replay_parts *parts, bool both)
{
	const char *const paths[] = { parts->capture.path, both ? part.path : NULL, NULL };
	REEL_SIZED(reel_rewrite_counts, counts);
	struct reel_error *error;

	fuzz_file_fill(&merged, "", 0);
	error = reel_captures_merge(paths, merged.path, NULL, &counts);
	must_be_rewritten(error, &merged, counts.samples);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct replay_parts parts;
	struct reel_cursor input = reel_cursor(data, size);
	uint8_t bits = reel_cursor_u8(&input);
	const uint32_t number = bits >> 2;
	const struct reel_walk_options walk = { .filter = {
							.size = sizeof(walk.filter),
							.cpus = &number,
							.n_cpus = bits & 1,
							.tids = &number,
							.n_tids = bits >> 1 & 1,
						} };
	struct reel_capture *capture;

	replay_parts_take(&input, &parts);
	if (!replay_open(&parts, parts.capture.path, 1, &capture))
		return 0;
	merge(&parts, cut(capture, &walk) > 0);
	reel_capture_close(capture);
	return 0;
}

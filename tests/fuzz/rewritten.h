/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The result of a command that rewrites captures: it is whole, and was never rejected because of
 * other traces.
 */
#ifndef TESTS_FUZZ_REWRITTEN_H
#define TESTS_FUZZ_REWRITTEN_H

#include "tests/fuzz/replay_parts.h"
#include "tests/support/read_all.h"

/* `error` was returned by the command, which compares the traces itself; `samples` is its count. */
static inline void must_be_rewritten(struct reel_error *error, const struct fuzz_file *file,
				     uint64_t samples)
{
	_cleanup_buffer_ struct reel_buffer bytes = { 0 };
	struct outcome outcome;

	if (error && reel_error_code(error) == REEL_ERROR_MISMATCH)
		must(error);
	if (!fuzz_fine(error))
		return;
	file_content(file->fd, &bytes);
	read_all(bytes.bytes, bytes.size, &outcome);
	must_be(outcome.opened && outcome.has_trailer, "a whole capture");
	must_be(outcome.samples == samples, "as many samples as were counted");
	reel_buffer_free(&outcome.text);
}

#endif

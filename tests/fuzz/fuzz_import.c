/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes imports of perf.data:
 *   build/tests/fuzz/fuzz_import DIR MORE...
 * with DIR for new inputs, MORE with small recordings.  The resulting captures are read as a
 * program would.
 */
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include "include/commands.h"
#include "tests/support/read_all.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	REEL_SIZED(reel_import_options, options, .arch = "x86_64");
	int in = memory_file(data, size), out = memfd_create("out", MFD_CLOEXEC);
	char from[64], to[64];
	struct reel_error *error;

	setenv("HOME", "/nonexistent", 1);
	snprintf(from, sizeof(from), "/proc/self/fd/%d", in);
	snprintf(to, sizeof(to), "/proc/self/fd/%d", out);
	error = reel_import_perf(from, to, &options, NULL);
	if (error) {
		must_be(reel_error_code(error) != REEL_ERROR_OS, "an error of this host");
		reel_error_destroy(error);
	} else {
		_cleanup_buffer_ struct reel_buffer bytes = { 0 };
		struct outcome outcome;

		file_content(out, &bytes);
		read_all(bytes.bytes, bytes.size, &outcome);
		must_be(outcome.has_end && !outcome.codes, "a whole capture");
		reel_buffer_free(&outcome.text);
	}
	close(in);
	close(out);
	return 0;
}

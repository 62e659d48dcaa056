/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a small perf.data to standard output, for tests/test-import.sh: make_perf_data KIND. */
#define _GNU_SOURCE
#include <stdint.h>

#include "tests/support/perf_example.h"

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";
	bool compressed = !strcmp(kind, "compressed");
	struct perf_builder b = {
		.big_endian = !strcmp(kind, "big-endian"),
		.is_pipe = !strcmp(kind, "pipe"),
		.unfinished = !strcmp(kind, "killed"),
	};
	struct reel_buffer bytes = { 0 };

	perf_example(&b);
	if (!strcmp(kind, "no-arch"))
		b.feature_bits &= ~(1ull << BUILD_FEATURE_ARCH);
	if (!strcmp(kind, "directory"))
		put_number(&b, feature(&b, BUILD_FEATURE_DIR_FORMAT), 1, 8);
	if (!strcmp(kind, "none"))
		b.data.size = 56; /* the first COMM */
	if (compressed) {
		/* Version, type (1 is zstd), level, ratio, size of the ring buffer. */
		static const uint32_t header[] = { 1, 1, 1, 2, 528384 };

		for (size_t i = 0; i < 5; i++)
			put_number(&b, feature(&b, BUILD_FEATURE_COMPRESSED), header[i], 4);
		compress_from(&b, 0, 100, BUILD_COMPRESSED);
	}
	build(&b, &bytes);
	if (!strcmp(kind, "bad"))
		memset(bytes.bytes + 16, 0xff, 8); /* the size of an attribute */
	must_be(fwrite(bytes.bytes, bytes.size, 1, stdout) == 1, "written");
	reel_buffer_free(&bytes);
	builder_free(&b);
	return 0;
}

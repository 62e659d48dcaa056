/* SPDX-License-Identifier: Apache-2.0 */
/* Samples in columns and plain. */
#define _GNU_SOURCE
#include "tests/fuzz/sample_codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct codec columns, plain;
	struct reel_cursor input = reel_cursor(data, size);

	if (reel_cursor_u8(&input) & 1)
		encode_and_decode(&plain, REEL_FORM_PLAIN, &input);
	else
		encode_and_decode(&columns, REEL_FORM_STREAMS, &input);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Samples in columns. */
#include "tests/fuzz/sample_codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct codec columns;
	struct reel_cursor input = reel_cursor(data, size);

	encode_and_decode(&columns, REEL_COLUMNS, &input);
	return 0;
}

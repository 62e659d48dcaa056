/* SPDX-License-Identifier: Apache-2.0 */
/* Samples in the dense encoding, bit by bit. */
#include "tests/fuzz/sample_codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct codec dense;
	struct reel_cursor input = reel_cursor(data, size);

	encode_and_decode(&dense, REEL_DENSE, &input);
	return 0;
}

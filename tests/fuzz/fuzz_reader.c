/* SPDX-License-Identifier: Apache-2.0 */
/* Captures, record by record. */
#include "tests/fuzz/capture_parts.h"
#include "tests/support/read_all.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_buffer_ struct reel_buffer bytes = { 0 };
	struct outcome first, second;

	capture_of((struct reel_bytes){ data, size }, &bytes);
	read_all(bytes.bytes, bytes.size, &first);
	read_all(bytes.bytes, bytes.size, &second);
	must_be(first.checksum == second.checksum && first.codes == second.codes,
		"the same when read again");
	must_be(!(first.codes & ~(CODE(CORRUPT) | CODE(TRUNCATED) | CODE(UNSUPPORTED) |
				  CODE(NOT_A_CAPTURE) | CODE(KEY))),
		"an error of the file");
	reel_buffer_free(&first.text);
	reel_buffer_free(&second.text);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Single side records: one that can be decoded is the same after it is encoded again. */
#include "format/record_coder.h"
#include "tests/fuzz/fuzz.h"

static void decode_again(const struct reel_buffer *bytes)
{
	struct reel_cursor cursor = reel_cursor(bytes->bytes, bytes->size);
	_cleanup_buffer_ struct reel_buffer again = { 0 };
	struct reel_record_frame frame;
	struct reel_record record;

	must(reel_record_frame_next(&cursor, &frame));
	must(reel_record_decode(&frame, &record));
	must_be(reel_record_encoded_size(&record) == bytes->size, "the predicted size");
	reel_record_encode(&again, &record);
	must_be(again.size == bytes->size && !memcmp(again.bytes, bytes->bytes, again.size),
		"the same record");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reel_cursor cursor = reel_cursor(data, size);
	struct reel_record_frame frame;
	struct reel_record record;

	while (fuzz_fine(reel_record_frame_next(&cursor, &frame)) && frame.id) {
		_cleanup_buffer_ struct reel_buffer bytes = { 0 };

		if (frame.id >= REEL_RECORD_SAMPLE_LAYOUT && frame.id != REEL_RECORD_INDEX_ENTRY &&
		    frame.id != REEL_RECORD_KEY)
			continue;
		if (!fuzz_fine(reel_record_decode(&frame, &record)))
			continue;
		reel_record_encode(&bytes, &record);
		decode_again(&bytes);
	}
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/rewrite/sample_scrub.h"

struct reel_error *reel_capture_scrubber_create(const struct reel_capture *capture,
						struct reel_scrubber **ret)
{
	const struct reel_elf_kind native = {
		.machine = capture->machine,
		.word_bits = (uint8_t)capture->word_bits,
		.byte_order =
			capture->info.big_endian ? REEL_BYTE_ORDER_BIG : REEL_BYTE_ORDER_LITTLE,
	};

	return reel_scrubber_create(&native, ret);
}

struct reel_error *reel_capture_scrub_sample(const struct reel_capture *capture,
					     struct reel_scrubber *scrubber,
					     struct reel_sample *sample)
{
	const struct reel_timeline *timeline = capture->timeline;
	uint64_t space = reel_timeline_thread_space(timeline, sample->thread, sample->time);
	struct reel_space_view view = reel_timeline_view(timeline, space, sample->time);

	return reel_scrub_sample(scrubber, &view, sample);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/sample_scrub.h"

/* The words of a process, or the kernel's where nothing is known of it. */
static struct reel_scrub_words words_of(const struct reel_capture *capture,
					const struct reel_space_state *space)
{
	bool is_known = space && space->machine;
	uint16_t machine = is_known ? (uint16_t)space->machine : capture->machine;
	unsigned bits =
		is_known && space->word_bits ? (unsigned)space->word_bits : capture->word_bits;
	const struct reel_arch *arch = reel_arch_by_machine(machine, bits);
	struct reel_scrub_words words = {
		.size = bits == 32 ? 4 : 8,
		.big_endian = space && space->byte_order ? space->byte_order == REEL_BYTE_ORDER_BIG
							 : capture->info.big_endian,
	};

	if (space) {
		words.code_mask = space->code_mask;
		words.data_mask = space->data_mask;
	}
	/* As the unwinder has it. */
	if (!words.code_mask && arch)
		words.code_mask = arch->default_code_mask;

	if (arch && arch->flags & REEL_ARCH_STACK_TRAMPOLINES) {
		for (size_t i = 0; i < arch->n_signal_frames; i++)
			reel_scrub_words_add_code(&words, arch->signal_frames[i].code,
						  arch->signal_frames[i].size);
	}
	return words;
}

struct reel_error *reel_capture_scrub_sample(const struct reel_capture *capture,
					     struct reel_scrubber *scrubber,
					     struct reel_sample *sample)
{
	const struct reel_timeline *timeline = capture->timeline;
	uint64_t id = reel_timeline_thread_space(timeline, sample->thread, sample->time);
	struct reel_space_view view = reel_timeline_view(timeline, id, sample->time);
	struct reel_scrub_words words = words_of(capture, reel_timeline_space(timeline, id));

	return reel_scrub_sample(scrubber, &view, &words, sample);
}

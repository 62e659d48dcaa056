/* SPDX-License-Identifier: Apache-2.0 */
/* Samples without what the recorded programs worked with. */
#include "import/importer.h"

/* The words of a process. */
static struct reel_scrub_words words_of(const struct importer *importer,
					const struct reel_space_state *space)
{
	const struct reel_arch *arch =
		space ? reel_arch_by_machine((uint16_t)space->machine, (unsigned)space->word_bits)
		      : importer->arch;
	/* perf does not tell which bits pointer authentication uses. */
	struct reel_scrub_words words = {
		.size = arch ? arch->word_size : importer->arch->word_size,
		.big_endian = importer->stream.big_endian,
		.code_mask = arch ? arch->default_code_mask : 0,
	};

	if (arch && arch->flags & REEL_ARCH_STACK_TRAMPOLINES) {
		for (size_t i = 0; i < arch->n_signal_frames; i++)
			reel_scrub_words_add_code(&words, arch->signal_frames[i].code,
						  arch->signal_frames[i].size);
	}
	return words;
}

struct reel_error *importer_start_scrubbing(struct importer *importer)
{
	struct reel_error *error;

	if (importer->options.raw_stacks)
		return NULL;
	error = reel_timeline_create(false, &importer->timeline);
	return error ? error : reel_scrubber_create(&importer->scrubber);
}

struct reel_error *importer_scrub(struct importer *importer, struct reel_sample *sample)
{
	struct reel_space_view view;
	struct reel_scrub_words words;
	uint64_t space;

	if (!importer->scrubber)
		return NULL;
	/* Everything comes in order of time: the present is the sample's. */
	space = reel_timeline_thread_space(importer->timeline, sample->thread, REEL_TIME_NOW);
	view = reel_timeline_view(importer->timeline, space, REEL_TIME_NOW);
	words = words_of(importer, reel_timeline_space(importer->timeline, space));
	return reel_scrub_sample(importer->scrubber, &view, &words, sample);
}

void importer_stop_scrubbing(struct importer *importer)
{
	reel_scrubber_destroy(importer->scrubber);
	reel_timeline_destroy(importer->timeline);
}

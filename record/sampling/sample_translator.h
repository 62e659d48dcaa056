/* SPDX-License-Identifier: Apache-2.0 */
/* Translates BPF's samples to the file's. */
#ifndef RECORD_SAMPLING_SAMPLE_TRANSLATOR_H
#define RECORD_SAMPLING_SAMPLE_TRANSLATOR_H

#include <linux/types.h>

#include "base/bytes.h"
#include "format/record.h"
#include "record/sampling/sampler.h"

#define REEL_TRANSLATOR_LAYOUTS 8
/* The registers in a sample's header, and the pc. */
#define REEL_TRANSLATOR_REGISTERS (REEL_BPF_REGISTERS_MAX + 1)

struct reel_sample_translator {
	uint64_t page_size;
	/* Register layouts, by number of registers, the pc's number and the size. */
	struct reel_record_sample_layout layouts[REEL_TRANSLATOR_LAYOUTS];
	struct reel_register_slot slots[REEL_TRANSLATOR_LAYOUTS][REEL_TRANSLATOR_REGISTERS];
	size_t n_layouts;
	/* The last translated sample. */
	struct reel_sample sample;
	struct reel_region regions[REEL_BPF_REGIONS_MAX + 2]; /* plus two gobufs */
	struct reel_range missing[REEL_BPF_REGIONS_MAX][64 * REEL_BPF_MISSING_WORDS];
	uint64_t values[REEL_TRANSLATOR_REGISTERS];
	uint8_t known[(REEL_TRANSLATOR_REGISTERS + 7) / 8];
	uint64_t kernel_chain[1 + REEL_BPF_KERNEL_CHAIN_MAX];
	uint64_t frame_chain[REEL_BPF_FRAME_CHAIN_MAX];
	/* Copies of regions with restored return addresses. */
	struct reel_buffer restored[REEL_BPF_REGIONS_MAX];
};

void reel_sample_translator_free(struct reel_sample_translator *translator);

/* The result is valid until the next call; the caller sets id and thread. NULL without room for
 * its layout. */
struct reel_sample *reel_sample_translate(struct reel_sample_translator *translator,
					  const struct reel_sampler_parts *parts);

#endif

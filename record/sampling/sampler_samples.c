/* SPDX-License-Identifier: Apache-2.0 */
/* The data after a sample's header in the ring buffer (bpf/sample.h). */
#include <stddef.h>
#include <stdint.h>

#include "record/sampling/sampler.h"

/* Takes the bytes of a region at *at, and moves *at past them. */
static bool take_region(const struct reel_bpf_region *region, const uint8_t **at,
			const uint8_t *end, const uint8_t **ret)
{
	size_t room = (region->size + (size_t)7) & ~(size_t)7;

	if (region->gap + room > (size_t)(end - *at))
		return false;
	*ret = *at + region->gap;
	*at = *ret + room;
	return true;
}

bool reel_sampler_parts_take(const struct reel_bpf_sample *sample, size_t size,
			     struct reel_sampler_parts *ret)
{
	const uint8_t *at = (const uint8_t *)(sample + 1), *end = (const uint8_t *)sample + size;
	size_t chains, n_probes;

	if (size < sizeof(*sample) || sample->n_kernel_chain > REEL_BPF_KERNEL_CHAIN_MAX ||
	    sample->n_frame_chain > REEL_BPF_FRAME_CHAIN_MAX || sample->n_regions > 2 ||
	    sample->n_registers > REEL_BPF_REGISTERS_MAX)
		return false;
	n_probes = sample->n_user_probes;
	if (sample->n_values && sample->n_values != REEL_BPF_VALUES_WORDS)
		return false;
	if (sample->n_frames > REEL_BPF_FRAMES_MAX)
		return false;
	if (n_probes &&
	    (n_probes < REEL_BPF_USER_PROBES_HEAD || n_probes > REEL_BPF_USER_PROBES_WORDS))
		return false;
	chains = sample->n_kernel_chain + sample->n_frame_chain;
	*ret = (struct reel_sampler_parts){
		.sample = sample,
		.size = size,
		.kernel_chain = (const uint64_t *)at,
		.frame_chain = (const uint64_t *)at + sample->n_kernel_chain,
	};
	if ((chains + n_probes) * 8 > (size_t)(end - at))
		return false;
	at += chains * 8;
	if (n_probes) {
		ret->user_probes = (const struct reel_bpf_user_probes *)at;
		ret->n_returns = (n_probes - REEL_BPF_USER_PROBES_HEAD) / 3;
	}
	at += n_probes * 8;
	if (sample->n_values) {
		if (sizeof(*ret->values) > (size_t)(end - at))
			return false;
		ret->values = (const struct reel_bpf_values *)at;
		at += sizeof(*ret->values);
	}
	if (sample->n_frames * sizeof(*ret->frames) > (size_t)(end - at))
		return false;
	ret->frames = (const struct reel_bpf_frame *)at;
	at += sample->n_frames * sizeof(*ret->frames);
	if (sample->flags & REEL_BPF_ROOT_PART &&
	    !take_region(&sample->regions[REEL_BPF_ROOT], &at, end,
			 &ret->region_bytes[REEL_BPF_ROOT]))
		return false;
	for (uint32_t i = 0; i < sample->n_regions; i++) {
		if (!take_region(&sample->regions[i], &at, end, &ret->region_bytes[i]))
			return false;
	}
	return true;
}

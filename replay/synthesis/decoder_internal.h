/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers for the CPUs' decoders.  Internal to replay/synthesis/. */
#ifndef REPLAY_SYNTHESIS_DECODER_INTERNAL_H
#define REPLAY_SYNTHESIS_DECODER_INTERNAL_H

#include <string.h>

#include "replay/synthesis/instruction.h"

static inline void add_effect(struct reel_instruction *to, struct reel_effect effect)
{
	if (effect.slot != REEL_ARCH_NO_SLOT && to->n_effects < REEL_EFFECTS_MAX)
		to->effects[to->n_effects++] = effect;
}

/* In place of an earlier value, which would not be used. */
static inline void add_set(struct reel_instruction *to, uint8_t slot, struct reel_value value)
{
	for (unsigned i = 0; i < to->n_effects; i++) {
		if (to->effects[i].slot == slot && !to->effects[i].size) {
			to->effects[i].value = value;
			return;
		}
	}
	add_effect(to, (struct reel_effect){ .slot = slot, .value = value });
}

static inline void add_clobber(struct reel_instruction *to, uint8_t slot)
{
	add_set(to, slot, (struct reel_value){ 0 });
}

static inline void add_store(struct reel_instruction *to, uint8_t slot, int64_t at, size_t size,
			     struct reel_value value)
{
	if (at == (int32_t)at && size)
		add_effect(to, (struct reel_effect){ .slot = slot,
						     .size = size < UINT8_MAX ? (uint8_t)size
									      : UINT8_MAX,
						     .at = (int32_t)at,
						     .value = value });
}

struct reel_x86_decoder;
struct reel_error *reel_x86_decoder_create(const struct reel_arch *arch,
					   struct reel_x86_decoder **ret) REEL_MUST_CHECK;
void reel_x86_decoder_destroy(struct reel_x86_decoder *decoder);
bool reel_x86_decode(struct reel_x86_decoder *decoder, const uint8_t *bytes, size_t size,
		     uint64_t address, struct reel_instruction *ret);
/* The same without capstone, only for calls and jumps without a prefix that contain their target. */
bool reel_x86_decode_branch(const struct reel_arch *arch, const uint8_t *bytes, size_t size,
			    uint64_t address, struct reel_instruction *ret);

/* Decodes by the tables of arch/. */
bool reel_table_decode(const struct reel_arch *arch, const uint8_t *bytes, size_t size,
		       uint64_t address, struct reel_instruction *ret);

#endif

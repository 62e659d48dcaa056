/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/bytes.h"
#include "replay/synthesis/decoder_internal.h"

/* Capstone takes far longer than everything else, and instructions repeat: they are kept by their
 * bytes, of which the first 8 find the place. */
#define KNOWN_BITS	  12
#define KNOWN_EFFECTS_MAX 2
#define BEGINNINGS	  1024

struct known {
	uint8_t bytes[REEL_INSTRUCTION_SIZE_MAX];
	uint8_t size; /* 0: free */
	/* Its used part. */
	uint8_t instruction[offsetof(struct reel_instruction, effects) +
			    KNOWN_EFFECTS_MAX * sizeof(struct reel_effect)];
};

struct reel_decoder {
	const struct reel_arch *arch;
	struct reel_x86_decoder *x86;
	struct known *known; /* NULL: not needed so far */
	/* By the first two bytes: bit n - 1 if such an instruction of n bytes is known; bit 7: of 8 or more. */
	uint8_t known_sizes[BEGINNINGS];
};

struct reel_value reel_value_of_register(uint8_t slot, int64_t plus)
{
	if (slot == REEL_ARCH_NO_SLOT || plus != (int32_t)plus)
		return (struct reel_value){ 0 };
	return (struct reel_value){ .kind = REEL_VALUE_REGISTER,
				    .slot = slot,
				    .plus = (int32_t)plus };
}

/* Whether `at` fits its bit field. */
static bool fits(int64_t at)
{
	return at >= -(1 << 22) && at < 1 << 22;
}

struct reel_value reel_value_at_cfa(int64_t at)
{
	if (!fits(at))
		return (struct reel_value){ 0 };
	return (struct reel_value){ .kind = REEL_VALUE_AT_CFA, .at = (int)at };
}

struct reel_value reel_value_of_memory(uint8_t slot, int64_t at, int64_t plus)
{
	if (slot == REEL_ARCH_NO_SLOT || !fits(at) || plus != (int32_t)plus)
		return (struct reel_value){ 0 };
	return (struct reel_value){
		.kind = REEL_VALUE_MEMORY, .slot = slot, .at = (int)at, .plus = (int32_t)plus
	};
}

struct reel_value reel_value_shifted(uint8_t slot, int64_t shift)
{
	if (slot == REEL_ARCH_NO_SLOT || shift < 0 || shift >= 64)
		return (struct reel_value){ 0 };
	return (struct reel_value){ .kind = REEL_VALUE_SHIFTED, .slot = slot, .at = (int)shift };
}

struct reel_value reel_value_of_sum(uint8_t slot, struct reel_value added, int64_t shift,
				    int64_t plus)
{
	bool is_memory = added.kind == REEL_VALUE_MEMORY;
	int64_t at = (is_memory ? added.at : added.slot) * (int64_t)64 + shift;

	if (slot == REEL_ARCH_NO_SLOT || added.plus || shift >= 64 || !fits(at) ||
	    plus != (int32_t)plus ||
	    !(is_memory ? added.slot == slot : added.kind == REEL_VALUE_REGISTER))
		return (struct reel_value){ 0 };
	return (struct reel_value){ .kind = is_memory ? REEL_VALUE_SUM_MEMORY : REEL_VALUE_SUM,
				    .slot = slot,
				    .at = (int)at,
				    .plus = (int32_t)plus };
}

struct reel_value reel_instruction_sets(const struct reel_instruction *instruction, uint8_t slot)
{
	for (unsigned i = instruction->n_effects; i--;) {
		if (!instruction->effects[i].size && instruction->effects[i].slot == slot)
			return instruction->effects[i].value;
	}
	return reel_value_of_register(slot, 0);
}

struct reel_error *reel_decoder_create(const struct reel_arch *arch, struct reel_decoder **ret)
{
	struct reel_decoder *decoder;
	struct reel_error *error = NULL;

	*ret = NULL;
	if (arch->code == REEL_ARCH_CODE_NONE)
		return NULL;
	decoder = calloc(1, sizeof(*decoder));
	if (!decoder)
		return reel_error_no_memory();
	decoder->arch = arch;
	if (arch->code == REEL_ARCH_CODE_X86)
		error = reel_x86_decoder_create(arch, &decoder->x86);
	if (error) {
		free(decoder);
		return error;
	}
	*ret = decoder;
	return NULL;
}

void reel_decoder_destroy(struct reel_decoder *decoder)
{
	if (!decoder)
		return;
	reel_x86_decoder_destroy(decoder->x86);
	free(decoder->known);
	free(decoder);
}

/* Where an instruction of `size` bytes that begins with these 8 is kept. */
static struct known *place_of(struct reel_decoder *decoder, uint64_t first, unsigned size)
{
	uint64_t mask = size < sizeof(first) ? ((uint64_t)1 << 8 * size) - 1 : UINT64_MAX;

	return &decoder->known[((first & mask) + size) * 0x9e3779b97f4a7c15 >> (64 - KNOWN_BITS)];
}

/* As a number whose low bits are the first bytes on any host. */
static uint64_t first_bytes(const uint8_t *bytes)
{
	return reel_load_target(bytes, sizeof(uint64_t), false);
}

static uint8_t *known_sizes_of(struct reel_decoder *decoder, const uint8_t *bytes)
{
	return &decoder->known_sizes[(unsigned)(bytes[0] << 2 ^ bytes[1]) % BEGINNINGS];
}

/* The kept instruction that begins with these bytes; NULL if none. */
static struct known *find_known(struct reel_decoder *decoder, const uint8_t *bytes, size_t size)
{
	uint64_t first = first_bytes(bytes);

	for (unsigned left = *known_sizes_of(decoder, bytes); left; left &= left - 1) {
		unsigned its = (unsigned)__builtin_ctz(left) + 1;
		struct known *known = place_of(decoder, first, its);

		if (known->size >= its && known->size <= size &&
		    !memcmp(known->bytes, bytes, known->size))
			return known;
	}
	return NULL;
}

static void keep(struct reel_decoder *decoder, const uint8_t *bytes,
		 const struct reel_instruction *instruction)
{
	unsigned its = instruction->size < 8 ? instruction->size : 8;
	struct known *known = place_of(decoder, first_bytes(bytes), its);

	*known_sizes_of(decoder, bytes) |= (uint8_t)(1u << (its - 1));
	memcpy(known->bytes, bytes, instruction->size);
	known->size = instruction->size;
	memcpy(known->instruction, instruction, sizeof(known->instruction));
}

static bool decode_x86(struct reel_decoder *decoder, const uint8_t *bytes, size_t size,
		       uint64_t address, struct reel_instruction *ret)
{
	bool is_whole = size >= sizeof(uint64_t);
	const struct known *known = NULL;

	if (reel_x86_decode_branch(decoder->arch, bytes, size, address, ret))
		return true;
	if (!decoder->known)
		decoder->known = calloc((size_t)1 << KNOWN_BITS, sizeof(*decoder->known));
	if (decoder->known && is_whole)
		known = find_known(decoder, bytes, size);
	if (known) {
		memcpy(ret, known->instruction, sizeof(known->instruction));
		return true;
	}
	if (!reel_x86_decode(decoder->x86, bytes, size, address, ret))
		return false;
	/* Other branches are rare. */
	if (decoder->known && is_whole && !ret->has_target && ret->n_effects <= KNOWN_EFFECTS_MAX)
		keep(decoder, bytes, ret);
	return true;
}

bool reel_decode(struct reel_decoder *decoder, const uint8_t *bytes, size_t size, uint64_t address,
		 struct reel_instruction *ret)
{
	ret->target = 0;
	ret->size = ret->n_effects = 0;
	ret->flow = REEL_FLOW_NEXT;
	ret->through = REEL_ARCH_NO_SLOT;
	ret->has_target = ret->by_fp = false;
	if (decoder->x86)
		return decode_x86(decoder, bytes, size, address, ret);
	return reel_table_decode(decoder->arch, bytes, size, address, ret);
}

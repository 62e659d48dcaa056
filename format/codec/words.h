/* SPDX-License-Identifier: Apache-2.0 */
/* Words of stacks and registers, where they stand, and what is the same of them elsewhere (SPEC.md,
 * section 6, "Words"). */
#ifndef FORMAT_CODEC_WORDS_H
#define FORMAT_CODEC_WORDS_H

#include "base/bytes.h"
#include "format/codec/thread_table.h"
#include "format/record.h"

/* Where a word stands. */
struct reel_word_place {
	uint64_t address;	/* what addresses of the stack are relative to */
	uint64_t stack, size;	/* the region: what is an address of the stack */
	uint64_t key;		/* of the place */
	uint64_t above, second; /* relative values of the two words above it */
	unsigned bytes;		/* 4 or 8 */
};

/* Bit 63 marks the value as relative to its address. */
#define REEL_WORD_RELATIVE ((uint64_t)1 << 63)

/* The upper bits are the best ones. */
static inline uint64_t reel_word_mix(uint64_t a, uint64_t b)
{
	uint64_t hash = (a * 0x9E3779B97F4A7C15u) ^ (b * 0xC2B2AE3D27D4EB4Fu);

	hash ^= hash >> 29;
	return hash * 0xBF58476D1CE4E5B9u;
}

/* Is it an address of the region that lies whole words away from the word's own? */
static inline bool reel_word_is_stack(uint64_t word, const struct reel_word_place *place)
{
	return word - place->stack <= place->size &&
	       !((word - place->address) & (place->bytes - 1));
}

/* The same for the same word in a frame that lies elsewhere. */
static inline uint64_t reel_word_relative(uint64_t word, const struct reel_word_place *place)
{
	return reel_word_is_stack(word, place) ? (word - place->address) | REEL_WORD_RELATIVE
					       : word;
}

/* What a prediction stands for at this place. */
static inline uint64_t reel_word_of_prediction(uint64_t prediction,
					       const struct reel_word_place *place)
{
	/* The distance's sign is bit 62. */
	uint64_t target = place->address + (uint64_t)((int64_t)(prediction << 1) >> 1);
	uint64_t word = prediction & REEL_WORD_RELATIVE ? target : prediction;

	return place->bytes == 4 ? word & UINT32_MAX : word;
}

static inline uint32_t reel_word_dictionary_index(uint64_t word)
{
	return (uint32_t)((word * 0x9E3779B97F4A7C15u) >> 52);
}

/* Keys of places that are no addresses; registers have their position in the layout. */
#define REEL_WORD_KEY_PC UINT64_MAX

/* The words of a region are [*start_ret, *end_ret) of its bytes: whole ones at multiples of
 * `bytes`. */
static inline void reel_words_of_region(uint64_t address, size_t size, unsigned bytes,
					size_t *start_ret, size_t *end_ret)
{
	size_t start = (size_t)(-address & (bytes - 1));

	if (start > size)
		start = size;
	*start_ret = start;
	*end_ret = start + (size - start) / bytes * bytes;
}

/* A register that was the pc is expected to be it again; any other, to be what it was. */
static inline uint64_t reel_register_expected(const struct reel_thread_base *base, size_t i,
					      unsigned bytes, uint64_t pc)
{
	uint64_t before = base->values[i];

	return before && before == base->pc && (bytes == 8 || pc <= UINT32_MAX) ? pc : before;
}

static inline struct reel_word_place reel_pc_place(const struct reel_thread_base *base)
{
	return (struct reel_word_place){
		.key = REEL_WORD_KEY_PC,
		.above = base->pc,
		.bytes = 8,
	};
}

/* sample->pc and the first region's address and size are known already. */
static inline struct reel_word_place reel_register_place(const struct reel_sample *sample, size_t i,
							 unsigned bytes, uint64_t before)
{
	const struct reel_region *region = sample->n_regions ? sample->regions : NULL;

	return (struct reel_word_place){
		.address = region ? region->address : 0,
		.stack = region ? region->address : 0,
		.size = region ? region->size : 0,
		.key = i,
		.above = sample->pc,
		.second = before,
		.bytes = bytes,
	};
}

/* In the host's byte order: only to be compared with 0. */
static inline uint64_t reel_words_difference(const uint8_t *a, const uint8_t *b)
{
	uint64_t x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return x ^ y;
}

static inline bool reel_words_equal(const uint8_t *a, const uint8_t *b, unsigned bytes)
{
	return bytes == 8 ? !reel_words_difference(a, b) : !memcmp(a, b, 4);
}

/* How far down from `end` `a` and `b` are the same, in whole words: the new end. */
static inline size_t reel_words_equal_down_to(const uint8_t *a, const uint8_t *b, size_t start,
					      size_t end, unsigned bytes)
{
	while (end - start >= REEL_STEP_BYTES &&
	       !reel_step_differs(a + end - REEL_STEP_BYTES, b + end - REEL_STEP_BYTES))
		end -= REEL_STEP_BYTES;
	while (end > start && reel_words_equal(a + end - bytes, b + end - bytes, bytes))
		end -= bytes;
	return end;
}

/* A region's words, one below the other. */
struct reel_word_walk {
	const uint8_t *bytes; /* the region's */
	uint64_t address;     /* the region's */
	size_t start, end;    /* of the words in the bytes */
	bool big_endian;
	struct reel_word_place place;
};

static inline uint64_t reel_word_load(const struct reel_word_walk *walk, size_t offset)
{
	return reel_load_target(walk->bytes + offset, walk->place.bytes, walk->big_endian);
}

static inline uint64_t reel_word_relative_at(struct reel_word_walk *walk, size_t offset)
{
	/* There is none above the last one. */
	if (offset >= walk->end)
		return 0;
	walk->place.address = walk->address + offset;
	return reel_word_relative(reel_word_load(walk, offset), &walk->place);
}

/* Goes to the word at `offset`, above which all words are known. */
static inline void reel_word_walk_to(struct reel_word_walk *walk, size_t offset)
{
	struct reel_word_place *place = &walk->place;

	place->above = reel_word_relative_at(walk, offset + place->bytes);
	place->second = reel_word_relative_at(walk, offset + 2 * place->bytes);
	place->address = place->key = walk->address + offset;
}

/* From a word, which is now known, to the one below it. */
static inline void reel_word_walk_down(struct reel_word_walk *walk, uint64_t word)
{
	struct reel_word_place *place = &walk->place;

	place->second = place->above;
	place->above = reel_word_relative(word, place);
	place->address -= place->bytes;
	place->key = place->address;
}

#endif

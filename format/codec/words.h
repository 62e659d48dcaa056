/* SPDX-License-Identifier: Apache-2.0 */
/* Words of stacks and registers, their places, and their values relative to those (SPEC.md, section
 * 6, "Words"). */
#ifndef FORMAT_CODEC_WORDS_H
#define FORMAT_CODEC_WORDS_H

#include "base/bytes.h"
#include "format/codec/thread_table.h"
#include "format/record.h"

/* The place of a word. */
struct reel_word_place {
	uint64_t address;	/* the base for addresses of the stack */
	uint64_t stack, size;	/* the region that stack addresses are in */
	uint64_t key;		/* of the place */
	uint64_t above, second; /* relative values of the two words above it */
	unsigned bytes;		/* 4 or 8 */
};

/* Bit 63 marks the value as relative to its address. */
#define REEL_WORD_RELATIVE ((uint64_t)1 << 63)

/* The upper bits are the best mixed. */
static inline uint64_t reel_word_mix(uint64_t a, uint64_t b)
{
	uint64_t hash = (a * 0x9E3779B97F4A7C15u) ^ (b * 0xC2B2AE3D27D4EB4Fu);

	hash ^= hash >> 29;
	return hash * 0xBF58476D1CE4E5B9u;
}

/* Whether it is an address in the region, whole words away from the word's own place. */
static inline bool reel_word_is_stack(uint64_t word, const struct reel_word_place *place)
{
	return word - place->stack <= place->size &&
	       !((word - place->address) & (place->bytes - 1));
}

/* Equal values for the same word in a frame at a different address. */
static inline uint64_t reel_word_relative(uint64_t word, const struct reel_word_place *place)
{
	return reel_word_is_stack(word, place) ? (word - place->address) | REEL_WORD_RELATIVE
					       : word;
}

/* The predicted word at this place. */
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

/* Keys of places without an address; registers have their position in the layout. */
#define REEL_WORD_KEY_PC UINT64_MAX

/* The words of a region are the bytes [*start_ret, *end_ret): whole words at multiples of
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

/* A register that equalled pc is expected to equal it again; others, to keep their value. */
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

/* sample->pc and the first region's address and size are already known. */
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

/* In the host's byte order: only compare it with 0. */
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

/* Walks a region's words, from the top down. */
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
	/* Nothing is above the last word. */
	if (offset >= walk->end)
		return 0;
	walk->place.address = walk->address + offset;
	return reel_word_relative(reel_word_load(walk, offset), &walk->place);
}

/* Moves to the word at `offset`; all words above it are known. */
static inline void reel_word_walk_to(struct reel_word_walk *walk, size_t offset)
{
	struct reel_word_place *place = &walk->place;

	place->above = reel_word_relative_at(walk, offset + place->bytes);
	place->second = reel_word_relative_at(walk, offset + 2 * place->bytes);
	place->address = place->key = walk->address + offset;
}

/* Moves from a word, now known, to the one below it. */
static inline void reel_word_walk_down(struct reel_word_walk *walk, uint64_t word)
{
	struct reel_word_place *place = &walk->place;

	place->second = place->above;
	place->above = reel_word_relative(word, place);
	place->address -= place->bytes;
	place->key = place->address;
}

#endif

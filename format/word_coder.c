/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each word is asked for: is it what it was? what stood here before, below such a word? what stood
 * there in the frame of such a caller? Only then, what kind of word it is.  All functions that have
 * `decoding` run in both directions: what they return is what the decoder finds, and what they are
 * given, which it does not know, does not matter to it.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>

#include "format/bit_coder.h"
#include "format/new_words.h"
#include "format/word_coder.h"

#define HASHED_BITS 19
#define LINE_BITS   4
#define DIRECT_BITS 16
#define GUESS_BITS  15

#define CONFIDENCE_MAX 7
#define FRAME_VALUES   3
#define STACK_RECENT   32

/* What a word may be, in the order of asking. */
enum candidate {
	BEFORE, /* what it was */
	BY_PLACE,
	BY_WORDS,
	BY_FRAME,
	CANDIDATES = BY_FRAME + FRAME_VALUES,
};

/* And if it is none of these. */
enum class {
	CLASS_ZERO,
	CLASS_ONE,
	CLASS_RECENT, /* of the stack, and lately used */
	CLASS_STACK,
	CLASS_KNOWN, /* in the dictionary */
	CLASS_NEW,
	CLASSES,
};

/* Whose words they are. */
enum group { GROUP_STACK = 0, GROUP_PC = 1, GROUP_REGISTERS = 2 /* plus the register */ };

/* Words that stay as they are: after so many in a row, how many more. */
#define RUN 8
/* A word that may be an address of code, for all that can be told from it. */
#define CODE_LEAST	65536
#define FRAME_WORDS_MAX 256

/* What tells contexts of one kind from those of another; those of words are sums of these and a
 * position. */
enum salt {
	SALT_CLASS = 900,
	SALT_LEFT = 603,
	SALT_MORE = 700,
	SALT_STACK = 77,
	SALT_RECENT = 66,
	SALT_KNOWN = 55,
	SALT_REGISTERS = 1000,
};

/* Direct contexts: behind those of candidates. */
#define DIRECT_CLASS ((unsigned)CANDIDATES << 13)
#define DIRECT_HIGH  (DIRECT_CLASS + 3 * 8)
#define MIX_COUNTS   12
#define MIXES	     (CANDIDATES * MIX_COUNTS + CLASSES)

struct guess {
	uint64_t value; /* relative */
	uint64_t confidence;
};

struct frame_guess {
	uint64_t values[FRAME_VALUES]; /* relative, the last one first */
	uint64_t confidence;
};

/* What has been learned: all 0 at first, but for `mixes`. */
struct model {
	struct reel_bit_context hashed[1 << HASHED_BITS], direct[1 << DIRECT_BITS];
	struct guess by_place[1 << GUESS_BITS], by_words[1 << GUESS_BITS];
	struct frame_guess by_frame[1 << GUESS_BITS];
	uint64_t recent[STACK_RECENT];
	uint64_t dictionary[REEL_WORD_DICTIONARY], highs[REEL_WORD_HIGHS];
	struct reel_bit_mix mixes[MIXES];
};

struct reel_word_coder {
	struct reel_bit_coder bits;
	struct reel_bit_tables tables;
	struct model *model;
	struct reel_buffer *out; /* of words that are new */
	struct reel_cursor *in;
};

/* Which frame a word is in: the last address of code above it, and how many words above it. */
struct frame {
	uint64_t caller, distance;
};

/* A word to be coded. */
struct asked {
	const struct reel_word_place *place;
	struct frame frame;
	uint64_t group;
	uint64_t before;
	bool differs; /* from `before`, as is known */
};

/* Where guesses for a word are kept. */
struct guesses {
	struct guess *by_place, *by_words;
	struct frame_guess *by_frame;
};

struct reel_error *reel_word_coder_create(struct reel_word_coder **ret)
{
	struct reel_word_coder *coder = calloc(1, sizeof(*coder));
	void *model;

	if (!coder)
		return reel_error_no_memory();
	/* Of its own pages, so that forgetting costs what was touched: a hostile file's many small
	 * blocks must not cost megabytes each. */
	model = mmap(NULL, sizeof(*coder->model), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (model == MAP_FAILED) {
		free(coder);
		return reel_error_no_memory();
	}
	coder->model = model;
	reel_bit_tables_fill(&coder->tables);
	*ret = coder;
	return NULL;
}

void reel_word_coder_destroy(struct reel_word_coder *coder)
{
	if (!coder)
		return;
	munmap(coder->model, sizeof(*coder->model));
	free(coder);
}

static void forget(struct reel_word_coder *coder)
{
	if (madvise(coder->model, sizeof(*coder->model), MADV_DONTNEED))
		memset(coder->model, 0, sizeof(*coder->model));
	for (size_t i = 0; i < MIXES; i++)
		coder->model->mixes[i] =
			(struct reel_bit_mix){ { REEL_BIT_WEIGHT_START, REEL_BIT_WEIGHT_START } };
}

void reel_word_coder_encode_to(struct reel_word_coder *coder, struct reel_buffer *streams)
{
	forget(coder);
	coder->out = streams;
	reel_bit_coder_encode_to(&coder->bits, &streams[REEL_STREAM_TOKENS]);
}

void reel_word_coder_finish(struct reel_word_coder *coder)
{
	reel_bit_coder_finish(&coder->bits);
}

void reel_word_coder_decode_from(struct reel_word_coder *coder, struct reel_cursor *streams)
{
	forget(coder);
	coder->in = streams;
	reel_bit_coder_decode_from(&coder->bits, &streams[REEL_STREAM_TOKENS]);
}

/* ---- numbers ---------------------------------------------------------------------- */

/* LINE contexts that are used together: one line of most CPUs' caches. */
static inline struct reel_bit_context *hashed(struct reel_word_coder *coder, uint64_t a, uint64_t b)
{
	uint64_t line = reel_word_mix(a, b) >> (64 - HASHED_BITS + LINE_BITS);

	return &coder->model->hashed[line << LINE_BITS];
}

/* The `bits` lower bits of `value`, the highest one first. */
REEL_BOTH_WAYS uint64_t code_bits(struct reel_word_coder *coder, bool decoding, uint64_t value,
				  unsigned bits, uint64_t context)
{
	uint64_t result = 0;

	while (bits) {
		struct reel_bit_context *line = hashed(coder, context, result << 6 | bits);
		unsigned node = 1, step = bits < LINE_BITS ? bits : LINE_BITS;

		for (; step; step--) {
			bool bit = value >> --bits & 1;

			bit = reel_bit_code_one(&coder->bits, &coder->tables, decoding, bit,
						&line[node]);
			node = node << 1 | bit;
			result = result << 1 | bit;
		}
	}
	return result;
}

/* Any number below 2^64 - 1: how many bits it has, the upper ones, and the others as they are. */
REEL_BOTH_WAYS uint64_t code_number(struct reel_word_coder *coder, bool decoding, uint64_t value,
				    uint64_t context)
{
	uint64_t more = value + 1, result;
	unsigned size = decoding || !more ? 0 : 63 - (unsigned)__builtin_clzll(more), upper;

	size = (unsigned)code_bits(coder, decoding, size, 6, context);
	upper = size < 5 ? size : 5;
	result = (uint64_t)1 << upper |
		 code_bits(coder, decoding, more >> (size - upper) & (((uint64_t)1 << upper) - 1),
			   upper, reel_word_mix(context, size + 1));
	for (unsigned i = size - upper; i-- > 0;)
		result = result << 1 |
			 reel_bit_code(&coder->bits, decoding, more >> i & 1, REEL_BIT_SCALE / 2);
	return result - 1;
}

/* ---- words ------------------------------------------------------------------------ */

static struct guesses guesses_for(struct model *model, const struct asked *asked,
				  uint64_t frame_hash)
{
	const struct reel_word_place *place = asked->place;
	unsigned shift = 64 - GUESS_BITS;

	return (struct guesses){
		&model->by_place[reel_word_mix(place->above, place->key) >> shift],
		&model->by_words[reel_word_mix(place->above, place->second) >> shift],
		&model->by_frame[frame_hash >> shift],
	};
}

static void learn(const struct guesses *guesses, uint64_t relative)
{
	struct guess *one[] = { guesses->by_place, guesses->by_words };
	struct frame_guess *frame = guesses->by_frame;

	for (size_t i = 0; i < 2; i++) {
		if (one[i]->value == relative)
			one[i]->confidence += one[i]->confidence < CONFIDENCE_MAX;
		else
			*one[i] = (struct guess){ relative, one[i]->confidence > 2 };
	}
	if (frame->values[0] == relative) {
		frame->confidence += frame->confidence < CONFIDENCE_MAX;
		return;
	}
	if (frame->values[1] != relative)
		frame->values[2] = frame->values[1];
	frame->values[1] = frame->values[0];
	frame->values[0] = relative;
	frame->confidence = frame->confidence > 2;
}

/* 0, 1, of the stack, other. */
static unsigned kind_of(uint64_t word, const struct reel_word_place *place)
{
	if (word < 2)
		return (unsigned)word;
	return reel_word_is_stack(word, place) ? 2 : 3;
}

/* STACK_RECENT if it is not among them. */
static unsigned find_recent(const struct model *model, uint64_t word)
{
	unsigned rank = 0;

	while (rank < STACK_RECENT && model->recent[rank] != word)
		rank++;
	return rank;
}

static void use_recent(struct model *model, uint64_t word)
{
	unsigned rank = find_recent(model, word);

	if (rank == STACK_RECENT)
		rank--;
	memmove(model->recent + 1, model->recent, rank * sizeof(*model->recent));
	model->recent[0] = word;
}

/* What a word may be, and what foretells whether it is. */
struct offer {
	uint64_t words[CANDIDATES];
	struct reel_bit_context *hashed[CANDIDATES], *direct[CANDIDATES];
};

/* Which of the first candidate of each kind are the same, and which guesses can be relied on. */
static unsigned likeness(const uint64_t *words, const struct guesses *guesses)
{
	return (unsigned)(words[BY_PLACE] == words[BEFORE]) << 5 |
	       (unsigned)(words[BY_WORDS] == words[BEFORE]) << 6 |
	       (unsigned)(words[BY_FRAME] == words[BEFORE]) << 7 |
	       (unsigned)(words[BY_WORDS] == words[BY_PLACE]) << 8 |
	       (unsigned)(words[BY_FRAME] == words[BY_PLACE]) << 9 |
	       (unsigned)(words[BY_FRAME] == words[BY_WORDS]) << 10 |
	       (unsigned)(guesses->by_words->confidence > 1) << 1 |
	       (unsigned)(guesses->by_frame->confidence > 1);
}

static uint64_t confidence_of(const struct guesses *guesses, unsigned candidate)
{
	if (candidate == BEFORE)
		return 0;
	if (candidate == BY_PLACE)
		return guesses->by_place->confidence;
	return candidate == BY_WORDS ? guesses->by_words->confidence
				     : guesses->by_frame->confidence;
}

static inline void make_offer(struct model *model, const struct asked *asked, uint64_t frame_hash,
			      const struct guesses *guesses, struct offer *ret)
{
	const struct reel_word_place *place = asked->place;
	uint64_t context = reel_word_mix(frame_hash, place->above);
	unsigned alike;

	ret->words[BEFORE] = asked->before;
	ret->words[BY_PLACE] = reel_word_of_guess(guesses->by_place->value, place);
	ret->words[BY_WORDS] = reel_word_of_guess(guesses->by_words->value, place);
	for (size_t i = 0; i < FRAME_VALUES; i++)
		ret->words[BY_FRAME + i] = reel_word_of_guess(guesses->by_frame->values[i], place);
	alike = likeness(ret->words, guesses);
	for (unsigned i = 0; i < CANDIDATES; i++) {
		uint64_t word = ret->words[i];
		uint64_t hash = reel_word_mix(context, word ^ (uint64_t)i << 56 ^ asked->group);

		ret->hashed[i] = &model->hashed[hash >> (64 - HASHED_BITS)];
		/* They lie anywhere: all are fetched at once. */
		__builtin_prefetch(ret->hashed[i], 1);
		ret->direct[i] = &model->direct[i << 13 | kind_of(word, place) << 11 | alike |
						(unsigned)confidence_of(guesses, i) << 2];
	}
}

/* Asks for each that is not one of those before it; CANDIDATES if it is none, else *word_ret is. */
REEL_BOTH_WAYS unsigned code_candidate(struct reel_word_coder *coder, bool decoding, uint64_t word,
				       bool differs, const struct offer *offer, uint64_t *word_ret)
{
	for (unsigned i = differs; i < CANDIDATES; i++) {
		struct reel_bit_context *known = offer->hashed[i];
		unsigned same = 0, n = known->n_seen;

		while (offer->words[same] != offer->words[i])
			same++;
		if (same != i)
			continue;
		if (n >= MIX_COUNTS)
			n = MIX_COUNTS - 1;
		if (!reel_bit_code_two(&coder->bits, &coder->tables, decoding,
				       word == offer->words[i], known, offer->direct[i],
				       &coder->model->mixes[i * MIX_COUNTS + n]))
			continue;
		*word_ret = offer->words[i];
		return i;
	}
	return CANDIDATES;
}

static enum class class_of(const struct reel_word_coder *coder, uint64_t word,
			   const struct reel_word_place *place) {
	const struct model *model = coder->model;

	if (word < 2) return word ? CLASS_ONE : CLASS_ZERO;
	if (reel_word_is_stack(word, place)) return find_recent(model, word) < STACK_RECENT
		? CLASS_RECENT
		: CLASS_STACK;
	return model->dictionary[reel_word_dictionary_index(word)] == word ? CLASS_KNOWN
									   : CLASS_NEW;
}

REEL_BOTH_WAYS enum class code_class(struct reel_word_coder *coder, bool decoding, enum class class,
				     const struct asked *asked, uint64_t frame_hash) {
	uint64_t group = asked->group < GROUP_REGISTERS ? asked->group : GROUP_REGISTERS;
	struct reel_bit_context *line = hashed(coder, frame_hash, SALT_CLASS);
	unsigned i = 0;

	while (i < CLASSES - 1 &&
	       !reel_bit_code_two(&coder->bits, &coder->tables, decoding, class == i, &line[i],
				  &coder->model->direct[DIRECT_CLASS + group * 8 + i],
				  &coder->model->mixes[CANDIDATES * MIX_COUNTS + i])) i++;
	return i;
}

REEL_BOTH_WAYS uint64_t code_new_word(struct reel_word_coder *coder, bool decoding, uint64_t word,
				      unsigned bytes)
{
	uint64_t *highs = coder->model->highs;
	bool has_high = reel_bit_code_one(&coder->bits, &coder->tables, decoding,
					  reel_new_word_has_high(highs, word),
					  &coder->model->direct[DIRECT_HIGH]);

	if (decoding)
		return reel_new_word_take(coder->in, highs, has_high, bytes);
	reel_new_word_put(coder->out, highs, has_high, word, bytes);
	return word;
}

/* A word of the stack that is not among the recent ones. */
REEL_BOTH_WAYS uint64_t code_distance(struct reel_word_coder *coder, bool decoding, uint64_t word,
				      const struct reel_word_place *place, uint64_t frame_hash)
{
	int64_t distance = (int64_t)(word - place->address) / (int64_t)place->bytes;
	uint64_t number = code_number(coder, decoding, reel_zigzag(distance),
				      reel_word_mix(frame_hash, SALT_STACK));

	return place->address + (uint64_t)reel_unzigzag(number) * place->bytes;
}

REEL_BOTH_WAYS uint64_t code_other(struct reel_word_coder *coder, bool decoding, uint64_t word,
				   const struct asked *asked, uint64_t frame_hash)
{
	const struct reel_word_place *place = asked->place;
	struct model *model = coder->model;
	enum class class =
		code_class(coder, decoding, decoding ? CLASS_NEW : class_of(coder, word, place),
			   asked, frame_hash);
	uint64_t index;

	switch (class) {
	case CLASS_ZERO:
	case CLASS_ONE:
		return class == CLASS_ONE;
	case CLASS_RECENT:
		index = code_bits(coder, decoding, decoding ? 0 : find_recent(model, word), 5,
				  reel_word_mix(asked->group, SALT_RECENT));
		return model->recent[index];
	case CLASS_STACK:
		return code_distance(coder, decoding, word, place, frame_hash);
	case CLASS_KNOWN:
		index = code_bits(coder, decoding, reel_word_dictionary_index(word), 12,
				  reel_word_mix(asked->group, SALT_KNOWN));
		word = model->dictionary[index];
		break;
	default:
		word = code_new_word(coder, decoding, word, place->bytes);
		break;
	}
	model->dictionary[reel_word_dictionary_index(word)] = word;
	return word;
}

REEL_BOTH_WAYS uint64_t code_word(struct reel_word_coder *coder, bool decoding, uint64_t word,
				  const struct asked *asked)
{
	const struct reel_word_place *place = asked->place;
	uint64_t frame_hash = reel_word_mix(asked->frame.caller, asked->frame.distance);
	struct guesses guesses = guesses_for(coder->model, asked, frame_hash);
	struct offer offer;
	unsigned found;

	make_offer(coder->model, asked, frame_hash, &guesses, &offer);
	found = code_candidate(coder, decoding, word, asked->differs, &offer, &word);
	if (found == CANDIDATES)
		word = code_other(coder, decoding, word, asked, frame_hash);
	if (place->bytes == 4)
		word &= UINT32_MAX;
	if (found != BEFORE && asked->group == GROUP_STACK && reel_word_is_stack(word, place))
		use_recent(coder->model, word);
	learn(&guesses, reel_word_relative(word, place));
	return word;
}

/* ---- registers -------------------------------------------------------------------- */

REEL_BOTH_WAYS uint64_t code_pc(struct reel_word_coder *coder, bool decoding, uint64_t pc,
				const struct reel_thread_base *base)
{
	struct reel_word_place place = reel_pc_place(base);
	struct asked asked = {
		&place, { base->pc, SALT_REGISTERS - 1 }, GROUP_PC, base->pc, false
	};

	return code_word(coder, decoding, pc, &asked);
}

/* sample->pc is known. */
REEL_BOTH_WAYS void code_values(struct reel_word_coder *coder, bool decoding,
				const struct reel_sample *sample, struct reel_thread_base *base)
{
	for (size_t i = 0; i < sample->layout->n_slots; i++) {
		unsigned size = sample->layout->slots[i].size;
		struct reel_word_place place =
			reel_register_place(sample, i, size, base->values[i]);
		struct asked asked = { &place,
				       { sample->pc, SALT_REGISTERS + i },
				       GROUP_REGISTERS + i,
				       reel_register_expected(base, i, size, sample->pc),
				       false };

		if (sample->known[i / 8] >> i % 8 & 1)
			base->values[i] = code_word(coder, decoding,
						    decoding ? 0 : sample->values[i], &asked);
		else
			base->values[i] = 0;
	}
	base->pc = sample->pc;
}

void reel_word_coder_encode_registers(struct reel_word_coder *coder,
				      const struct reel_sample *sample,
				      struct reel_thread_base *base)
{
	code_pc(coder, false, sample->pc, base);
	code_values(coder, false, sample, base);
}

void reel_word_coder_decode_registers(struct reel_word_coder *coder, struct reel_thread_base *base,
				      struct reel_sample *sample)
{
	sample->pc = code_pc(coder, true, 0, base);
	sample->values = base->values;
	code_values(coder, true, sample, base);
}

/* ---- regions ---------------------------------------------------------------------- */

static bool is_code(uint64_t word, const struct reel_word_place *place)
{
	return word >= CODE_LEAST && !reel_word_is_stack(word, place);
}

/* The frame of the word below `offset`. */
static struct frame frame_below(const struct reel_word_walk *walk, size_t offset)
{
	struct reel_word_place place = walk->place;
	struct frame frame = { 0, 0 };

	for (; offset < walk->end && frame.distance < FRAME_WORDS_MAX; offset += place.bytes) {
		uint64_t word = reel_word_load(walk, offset);

		place.address = walk->address + offset;
		if (is_code(word, &place)) {
			frame.caller = word;
			break;
		}
		frame.distance++;
	}
	return frame;
}

/* From a word to the one below it. */
static inline void step_down(struct reel_word_walk *walk, struct frame *frame, uint64_t word)
{
	if (is_code(word, &walk->place))
		*frame = (struct frame){ word, 0 };
	else
		frame->distance++;
	reel_word_walk_down(walk, word);
}

static size_t words_in(const struct reel_word_walk *walk, size_t from, size_t to)
{
	return (to - from) / walk->place.bytes;
}

/* Over words that stay as they are, below *at_ret; false if there are not so many. */
REEL_BOTH_WAYS bool code_more(struct reel_word_coder *coder, bool decoding,
			      struct reel_word_walk *walk, struct frame *frame, const uint8_t *base,
			      size_t *at_ret)
{
	size_t at = *at_ret, end = at;
	uint64_t more = 0;

	if (!decoding)
		end = reel_words_equal_down_to(walk->bytes, base, walk->start, at,
					       walk->place.bytes);
	more = code_number(coder, decoding, words_in(walk, end, at),
			   reel_word_mix(frame->caller, frame->distance + SALT_MORE));
	if (more > words_in(walk, walk->start, at))
		return false;
	for (; more; more--) {
		at -= walk->place.bytes;
		step_down(walk, frame, reel_word_load(walk, at));
	}
	*at_ret = at;
	return true;
}

/* False if they are malformed. The words below `at`, of which the first one changes. */
REEL_BOTH_WAYS bool code_words_below(struct reel_word_coder *coder, bool decoding,
				     struct reel_word_walk *walk, uint8_t *base, size_t at)
{
	unsigned size = walk->place.bytes, same = 0;
	struct frame frame = frame_below(walk, at);
	bool differs = true;

	reel_word_walk_to(walk, at - size);
	while (at > walk->start) {
		uint64_t before, word;

		at -= size;
		before = reel_load_target(base + at, size, walk->big_endian);
		word = code_word(
			coder, decoding, decoding ? 0 : reel_word_load(walk, at),
			&(struct asked){ &walk->place, frame, GROUP_STACK, before, differs });
		reel_store_target(base + at, size, walk->big_endian, word);
		step_down(walk, &frame, word);
		same = word == before ? same + 1 : 0;
		differs = false;
		if (decoding && coder->bits.in->failed)
			return false;
		if (same < RUN || at == walk->start)
			continue;
		if (!code_more(coder, decoding, walk, &frame, base, &at))
			return false;
		same = 0;
		differs = true;
	}
	return true;
}

void reel_word_coder_encode_words(struct reel_word_coder *coder, uint64_t pc,
				  struct reel_word_walk *walk, uint8_t *base)
{
	size_t at = reel_words_equal_down_to(walk->bytes, base, walk->start, walk->end,
					     walk->place.bytes);

	code_number(coder, false, words_in(walk, walk->start, at), reel_word_mix(pc, SALT_LEFT));
	if (at > walk->start)
		(void)code_words_below(coder, false, walk, base, at);
}

struct reel_error *reel_word_coder_decode_words(struct reel_word_coder *coder, uint64_t pc,
						struct reel_word_walk *walk, uint8_t *bytes,
						size_t *top_ret)
{
	uint64_t left = code_number(coder, true, 0, reel_word_mix(pc, SALT_LEFT));

	if (!coder->bits.in->failed && left > words_in(walk, walk->start, walk->end))
		return reel_error_create(REEL_ERROR_CORRUPT,
					 "more of its words change than it has");
	*top_ret = walk->start + left * walk->place.bytes;
	if (coder->bits.in->failed ||
	    (left && !code_words_below(coder, true, walk, bytes, *top_ret)))
		return reel_error_create(REEL_ERROR_CORRUPT, "its words are not what words can be");
	return NULL;
}

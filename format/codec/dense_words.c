/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each word is coded as answers: is it unchanged? does it equal the word last seen in this place,
 * below such a word, in the frame of such a caller?  Only if not, its class follows.  All functions
 * with `decoding` run in both directions, like those of dense_numbers.h.
 */
#include <limits.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "format/codec/dense_numbers.h"
#include "format/codec/dense_words.h"

/* Contexts found by hash are in buckets. */
#define BUCKETS_BITS	18
#define BUCKET		4
#define PREDICTION_BITS 16

#define CONFIDENCE_MAX	7
#define STACK_RECENT	32
#define DICTIONARY_BITS 12
#define HIGH_BITS	8
#define LOW_BITS	24

/* The candidates for a word, in the order of trying. */
enum candidate {
	BEFORE, /* the previous value */
	BY_PLACE,
	BY_WORDS,
	BY_CALLERS,		    /* the last three seen there */
	BY_CALLER = BY_CALLERS + 3, /* the last two */
	CANDIDATES = BY_CALLER + 2,
};

/* The classes of other words. */
enum word_class {
	CLASS_ZERO,
	CLASS_ONE,
	CLASS_RECENT, /* of the stack, and recently used */
	CLASS_STACK,
	CLASS_KNOWN, /* in the dictionary */
	CLASS_NEW,
	CLASSES,
};

/* The owner of a word. */
enum group { GROUP_STACK = 0, GROUP_PC = 1, GROUP_REGISTERS = 2 /* plus the register */ };

/* After this many unchanged words in a row, the number of further ones is coded. */
#define RUN 8
/* A word from here on may be an address of code. */
#define CODE_LEAST	65536
#define FRAME_WORDS_MAX 256

/* Separates the kinds of contexts; contexts of words use sums of these and a position. */
enum salt {
	SALT_CLASS = 900,
	SALT_LEFT = 603,
	SALT_MORE = 700,
	SALT_STACK = 77,
	SALT_RECENT = 66,
	SALT_KNOWN = 55,
	SALT_HIGH = 80,
	SALT_LOW = 84,
	SALT_KEY = 99,
	SALT_REGISTERS = 1000,
};

/* Direct contexts: those of candidates come first. */
#define DIRECT_HIGH ((unsigned)CANDIDATES << 13)
#define MIX_COUNTS  12

struct prediction {
	uint64_t value; /* relative */
	uint64_t confidence;
};

struct frame_prediction {
	uint64_t values[3]; /* relative, the latest first */
	uint64_t confidence;
};

/* The learned state: all 0 at first, except mixes. */
struct model {
	struct reel_bit_context buckets[1 << BUCKETS_BITS][BUCKET], direct[DIRECT_HIGH + 1];
	struct prediction by_place[1 << PREDICTION_BITS], by_words[1 << PREDICTION_BITS];
	struct frame_prediction by_callers[1 << PREDICTION_BITS], by_caller[1 << PREDICTION_BITS];
	uint64_t recent[STACK_RECENT];
	uint64_t dictionary[1 << DICTIONARY_BITS], highs[1 << HIGH_BITS];
	struct reel_bit_mix mixes[CANDIDATES * MIX_COUNTS];
	struct reel_number_model numbers;
};

struct reel_dense_words {
	struct reel_number_coder numbers;
	struct model *model;
};

/* The frame of a word: the two nearest addresses of code above it, and the number of words in
 * between. */
struct frame {
	uint64_t caller, outer, distance;
};

/* A word to be coded. */
struct asked {
	const struct reel_word_place *place;
	struct frame frame;
	uint64_t group;
	uint64_t before;
	bool differs; /* known to differ from `before` */
	/* Hashes of the frame. */
	uint64_t caller_hash, callers_hash;
};

/* The stored predictions for a word. */
struct predictions {
	struct prediction *by_place, *by_words;
	struct frame_prediction *by_callers, *by_caller;
};

struct reel_error *reel_dense_words_create(struct reel_dense_words **ret)
{
	struct reel_dense_words *words = calloc(1, sizeof(*words));
	void *model;

	if (!words)
		return reel_error_no_memory();
	/* In its own pages, so that resetting costs only the touched ones: a hostile file's many
	 * small blocks must not cost megabytes each. */
	model = mmap(NULL, sizeof(*words->model), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (model == MAP_FAILED) {
		free(words);
		return reel_error_no_memory();
	}
	words->model = model;
	words->numbers.model = &words->model->numbers;
	reel_bit_tables_fill(&words->numbers.tables);
	*ret = words;
	return NULL;
}

void reel_dense_words_destroy(struct reel_dense_words *words)
{
	if (!words)
		return;
	munmap(words->model, sizeof(*words->model));
	free(words);
}

static void forget(struct reel_dense_words *words)
{
	if (madvise(words->model, sizeof(*words->model), MADV_DONTNEED))
		memset(words->model, 0, sizeof(*words->model));
	for (size_t i = 0; i < CANDIDATES * MIX_COUNTS; i++)
		reel_bit_mix_start(&words->model->mixes[i], REEL_BIT_INPUTS);
	reel_number_model_start(&words->model->numbers);
}

void reel_dense_words_encode_to(struct reel_dense_words *words, struct reel_buffer *out)
{
	forget(words);
	reel_bit_coder_encode_to(&words->numbers.bits, out);
}

void reel_dense_words_finish(struct reel_dense_words *words)
{
	reel_bit_coder_finish(&words->numbers.bits);
}

void reel_dense_words_decode_from(struct reel_dense_words *words, struct reel_cursor *in)
{
	forget(words);
	reel_bit_coder_decode_from(&words->numbers.bits, in);
}

struct reel_number_coder *reel_dense_words_numbers(struct reel_dense_words *words)
{
	return &words->numbers;
}

/* ---- words ------------------------------------------------------------------------ */

static struct predictions predictions_for(struct model *model, const struct asked *asked)
{
	const struct reel_word_place *place = asked->place;
	unsigned shift = 64 - PREDICTION_BITS;

	return (struct predictions){
		&model->by_place[reel_word_mix(place->above, place->key) >> shift],
		&model->by_words[reel_word_mix(place->above, place->second) >> shift],
		&model->by_callers[asked->callers_hash >> shift],
		&model->by_caller[asked->caller_hash >> shift],
	};
}

static void update_word(struct prediction *prediction, uint64_t relative)
{
	if (prediction->value == relative)
		prediction->confidence += prediction->confidence < CONFIDENCE_MAX;
	else
		*prediction = (struct prediction){ relative, prediction->confidence > 2 };
}

static void update_of_frame(struct frame_prediction *prediction, uint64_t relative)
{
	if (prediction->values[0] == relative) {
		prediction->confidence += prediction->confidence < CONFIDENCE_MAX;
		return;
	}
	if (prediction->values[1] != relative)
		prediction->values[2] = prediction->values[1];
	prediction->values[1] = prediction->values[0];
	prediction->values[0] = relative;
	prediction->confidence = prediction->confidence > 2;
}

static void update(const struct predictions *predictions, uint64_t relative)
{
	update_word(predictions->by_place, relative);
	update_word(predictions->by_words, relative);
	update_of_frame(predictions->by_callers, relative);
	update_of_frame(predictions->by_caller, relative);
}

/* 0, 1, stack address, other. */
static unsigned kind_of(uint64_t word, const struct reel_word_place *place)
{
	if (word < 2)
		return (unsigned)word;
	return reel_word_is_stack(word, place) ? 2 : 3;
}

/* STACK_RECENT if not found. */
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

/* Which first candidates of each kind are equal, and which predictions are reliable. */
static unsigned likeness(const uint64_t *words, const struct predictions *predictions)
{
	return (unsigned)(words[BY_PLACE] == words[BEFORE]) << 5 |
	       (unsigned)(words[BY_WORDS] == words[BEFORE]) << 6 |
	       (unsigned)(words[BY_CALLERS] == words[BEFORE]) << 7 |
	       (unsigned)(words[BY_WORDS] == words[BY_PLACE]) << 8 |
	       (unsigned)(words[BY_CALLERS] == words[BY_PLACE]) << 9 |
	       (unsigned)(words[BY_CALLERS] == words[BY_WORDS]) << 10 |
	       (unsigned)(predictions->by_words->confidence > 1) << 1 |
	       (unsigned)(predictions->by_callers->confidence > 1);
}

static uint64_t confidence_of(const struct predictions *predictions, unsigned candidate)
{
	if (candidate == BEFORE)
		return 0;
	if (candidate == BY_PLACE)
		return predictions->by_place->confidence;
	if (candidate == BY_WORDS)
		return predictions->by_words->confidence;
	return candidate < BY_CALLER ? predictions->by_callers->confidence
				     : predictions->by_caller->confidence;
}

static void make_offer(const struct asked *asked, const struct predictions *predictions,
		       uint64_t ret[CANDIDATES])
{
	const struct reel_word_place *place = asked->place;

	ret[BEFORE] = asked->before;
	ret[BY_PLACE] = reel_word_of_prediction(predictions->by_place->value, place);
	ret[BY_WORDS] = reel_word_of_prediction(predictions->by_words->value, place);
	for (unsigned i = BY_CALLERS; i < BY_CALLER; i++)
		ret[i] = reel_word_of_prediction(predictions->by_callers->values[i - BY_CALLERS],
						 place);
	for (unsigned i = BY_CALLER; i < CANDIDATES; i++)
		ret[i] = reel_word_of_prediction(predictions->by_caller->values[i - BY_CALLER],
						 place);
}

static struct reel_bit_context *bucket_of(struct model *model, uint64_t a, uint64_t b)
{
	struct reel_bit_context *bucket =
		model->buckets[reel_word_mix(a, b) >> (64 - BUCKETS_BITS)];

	/* They are scattered: fetch all at once. */
	__builtin_prefetch(bucket, 1);
	return bucket;
}

/* The context of `check` or, if missing, the least seen one.  Both searches avoid a branch, since
 * the result is unpredictable. */
static inline struct reel_bit_context *find_in(struct reel_bit_context *bucket, unsigned check)
{
	unsigned found = BUCKET, least = 0, least_seen = UINT_MAX;

	for (unsigned i = BUCKET; i-- > 0;) {
		unsigned n_seen = bucket[i].n_seen;

		found = bucket[i].check == check && n_seen ? i : found;
		least = n_seen <= least_seen ? i : least;
		least_seen = n_seen <= least_seen ? n_seen : least_seen;
	}
	if (found == BUCKET)
		bucket[least] = (struct reel_bit_context){ .check = check };
	return &bucket[found == BUCKET ? least : found];
}

/* A candidate for a word, and the buckets that predict whether it is right. */
struct trial {
	uint64_t offered, hash;
	struct reel_bit_context *buckets[REEL_BIT_INPUTS - 1];
};

static inline struct trial prepare(struct model *model, const struct asked *asked,
				   unsigned candidate, uint64_t offered)
{
	const struct reel_word_place *place = asked->place;
	uint64_t hash = reel_word_mix(reel_word_relative(offered, place), candidate);

	return (struct trial){
		offered,
		hash,
		{ bucket_of(model, reel_word_mix(asked->caller_hash, place->above), hash),
		  bucket_of(model, asked->callers_hash, hash),
		  bucket_of(model, place->key + SALT_KEY, hash) },
	};
}

/* `common` is shared by all candidates. */
REEL_BOTH_WAYS bool code_trial(struct reel_dense_words *words, bool decoding, uint64_t word,
			       const struct asked *asked, const struct predictions *predictions,
			       unsigned candidate, const struct trial *trial, unsigned common)
{
	struct model *model = words->model;
	struct reel_bit_context *contexts[REEL_BIT_INPUTS];
	unsigned n;

	for (unsigned i = 0; i < REEL_BIT_INPUTS - 1; i++)
		contexts[i] = find_in(trial->buckets[i], (unsigned)(trial->hash >> 55));
	contexts[REEL_BIT_INPUTS - 1] =
		&model->direct[candidate << 13 | kind_of(trial->offered, asked->place) << 11 |
			       common | (unsigned)confidence_of(predictions, candidate) << 2];
	n = contexts[0]->n_seen < MIX_COUNTS ? contexts[0]->n_seen : MIX_COUNTS - 1;
	return reel_bit_code_mixed(&words->numbers.bits, &words->numbers.tables, decoding,
				   word == trial->offered, contexts, REEL_BIT_INPUTS,
				   &model->mixes[candidate * MIX_COUNTS + n]);
}

/* The next candidate that differs from all previous ones, or CANDIDATES. */
static inline unsigned next_candidate(const uint64_t offer[CANDIDATES], unsigned i)
{
	for (; i < CANDIDATES; i++) {
		unsigned same = 0;

		while (offer[same] != offer[i])
			same++;
		if (same == i)
			break;
	}
	return i;
}

/* Tries each candidate: CANDIDATES if none is right, else sets *word_ret.  Meanwhile prefetches for
 * the next one. */
REEL_BOTH_WAYS unsigned code_candidate(struct reel_dense_words *words, bool decoding, uint64_t word,
				       const struct asked *asked,
				       const struct predictions *predictions, uint64_t *word_ret)
{
	uint64_t offer[CANDIDATES];
	struct trial trial = prepare(words->model, asked, BEFORE, asked->before);
	unsigned common, i;

	make_offer(asked, predictions, offer);
	common = likeness(offer, predictions);
	i = next_candidate(offer, asked->differs);
	if (i != BEFORE && i < CANDIDATES)
		trial = prepare(words->model, asked, i, offer[i]);
	while (i < CANDIDATES) {
		unsigned next = next_candidate(offer, i + 1);
		struct trial following = { 0 };

		if (next < CANDIDATES)
			following = prepare(words->model, asked, next, offer[next]);
		if (code_trial(words, decoding, word, asked, predictions, i, &trial, common)) {
			*word_ret = offer[i];
			break;
		}
		trial = following;
		i = next;
	}
	return i;
}

static enum word_class class_of(const struct reel_dense_words *words, uint64_t word,
				const struct reel_word_place *place)
{
	const struct model *model = words->model;

	if (word < 2)
		return word ? CLASS_ONE : CLASS_ZERO;
	if (reel_word_is_stack(word, place))
		return find_recent(model, word) < STACK_RECENT ? CLASS_RECENT : CLASS_STACK;
	return model->dictionary[reel_word_dictionary_index(word)] == word ? CLASS_KNOWN
									   : CLASS_NEW;
}

/* The contexts that predict a number for a word. */
static struct reel_number_context context_of(enum reel_number_kind kind, enum salt salt,
					     const struct asked *asked)
{
	return (struct reel_number_context){
		kind,
		{ reel_word_mix(asked->group, salt), reel_word_mix(asked->caller_hash, salt),
		  reel_word_mix(asked->place->above, salt + SALT_REGISTERS + asked->group) },
	};
}

REEL_BOTH_WAYS enum word_class code_class(struct reel_dense_words *words, bool decoding,
					  enum word_class class, const struct asked *asked)
{
	const struct reel_number_context context = context_of(REEL_NUMBER_CLASS, SALT_CLASS, asked);

	return (enum word_class)reel_number_bits(&words->numbers, decoding, class, 3, &context, 0);
}

static unsigned high_index(uint64_t high)
{
	return (unsigned)((high * 0x9E3779B97F4A7C15u) >> (64 - HIGH_BITS));
}

/* The upper part is often known. */
REEL_BOTH_WAYS uint64_t code_high(struct reel_dense_words *words, bool decoding, uint64_t high,
				  const struct asked *asked)
{
	uint64_t *highs = words->model->highs, index = high_index(high);
	const struct reel_number_context context = {
		REEL_NUMBER_HIGH,
		{ SALT_HIGH, reel_word_mix(asked->group, SALT_HIGH),
		  reel_word_mix(high_index(asked->frame.caller >> LOW_BITS), SALT_HIGH + 1) },
	};
	bool known = highs[index] == high;

	known = reel_bit_code_one(&words->numbers.bits, &words->numbers.tables, decoding, known,
				  &words->model->direct[DIRECT_HIGH]);
	if (known)
		return highs[reel_number_bits(&words->numbers, decoding, index, HIGH_BITS, &context,
					      0)];
	high = reel_number_bits(&words->numbers, decoding, high, 64 - LOW_BITS, &context, 1);
	highs[high_index(high)] = high;
	return high;
}

REEL_BOTH_WAYS uint64_t code_new_word(struct reel_dense_words *words, bool decoding, uint64_t word,
				      const struct asked *asked)
{
	uint64_t high = code_high(words, decoding, word >> LOW_BITS, asked);
	const struct reel_number_context context = {
		REEL_NUMBER_LOW,
		{ reel_word_mix(high, SALT_LOW), reel_word_mix(high, SALT_LOW + 1 + asked->group),
		  reel_word_mix(asked->frame.caller >> 12, SALT_LOW) },
	};

	return high << LOW_BITS |
	       reel_number_bits(&words->numbers, decoding, word & ((1u << LOW_BITS) - 1), LOW_BITS,
				&context, 0);
}

/* A stack address that is not among the recent ones. */
REEL_BOTH_WAYS uint64_t code_distance(struct reel_dense_words *words, bool decoding, uint64_t word,
				      const struct asked *asked)
{
	const struct reel_word_place *place = asked->place;
	const struct reel_number_context context =
		context_of(REEL_NUMBER_DISTANCE, SALT_STACK, asked);
	int64_t distance = (int64_t)(word - place->address) / (int64_t)place->bytes;

	return place->address +
	       reel_number_difference(&words->numbers, decoding, (uint64_t)distance, 12, &context) *
		       place->bytes;
}

REEL_BOTH_WAYS uint64_t code_recent(struct reel_dense_words *words, bool decoding, uint64_t word,
				    const struct asked *asked)
{
	const struct reel_number_context context =
		context_of(REEL_NUMBER_RECENT, SALT_RECENT, asked);
	uint64_t rank = decoding ? 0 : find_recent(words->model, word);

	return words->model
		->recent[reel_number_bits(&words->numbers, decoding, rank, 5, &context, 0)];
}

REEL_BOTH_WAYS uint64_t code_known(struct reel_dense_words *words, bool decoding, uint64_t word,
				   const struct asked *asked)
{
	const struct reel_number_context context = context_of(REEL_NUMBER_KNOWN, SALT_KNOWN, asked);

	return words->model->dictionary[reel_number_bits(&words->numbers, decoding,
							 reel_word_dictionary_index(word),
							 DICTIONARY_BITS, &context, 0)];
}

REEL_BOTH_WAYS uint64_t code_other(struct reel_dense_words *words, bool decoding, uint64_t word,
				   const struct asked *asked)
{
	enum word_class class = decoding ? CLASS_NEW : class_of(words, word, asked->place);

	class = code_class(words, decoding, class, asked);
	switch (class) {
	case CLASS_ZERO:
	case CLASS_ONE:
		return class == CLASS_ONE;
	case CLASS_RECENT:
		return code_recent(words, decoding, word, asked);
	case CLASS_STACK:
		return code_distance(words, decoding, word, asked);
	case CLASS_KNOWN:
		word = code_known(words, decoding, word, asked);
		break;
	default:
		word = code_new_word(words, decoding, word, asked);
		break;
	}
	words->model->dictionary[reel_word_dictionary_index(word)] = word;
	return word;
}

REEL_BOTH_WAYS uint64_t code_word(struct reel_dense_words *words, bool decoding, uint64_t word,
				  struct asked *asked)
{
	const struct reel_word_place *place = asked->place;
	struct predictions predictions;
	unsigned found;

	asked->caller_hash = reel_word_mix(asked->frame.caller, asked->frame.distance);
	asked->callers_hash = reel_word_mix(asked->caller_hash, asked->frame.outer);
	predictions = predictions_for(words->model, asked);
	found = code_candidate(words, decoding, word, asked, &predictions, &word);
	if (found == CANDIDATES)
		word = code_other(words, decoding, word, asked);
	if (place->bytes == 4)
		word &= UINT32_MAX;
	if (found != BEFORE && asked->group == GROUP_STACK && reel_word_is_stack(word, place))
		use_recent(words->model, word);
	update(&predictions, reel_word_relative(word, place));
	return word;
}

/* ---- registers -------------------------------------------------------------------- */

REEL_BOTH_WAYS uint64_t code_pc(struct reel_dense_words *words, bool decoding, uint64_t pc,
				const struct reel_thread_base *base)
{
	struct reel_word_place place = reel_pc_place(base);
	struct asked asked = { .place = &place,
			       .frame = { base->pc, 0, SALT_REGISTERS - 1 },
			       .group = GROUP_PC,
			       .before = base->pc };

	return code_word(words, decoding, pc, &asked);
}

/* sample->pc is known. */
REEL_BOTH_WAYS void code_values(struct reel_dense_words *words, bool decoding,
				const struct reel_sample *sample, struct reel_thread_base *base)
{
	for (size_t i = 0; i < sample->layout->n_slots; i++) {
		unsigned size = sample->layout->slots[i].size;
		struct reel_word_place place =
			reel_register_place(sample, i, size, base->values[i]);
		struct asked asked = {
			.place = &place,
			.frame = { sample->pc, base->pc, SALT_REGISTERS + i },
			.group = GROUP_REGISTERS + i,
			.before = reel_register_expected(base, i, size, sample->pc),
		};

		if (reel_sample_knows(sample, i))
			base->values[i] = code_word(words, decoding,
						    decoding ? 0 : sample->values[i], &asked);
		else
			base->values[i] = 0;
	}
}

void reel_dense_words_encode_pc(struct reel_dense_words *words, uint64_t pc,
				const struct reel_thread_base *thread)
{
	code_pc(words, false, pc, thread);
}

uint64_t reel_dense_words_decode_pc(struct reel_dense_words *words,
				    const struct reel_thread_base *thread)
{
	return code_pc(words, true, 0, thread);
}

void reel_dense_words_encode_registers(struct reel_dense_words *words,
				       const struct reel_sample *sample,
				       struct reel_thread_base *thread)
{
	code_values(words, false, sample, thread);
}

void reel_dense_words_decode_registers(struct reel_dense_words *words,
				       const struct reel_sample *sample,
				       struct reel_thread_base *thread)
{
	code_values(words, true, sample, thread);
}

/* ---- chains ------------------------------------------------------------------------ */

uint64_t reel_dense_words_code_address(struct reel_dense_words *words, bool decoding,
				       uint64_t address, const struct reel_dense_address *where)
{
	const struct reel_word_place place = {
		.key = -where->salt,
		.above = where->caller,
		.second = where->outer,
		.bytes = 8,
	};
	struct asked asked = {
		.place = &place,
		.frame = { where->caller, where->outer, where->salt },
		.group = where->salt,
		.before = where->before,
		.differs = where->differs,
	};

	return decoding ? code_word(words, true, 0, &asked)
			: code_word(words, false, address, &asked);
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
	struct frame frame = { 0 };

	for (unsigned n = 0; offset < walk->end && n < FRAME_WORDS_MAX;
	     offset += place.bytes, n++) {
		uint64_t word = reel_word_load(walk, offset);

		place.address = walk->address + offset;
		if (!is_code(word, &place)) {
			frame.distance += !frame.caller;
		} else if (!frame.caller) {
			frame.caller = word;
		} else {
			frame.outer = word;
			break;
		}
	}
	return frame;
}

/* From a word to the one below it. */
static inline void step_down(struct reel_word_walk *walk, struct frame *frame, uint64_t word)
{
	if (is_code(word, &walk->place))
		*frame = (struct frame){ .caller = word, .outer = frame->caller };
	else
		frame->distance++;
	reel_word_walk_down(walk, word);
}

static size_t words_in(const struct reel_word_walk *walk, size_t from, size_t to)
{
	return (to - from) / walk->place.bytes;
}

static struct reel_number_context context_of_more(const struct reel_word_place *place,
						  const struct frame *frame)
{
	uint64_t caller = reel_word_mix(frame->caller, frame->distance);

	return (struct reel_number_context){
		REEL_NUMBER_MORE,
		{ reel_word_mix(caller, SALT_MORE), reel_word_mix(place->address, SALT_MORE + 1),
		  reel_word_mix(place->above, reel_word_mix(place->second, SALT_MORE)) },
	};
}

/* Skips unchanged words below *at_ret; false if there are not that many. */
REEL_BOTH_WAYS bool code_more(struct reel_dense_words *words, bool decoding,
			      struct reel_word_walk *walk, struct frame *frame, const uint8_t *base,
			      size_t *at_ret)
{
	const struct reel_number_context context = context_of_more(&walk->place, frame);
	size_t at = *at_ret, end = at;
	uint64_t more = 0;

	if (!decoding)
		end = reel_words_equal_down_to(walk->bytes, base, walk->start, at,
					       walk->place.bytes);
	more = reel_number(&words->numbers, decoding, words_in(walk, end, at), 12, &context);
	if (more > words_in(walk, walk->start, at))
		return false;
	for (; more; more--) {
		at -= walk->place.bytes;
		step_down(walk, frame, reel_word_load(walk, at));
	}
	*at_ret = at;
	return true;
}

/* The words below `at`, of which the first one changes.  False if they are malformed. */
REEL_BOTH_WAYS bool code_words_below(struct reel_dense_words *words, bool decoding,
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
		word = code_word(words, decoding, decoding ? 0 : reel_word_load(walk, at),
				 &(struct asked){ .place = &walk->place,
						  .frame = frame,
						  .group = GROUP_STACK,
						  .before = before,
						  .differs = differs });
		reel_store_target(base + at, size, walk->big_endian, word);
		step_down(walk, &frame, word);
		same = word == before ? same + 1 : 0;
		differs = false;
		if (decoding && words->numbers.bits.in->failed)
			return false;
		if (same < RUN || at == walk->start)
			continue;
		if (!code_more(words, decoding, walk, &frame, base, &at))
			return false;
		same = 0;
		differs = true;
	}
	return true;
}

static struct reel_number_context context_of_left(const struct reel_word_walk *walk,
						  const struct reel_coder_region *region)
{
	return (struct reel_number_context){
		REEL_NUMBER_LEFT,
		{ reel_word_mix(region->pc, SALT_LEFT), reel_word_mix(walk->address, SALT_LEFT + 1),
		  reel_word_mix(region->pc, reel_word_mix(region->pc_before, SALT_LEFT)) },
	};
}

void reel_dense_words_encode_region(struct reel_dense_words *words,
				    const struct reel_coder_region *region,
				    struct reel_word_walk *walk, uint8_t *base)
{
	const struct reel_number_context context = context_of_left(walk, region);
	size_t at = reel_words_equal_down_to(walk->bytes, base, walk->start, walk->end,
					     walk->place.bytes);

	reel_number(&words->numbers, false, words_in(walk, walk->start, at), 12, &context);
	if (at > walk->start)
		(void)code_words_below(words, false, walk, base, at);
}

bool reel_dense_words_decode_region(struct reel_dense_words *words,
				    const struct reel_coder_region *region,
				    struct reel_word_walk *walk, uint8_t *bytes)
{
	const struct reel_number_context context = context_of_left(walk, region);
	uint64_t left = reel_number(&words->numbers, true, 0, 12, &context);

	if (words->numbers.bits.in->failed || left > words_in(walk, walk->start, walk->end))
		return false;
	return !left ||
	       code_words_below(words, true, walk, bytes, walk->start + left * walk->place.bytes);
}

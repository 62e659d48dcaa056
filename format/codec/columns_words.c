/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the words of COLUMNS (SPEC.md, section 6).  A word's predictions are scattered over tables
 * of a megabyte, and branches on them are hard to predict.  So first the differing words are noted,
 * without a branch for each, then all their predictions are fetched at once, and only then the
 * words are written.
 */
#include "format/codec/columns.h"

/* Words are noted up to this number: 64 cache lines of predictions. */
#define NOTED_ENOUGH 32
#define NOTED_MAX    (NOTED_ENOUGH + REEL_STEP_BYTES / 4)

/* ---- words without branches --------------------------------------------------------- */

/*
 * As in words.h, for words that are all known, so that none waits for the one before: a branch on
 * what a word is would be unpredictable.  (The decoder guesses better than it waits.)
 */
static inline uint64_t choose(bool condition, uint64_t yes, uint64_t no)
{
	return no ^ ((yes ^ no) & -(uint64_t)condition);
}

static inline uint64_t relative_of(uint64_t word, const struct reel_word_place *place)
{
	uint64_t distance = word - place->address;
	bool is_stack = (word - place->stack <= place->size) & !(distance & (place->bytes - 1));

	return choose(is_stack, distance | REEL_WORD_RELATIVE, word);
}

static inline bool predicts(uint64_t prediction, uint64_t word, const struct reel_word_place *place)
{
	uint64_t target = place->address + (uint64_t)((int64_t)(prediction << 1) >> 1);
	uint64_t predicted = choose(prediction >> 63, target, prediction);

	return (place->bytes == 4 ? predicted & UINT32_MAX : predicted) == word;
}

/* ---- streams ------------------------------------------------------------------- */

static inline void put(struct reel_buffer *stream, uint64_t byte)
{
	if (stream->size < stream->capacity && !stream->failed)
		stream->bytes[stream->size++] = (uint8_t)byte;
	else
		reel_buffer_u8(stream, (uint8_t)byte);
}

/* The token of a word; any data after the token goes to its stream. */
static inline unsigned put_stack_word(struct reel_columns *columns, uint64_t word,
				      const struct reel_word_place *place)
{
	/* Whole words: a shift divides them. */
	int64_t distance = (int64_t)(word - place->address) >> (place->bytes == 8 ? 3 : 2);

	if (distance >= INT8_MIN && distance <= INT8_MAX) {
		put(&columns->out[REEL_STREAM_NEAR], (uint64_t)distance);
		return REEL_WORD_NEAR;
	}
	reel_buffer_zigzag(&columns->out[REEL_STREAM_FAR], distance);
	return REEL_WORD_FAR;
}

/* An unpredicted word: its upper part is often known. */
static unsigned put_new_word(struct reel_columns *columns, uint64_t word, unsigned bytes)
{
	uint64_t *highs = columns->model->highs;
	uint8_t index = reel_word_high_index(word >> 24);

	if (highs[index] == word >> 24) {
		reel_buffer_u8(&columns->out[REEL_STREAM_HIGH], index);
		reel_buffer_u8(&columns->out[REEL_STREAM_LOW_0], (uint8_t)word);
		reel_buffer_u8(&columns->out[REEL_STREAM_LOW_1], (uint8_t)(word >> 8));
		reel_buffer_u8(&columns->out[REEL_STREAM_LOW_2], (uint8_t)(word >> 16));
		return REEL_WORD_HIGH;
	}
	highs[index] = word >> 24;
	if (bytes == 4)
		reel_buffer_u32(&columns->out[REEL_STREAM_RAW], (uint32_t)word);
	else
		reel_buffer_u64(&columns->out[REEL_STREAM_RAW], word);
	return REEL_WORD_RAW;
}

/*
 * Makes it the most recent word, as the decoder does, while searching for it: returns its
 * previous rank, or REEL_WORD_RECENT if it was not among the recent ones.
 */
static unsigned use_recent(struct reel_word_model *model, uint64_t word)
{
	uint64_t above = word;
	unsigned rank = 0;

	for (; rank < REEL_WORD_RECENT; rank++) {
		uint64_t here = model->recent[rank];

		model->recent[rank] = above;
		if (here == word)
			break;
		above = here;
	}
	return rank;
}

/* A word in the dictionary, or a new one. */
static unsigned put_word(struct reel_columns *columns, uint64_t word, unsigned bytes)
{
	struct reel_word_model *model = columns->model;
	uint32_t known = reel_word_dictionary_index(word);
	unsigned rank = use_recent(model, word);
	bool is_known = model->dictionary[known] == word;

	model->dictionary[known] = word;
	if (rank < REEL_WORD_RECENT)
		return REEL_WORD_RECENT_FIRST + rank;
	if (!is_known)
		return put_new_word(columns, word, bytes);
	put(&columns->out[REEL_STREAM_KNOWN_LOW], known);
	put(&columns->out[REEL_STREAM_KNOWN_HIGH], known >> 8);
	return REEL_WORD_KNOWN;
}

/* An unpredicted word's token. */
static inline unsigned put_unpredicted(struct reel_columns *columns, uint64_t word,
				       const struct reel_word_place *place)
{
	if (!word)
		return REEL_WORD_ZERO;
	return reel_word_is_stack(word, place) ? put_stack_word(columns, word, place)
					       : put_word(columns, word, place->bytes);
}

/* The word's token if it is predicted, else a higher number. */
static inline __attribute__((always_inline)) unsigned predict(
	struct reel_word_model *model, uint64_t word, uint64_t relative,
	struct reel_word_predictions predictions, const struct reel_word_place *place)
{
	bool by_place = predicts(model->by_place[predictions.place], word, place);
	bool by_words = predicts(model->by_words[predictions.words], word, place);

	reel_word_model_update(model, predictions, relative);
	return !by_place + !(by_place | by_words);
}

void reel_columns_encode_word(struct reel_columns *columns, uint64_t word,
			      const struct reel_word_place *place)
{
	unsigned token = predict(columns->model, word, relative_of(word, place),
				 reel_word_predictions_at(place), place);

	if (token > REEL_WORD_BY_WORDS)
		token = put_unpredicted(columns, word, place);
	put(&columns->out[REEL_STREAM_TOKENS], token);
}

/* ---- the words that differ ------------------------------------------------------- */

struct noted {
	size_t offsets[NOTED_MAX]; /* in the region, from the top down */
	size_t n;
	/* Ends of equal and of differing words, alternating. */
	size_t turns[2 * NOTED_MAX];
	size_t n_turns;
	bool differs; /* whether the last word differs */
};

/* Notes the differences in `size` bytes from `start`, and updates the base. */
static inline __attribute__((always_inline)) void note(struct noted *noted,
						       const struct reel_word_walk *walk,
						       uint8_t *base, size_t start, size_t size,
						       unsigned bytes)
{
	size_t n = noted->n, n_turns = noted->n_turns, at = start + size;
	bool differs = noted->differs;

	for (size_t left = size; left; left -= bytes) {
		bool before = differs;

		noted->turns[n_turns] = at;
		at -= bytes;
		differs = !reel_words_equal(walk->bytes + at, base + at, bytes);
		n_turns += differs != before;
		noted->offsets[n] = at;
		n += differs;
	}
	memcpy(base + start, walk->bytes + start, size);
	noted->n = n;
	noted->n_turns = n_turns;
	noted->differs = differs;
}

/* Goes down from `at` until enough words are noted; returns where the next ones are. */
static inline __attribute__((always_inline)) size_t note_some(struct noted *noted,
							      const struct reel_word_walk *walk,
							      uint8_t *base, size_t at,
							      unsigned bytes)
{
	noted->n = noted->n_turns = 0;
	while (at - walk->start >= REEL_STEP_BYTES && noted->n < NOTED_ENOUGH) {
		at -= REEL_STEP_BYTES;
		if (noted->differs || reel_step_differs(walk->bytes + at, base + at))
			note(noted, walk, base, at, REEL_STEP_BYTES, bytes);
	}
	if (noted->n >= NOTED_ENOUGH)
		return at;
	note(noted, walk, base, walk->start, at - walk->start, bytes);
	return walk->start;
}

/* Writes the gaps from `end` on, and returns where the last one ended. */
static inline __attribute__((always_inline)) size_t put_gaps(struct reel_buffer *stream,
							     const struct noted *noted, size_t end,
							     unsigned bytes)
{
	for (size_t i = 0; i < noted->n_turns; i++) {
		size_t words = (end - noted->turns[i]) / bytes;

		if (words < 0x80)
			put(stream, words);
		else
			reel_buffer_uleb(stream, words);
		end = noted->turns[i];
	}
	return end;
}

/* Nothing is above the last word. */
static inline __attribute__((always_inline)) uint64_t relative_at(const struct reel_word_walk *walk,
								  size_t offset,
								  struct reel_word_place *place,
								  bool big_endian)
{
	if (offset >= walk->end)
		return 0;
	place->address = walk->address + offset;
	return relative_of(reel_load_target(walk->bytes + offset, place->bytes, big_endian), place);
}

static inline __attribute__((always_inline)) void encode_noted(struct reel_columns *columns,
							       const struct reel_word_walk *walk,
							       const struct noted *noted,
							       unsigned bytes, bool big_endian)
{
	struct reel_word_place place = {
		.stack = walk->place.stack,
		.size = walk->place.size,
		.bytes = bytes,
	};
	struct reel_word_predictions predictions[NOTED_MAX];
	uint64_t relatives[NOTED_MAX];
	uint8_t tokens[NOTED_MAX], unpredicted[NOTED_MAX];
	size_t n_unpredicted = 0;

	for (size_t i = 0; i < noted->n; i++) {
		size_t at = noted->offsets[i];

		place.second = relative_at(walk, at + 2 * bytes, &place, big_endian);
		place.above = relative_at(walk, at + bytes, &place, big_endian);
		relatives[i] = relative_at(walk, at, &place, big_endian);
		place.key = place.address;
		predictions[i] = reel_word_predictions_at(&place);
		__builtin_prefetch(&columns->model->by_place[predictions[i].place]);
		__builtin_prefetch(&columns->model->by_words[predictions[i].words]);
	}
	/* No branch for each word: which of them are predicted is unpredictable. */
	for (size_t i = 0; i < noted->n; i++) {
		size_t at = noted->offsets[i];

		place.address = walk->address + at;
		tokens[i] = (uint8_t)predict(columns->model,
					     reel_load_target(walk->bytes + at, bytes, big_endian),
					     relatives[i], predictions[i], &place);
		unpredicted[n_unpredicted] = (uint8_t)i;
		n_unpredicted += tokens[i] > REEL_WORD_BY_WORDS;
	}
	for (size_t i = 0; i < n_unpredicted; i++) {
		size_t at = noted->offsets[unpredicted[i]];

		place.address = walk->address + at;
		tokens[unpredicted[i]] = (uint8_t)put_unpredicted(
			columns, reel_load_target(walk->bytes + at, bytes, big_endian), &place);
	}
	reel_buffer_append(&columns->out[REEL_STREAM_TOKENS], tokens, noted->n);
}

static inline __attribute__((always_inline)) void encode_words(struct reel_columns *columns,
							       const struct reel_word_walk *walk,
							       uint8_t *base, unsigned bytes,
							       bool big_endian)
{
	struct reel_buffer *gaps = &columns->out[REEL_STREAM_GAPS];
	struct noted noted;
	size_t end = walk->end;

	noted.differs = false;
	for (size_t at = walk->end; at > walk->start;) {
		at = note_some(&noted, walk, base, at, bytes);
		end = put_gaps(gaps, &noted, end, bytes);
		encode_noted(columns, walk, &noted, bytes, big_endian);
	}
	if (end > walk->start)
		reel_buffer_uleb(gaps, (end - walk->start) / bytes);
}

void reel_columns_encode_words(struct reel_columns *columns, const struct reel_word_walk *walk,
			       uint8_t *base)
{
	unsigned bytes = walk->place.bytes;

	/* Constant arguments make it fast. */
	if (bytes == 8 && !walk->big_endian)
		encode_words(columns, walk, base, 8, false);
	else
		encode_words(columns, walk, base, bytes, walk->big_endian);
}

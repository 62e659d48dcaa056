/* SPDX-License-Identifier: Apache-2.0 */
/*
 * COLUMNS (SPEC.md, section 6): similar values of all samples share streams, and words become
 * tokens that zstd compresses well.
 */
#include "format/codec/columns.h"

#include "base/memory.h"

/* Compiled for each size and byte order of words. */
#define INLINED inline __attribute__((always_inline))

struct reel_error *reel_columns_init(struct reel_columns *columns)
{
	/* A megabyte, of which a short capture uses little: with calloc it would often be cleared.
	 * Apart from the rest, as a leak checker finds no pointers in mapped memory. */
	void *memory = reel_large_memory_allocate(sizeof(*columns->model));

	columns->model = memory;
	return memory ? NULL : reel_error_no_memory();
}

void reel_columns_free(struct reel_columns *columns)
{
	for (size_t i = 0; i < REEL_STREAMS; i++)
		reel_buffer_free(&columns->out[i]);
	reel_large_memory_free((uint8_t *)columns->model, sizeof(*columns->model));
	columns->model = NULL;
}

void reel_columns_begin(struct reel_columns *columns)
{
	struct reel_word_model *model = columns->model;

	/* Many small blocks of a hostile file must not cost a megabyte each. */
	if (model->n_touched > REEL_WORD_TOUCHED) {
		memset(model->by_place, 0, sizeof(model->by_place));
		memset(model->by_words, 0, sizeof(model->by_words));
	}
	for (uint32_t i = 0; i < model->n_touched && i < REEL_WORD_TOUCHED; i++) {
		model->by_place[model->touched[0][i]] = 0;
		model->by_words[model->touched[1][i]] = 0;
	}
	if (model->n_touched) {
		memset(model->recent, 0, sizeof(model->recent));
		memset(model->dictionary, 0, sizeof(model->dictionary));
		memset(model->highs, 0, sizeof(model->highs));
	}
	model->n_touched = 0;
	columns->previous_id = columns->previous_time = 0;
}

/* ---- encoding -------------------------------------------------------------------- */

void reel_columns_encode_header(struct reel_columns *columns, const struct reel_sample *sample,
				uint64_t parts)
{
	struct reel_buffer *stream = &columns->out[REEL_STREAM_HEAD];

	reel_buffer_zigzag(stream, (int64_t)(sample->id - columns->previous_id));
	reel_buffer_uleb(stream, sample->thread);
	reel_buffer_uleb(stream, sample->cpu);
	reel_buffer_uleb(stream, sample->event);
	reel_buffer_uleb(stream, sample->weight);
	reel_buffer_u8(stream, (uint8_t)sample->where);
	reel_buffer_uleb(stream, sample->flags);
	reel_buffer_uleb(stream, parts);
	reel_buffer_uleb(stream, sample->n_regions);
	if (parts & REEL_PART_STEPS)
		reel_buffer_uleb(stream, sample->steps);
	reel_buffer_zigzag(&columns->out[REEL_STREAM_TIME],
			   (int64_t)(sample->time - columns->previous_time));
	columns->previous_id = sample->id;
	columns->previous_time = sample->time;
}

static bool is_changed(const struct reel_columns *columns, size_t i)
{
	return columns->changed[i / 8] >> i % 8 & 1;
}

static void mark_changed(struct reel_columns *columns, size_t i)
{
	columns->changed[i / 8] |= (uint8_t)(1u << i % 8);
}

void reel_columns_encode_pc(struct reel_columns *columns, const struct reel_sample *sample,
			    const struct reel_thread_base *thread)
{
	const struct reel_register_slot *slots = sample->layout->slots;
	size_t n = sample->layout->n_slots;
	struct reel_word_place place = reel_pc_place(thread);

	memset(columns->changed, 0, n / 8 + 1);
	for (size_t i = 0; i < n; i++)
		if (reel_sample_knows(sample, i) &&
		    sample->values[i] !=
			    reel_register_expected(thread, i, slots[i].size, sample->pc))
			mark_changed(columns, i);
	if (sample->pc != thread->pc)
		mark_changed(columns, n);
	reel_buffer_append(&columns->out[REEL_STREAM_REGISTERS], columns->changed, n / 8 + 1);
	if (is_changed(columns, n))
		reel_columns_encode_word(columns, sample->pc, &place);
}

void reel_columns_encode_place(struct reel_columns *columns, const struct reel_region *region,
			       const struct reel_region_base *base)
{
	struct reel_buffer *stream = &columns->out[REEL_STREAM_REGIONS];

	reel_buffer_zigzag(stream, (int64_t)(region->address - base->address));
	reel_buffer_zigzag(
		stream, (int64_t)(region->address + region->size - (base->address + base->size)));
}

void reel_columns_encode_registers(struct reel_columns *columns, const struct reel_sample *sample,
				   struct reel_thread_base *thread)
{
	for (size_t i = 0; i < sample->layout->n_slots; i++) {
		uint64_t value = reel_sample_knows(sample, i) ? sample->values[i] : 0;

		if (is_changed(columns, i)) {
			struct reel_word_place place = reel_register_place(
				sample, i, sample->layout->slots[i].size, thread->values[i]);

			reel_columns_encode_word(columns, value, &place);
		}
		thread->values[i] = value;
	}
}

/* ---- words, read ----------------------------------------------------------------- */

static struct reel_cursor *stream_of(struct reel_columns *columns, enum reel_sample_stream stream)
{
	return &columns->in[stream];
}

static struct reel_error *corrupt(const char *what)
{
	return reel_error_create(REEL_ERROR_CORRUPT, "%s", what);
}

static uint64_t take_known_word(struct reel_columns *columns)
{
	unsigned low = reel_cursor_u8(stream_of(columns, REEL_STREAM_KNOWN_LOW));
	unsigned high = reel_cursor_u8(stream_of(columns, REEL_STREAM_KNOWN_HIGH));

	if (high >= REEL_WORD_DICTIONARY >> 8) {
		reel_cursor_fail(stream_of(columns, REEL_STREAM_KNOWN_HIGH));
		return 0;
	}
	return columns->model->dictionary[high << 8 | low];
}

static uint64_t take_new_word(struct reel_columns *columns, bool has_high, unsigned bytes)
{
	struct reel_cursor *in = columns->in, *raw = &in[REEL_STREAM_RAW];
	uint64_t *highs = columns->model->highs, word;

	if (has_high)
		return highs[reel_cursor_u8(&in[REEL_STREAM_HIGH])] << 24 |
		       reel_cursor_u8(&in[REEL_STREAM_LOW_0]) |
		       (uint64_t)reel_cursor_u8(&in[REEL_STREAM_LOW_1]) << 8 |
		       (uint64_t)reel_cursor_u8(&in[REEL_STREAM_LOW_2]) << 16;
	word = bytes == 4 ? reel_cursor_u32(raw) : reel_cursor_u64(raw);
	highs[reel_word_high_index(word >> 24)] = word >> 24;
	return word;
}

/* A word that is among the recent ones, in the dictionary, or new. */
static uint64_t take_listed(struct reel_columns *columns, unsigned token, unsigned bytes)
{
	struct reel_word_model *model = columns->model;
	uint64_t word;

	switch (token) {
	case REEL_WORD_KNOWN:
		word = take_known_word(columns);
		break;
	case REEL_WORD_HIGH:
		word = take_new_word(columns, true, bytes);
		break;
	case REEL_WORD_RAW:
		word = take_new_word(columns, false, bytes);
		break;
	default:
		return reel_word_model_use(model, token - REEL_WORD_RECENT_FIRST);
	}
	reel_word_model_add(model, word);
	return word;
}

/* A word that no table predicts. */
static INLINED uint64_t take_unpredicted(struct reel_columns *columns, unsigned token,
					 const struct reel_word_place *place)
{
	switch (token) {
	case REEL_WORD_ZERO:
		return 0;
	case REEL_WORD_NEAR:
		return place->address +
		       (uint64_t)(int8_t)reel_cursor_u8(stream_of(columns, REEL_STREAM_NEAR)) *
			       place->bytes;
	case REEL_WORD_FAR:
		return place->address +
		       (uint64_t)reel_cursor_zigzag(stream_of(columns, REEL_STREAM_FAR)) *
			       place->bytes;
	default:
		return take_listed(columns, token, place->bytes);
	}
}

/* A word of `place->bytes`; a cursor fails if the bytes are invalid. */
static INLINED uint64_t decode_token(struct reel_columns *columns, unsigned token,
				     const struct reel_word_place *place)
{
	struct reel_word_model *model = columns->model;
	struct reel_word_predictions predictions = reel_word_predictions_at(place);
	uint64_t word;

	if (token >= REEL_WORD_TOKENS) {
		reel_cursor_fail(stream_of(columns, REEL_STREAM_TOKENS));
		return 0;
	}
	if (token == REEL_WORD_BY_PLACE)
		word = reel_word_of_prediction(model->by_place[predictions.place], place);
	else if (token == REEL_WORD_BY_WORDS)
		word = reel_word_of_prediction(model->by_words[predictions.words], place);
	else
		word = take_unpredicted(columns, token, place);
	if (place->bytes == 4)
		word &= UINT32_MAX;
	reel_word_model_update(model, predictions, reel_word_relative(word, place));
	return word;
}

static uint64_t decode_word(struct reel_columns *columns, const struct reel_word_place *place)
{
	return decode_token(columns, reel_cursor_u8(stream_of(columns, REEL_STREAM_TOKENS)), place);
}

static struct reel_error *check_words(const struct reel_columns *columns)
{
	for (size_t i = REEL_STREAM_GAPS; i <= REEL_STREAM_RAW; i++)
		if (columns->in[i].failed)
			return corrupt("invalid token of a word, or a stream is too short");
	return NULL;
}

/* ---- decoding -------------------------------------------------------------------- */

struct reel_error *reel_columns_decode_header(struct reel_columns *columns, uint64_t *parts_ret,
					      struct reel_sample *ret)
{
	struct reel_cursor *stream = stream_of(columns, REEL_STREAM_HEAD);
	struct reel_cursor *times = stream_of(columns, REEL_STREAM_TIME);

	*ret = (struct reel_sample){
		.id = columns->previous_id + (uint64_t)reel_cursor_zigzag(stream),
	};
	ret->thread = reel_cursor_uleb(stream);
	ret->cpu = reel_cursor_uleb(stream);
	ret->event = reel_cursor_uleb(stream);
	ret->weight = reel_cursor_uleb(stream);
	ret->where = reel_cursor_u8(stream);
	ret->flags = reel_cursor_uleb(stream);
	*parts_ret = reel_cursor_uleb(stream);
	ret->n_regions = reel_cursor_uleb(stream);
	if (*parts_ret & REEL_PART_STEPS)
		ret->steps = reel_cursor_uleb(stream);
	ret->time = columns->previous_time + (uint64_t)reel_cursor_zigzag(times);
	columns->previous_id = ret->id;
	columns->previous_time = ret->time;
	return stream->failed || times->failed ? corrupt("ends within its header") : NULL;
}

/* Which of the known registers changed; bit `n`, the highest, is pc's. */
static struct reel_error *take_changed(struct reel_columns *columns,
				       const struct reel_sample *sample)
{
	struct reel_cursor *stream = stream_of(columns, REEL_STREAM_REGISTERS);
	size_t n = sample->layout->n_slots;
	const uint8_t *changed = reel_cursor_take(stream, n / 8 + 1);
	unsigned unknown = 0, rest = (1u << n % 8) - 1;

	if (!changed)
		return corrupt("ends within its registers");
	memcpy(columns->changed, changed, n / 8 + 1);
	for (size_t i = 0; i < n / 8; i++)
		unknown |= changed[i] & ~(unsigned)sample->known[i];
	if (rest)
		unknown |= changed[n / 8] & rest & ~(unsigned)sample->known[n / 8];
	if (unknown)
		return corrupt("an unknown register changes");
	return changed[n / 8] >> n % 8 > 1 ? corrupt("a nonexistent register changes") : NULL;
}

struct reel_error *reel_columns_decode_pc(struct reel_columns *columns,
					  const struct reel_sample *sample,
					  const struct reel_thread_base *thread, uint64_t *ret)
{
	struct reel_word_place place = reel_pc_place(thread);

	TRY(take_changed(columns, sample));
	*ret = is_changed(columns, sample->layout->n_slots) ? decode_word(columns, &place)
							    : thread->pc;
	return check_words(columns);
}

void reel_columns_decode_place(struct reel_columns *columns, const struct reel_region_base *base,
			       uint64_t *address_ret, uint64_t *size_ret)
{
	struct reel_cursor *stream = stream_of(columns, REEL_STREAM_REGIONS);

	*address_ret = base->address + (uint64_t)reel_cursor_zigzag(stream);
	*size_ret =
		base->address + base->size + (uint64_t)reel_cursor_zigzag(stream) - *address_ret;
}

struct reel_error *reel_columns_decode_registers(struct reel_columns *columns,
						 const struct reel_sample *sample,
						 struct reel_thread_base *thread)
{
	for (size_t i = 0; i < sample->layout->n_slots; i++) {
		unsigned size = sample->layout->slots[i].size;
		uint64_t value = reel_register_expected(thread, i, size, sample->pc);

		if (!reel_sample_knows(sample, i)) {
			value = 0;
		} else if (is_changed(columns, i)) {
			struct reel_word_place place =
				reel_register_place(sample, i, size, thread->values[i]);

			value = decode_word(columns, &place);
		}
		thread->values[i] = value;
	}
	return check_words(columns);
}

/* Decodes `n` words that differ, from `at` down; all words above are known.  The place is a copy:
 * writing bytes does not change it. */
static INLINED void decode_run(struct reel_columns *columns, struct reel_word_walk walk, size_t at,
			       uint64_t n, uint8_t *bytes)
{
	unsigned size = walk.place.bytes;
	const uint8_t *tokens = reel_cursor_take(stream_of(columns, REEL_STREAM_TOKENS), n);

	if (!tokens)
		return;
	reel_word_walk_to(&walk, at - size);
	for (uint64_t i = 0; i < n; i++) {
		uint64_t word = decode_token(columns, tokens[i], &walk.place);

		at -= size;
		reel_store_target(bytes + at, size, walk.big_endian, word);
		reel_word_walk_down(&walk, word);
	}
}

static INLINED struct reel_error *decode_words(struct reel_columns *columns,
					       struct reel_word_walk walk, uint8_t *bytes)
{
	struct reel_cursor *gaps = stream_of(columns, REEL_STREAM_GAPS);
	unsigned size = walk.place.bytes;
	size_t at = walk.end;
	bool first = true;

	while (at > walk.start) {
		uint64_t left = (at - walk.start) / size, same = reel_cursor_uleb(gaps), changed;

		if (gaps->failed || same > left || (!same && !first))
			return corrupt("malformed gap between words");
		at -= same * size;
		first = false;
		if (at == walk.start)
			break;
		changed = reel_cursor_uleb(gaps);
		if (gaps->failed || !changed || changed > left - same)
			return corrupt("malformed gap between words");
		decode_run(columns, walk, at, changed, bytes);
		at -= changed * size;
		/* Check once a run: a failed cursor returns zeros. */
		if (stream_of(columns, REEL_STREAM_TOKENS)->failed)
			break;
	}
	return check_words(columns);
}

struct reel_error *reel_columns_decode_words(struct reel_columns *columns,
					     const struct reel_word_walk *walk, uint8_t *bytes)
{
	struct reel_word_walk usual = *walk;

	if (walk->place.bytes != 8 || walk->big_endian)
		return decode_words(columns, usual, bytes);
	/* Constants make it fast. */
	usual.place.bytes = 8;
	usual.big_endian = false;
	return decode_words(columns, usual, bytes);
}

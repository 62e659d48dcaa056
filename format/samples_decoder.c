/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SAMPLES and CODED_SAMPLES to samples: SPEC.md, section 6.  The bytes are hostile: what a sample
 * stands for is bounded by the regions' sizes, which the block's header bounds, and by
 * the bytes of the streams.
 */
#include "format/sample_decoder_parts.h"
#include "format/sample_words.h"

static struct reel_cursor *stream_of(struct reel_sample_decoder *decoder,
				     enum reel_sample_stream stream)
{
	return &decoder->streams[stream];
}

/* ---- the record --------------------------------------------------------------- */

static void begin_coded(struct reel_sample_decoder *decoder)
{
	reel_word_coder_decode_from(decoder->coder, stream_of(decoder, REEL_STREAM_TOKENS));
	decoder->head = (struct reel_head_coder){
		.period = reel_cursor_uleb(stream_of(decoder, REEL_STREAM_TIME)),
	};
}

static struct reel_error *begin_words(struct reel_sample_decoder *decoder)
{
	struct reel_error *error = NULL;

	if (decoder->coded && !decoder->coder)
		error = reel_word_coder_create(&decoder->coder);
	if (!decoder->coded && !decoder->model)
		error = reel_word_model_create(&decoder->model);
	if (error)
		return error;
	if (decoder->coded)
		begin_coded(decoder);
	else
		reel_word_model_reset(decoder->model);
	return NULL;
}

struct reel_error *reel_samples_begin(struct reel_sample_decoder *decoder,
				      const struct reel_record_frame *frame)
{
	struct reel_cursor cursor = frame->payload;
	uint64_t n = reel_cursor_uleb(&cursor);
	struct reel_error *error;

	for (size_t i = 0; i < REEL_STREAMS; i++) {
		uint64_t size = reel_cursor_uleb(&cursor);
		const uint8_t *bytes = reel_cursor_take(&cursor, size);

		if (cursor.failed)
			return reel_decoder_ends_within("streams");
		decoder->streams[i] = reel_cursor(bytes, size);
	}
	decoder->coded = frame->id == REEL_RECORD_CODED_SAMPLES;
	if (decoder->coded && n > REEL_CODED_SAMPLES_MAX)
		return reel_decoder_corrupt("it has more than 131072 samples");
	error = begin_words(decoder);
	if (error)
		return error;
	if (stream_of(decoder, REEL_STREAM_TIME)->failed ||
	    stream_of(decoder, REEL_STREAM_TOKENS)->failed)
		return reel_decoder_ends_within("streams");
	reel_decoder_forget(decoder);
	decoder->n_samples = n;
	decoder->next_sample = 0;
	decoder->in_samples = true;
	return NULL;
}

bool reel_samples_left(const struct reel_sample_decoder *decoder)
{
	return decoder->in_samples;
}

/* ---- words ---------------------------------------------------------------------- */

static uint64_t take_known_word(struct reel_sample_decoder *decoder)
{
	unsigned low = reel_cursor_u8(stream_of(decoder, REEL_STREAM_KNOWN_LOW));
	unsigned high = reel_cursor_u8(stream_of(decoder, REEL_STREAM_KNOWN_HIGH));

	if (high >= REEL_WORD_DICTIONARY >> 8) {
		reel_cursor_fail(stream_of(decoder, REEL_STREAM_KNOWN_HIGH));
		return 0;
	}
	return decoder->model->dictionary[high << 8 | low];
}

static uint64_t take_word(struct reel_sample_decoder *decoder, unsigned token,
			  const struct reel_word_place *place,
			  const struct reel_word_guesses *guesses)
{
	struct reel_word_model *model = decoder->model;
	uint64_t word;

	switch (token) {
	case REEL_WORD_BY_PLACE:
		return reel_word_of_guess(model->by_place[guesses->place], place);
	case REEL_WORD_BY_WORDS:
		return reel_word_of_guess(model->by_words[guesses->words], place);
	case REEL_WORD_ZERO:
		return 0;
	case REEL_WORD_NEAR:
		return place->address +
		       (uint64_t)(int8_t)reel_cursor_u8(stream_of(decoder, REEL_STREAM_NEAR)) *
			       place->bytes;
	case REEL_WORD_FAR:
		return place->address +
		       (uint64_t)reel_cursor_zigzag(stream_of(decoder, REEL_STREAM_FAR)) *
			       place->bytes;
	case REEL_WORD_KNOWN:
		word = take_known_word(decoder);
		break;
	case REEL_WORD_HIGH:
		word = reel_new_word_take(decoder->streams, model->highs, true, place->bytes);
		break;
	case REEL_WORD_RAW:
		word = reel_new_word_take(decoder->streams, model->highs, false, place->bytes);
		break;
	default:
		word = model->recent[token - REEL_WORD_RECENT_FIRST];
		reel_word_model_use(model, word, token - REEL_WORD_RECENT_FIRST);
		return word;
	}
	reel_word_model_use(model, word, REEL_WORD_RECENT - 1);
	return word;
}

/* A word of `place->bytes`; a cursor fails where the bytes are not those of one. */
static uint64_t decode_word(struct reel_sample_decoder *decoder,
			    const struct reel_word_place *place)
{
	struct reel_cursor *tokens = stream_of(decoder, REEL_STREAM_TOKENS);
	struct reel_word_guesses guesses = reel_word_guesses_at(place);
	unsigned token = reel_cursor_u8(tokens);
	uint64_t word;

	if (token >= REEL_WORD_TOKENS) {
		reel_cursor_fail(tokens);
		return 0;
	}
	word = take_word(decoder, token, place, &guesses);
	if (place->bytes == 4)
		word &= UINT32_MAX;
	reel_word_model_learn(decoder->model, guesses, reel_word_relative(word, place));
	return word;
}

static struct reel_error *check_words(const struct reel_sample_decoder *decoder)
{
	for (size_t i = REEL_STREAM_GAPS; i <= REEL_STREAM_RAW; i++)
		if (decoder->streams[i].failed)
			return reel_decoder_corrupt("its words are not what words can be");
	return NULL;
}

/* ---- regions -------------------------------------------------------------------- */

/* *size_ret may be anything. */
static void decode_place(struct reel_sample_decoder *decoder, size_t i, uint64_t pc,
			 const struct reel_thread_base *thread, uint64_t *address_ret,
			 uint64_t *size_ret)
{
	struct reel_cursor *cursor = stream_of(decoder, REEL_STREAM_REGIONS);
	const struct reel_region_base *base = &thread->regions[i];

	if (decoder->coded) {
		const struct reel_coded_region region = { i, pc, thread->pc, base };

		reel_region_place_decode(reel_word_coder_numbers(decoder->coder), &region,
					 address_ret, size_ret);
		return;
	}
	*address_ret = base->address + (uint64_t)reel_cursor_zigzag(cursor);
	*size_ret =
		base->address + base->size + (uint64_t)reel_cursor_zigzag(cursor) - *address_ret;
}

static struct reel_error *decode_region_head(struct reel_sample_decoder *decoder, size_t i,
					     uint64_t pc, const struct reel_thread_base *thread)
{
	struct reel_cursor *cursor = stream_of(decoder, REEL_STREAM_REGIONS);
	struct reel_region *region = &decoder->regions[i];
	struct reel_error *error;
	uint64_t size;

	*region = (struct reel_region){ .kind = reel_cursor_u8(cursor) };
	decoder->words[i] = reel_cursor_u8(cursor);
	decode_place(decoder, i, pc, thread, &region->address, &size);
	if (cursor->failed)
		return reel_decoder_ends_within("regions");
	if ((decoder->words[i] & ~REEL_WORDS_BIG_ENDIAN) != 4 &&
	    (decoder->words[i] & ~REEL_WORDS_BIG_ENDIAN) != 8)
		return reel_decoder_corrupt("a region's words are neither of 4 nor of 8 bytes");
	error = reel_decoder_check_region(decoder, region->address, size);
	region->size = size;
	return error ? error : reel_decoder_missing(cursor, &decoder->missing[i], region);
}

/* *top_ret: from which offset on the bytes are the base's. */
static struct reel_error *decode_words(struct reel_sample_decoder *decoder,
				       struct reel_word_walk *walk, uint8_t *bytes, size_t *top_ret)
{
	struct reel_cursor *gaps = stream_of(decoder, REEL_STREAM_GAPS);
	unsigned size = walk->place.bytes;
	size_t at = walk->end;
	bool first = true;

	*top_ret = walk->start;
	while (at > walk->start) {
		uint64_t left = (at - walk->start) / size, same = reel_cursor_uleb(gaps), changed;

		if (gaps->failed || same > left || (!same && !first))
			return reel_decoder_corrupt("a gap between its words is malformed");
		at -= same * size;
		if (first)
			*top_ret = at;
		first = false;
		if (at == walk->start)
			break;
		changed = reel_cursor_uleb(gaps);
		if (gaps->failed || !changed || changed > left - same)
			return reel_decoder_corrupt("a gap between its words is malformed");
		reel_word_walk_to(walk, at - size);
		for (; changed; changed--) {
			uint64_t word = decode_word(decoder, &walk->place);

			at -= size;
			reel_store_target(bytes + at, size, walk->big_endian, word);
			reel_word_walk_down(walk, word);
		}
		/* Once a run: what failed gives zeros. */
		if (stream_of(decoder, REEL_STREAM_TOKENS)->failed)
			break;
	}
	return check_words(decoder);
}

static bool take_bytes(struct reel_cursor *cursor, uint8_t *ret, size_t size)
{
	const uint8_t *bytes = reel_cursor_take(cursor, size);

	if (bytes && size)
		memcpy(ret, bytes, size);
	return bytes != NULL;
}

static struct reel_error *decode_region(struct reel_sample_decoder *decoder, size_t i, uint64_t pc,
					uint64_t pc_before, struct reel_region_base *base)
{
	struct reel_cursor *raw = stream_of(decoder, REEL_STREAM_RAW);
	struct reel_region *region = &decoder->regions[i];
	struct reel_region_base before = *base;
	uint8_t *bytes = reel_region_base_move(base, region->address, region->size);
	struct reel_word_walk walk = {
		.bytes = bytes,
		.address = region->address,
		.big_endian = decoder->words[i] & REEL_WORDS_BIG_ENDIAN,
		.place = { .stack = region->address,
			   .size = region->size,
			   .bytes = decoder->words[i] & ~REEL_WORDS_BIG_ENDIAN },
	};
	struct reel_error *error;
	size_t top;

	if (!bytes)
		return reel_error_no_memory();
	reel_words_of_region(region->address, region->size, walk.place.bytes, &walk.start,
			     &walk.end);
	if (!take_bytes(raw, bytes + walk.end, region->size - walk.end))
		return reel_decoder_ends_within("regions");
	if (decoder->coded)
		error = reel_word_coder_decode_words(decoder->coder, pc, pc_before, &walk, bytes,
						     &top);
	else
		error = decode_words(decoder, &walk, bytes, &top);
	if (error)
		return error;
	if (!take_bytes(raw, bytes, walk.start))
		return reel_decoder_ends_within("regions");
	region->bytes = bytes;
	base->lacks_bytes = region->n_missing;
	/* Bytes that are no words are written anew each time. */
	region->unchanged_from = reel_decoder_unchanged_from(
		&before, region, walk.end == region->size ? top : region->size);
	if (!reel_decoder_missing_are_zero(region))
		return reel_decoder_corrupt("bytes of a missing range are not 0");
	return NULL;
}

/* ---- registers ------------------------------------------------------------------ */

static bool is_marked(const uint8_t *mask, size_t i)
{
	return mask[i / 8] >> i % 8 & 1;
}

/* Marks what changed; bit `n`, above which there is none, is pc's. */
static struct reel_error *decode_changed(struct reel_cursor *cursor, const uint8_t *known, size_t n,
					 const uint8_t **ret)
{
	uint8_t registers[REEL_REGISTERS_MAX / 8 + 1] = { 0 };

	*ret = reel_cursor_take(cursor, n / 8 + 1);
	if (cursor->failed)
		return reel_decoder_ends_within("registers");
	memcpy(registers, *ret, n / 8 + 1);
	registers[n / 8] &= (uint8_t) ~(1u << n % 8);
	if (registers[n / 8] >> n % 8 || !reel_decoder_masks_are_valid(known, registers, n))
		return reel_decoder_corrupt("a register that is not known changes");
	return NULL;
}

static struct reel_error *decode_values(struct reel_sample_decoder *decoder,
					struct reel_thread_base *base, struct reel_sample *ret)
{
	size_t n = ret->layout->n_slots;
	const uint8_t *changed;
	struct reel_error *error =
		decode_changed(stream_of(decoder, REEL_STREAM_REGISTERS), ret->known, n, &changed);

	if (error)
		return error;
	ret->values = base->values;
	ret->pc = base->pc;
	if (is_marked(changed, n)) {
		struct reel_word_place place = reel_pc_place(base);

		ret->pc = decode_word(decoder, &place);
	}
	for (size_t i = 0; i < n; i++) {
		unsigned size = ret->layout->slots[i].size;
		uint64_t value = reel_register_expected(base, i, size, ret->pc);

		if (!is_marked(ret->known, i)) {
			value = 0;
		} else if (is_marked(changed, i)) {
			struct reel_word_place place =
				reel_register_place(ret, i, size, base->values[i]);

			value = decode_word(decoder, &place);
		}
		base->values[i] = value;
	}
	base->pc = ret->pc;
	return check_words(decoder);
}

/* What of registers tells where regions lie. */
static struct reel_error *decode_registers_head(struct reel_sample_decoder *decoder,
						struct reel_thread_base *base,
						struct reel_sample *ret)
{
	const uint8_t nothing[REEL_REGISTERS_MAX / 8] = { 0 };
	struct reel_cursor *cursor = stream_of(decoder, REEL_STREAM_REGISTERS);
	size_t position = reel_decoder_find_layout(decoder, reel_cursor_uleb(cursor));
	struct reel_error *error;

	if (cursor->failed)
		return reel_decoder_ends_within("registers");
	if (position == decoder->n_layouts)
		return reel_decoder_corrupt("its layout is not defined in the block");
	ret->layout = &decoder->layouts[position];
	ret->known = reel_cursor_take(cursor, (ret->layout->n_slots + 7) / 8);
	if (cursor->failed)
		return reel_decoder_ends_within("registers");
	if (!reel_decoder_masks_are_valid(ret->known, nothing, ret->layout->n_slots))
		return reel_decoder_corrupt("a register that is not there is known");
	error = reel_thread_base_set_layout(base, (uint32_t)position + 1, ret->layout->n_slots);
	if (!error && decoder->coded)
		ret->pc = reel_word_coder_decode_pc(decoder->coder, base);
	return error;
}

static struct reel_error *decode_registers(struct reel_sample_decoder *decoder,
					   struct reel_thread_base *base, struct reel_sample *ret)
{
	if (!decoder->coded)
		return decode_values(decoder, base, ret);
	reel_word_coder_decode_registers(decoder->coder, base, ret);
	return check_words(decoder);
}

/* ---- samples ---------------------------------------------------------------------- */

static void take_head(struct reel_sample_decoder *decoder, struct reel_sample_head *ret)
{
	struct reel_cursor *cursor = stream_of(decoder, REEL_STREAM_HEAD);
	struct reel_cursor *times = stream_of(decoder, REEL_STREAM_TIME);

	ret->id = decoder->previous_id + (uint64_t)reel_cursor_zigzag(cursor);
	ret->thread = reel_cursor_uleb(cursor);
	ret->cpu = reel_cursor_uleb(cursor);
	ret->event = reel_cursor_uleb(cursor);
	ret->weight = reel_cursor_uleb(cursor);
	ret->where = reel_cursor_u8(cursor);
	ret->flags = reel_cursor_uleb(cursor);
	ret->parts = reel_cursor_uleb(cursor);
	ret->n_regions = reel_cursor_uleb(cursor);
	ret->time = decoder->previous_time + (uint64_t)reel_cursor_zigzag(times);
	decoder->previous_id = ret->id;
	decoder->previous_time = ret->time;
}

static struct reel_error *decode_head(struct reel_sample_decoder *decoder, uint64_t *parts_ret,
				      struct reel_sample *ret)
{
	struct reel_sample_head head;

	if (decoder->coded)
		reel_head_decode(&decoder->head, reel_word_coder_numbers(decoder->coder), &head);
	else
		take_head(decoder, &head);
	*parts_ret = head.parts;
	for (enum reel_sample_stream i = REEL_STREAM_HEAD; i <= REEL_STREAM_TOKENS; i++)
		if (stream_of(decoder, i)->failed)
			return reel_decoder_ends_within("head");
	if (head.where > UINT8_MAX)
		return reel_decoder_corrupt("where it was taken is more than a byte");
	if (head.n_regions > REEL_REGIONS_MAX)
		return reel_decoder_corrupt("it has more than 16 regions");
	*ret = (struct reel_sample){
		.id = head.id,
		.thread = head.thread,
		.cpu = head.cpu,
		.event = head.event,
		.weight = head.weight,
		.where = head.where,
		.flags = head.flags,
		.time = head.time,
		.regions = decoder->regions,
		.n_regions = head.n_regions,
	};
	return reel_decoder_check_parts(*parts_ret);
}

/* Pc tells where regions lie, and these tell registers. */
static struct reel_error *decode_body(struct reel_sample_decoder *decoder, uint64_t parts,
				      struct reel_thread_base *base, struct reel_sample *ret)
{
	struct reel_error *error = reel_thread_base_set_regions(base, ret->n_regions);
	uint64_t pc_before = base->pc;

	if (!error && parts & REEL_PART_REGISTERS)
		error = decode_registers_head(decoder, base, ret);
	for (size_t i = 0; !error && i < ret->n_regions; i++)
		error = decode_region_head(decoder, i, ret->pc, base);
	if (!error && ret->layout)
		error = decode_registers(decoder, base, ret);
	for (size_t i = 0; !error && i < ret->n_regions; i++)
		error = decode_region(decoder, i, ret->pc, pc_before, &base->regions[i]);
	if (error)
		return error;
	return reel_decoder_chains(decoder, stream_of(decoder, REEL_STREAM_CHAINS), parts, base,
				   ret);
}

static struct reel_error *decode_sample(struct reel_sample_decoder *decoder,
					struct reel_sample *ret)
{
	struct reel_thread_base *base;
	struct reel_error *error;
	uint64_t parts;

	error = decode_head(decoder, &parts, ret);
	if (!error)
		error = reel_thread_table_get(&decoder->threads, ret->thread, &base);
	if (error)
		return error;
	ret->thread_index = (uint32_t)(base - decoder->threads.bases);
	ret->thread_sequence = base->n_samples++;
	return decode_body(decoder, parts, base, ret);
}

/* Behind the last sample. */
static struct reel_error *end(struct reel_sample_decoder *decoder)
{
	decoder->in_samples = false;
	reel_decoder_forget(decoder);
	for (size_t i = 0; i < REEL_STREAMS; i++)
		if (reel_cursor_left(&decoder->streams[i]))
			return reel_decoder_corrupt("bytes are left behind its last sample");
	return NULL;
}

struct reel_error *reel_samples_next(struct reel_sample_decoder *decoder, struct reel_sample *ret,
				     bool *found_ret)
{
	struct reel_error *error;

	*found_ret = decoder->next_sample < decoder->n_samples;
	if (!*found_ret)
		return end(decoder);
	error = decode_sample(decoder, ret);
	if (error) {
		decoder->in_samples = false;
		return reel_error_prefix(error, "sample %llu",
					 (unsigned long long)decoder->next_sample);
	}
	decoder->next_sample++;
	return NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* format/codec: COLUMNS. */
#include "format/codec/columns.h"
#include "tests/support/example.h"
#include "tests/support/test.h"

#define STACK_MAX 3000
#define CHAIN	  20
#define SLOTS	  20
#define SAMPLES	  400

/* ---- places of words ------------------------------------------------------------- */

TEST(test_words_of_region)
{
	size_t start, end;

	for (uint64_t address = 0; address < 32; address++) {
		for (size_t size = 0; size < 40; size++) {
			for (unsigned bytes = 4; bytes <= 8; bytes += 4) {
				reel_words_of_region(address - 16, size, bytes, &start, &end);
				assert_true(start <= end && end <= size);
				assert_int_equal((end - start) % bytes, 0);
				assert_true(size - end < bytes && (start < bytes));
				if (start < end)
					assert_int_equal((address - 16 + start) % bytes, 0);
				else
					assert_true(size < 2 * bytes);
			}
		}
	}
}

/* A prediction at another place equals the one at the first place, whatever the word. */
TEST(test_relative_words)
{
	uint64_t random = 5;

	for (int i = 0; i < 100000; i++) {
		struct reel_word_place place = {
			.bytes = i % 2 ? 4 : 8,
			.stack = next_random(&random) >> next_random(&random) % 64,
			.size = next_random(&random) >> next_random(&random) % 64,
		};
		uint64_t mask = place.bytes == 4 ? UINT32_MAX : UINT64_MAX;
		uint64_t word = next_random(&random) & mask, relative;

		if (place.bytes == 4)
			place.stack &= UINT32_MAX;
		place.address = place.stack + next_random(&random) % 4096;
		if (i % 3)
			word = (place.address + next_random(&random) % 512 - 256) & mask;
		relative = reel_word_relative(word, &place);
		if (relative & REEL_WORD_RELATIVE && !reel_word_is_stack(word, &place))
			continue;
		/* Distances of 2^62 and more do not occur on stacks. */
		if (reel_word_is_stack(word, &place) &&
		    (word - place.address + ((uint64_t)1 << 62)) >> 63)
			continue;
		assert_true(reel_word_of_prediction(relative, &place) == word);
	}
}

/* ---- samples ----------------------------------------------------------------------- */

/* A sample with all that it points to. */
struct kept {
	struct reel_sample sample;
	struct reel_region regions[REEL_REGIONS_MAX];
	struct reel_range missing[REEL_REGIONS_MAX][2];
	uint8_t *bytes[REEL_REGIONS_MAX];
	uint64_t values[SLOTS], chains[2][CHAIN];
	uint8_t known[3];
};

static void kept_free(struct kept *kept)
{
	for (size_t i = 0; i < REEL_REGIONS_MAX; i++)
		free(kept->bytes[i]);
	*kept = (struct kept){ 0 };
}

struct shape {
	unsigned word_bits;
	bool big_endian;
	/* Registers of both sizes, regions that begin and end anywhere. */
	bool odd;
};

struct world {
	struct shape shape;
	uint64_t random;
	struct reel_register_slot slots[SLOTS];
	struct reel_record_sample_layout layouts[2];
	/* For 5 threads: the stack, which ends at its top, and registers. */
	uint8_t stacks[5][STACK_MAX];
	uint64_t values[5][SLOTS];
};

static void world_create(const struct shape *shape, struct world *ret)
{
	*ret = (struct world){ .shape = *shape, .random = 7 };
	for (uint16_t i = 0; i < SLOTS; i++)
		ret->slots[i] = (struct reel_register_slot){
			i, shape->word_bits == 32 || (shape->odd && i % 3 == 1) ? 4 : 8
		};
	ret->layouts[0] = (struct reel_record_sample_layout){ 0, SLOTS, ret->slots };
	ret->layouts[1] = (struct reel_record_sample_layout){ 0, 8, ret->slots };
}

static uint64_t top_of(const struct world *world, uint64_t thread)
{
	uint64_t top = world->shape.word_bits == 32 ? 0xbff00000 : 0x7ffc00000000;

	return top + (thread << 20) + (world->shape.odd ? 3 : 0);
}

/* As on stacks: zeros, addresses of stack and code, numbers, anything. */
static uint64_t some_word(struct world *world, uint64_t thread)
{
	uint64_t random = next_random(&world->random);

	switch (random % 6) {
	case 0:
		return 0;
	case 1:
		return top_of(world, thread) - random / 8 % STACK_MAX;
	case 2:
		return (top_of(world, thread) - random / 8 % STACK_MAX) & ~(uint64_t)7;
	case 3:
		return 0x401000 + random / 8 % 64 * 16;
	case 4:
		return random / 8 % 100;
	default:
		return next_random(&world->random) >> next_random(&world->random) % 64;
	}
}

static void change_stack(struct world *world, uint64_t thread)
{
	size_t n = next_random(&world->random) % 3 ? next_random(&world->random) % 8 : 60;

	for (size_t i = 0; i < n; i++) {
		size_t at = next_random(&world->random) % (STACK_MAX / 8 - 1) * 8 +
			    (world->shape.odd ? next_random(&world->random) % 8 : 0);

		reel_store_target(world->stacks[thread] + at, world->shape.word_bits / 8,
				  world->shape.big_endian, some_word(world, thread));
	}
}

static void make_region(struct world *world, uint64_t thread, struct kept *ret, size_t i)
{
	size_t size = next_random(&world->random) % STACK_MAX;
	struct reel_region *region = &ret->regions[i];

	if (!world->shape.odd)
		size &= ~(size_t)7;
	if (!(next_random(&world->random) % 20))
		size = 0;
	ret->bytes[i] = malloc(size + 1);
	memcpy(ret->bytes[i], world->stacks[thread] + STACK_MAX - size, size);
	*region = (struct reel_region){
		.kind = i % 2,
		.address = top_of(world, thread) - size,
		.bytes = ret->bytes[i],
		.size = size,
		.missing = ret->missing[i],
	};
	/* At the end of the address space. */
	if (!(next_random(&world->random) % 40))
		region->address = -(uint64_t)size;
	if (size > 300 && !(next_random(&world->random) % 6)) {
		region->n_missing = 2;
		ret->missing[i][0] = (struct reel_range){ next_random(&world->random) % 64, 9 };
		ret->missing[i][1] = (struct reel_range){ 200, 16 };
		for (int j = 0; j < 2; j++)
			memset(ret->bytes[i] + ret->missing[i][j].offset, 0,
			       ret->missing[i][j].size);
	}
}

static void make_registers(struct world *world, uint64_t thread, struct kept *ret)
{
	struct reel_sample *sample = &ret->sample;

	sample->layout = &world->layouts[next_random(&world->random) % 8 == 0];
	sample->pc = 0x401000 + next_random(&world->random) % 200;
	for (size_t i = 0; i < SLOTS; i++) {
		uint64_t *value = &world->values[thread][i];

		if (!(next_random(&world->random) % 3))
			*value = some_word(world, thread);
		if (i == 16)
			*value = sample->pc;
		if (world->slots[i].size == 4)
			*value &= UINT32_MAX;
		ret->values[i] = *value;
	}
	for (size_t i = 0; i < 3; i++)
		ret->known[i] = (uint8_t)(next_random(&world->random) | 0x5f);
	ret->known[2] &= sample->layout->n_slots == SLOTS ? 15 : 0;
	sample->values = ret->values;
	sample->known = ret->known;
}

static void make_sample(struct world *world, uint64_t id, struct kept *ret)
{
	uint64_t thread = next_random(&world->random) % 5;
	struct reel_sample *sample = &ret->sample;

	*ret = (struct kept){ 0 };
	*sample = (struct reel_sample){
		.id = id,
		.time = 1000000 * id + next_random(&world->random) % 100000,
		.thread = thread << 40,
		.cpu = next_random(&world->random) % 4,
		.event = 1,
		.weight = next_random(&world->random),
		.where = next_random(&world->random) % 5,
		.flags = next_random(&world->random) % 16,
		.steps = next_random(&world->random) % 4 ? 0 : next_random(&world->random) % 3,
		.regions = ret->regions,
		.n_regions = next_random(&world->random) % 8 ? 1 : next_random(&world->random) % 4,
		.kernel_chain = ret->chains[0],
		.frame_chain = ret->chains[1],
		.n_kernel_chain = next_random(&world->random) % 3 ? 0 : CHAIN,
		.n_frame_chain = next_random(&world->random) % 3 ? 0 : CHAIN / 2,
		.has_kernel_frame = next_random(&world->random) % 4 == 0,
	};
	change_stack(world, thread);
	if (next_random(&world->random) % 6)
		make_registers(world, thread, ret);
	for (size_t i = 0; i < sample->n_regions; i++)
		make_region(world, thread, ret, i);
	for (size_t i = 0; i < CHAIN; i++)
		ret->chains[0][i] = ret->chains[1][i] = next_random(&world->random);
	if (sample->has_kernel_frame)
		sample->kernel_frame = (struct reel_kernel_frame){ 1, 2, 3, ret->values[0] };
}

static void assert_registers_equal(const struct reel_sample *a, const struct reel_sample *b)
{
	assert_int_equal(!a->layout, !b->layout);
	if (!a->layout)
		return;
	assert_int_equal(a->layout->n_slots, b->layout->n_slots);
	for (size_t i = 0; i < a->layout->n_slots; i++) {
		assert_int_equal(a->layout->slots[i].size, b->layout->slots[i].size);
		assert_int_equal(reel_sample_knows(a, i), reel_sample_knows(b, i));
		assert_true(b->values[i] == (reel_sample_knows(a, i) ? a->values[i] : 0));
	}
}

static void assert_equal(const struct reel_sample *a, const struct reel_sample *b)
{
	assert_true(a->id == b->id && a->time == b->time && a->thread == b->thread);
	assert_true(a->cpu == b->cpu && a->event == b->event && a->weight == b->weight);
	assert_true(a->where == b->where && a->flags == b->flags && a->steps == b->steps &&
		    a->pc == b->pc);
	assert_registers_equal(a, b);
	assert_int_equal(a->n_regions, b->n_regions);
	for (size_t i = 0; i < a->n_regions; i++) {
		const struct reel_region *x = &a->regions[i], *y = &b->regions[i];

		assert_true(x->kind == y->kind && x->address == y->address && x->size == y->size);
		assert_memory_equal(x->bytes, y->bytes, x->size);
		assert_int_equal(x->n_missing, y->n_missing);
		for (size_t j = 0; j < x->n_missing; j++)
			assert_memory_equal(&x->missing[j], &y->missing[j], sizeof(x->missing[j]));
	}
	assert_int_equal(a->n_kernel_chain, b->n_kernel_chain);
	assert_int_equal(a->n_frame_chain, b->n_frame_chain);
	assert_memory_equal(a->kernel_chain, b->kernel_chain, a->n_kernel_chain * 8);
	assert_memory_equal(a->frame_chain, b->frame_chain, a->n_frame_chain * 8);
	assert_int_equal(a->has_kernel_frame, b->has_kernel_frame);
	assert_memory_equal(&a->kernel_frame, &b->kernel_frame, sizeof(a->kernel_frame));
}

/* A thread has one number, and a new thread the next one. */
static void check_index(const struct kept *all, size_t n, const struct reel_sample *decoded,
			uint32_t *indices)
{
	uint32_t next = 0;

	indices[n] = decoded->thread_index;
	for (size_t i = 0; i < n; i++) {
		if (all[i].sample.thread == decoded->thread) {
			assert_int_equal(decoded->thread_index, indices[i]);
			return;
		}
		if (indices[i] >= next)
			next = indices[i] + 1;
	}
	assert_int_equal(decoded->thread_index, next);
}

/* Encodes samples, returns the encoded records. */
static void encode(struct world *world, struct reel_sample_encoder *encoder, struct kept *all,
		   struct reel_buffer *ret)
{
	uint64_t expanded = 0, regions = 0;
	size_t ends[REEL_STREAMS];
	uint32_t records = 0;

	for (size_t i = 0; i < SAMPLES; i++) {
		make_sample(world, i, &all[i]);
		must(reel_sample_encode(encoder, &all[i].sample, &records, &expanded));
		for (size_t j = 0; j < all[i].sample.n_regions; j++)
			regions += all[i].regions[j].size;
	}
	assert_int_equal(records, 3);
	assert_true(expanded == regions);
	must(reel_sample_encoder_finish(encoder, ret, ends));
	assert_int_equal(ends[REEL_STREAMS - 1], ret->size);
	assert_int_equal(reel_sample_encoder_size(encoder), 0);
}

/* The record of samples, after the layouts, which the decoder consumes. */
static struct reel_record_frame begin(struct reel_sample_decoder *decoder,
				      const struct reel_buffer *bytes)
{
	struct reel_cursor cursor = reel_cursor(bytes->bytes, bytes->size);
	struct reel_record_frame frame;

	reel_sample_decoder_reset(decoder, REEL_BLOCK_EXPANDED_MAX);
	for (int i = 0; i < 2; i++) {
		must(reel_record_frame_next(&cursor, &frame));
		must(reel_sample_decode_layout(decoder, &frame));
	}
	must(reel_record_frame_next(&cursor, &frame));
	assert_int_equal(frame.id, REEL_RECORD_COLUMNS);
	assert_false(reel_cursor_left(&cursor));
	return frame;
}

/* The same heads without the rest. */
static void check_heads(struct reel_sample_decoder *decoder, const struct reel_record_frame *frame,
			const struct kept *all)
{
	struct reel_sample sample;
	bool found;

	reel_sample_decoder_reset_heads(decoder, 0);
	must(reel_samples_begin(decoder, frame));
	for (size_t i = 0; i < SAMPLES; i++) {
		must(reel_samples_next(decoder, &sample, &found));
		assert_true(found);
		assert_int_equal(sample.id, all[i].sample.id);
		assert_int_equal(sample.thread, all[i].sample.thread);
		assert_int_equal(sample.time, all[i].sample.time);
		assert_true(!sample.layout && !sample.n_regions && !sample.n_kernel_chain);
	}
	must(reel_samples_next(decoder, &sample, &found));
	assert_false(found);
}

static void check_shape(const struct shape *shape)
{
	static struct kept all[SAMPLES];
	static struct world world;
	struct reel_sample_encoder *encoder;
	struct reel_sample_decoder *decoder;

	world_create(shape, &world);
	must(reel_sample_encoder_create(
		&(struct reel_sample_target){ shape->word_bits, shape->big_endian }, &encoder));
	must(reel_sample_decoder_create(&decoder));
	/* The second time, no state of the first is left. */
	for (int round = 0; round < 2; round++) {
		_cleanup_buffer_ struct reel_buffer bytes = { 0 };
		uint32_t indices[SAMPLES];
		struct reel_record_frame frame;
		struct reel_sample sample;
		bool found;

		encode(&world, encoder, all, &bytes);
		frame = begin(decoder, &bytes);
		must(reel_samples_begin(decoder, &frame));
		for (size_t i = 0; i < SAMPLES; i++) {
			must(reel_samples_next(decoder, &sample, &found));
			assert_true(found);
			assert_equal(&all[i].sample, &sample);
			check_index(all, i, &sample, indices);
		}
		must(reel_samples_next(decoder, &sample, &found));
		assert_false(found || reel_samples_left(decoder));
		check_heads(decoder, &frame, all);
		for (size_t i = 0; i < SAMPLES; i++)
			kept_free(&all[i]);
	}
	reel_sample_encoder_destroy(encoder);
	reel_sample_decoder_destroy(decoder);
}

TEST(test_random_samples)
{
	for (int i = 0; i < 8; i++)
		check_shape(&(struct shape){ i & 1 ? 32 : 64, i & 2, i & 4 });
}

/* CAPTURE gives the target's byte order, which only affects the size of samples. */
TEST(test_target)
{
	static const uint8_t stack[64] = { [7] = 1, [15] = 1, [23] = 1 };
	size_t sizes[2];

	for (int big = 0; big < 2; big++) {
		struct reel_sample_encoder *encoder;
		const struct reel_region region = { .bytes = stack, .size = sizeof(stack) };
		const struct reel_sample sample = { .regions = &region, .n_regions = 1 };
		uint64_t expanded = 0;
		uint32_t records = 0;

		must(reel_sample_encoder_create(
			&(struct reel_sample_target){ .word_bits = 64, .big_endian = big },
			&encoder));
		must(reel_sample_encode(encoder, &sample, &records, &expanded));
		sizes[big] = reel_sample_encoder_size(encoder);
		reel_sample_encoder_destroy(encoder);
	}
	assert_true(sizes[1] < sizes[0]);
}

/* ---- hostile bytes ------------------------------------------------------------------- */

static struct reel_error *read_samples(struct reel_sample_decoder *decoder)
{
	struct reel_sample sample;
	struct reel_error *error;
	bool found = true;

	while (found) {
		error = reel_samples_next(decoder, &sample, &found);
		if (error)
			return error;
		for (size_t i = 0; found && i < sample.n_regions; i++)
			(void)crc32(0, sample.regions[i].bytes, (uInt)sample.regions[i].size);
	}
	return NULL;
}

/* Changes or removes bytes of a record's streams; returns the record's payload. */
static void mutate_streams(uint64_t *random, struct reel_cursor payload, struct reel_buffer *ret)
{
	struct reel_cursor streams[REEL_STREAMS];

	ret->size = 0;
	reel_buffer_uleb(ret, reel_cursor_uleb(&payload));
	for (size_t i = 0; i < REEL_STREAMS; i++) {
		uint64_t size = reel_cursor_uleb(&payload);

		streams[i] = reel_cursor(reel_cursor_take(&payload, size), size);
	}
	for (uint64_t n = 1 + next_random(random) % 3; n; n--) {
		struct reel_cursor *stream = &streams[next_random(random) % REEL_STREAMS];
		size_t size = reel_cursor_left(stream);

		if (size && next_random(random) % 4)
			((uint8_t *)stream->at)[next_random(random) % size] ^=
				(uint8_t)next_random(random);
		else if (size)
			stream->end -= 1 + next_random(random) % size;
	}
	for (size_t i = 0; i < REEL_STREAMS; i++) {
		reel_buffer_uleb(ret, reel_cursor_left(&streams[i]));
		reel_buffer_append(ret, streams[i].at, reel_cursor_left(&streams[i]));
	}
}

/* Whatever the streams contain, reading ends, and stays within their memory. */
TEST(test_mutated)
{
	static struct kept all[SAMPLES];
	static struct world world;
	_cleanup_buffer_ struct reel_buffer bytes = { 0 }, payload = { 0 };
	struct reel_sample_encoder *encoder;
	struct reel_sample_decoder *decoder;
	uint64_t random = 3, errors = 0;

	world_create(&(struct shape){ 64, false, true }, &world);
	must(reel_sample_encoder_create(&example_target, &encoder));
	must(reel_sample_decoder_create(&decoder));
	encode(&world, encoder, all, &bytes);
	for (int round = 0; round < 200; round++) {
		struct reel_record_frame frame = begin(decoder, &bytes);
		struct reel_error *error;

		mutate_streams(&random, frame.payload, &payload);
		frame.payload = reel_cursor(payload.bytes, payload.size);
		error = reel_samples_begin(decoder, &frame);
		if (!error)
			error = read_samples(decoder);
		errors += error != NULL;
		reel_error_destroy(error);
	}
	/* Changed bytes stay changed, so in most cases an error is found. */
	assert_true(errors > 100);
	for (size_t i = 0; i < SAMPLES; i++)
		kept_free(&all[i]);
	reel_sample_encoder_destroy(encoder);
	reel_sample_decoder_destroy(decoder);
}

/* The streams of one sample with a region of 16 bytes at 0, in order. */
static void assert_says(const char *what, const char *const streams[REEL_STREAMS],
			const size_t sizes[REEL_STREAMS])
{
	_cleanup_buffer_ struct reel_buffer payload = { 0 };
	const struct reel_record_frame layout = {
		.id = REEL_RECORD_SAMPLE_LAYOUT,
		.payload = reel_cursor((const uint8_t *)"\0\2\7\x08\x10\x08", 6),
	};
	struct reel_record_frame frame = { .id = REEL_RECORD_COLUMNS };
	struct reel_sample_decoder *decoder;
	struct reel_error *error;

	reel_buffer_uleb(&payload, 1);
	for (size_t i = 0; i < REEL_STREAMS; i++) {
		reel_buffer_uleb(&payload, sizes[i]);
		reel_buffer_append(&payload, streams[i], sizes[i]);
	}
	frame.payload = reel_cursor(payload.bytes, payload.size);
	must(reel_sample_decoder_create(&decoder));
	reel_sample_decoder_reset(decoder, 64);
	must(reel_sample_decode_layout(decoder, &layout));
	must(reel_samples_begin(decoder, &frame));
	error = read_samples(decoder);
	if (what) {
		assert_non_null(error);
		if (!strstr(reel_error_message(error), what))
			fail_msg("\"%s\" does not contain \"%s\"", reel_error_message(error), what);
	} else if (error) {
		fail_msg("%s", reel_error_message(error));
	}
	reel_error_destroy(error);
	reel_sample_decoder_destroy(decoder);
}

/* Replaces the bytes of one stream. */
static void check_stream(const char *what, enum reel_sample_stream stream, const char *bytes,
			 size_t size)
{
	const char *streams[REEL_STREAMS] = {
		[REEL_STREAM_HEAD] = "\2\1\1\1\1\1\0\0\1",
		[REEL_STREAM_TIME] = "\2",
		[REEL_STREAM_REGIONS] = "\0\x08\0\x20\0",
		[REEL_STREAM_GAPS] = "\0\2",
		[REEL_STREAM_TOKENS] = "\2\2",
	};
	size_t sizes[REEL_STREAMS] = {
		[REEL_STREAM_HEAD] = 9, [REEL_STREAM_TIME] = 1,	  [REEL_STREAM_REGIONS] = 5,
		[REEL_STREAM_GAPS] = 2, [REEL_STREAM_TOKENS] = 2,
	};

	streams[stream] = bytes;
	sizes[stream] = size;
	for (size_t i = 0; i < REEL_STREAMS; i++)
		if (!streams[i])
			streams[i] = "";
	assert_says(what, streams, sizes);
}

#define CHECK(what, stream, bytes)                                                                 \
	check_stream(what, REEL_STREAM_##stream, bytes, sizeof(bytes) - 1)

TEST(test_hostile)
{
	CHECK(NULL, HEAD, "\2\1\1\1\1\1\0\0\1");
	CHECK("ends within its header", HEAD, "\2\1\1\1\1\1\0\0");
	CHECK("ends within its header", TIME, "");
	CHECK("16 regions", HEAD, "\2\1\1\1\1\1\0\0\x11");
	CHECK("parts (0x20)", HEAD, "\2\1\1\1\1\1\0\x20\1");
	CHECK("within its registers", HEAD, "\2\1\1\1\1\1\0\1\1");
	CHECK("extra bytes", HEAD, "\2\1\1\1\1\1\0\0\1\0");
	CHECK("ends within its regions", REGIONS, "\0\x08\0");
	CHECK("not 4 or 8 bytes", REGIONS, "\0\2\0\x20\0");
	CHECK("expanded size", REGIONS, "\0\x08\0\x84\1\0");
	/* The end is below the address. */
	CHECK("16 MiB", REGIONS, "\0\x08\0\x1f\0");
	CHECK("2^64", REGIONS, "\0\x08\x0f\x10\0");
	CHECK("missing ranges", REGIONS, "\0\x08\0\x20");
	CHECK("missing range is empty", REGIONS, "\0\x08\0\x20\1\0\0");
	CHECK("8192", REGIONS, "\0\x08\0\x20\x81\x40");
	CHECK("missing ranges", REGIONS, "\0\x08\0\x20\5\0\1");
	CHECK("exceeds the region", REGIONS, "\0\x08\0\x20\1\x0d\4");
	CHECK("exceeds the region", REGIONS,
	      "\0\x08\0\x20\2\1\1\xff\xff\xff\xff\xff\xff\xff\xff\xff\1\1");
	CHECK("gap", GAPS, "");
	CHECK("gap", GAPS, "\0");
	CHECK("gap", GAPS, "\0\0");
	CHECK("gap", GAPS, "\0\3");
	CHECK("gap", GAPS, "\3");
	CHECK("gap", GAPS, "\0\1\0\1");
	CHECK("extra bytes", GAPS, "\2");
	CHECK("invalid token", TOKENS, "\2");
	CHECK("invalid token", TOKENS, "\2\x18");
	CHECK("invalid token", TOKENS, "\2\3");
	CHECK("invalid token", TOKENS, "\2\4");
	CHECK("invalid token", TOKENS, "\2\5");
	CHECK("invalid token", TOKENS, "\2\6");
	CHECK("invalid token", TOKENS, "\2\7");
	CHECK(NULL, TOKENS, "\0\1");
	CHECK(NULL, TOKENS, "\x08\x17");
	CHECK("extra bytes", NEAR, "\1");
	CHECK("extra bytes", RAW, "\1");
	CHECK("extra bytes", CHAINS, "\1");
}

/* One sample with these parts and no region, after a layout of two registers. */
static void check_parts(const char *what, char parts, enum reel_sample_stream stream,
			const char *bytes, size_t size)
{
	const char head[] = { 2, 1, 1, 1, 1, 1, 0, parts, 0 };
	const char *streams[REEL_STREAMS] = { [REEL_STREAM_TIME] = "\2" };
	size_t sizes[REEL_STREAMS] = { [REEL_STREAM_TIME] = 1 };

	for (size_t i = 0; i < REEL_STREAMS; i++)
		if (!streams[i])
			streams[i] = "";
	streams[REEL_STREAM_HEAD] = head;
	sizes[REEL_STREAM_HEAD] = sizeof(head);
	streams[stream] = bytes;
	sizes[stream] = size;
	assert_says(what, streams, sizes);
}

#define CHECK_PARTS(what, parts, stream, bytes)                                                    \
	check_parts(what, parts, REEL_STREAM_##stream, bytes, sizeof(bytes) - 1)

TEST(test_hostile_parts)
{
	CHECK_PARTS(NULL, 1, REGISTERS, "\0\3\0");
	CHECK_PARTS("not defined", 1, REGISTERS, "\1\3\0");
	CHECK_PARTS("within its registers", 1, REGISTERS, "\0\3");
	CHECK_PARTS("marked as known", 1, REGISTERS, "\0\4\0");
	CHECK_PARTS("unknown register changes", 1, REGISTERS, "\0\1\2");
	CHECK_PARTS("nonexistent register changes", 1, REGISTERS, "\0\3\x08");
	CHECK_PARTS("invalid token", 1, REGISTERS, "\0\3\4");
	CHECK_PARTS(NULL, 2, CHAINS, "\1\2");
	CHECK_PARTS("65536 addresses", 2, CHAINS, "\x81\x80\x04");
	CHECK_PARTS("chains", 4, CHAINS, "\3\2\2");
	CHECK_PARTS("kernel frame", 8, CHAINS, "\2\2\2");
}

RUN_TESTS()

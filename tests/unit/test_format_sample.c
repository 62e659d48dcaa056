/* SPDX-License-Identifier: Apache-2.0 */
/* format/runs.c, region_base.c, thread_table.c, plain_samples.c, sample_decoder.c. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "format/region_base.h"
#include "format/runs.h"
#include "format/sample_encoder_parts.h"
#include "format/thread_table.h"
#include "tests/support/example.h"

/* ---- runs ---------------------------------------------------------------------- */

/* The same by the definition: a run ends where REEL_RUN_GAP equal bytes follow, or nothing but
 * equal ones. */
static void check_runs(struct reel_runs *runs, const uint8_t *a, const uint8_t *b, size_t size)
{
	size_t at = 0, n = 0;

	assert_true(reel_runs_find(runs, a, b, size));
	for (;;) {
		size_t start, end;

		while (at < size && a[at] == b[at])
			at++;
		if (at == size)
			break;
		start = at;
		end = at + 1;
		for (at = end; at < size && at < end + REEL_RUN_GAP; at++) {
			if (a[at] != b[at])
				end = at + 1;
		}
		at = end;
		assert_true(n < runs->n);
		assert_int_equal(runs->runs[n].offset, start);
		assert_int_equal(runs->runs[n].size, end - start);
		n++;
	}
	assert_int_equal(n, runs->n);
}

static void test_runs(void **state)
{
	struct reel_runs runs = { 0 };
	uint8_t a[700], b[700];
	uint64_t random = 1;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		size_t size = next_random(&random) % sizeof(a);
		size_t changes = next_random(&random) % 12;

		for (size_t i = 0; i < size; i++)
			a[i] = b[i] = (uint8_t)next_random(&random);
		for (size_t i = 0; size && i < changes; i++) {
			size_t at = next_random(&random) % size;
			size_t n = next_random(&random) % 40;

			for (; n && at < size; n--)
				b[at++] ^= (uint8_t)next_random(&random);
		}
		check_runs(&runs, a, b, size);
	}
	memset(a, 0, sizeof(a));
	memset(b, 1, sizeof(b));
	check_runs(&runs, a, b, sizeof(a));
	assert_int_equal(runs.n, 1);
	reel_runs_free(&runs);
}

/* ---- region bases ---------------------------------------------------------------- */

/* Moves a base about in 64 KiB (or 4 MiB) of address space, which `model` mirrors. */
static void move_base(uint64_t origin, size_t span, int rounds, uint64_t random)
{
	struct reel_region_base base = { 0 };
	uint8_t *model = calloc(1, span);
	size_t start = 0, size = 0;

	for (int round = 0; round < rounds; round++) {
		size_t next_start = start, next_size;
		uint8_t *bytes;

		/* Mostly the same end, as stacks do. */
		if (next_random(&random) % 4) {
			next_start = next_random(&random) % (start + size + 1);
			next_size = start + size - next_start;
		} else {
			next_start = next_random(&random) % span;
			next_size = next_random(&random) % (span - next_start);
		}
		/* What is outside of the region now is forgotten. */
		memset(model, 0, start);
		memset(model + start + size, 0, span - start - size);
		bytes = reel_region_base_move(&base, origin + next_start, next_size);
		assert_non_null(bytes);
		start = next_start;
		size = next_size;
		assert_memory_equal(bytes, model + start, size);
		for (int i = 0; size && i < 8; i++) {
			size_t at = next_random(&random) % size;

			bytes[at] = model[start + at] = (uint8_t)next_random(&random);
		}
	}
	reel_region_base_free(&base);
	free(model);
}

static void test_region_base(void **state)
{
	(void)state;
	move_base(0, 4096, 20000, 1);
	move_base(0x7ffc00000000, 65536, 5000, 2);
	move_base(-(uint64_t)4096, 4096, 20000, 3);
	move_base(1ull << 40, 4 << 20, 200, 4);
}

/* A region at the address space's end has nothing in common with one at its start. */
static void test_region_base_wraps(void **state)
{
	struct reel_region_base base = { 0 };
	uint8_t *bytes = reel_region_base_move(&base, 0, 64);

	(void)state;
	memset(bytes, 1, 64);
	bytes = reel_region_base_move(&base, UINT64_MAX - 7, 8);
	for (int i = 0; i < 8; i++)
		assert_int_equal(bytes[i], 0);
	reel_region_base_free(&base);
}

static void test_thread_table(void **state)
{
	struct reel_thread_table table;
	struct reel_thread_base *thread;
	struct reel_error *error;

	(void)state;
	reel_thread_table_init(&table);
	for (int round = 0; round < 2; round++) {
		for (uint64_t i = 0; i < REEL_THREADS_MAX; i++) {
			must(reel_thread_table_get(&table, i << 32, &thread));
			assert_int_equal(thread->pc, 0);
			thread->pc = i + 1;
		}
		for (uint64_t i = 0; i < REEL_THREADS_MAX; i++) {
			must(reel_thread_table_get(&table, i << 32, &thread));
			assert_int_equal(thread->pc, i + 1);
		}
		error = reel_thread_table_get(&table, 1, &thread);
		assert_non_null(error);
		reel_error_destroy(error);
		reel_thread_table_reset(&table);
	}
	reel_thread_table_free(&table);
}

/* ---- samples ------------------------------------------------------------------------ */

static void assert_ranges_equal(const struct reel_region *a, const struct reel_region *b)
{
	assert_int_equal(a->n_missing, b->n_missing);
	for (size_t i = 0; i < a->n_missing; i++) {
		assert_int_equal(a->missing[i].offset, b->missing[i].offset);
		assert_int_equal(a->missing[i].size, b->missing[i].size);
	}
}

static void assert_registers_equal(const struct reel_sample *a, const struct reel_sample *b)
{
	assert_int_equal(!a->layout, !b->layout);
	if (!a->layout)
		return;
	assert_int_equal(a->layout->n_slots, b->layout->n_slots);
	for (size_t i = 0; i < a->layout->n_slots; i++) {
		bool known = a->known[i / 8] >> i % 8 & 1;

		assert_int_equal(a->layout->slots[i].dwarf, b->layout->slots[i].dwarf);
		assert_int_equal(a->layout->slots[i].size, b->layout->slots[i].size);
		assert_int_equal(known, b->known[i / 8] >> i % 8 & 1);
		assert_true(b->values[i] == (known ? a->values[i] : 0));
	}
}

static void assert_samples_equal(const struct reel_sample *a, const struct reel_sample *b)
{
	assert_true(a->id == b->id && a->time == b->time && a->thread == b->thread);
	assert_true(a->cpu == b->cpu && a->event == b->event && a->weight == b->weight);
	assert_true(a->where == b->where && a->flags == b->flags && a->pc == b->pc);
	assert_registers_equal(a, b);
	assert_int_equal(a->n_regions, b->n_regions);
	for (size_t i = 0; i < a->n_regions; i++) {
		assert_int_equal(a->regions[i].kind, b->regions[i].kind);
		assert_true(a->regions[i].address == b->regions[i].address);
		assert_int_equal(a->regions[i].size, b->regions[i].size);
		assert_memory_equal(a->regions[i].bytes, b->regions[i].bytes, a->regions[i].size);
		assert_ranges_equal(&a->regions[i], &b->regions[i]);
	}
	assert_int_equal(a->n_kernel_chain, b->n_kernel_chain);
	assert_int_equal(a->n_frame_chain, b->n_frame_chain);
	for (size_t i = 0; i < a->n_kernel_chain; i++)
		assert_true(a->kernel_chain[i] == b->kernel_chain[i]);
	for (size_t i = 0; i < a->n_frame_chain; i++)
		assert_true(a->frame_chain[i] == b->frame_chain[i]);
	assert_int_equal(a->has_kernel_frame, b->has_kernel_frame);
	if (a->has_kernel_frame)
		assert_memory_equal(&a->kernel_frame, &b->kernel_frame, sizeof(a->kernel_frame));
}

struct pair {
	struct reel_sample_encoder *encoder;
	struct reel_sample_decoder *decoder;
	/* What the encoder has made of the samples so far. */
	const struct reel_buffer *buffer;
	uint32_t records;
	uint64_t expanded;
	size_t decoded; /* bytes of the buffer */
};

static void pair_create(struct pair *ret)
{
	memset(ret, 0, sizeof(*ret));
	must(reel_sample_encoder_create(REEL_FORM_PLAIN, &ret->encoder));
	ret->buffer = &ret->encoder->records;
	must(reel_sample_decoder_create(&ret->decoder));
	reel_sample_decoder_reset(ret->decoder, REEL_BLOCK_EXPANDED_MAX);
}

static void pair_destroy(struct pair *pair)
{
	reel_sample_encoder_destroy(pair->encoder);
	reel_sample_decoder_destroy(pair->decoder);
}

/* Encodes, decodes and compares; what was decoded lives until the next call. */
static struct reel_sample pair_check(struct pair *pair, const struct reel_sample *sample)
{
	struct reel_sample decoded = { 0 };
	struct reel_record_frame frame;
	struct reel_cursor cursor;

	must(reel_sample_encode(pair->encoder, sample, &pair->records, &pair->expanded));
	cursor = reel_cursor(pair->buffer->bytes + pair->decoded,
			     pair->buffer->size - pair->decoded);
	for (;;) {
		must(reel_record_frame_next(&cursor, &frame));
		if (!frame.id)
			break;
		if (frame.id == REEL_RECORD_SAMPLE_LAYOUT)
			must(reel_sample_decode_layout(pair->decoder, &frame));
		else
			must(reel_sample_decode(pair->decoder, &frame, &decoded));
	}
	pair->decoded = pair->buffer->size;
	assert_samples_equal(sample, &decoded);
	return decoded;
}

static void test_example(void **state)
{
	struct pair pair;

	(void)state;
	pair_create(&pair);
	for (uint64_t i = 0; i < 50; i++) {
		struct example_sample sample;

		example_sample(&sample, i);
		pair_check(&pair, &sample.sample);
	}
	/* One layout, and less than half of the bytes. */
	assert_int_equal(pair.records, 51);
	assert_true(pair.buffer->size < pair.expanded);
	pair_destroy(&pair);
}

#define THREADS	  7
#define STACK_MAX 3000

/* What a thread had in its previous sample. */
struct model {
	uint8_t stacks[REEL_REGIONS_MAX][STACK_MAX];
	uint64_t values[20];
};

static void random_missing(uint64_t *random, struct reel_region *region, struct reel_range *ranges,
			   uint8_t *bytes)
{
	size_t at = 0, n = next_random(random) % 4;

	region->missing = ranges;
	for (size_t i = 0; i < n; i++) {
		size_t gap = next_random(random) % 300, size = 1 + next_random(random) % 300;

		if (at + gap + size > region->size)
			break;
		ranges[region->n_missing++] = (struct reel_range){ at + gap, size };
		memset(bytes + at + gap, 0, size);
		at += gap + size;
	}
}

static void random_region(uint64_t *random, uint8_t *stack, struct reel_region *ret,
			  struct reel_range *ranges)
{
	size_t size = next_random(random) % (STACK_MAX + 1);
	uint8_t *bytes = stack + STACK_MAX - size;
	uint64_t top = next_random(random) % 8 ? 0x7fff00000000 : next_random(random) >> 1;

	for (size_t i = 0; size && i < next_random(random) % 20; i++)
		bytes[next_random(random) % size] = (uint8_t)next_random(random);
	*ret = (struct reel_region){
		.kind = next_random(random) % 3,
		.address = top,
		.bytes = bytes,
		.size = size,
	};
	if (!(next_random(random) % 3))
		random_missing(random, ret, ranges, bytes);
}

static void random_chain(uint64_t *random, uint64_t *chain, size_t *n_ret)
{
	*n_ret = next_random(random) % 2 ? 0 : next_random(random) % 30;
	for (size_t i = 0; i < *n_ret; i++)
		chain[i] = next_random(random) >> next_random(random) % 64;
}

/* Random samples of all shapes come out as they went in. */
static void test_random_samples(void **state)
{
	static struct model models[THREADS];
	struct reel_register_slot slots[20];
	struct reel_record_sample_layout layouts[3] = { { 0, 20, slots },
							{ 0, 9, slots },
							{ 0, 0, slots } };
	uint64_t random = 12345, kernel_chain[30], frame_chain[30];
	struct pair pair;

	(void)state;
	for (int i = 0; i < 20; i++)
		slots[i] = (struct reel_register_slot){ (uint16_t)(i * 3000), i % 3 ? 8 : 4 };
	pair_create(&pair);
	for (int round = 0; round < 6000; round++) {
		static struct reel_range ranges[REEL_REGIONS_MAX][4];
		struct reel_region regions[REEL_REGIONS_MAX];
		uint64_t thread = next_random(&random) % THREADS;
		struct model *model = &models[thread];
		uint8_t known[3];
		struct reel_sample sample = {
			.id = next_random(&random),
			.time = next_random(&random),
			.thread = thread,
			.cpu = next_random(&random) >> next_random(&random) % 64,
			.event = next_random(&random) % 3,
			.weight = next_random(&random),
			.where = next_random(&random) % 5,
			.flags = next_random(&random) % 8,
			.regions = regions,
			.n_regions = next_random(&random) % 8 ? next_random(&random) % 3
							      : next_random(&random) % 17,
			.kernel_chain = kernel_chain,
			.frame_chain = frame_chain,
		};

		for (int i = 0; i < 3; i++)
			known[i] = (uint8_t)(next_random(&random) | next_random(&random));
		known[2] &= 15;
		if (next_random(&random) % 5) {
			sample.layout =
				&layouts[next_random(&random) % 8 ? 0 : next_random(&random) % 3];
			sample.pc = next_random(&random);
			if (sample.layout == &layouts[1])
				known[1] &= 1;
		}
		for (int i = 0; i < 20; i++) {
			if (!(next_random(&random) % 4))
				model->values[i] = next_random(&random) >> (i % 3 ? 0 : 32);
		}
		sample.values = model->values;
		sample.known = known;
		for (size_t i = 0; i < sample.n_regions; i++)
			random_region(&random, model->stacks[i], &regions[i], ranges[i]);
		random_chain(&random, kernel_chain, &sample.n_kernel_chain);
		random_chain(&random, frame_chain, &sample.n_frame_chain);
		sample.has_kernel_frame = next_random(&random) % 3 == 0;
		if (sample.has_kernel_frame)
			sample.kernel_frame = (struct reel_kernel_frame){
				.pc = sample.n_kernel_chain ? kernel_chain[0]
							    : next_random(&random),
				.sp = next_random(&random) >> next_random(&random) % 64,
				.fp = next_random(&random),
				.return_address = next_random(&random),
			};
		pair_check(&pair, &sample);
	}
	pair_destroy(&pair);
}

#define STACK_TOP 0x7fff00001000u

/* A thread's previous sample. */
struct previous {
	uint32_t samples, index;
	struct reel_region region; /* size 0: none */
	uint8_t bytes[STACK_MAX];
};

/* By the definition in format/record.h. */
static size_t find_unchanged(const struct previous *previous, const struct reel_region *region)
{
	const struct reel_region *before = &previous->region;
	size_t from = region->size;

	if (!before->size || before->n_missing || region->n_missing ||
	    before->address + before->size != region->address + region->size)
		return from;
	while (from && from + before->size > region->size &&
	       region->bytes[from - 1] == previous->bytes[from - 1 + before->size - region->size])
		from--;
	return from;
}

/* The decoder says from where on a stack is as it was in the thread's previous sample. */
static void test_unchanged(void **state)
{
	static struct model models[3];
	static struct previous all[3];
	uint64_t random = 99, partly = 0;
	struct pair pair;

	(void)state;
	pair_create(&pair);
	for (uint64_t round = 0; round < 20000; round++) {
		uint64_t thread = next_random(&random) % 3;
		struct previous *previous = &all[thread];
		struct reel_range missing[4];
		struct reel_region region = {
			.address = next_random(&random) % 50 ? STACK_TOP : STACK_TOP - 64,
			.size = next_random(&random) % 20 ? next_random(&random) % STACK_MAX : 0,
			.missing = missing,
		};
		const struct reel_sample sample = {
			.id = round,
			.thread = thread + 100,
			.regions = &region,
			.n_regions = next_random(&random) % 30 != 0,
		};
		uint8_t *bytes = models[thread].stacks[0] + STACK_MAX - region.size;
		struct reel_sample decoded;

		region.address -= region.size;
		region.bytes = bytes;
		for (uint64_t i = next_random(&random) % 4; region.size && i; i--)
			bytes[next_random(&random) % region.size] ^= (uint8_t)next_random(&random);
		if (!(next_random(&random) % 10))
			random_missing(&random, &region, missing, bytes);
		decoded = pair_check(&pair, &sample);
		assert_int_equal(decoded.thread_sequence, previous->samples++);
		if (decoded.thread_sequence)
			assert_int_equal(decoded.thread_index, previous->index);
		previous->index = decoded.thread_index;
		if (sample.n_regions) {
			assert_int_equal(decoded.regions[0].unchanged_from,
					 find_unchanged(previous, &region));
			partly += decoded.regions[0].unchanged_from < region.size;
			memcpy(previous->bytes, bytes, region.size);
		}
		previous->region = sample.n_regions ? region : (struct reel_region){ 0 };
	}
	/* Most are, but for those without an end or bytes in common. */
	assert_true(partly > 10000);
	pair_destroy(&pair);
}

static void assert_invalid(struct pair *pair, const struct reel_sample *sample)
{
	size_t size = pair->buffer->size;
	struct reel_error *error =
		reel_sample_encode(pair->encoder, sample, &pair->records, &pair->expanded);

	assert_non_null(error);
	assert_int_equal(reel_error_code(error), REEL_ERROR_INVALID);
	assert_int_equal(pair->buffer->size, size);
	reel_error_destroy(error);
}

/* What the format can't hold is refused, and the next sample is as if nothing had been. */
static void test_invalid_samples(void **state)
{
	static uint8_t bytes[REEL_REGION_SIZE_MAX + 1];
	struct reel_region regions[REEL_REGIONS_MAX + 1] = { 0 };
	struct reel_range missing[2] = { { 8, 16 }, { 20, 4 } };
	struct example_sample sample;
	struct reel_sample broken;
	struct pair pair;

	(void)state;
	pair_create(&pair);
	example_sample(&sample, 0);
	pair_check(&pair, &sample.sample);

	example_sample(&sample, 2);
	broken = sample.sample;
	broken.regions = regions;
	broken.n_regions = REEL_REGIONS_MAX + 1;
	assert_invalid(&pair, &broken);
	broken.n_regions = 1;
	regions[0] = (struct reel_region){ .bytes = bytes, .size = sizeof(bytes) };
	assert_invalid(&pair, &broken);
	regions[0] = (struct reel_region){ .address = UINT64_MAX - 6, .bytes = bytes, .size = 8 };
	assert_invalid(&pair, &broken);
	regions[0] = (struct reel_region){
		.bytes = bytes, .size = 64, .missing = missing, .n_missing = 2
	};
	assert_invalid(&pair, &broken);
	missing[1] = (struct reel_range){ 60, 5 };
	assert_invalid(&pair, &broken);
	missing[1] = (struct reel_range){ 30, 0 };
	assert_invalid(&pair, &broken);
	regions[0].n_missing = 1;
	bytes[10] = 1;
	assert_invalid(&pair, &broken);
	regions[0] = (struct reel_region){ .kind = 3, .bytes = bytes, .size = 8 };
	assert_invalid(&pair, &broken);

	broken = sample.sample;
	sample.slots[1].size = 2;
	assert_invalid(&pair, &broken);
	sample.slots[1].size = 4;
	assert_invalid(&pair, &broken);
	sample.slots[1].size = 8;
	broken.where = 5;
	assert_invalid(&pair, &broken);
	broken = sample.sample;
	broken.n_kernel_chain = REEL_CHAIN_MAX + 1;
	assert_invalid(&pair, &broken);
	broken = sample.sample;
	broken.layout = NULL;
	assert_invalid(&pair, &broken);

	pair_check(&pair, &sample.sample);
	pair_destroy(&pair);
}

/* Both coders forget everything where a block begins. */
static void test_reset(void **state)
{
	_cleanup_buffer_ struct reel_buffer first = { 0 };
	struct example_sample sample;
	struct pair pair;

	(void)state;
	pair_create(&pair);
	for (int round = 0; round < 3; round++) {
		for (uint64_t i = 0; i < 5; i++) {
			example_sample(&sample, i);
			pair_check(&pair, &sample.sample);
		}
		if (round)
			assert_memory_equal(pair.buffer->bytes, first.bytes, first.size);
		else
			reel_buffer_append(&first, pair.buffer->bytes, pair.buffer->size);
		assert_int_equal(pair.buffer->size, first.size);
		reel_sample_encoder_reset(pair.encoder);
		reel_sample_decoder_reset(pair.decoder, REEL_BLOCK_EXPANDED_MAX);
		pair.decoded = 0;
	}
	pair_destroy(&pair);
}

/* ---- hostile samples ---------------------------------------------------------------- */

static struct reel_error *decode_bytes(struct reel_sample_decoder *decoder, const void *bytes,
				       size_t size)
{
	struct reel_record_frame frame = { .id = REEL_RECORD_SAMPLE,
					   .payload = reel_cursor(bytes, size) };
	struct reel_sample sample;

	return reel_sample_decode(decoder, &frame, &sample);
}

static void assert_corrupt(const char *what, const void *bytes, size_t size, uint64_t expanded)
{
	struct reel_sample_decoder *decoder;
	struct reel_error *error;

	must(reel_sample_decoder_create(&decoder));
	reel_sample_decoder_reset(decoder, expanded);
	error = decode_bytes(decoder, bytes, size);
	if (!what) {
		assert_null(error);
	} else {
		assert_non_null(error);
		if (!strstr(reel_error_message(error), what))
			fail_msg("\"%s\" does not say \"%s\"", reel_error_message(error), what);
	}
	reel_error_destroy(error);
	reel_sample_decoder_destroy(decoder);
}

/* id, time, thread, cpu, event, weight, where, flags, parts, pc. */
#define HEAD		   "\x02\x02\x01\0\x01\x01\x01\0\0\0"
#define HEAD_PARTS(parts)  "\x02\x02\x01\0\x01\x01\x01\0" parts "\0"
#define CHECK(what, bytes) assert_corrupt(what, bytes, sizeof(bytes) - 1, 64)

static void test_hostile_samples(void **state)
{
	(void)state;
	CHECK(NULL, HEAD "\0");
	CHECK(NULL, HEAD "\x01\0\0\x08\0\x01\x02\x02xy");
	CHECK("head", "\x02\x02\x01\0\x01\x01\x01\0");
	CHECK("regions", HEAD);
	CHECK("16 regions", HEAD "\x11");
	CHECK("expanded size", HEAD "\x01\0\0\x41\0\0");
	CHECK("16 MiB", HEAD "\x01\0\0\x81\x80\x80\x08\0\0");
	CHECK("2^64", HEAD "\x01\0\x01\x02\0\0");
	CHECK("runs", HEAD "\x01\0\0\x08\0");
	CHECK("empty", HEAD "\x01\0\0\x08\0\x01\x02\0");
	CHECK("exceeds the region", HEAD "\x01\0\0\x08\0\x01\x02\x07zzzzzzz");
	CHECK("exceeds the region", HEAD "\x01\0\0\x08\0\x02\0\x04zzzz\x01\x04zzzz");
	CHECK("exceeds the region",
	      HEAD "\x01\0\0\x08\0\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x02zz");
	CHECK("exceeds the region",
	      HEAD "\x01\0\0\x08\0\x01\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01zz");
	CHECK("runs", HEAD "\x01\0\0\x08\0\x01\0\x08zzzz");
	CHECK("regions", HEAD "\x01\0\0\x08\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\0\x01z");
	CHECK("8192", HEAD "\x01\0\0\x08\x81\x40");
	CHECK("missing ranges", HEAD "\x01\0\0\x08\x05\0\x01");
	CHECK("missing range is empty", HEAD "\x01\0\0\x08\x01\0\0\0");
	CHECK("exceeds the region", HEAD "\x01\0\0\x08\x01\x05\x04\0");
	CHECK("not 0", HEAD "\x01\0\0\x08\x01\x02\x02\x01\x03\x01z");
	CHECK("parts", HEAD_PARTS("\x10") "\0");
	CHECK("kernel frame", HEAD_PARTS("\x08") "\0\x02\x02\x02");
	CHECK("not defined", HEAD_PARTS("\x01") "\0\0\0\0");
	CHECK("65536 addresses", HEAD_PARTS("\x02") "\0\x81\x80\x04");
	CHECK("chains", HEAD_PARTS("\x04") "\0\x03\x02\x02");
}

static void assert_layout(const char *what, const void *bytes, size_t size)
{
	struct reel_record_frame frame = { .id = REEL_RECORD_SAMPLE_LAYOUT,
					   .payload = reel_cursor(bytes, size) };
	struct reel_sample_decoder *decoder;
	struct reel_error *error;

	must(reel_sample_decoder_create(&decoder));
	error = reel_sample_decode_layout(decoder, &frame);
	if (what) {
		assert_non_null(error);
		assert_non_null(strstr(reel_error_message(error), what));
	} else {
		assert_null(error);
		error = reel_sample_decode_layout(decoder, &frame);
		assert_non_null(error);
		assert_non_null(strstr(reel_error_message(error), "twice"));
	}
	reel_error_destroy(error);
	reel_sample_decoder_destroy(decoder);
}

static void test_hostile_layouts(void **state)
{
	(void)state;
	assert_layout(NULL, "\x05\x02\x07\x08\x10\x04", 6);
	assert_layout(NULL, "\x05\0", 2);
	assert_layout("4 nor of 8", "\x05\x01\x07\x02", 4);
	assert_layout("65535", "\x05\x01\x80\x80\x04\x08", 6);
	assert_layout("256 registers", "\x05\x81\x02", 3);
	assert_layout("registers", "\x05\x02\x07\x08", 4);
	assert_layout("head", "\x05", 1);
}

/* A register that is not known does not change, and padding bits are 0. */
static void test_hostile_registers(void **state)
{
	static const char *const bodies[] = {
		HEAD_PARTS("\x01") "\0\x01\x02"
				   "12345678\0",
		HEAD_PARTS("\x01") "\0\x04\0\0",
		HEAD_PARTS("\x01") "\0\x04\x04"
				   "12345678\0",
	};
	struct reel_record_frame layout = { .id = REEL_RECORD_SAMPLE_LAYOUT,
					    .payload = reel_cursor(
						    (const uint8_t *)"\0\x02\x07\x08\x10\x08", 6) };

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct reel_sample_decoder *decoder;
		struct reel_error *error;

		must(reel_sample_decoder_create(&decoder));
		reel_sample_decoder_reset(decoder, 0);
		must(reel_sample_decode_layout(decoder, &layout));
		error = decode_bytes(decoder, bodies[i], i == 1 ? 14 : 22);
		assert_non_null(error);
		assert_non_null(strstr(reel_error_message(error), "not known changes"));
		reel_error_destroy(error);
		reel_sample_decoder_destroy(decoder);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_runs),
		cmocka_unit_test(test_region_base),
		cmocka_unit_test(test_region_base_wraps),
		cmocka_unit_test(test_thread_table),
		cmocka_unit_test(test_example),
		cmocka_unit_test(test_random_samples),
		cmocka_unit_test(test_unchanged),
		cmocka_unit_test(test_invalid_samples),
		cmocka_unit_test(test_reset),
		cmocka_unit_test(test_hostile_samples),
		cmocka_unit_test(test_hostile_layouts),
		cmocka_unit_test(test_hostile_registers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

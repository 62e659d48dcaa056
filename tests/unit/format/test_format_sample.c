/* SPDX-License-Identifier: Apache-2.0 */
/* format/codec: what samples are relative to; samples that cannot be stored, and layouts. */
#include <sys/mman.h>
#include <sys/resource.h>

#include "format/codec/thread_table.h"
#include "format/codec/thread_table.h"
#include "tests/support/example.h"
#include "tests/support/test.h"

/* ---- region bases ---------------------------------------------------------------- */

/* Moves a base within 64 KiB (or 4 MiB) of address space, which `model` mirrors. */
static void move_base(uint64_t origin, size_t span, int rounds, uint64_t random)
{
	struct reel_region_base base = { 0 };
	uint8_t *model = calloc(1, span);
	size_t start = 0, size = 0;

	for (int round = 0; round < rounds; round++) {
		size_t next_start = start, next_size;
		uint8_t *bytes;

		/* Mostly the same end, as in stacks. */
		if (next_random(&random) % 4) {
			next_start = next_random(&random) % (start + size + 1);
			next_size = start + size - next_start;
		} else {
			next_start = next_random(&random) % span;
			next_size = next_random(&random) % (span - next_start);
		}
		/* Bytes outside the region are now forgotten. */
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

TEST(test_region_base)
{
	move_base(0, 4096, 20000, 1);
	move_base(0x7ffc00000000, 65536, 5000, 2);
	move_base(-(uint64_t)4096, 4096, 20000, 3);
	move_base(1ull << 40, 4 << 20, 200, 4);
}

/* A region at the end of the address space shares nothing with one at its start. */
TEST(test_region_base_wraps)
{
	struct reel_region_base base = { 0 };
	uint8_t *bytes = reel_region_base_move(&base, 0, 64);

	memset(bytes, 1, 64);
	bytes = reel_region_base_move(&base, UINT64_MAX - 7, 8);
	for (int i = 0; i < 8; i++)
		assert_int_equal(bytes[i], 0);
	reel_region_base_free(&base);
}

TEST(test_thread_table)
{
	struct reel_thread_table table;
	struct reel_thread_base *thread;
	struct reel_error *error;

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

static void encode(struct reel_sample_encoder *encoder, const struct reel_sample *sample)
{
	uint64_t expanded = 0;
	uint32_t records = 0;

	must(reel_sample_encode(encoder, sample, &records, &expanded));
}

static void finish(struct reel_sample_encoder *encoder, struct reel_buffer *ret)
{
	size_t ends[REEL_STREAMS];

	ret->size = 0;
	must(reel_sample_encoder_finish(encoder, ret, ends));
}

static void assert_same(const struct reel_buffer *a, const struct reel_buffer *b)
{
	assert_int_equal(a->size, b->size);
	assert_memory_equal(a->bytes, b->bytes, a->size);
}

static void assert_invalid(struct reel_sample_encoder *encoder, const struct reel_sample *sample)
{
	size_t size = reel_sample_encoder_size(encoder);
	uint64_t expanded = 0;
	uint32_t records = 0;
	struct reel_error *error = reel_sample_encode(encoder, sample, &records, &expanded);

	assert_non_null(error);
	assert_int_equal(reel_error_code(error), REEL_ERROR_INVALID);
	assert_int_equal(reel_sample_encoder_size(encoder), size);
	assert_true(!records && !expanded);
	reel_error_destroy(error);
}

/* Values that the format cannot hold are rejected, and the next sample is unaffected. */
TEST(test_invalid_samples)
{
	static uint8_t bytes[REEL_REGION_SIZE_MAX + 1];
	struct reel_region regions[REEL_REGIONS_MAX + 1] = { 0 };
	struct reel_sample_label labels[REEL_LABELS_MAX + 1] = { 0 };
	struct reel_runtime_frame frames[REEL_RUNTIME_FRAMES_MAX + 1] = { 0 };
	struct reel_range missing[2] = { { 8, 16 }, { 20, 4 } };
	struct example_sample sample;
	struct reel_sample broken;
	_cleanup_buffer_ struct reel_buffer expected = { 0 }, got = { 0 };
	struct reel_sample_encoder *encoder;

	must(reel_sample_encoder_create(&example_target, &encoder));
	for (uint64_t i = 0; i < 2; i++) {
		example_sample(&sample, 2 * i);
		encode(encoder, &sample.sample);
	}
	finish(encoder, &expected);
	example_sample(&sample, 0);
	encode(encoder, &sample.sample);

	example_sample(&sample, 2);
	broken = sample.sample;
	broken.regions = regions;
	broken.n_regions = REEL_REGIONS_MAX + 1;
	assert_invalid(encoder, &broken);
	broken.n_regions = 1;
	regions[0] = (struct reel_region){ .bytes = bytes, .size = sizeof(bytes) };
	assert_invalid(encoder, &broken);
	regions[0] = (struct reel_region){ .address = UINT64_MAX - 6, .bytes = bytes, .size = 8 };
	assert_invalid(encoder, &broken);
	regions[0] = (struct reel_region){
		.bytes = bytes, .size = 64, .missing = missing, .n_missing = 2
	};
	assert_invalid(encoder, &broken);
	missing[1] = (struct reel_range){ 60, 5 };
	assert_invalid(encoder, &broken);
	missing[1] = (struct reel_range){ 30, 0 };
	assert_invalid(encoder, &broken);
	regions[0].n_missing = 1;
	bytes[10] = 1;
	assert_invalid(encoder, &broken);
	regions[0] = (struct reel_region){ .kind = 256, .bytes = bytes, .size = 8 };
	assert_invalid(encoder, &broken);

	broken = sample.sample;
	sample.slots[1].size = 2;
	assert_invalid(encoder, &broken);
	sample.slots[1].size = 4;
	assert_invalid(encoder, &broken);
	sample.slots[1].size = 8;
	broken.where = 256;
	assert_invalid(encoder, &broken);
	broken = sample.sample;
	broken.n_kernel_chain = REEL_CHAIN_MAX + 1;
	assert_invalid(encoder, &broken);
	broken = sample.sample;
	broken.layout = NULL;
	assert_invalid(encoder, &broken);
	broken = sample.sample;
	broken.labels = labels;
	broken.n_labels = REEL_LABELS_MAX + 1;
	assert_invalid(encoder, &broken);
	broken.n_labels = 2;
	labels[1] = (struct reel_sample_label){ .key = 7 };
	labels[0] = (struct reel_sample_label){ .key = 7 };
	assert_invalid(encoder, &broken);
	labels[0] = (struct reel_sample_label){ .key = 0 };
	assert_invalid(encoder, &broken);
	labels[0] = (struct reel_sample_label){ .key = 1, .kind = 4 };
	assert_invalid(encoder, &broken);
	labels[0] = (struct reel_sample_label){ .key = 1, .text = { bytes, 1 } };
	assert_invalid(encoder, &broken);
	labels[0].text.size = REEL_LABEL_TEXT_MAX + 1;
	assert_invalid(encoder, &broken);
	broken = sample.sample;
	broken.runtime_frames = frames;
	broken.n_runtime_frames = 1;
	assert_invalid(encoder, &broken);
	broken.runtime = REEL_RUNTIME_PYTHON;
	frames[0].function = REEL_FUNCTION_MAX + 1;
	assert_invalid(encoder, &broken);
	frames[0].function = 0;
	broken.n_runtime_frames = REEL_RUNTIME_FRAMES_MAX + 1;
	assert_invalid(encoder, &broken);

	encode(encoder, &sample.sample);
	finish(encoder, &got);
	assert_same(&got, &expected);
	reel_sample_encoder_destroy(encoder);
	bytes[10] = 0;
}

/* Samples encoded before a reset are gone. */
TEST(test_reset)
{
	_cleanup_buffer_ struct reel_buffer expected = { 0 }, bytes = { 0 };
	struct reel_sample_encoder *encoder;
	struct example_sample sample;

	must(reel_sample_encoder_create(&example_target, &encoder));
	for (int round = 0; round < 3; round++) {
		for (uint64_t i = 0; i < 5; i++) {
			example_sample(&sample, i);
			encode(encoder, &sample.sample);
		}
		if (round == 1) {
			reel_sample_encoder_reset(encoder);
			assert_int_equal(reel_sample_encoder_size(encoder), 0);
			continue;
		}
		finish(encoder, round ? &bytes : &expected);
	}
	assert_same(&bytes, &expected);
	reel_sample_encoder_destroy(encoder);
}

/* Memory runs out within a sample: previous ones are complete. */
static void check_no_memory(void)
{
	_cleanup_buffer_ struct reel_buffer expected = { 0 }, bytes = { 0 };
	const struct rlimit none = { 0, RLIM_INFINITY };
	struct reel_region large = { .address = 1 << 30, .size = REEL_REGION_SIZE_MAX };
	uint8_t *zeros = calloc(1, REEL_REGION_SIZE_MAX);
	struct reel_sample_encoder *encoder;
	struct example_sample sample;
	struct reel_error *error;
	struct rlimit before;
	uint64_t expanded = 0;
	uint32_t records = 0;

	large.bytes = zeros;
	must(reel_sample_encoder_create(&example_target, &encoder));
	for (int round = 0; round < 2; round++) {
		for (uint64_t i = 0; i < 20; i++) {
			example_sample(&sample, i);
			encode(encoder, &sample.sample);
		}
		if (!round) {
			finish(encoder, &expected);
			continue;
		}
		sample.sample.regions = &large;
		getrlimit(RLIMIT_AS, &before);
		assert_int_equal(setrlimit(RLIMIT_AS, &none), 0);
		error = reel_sample_encode(encoder, &sample.sample, &records, &expanded);
		setrlimit(RLIMIT_AS, &before);
		assert_error(error, REEL_ERROR_NO_MEMORY);
		assert_true(!records && !expanded);
	}
	finish(encoder, &bytes);
	assert_same(&bytes, &expected);
	reel_sample_encoder_destroy(encoder);
	free(zeros);
}

/* qemu-user ignores memory limits. */
static bool memory_has_limits(void)
{
	const struct rlimit none = { 0, RLIM_INFINITY };
	struct rlimit before;
	void *memory;

	getrlimit(RLIMIT_AS, &before);
	assert_int_equal(setrlimit(RLIMIT_AS, &none), 0);
	memory = mmap(NULL, REEL_REGION_SIZE_MAX, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	setrlimit(RLIMIT_AS, &before);
	if (memory != MAP_FAILED)
		munmap(memory, REEL_REGION_SIZE_MAX);
	return memory == MAP_FAILED;
}

TEST(test_no_memory)
{
	if (!memory_has_limits()) {
		print_message("skip: RLIMIT_AS has no effect here\n");
		skip();
	}
	check_no_memory();
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

TEST(test_hostile_layouts)
{
	assert_layout(NULL, "\x05\x02\x07\x08\x10\x04", 6);
	assert_layout(NULL, "\x05\0", 2);
	assert_layout("not 4 or 8 bytes", "\x05\x01\x07\x02", 4);
	assert_layout("65535", "\x05\x01\x80\x80\x04\x08", 6);
	assert_layout("256 registers", "\x05\x81\x02", 3);
	assert_layout("registers", "\x05\x02\x07\x08", 4);
	assert_layout("head", "\x05", 1);
}

RUN_TESTS()

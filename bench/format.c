/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Speed of writing samples to blocks and reading them back: synthetic stacks with a few different
 * words from one sample of a thread to the next.
 *
 *   cc -O2 -I. -o format bench/format.c format/[a-z]*.c -lzstd -lz && ./format
 */
#include <time.h>

#include "tests/support/capture.h"

#define N_REGISTERS 17
#define BASE	    0x7ffc00000000

struct shape {
	const char *name;
	size_t stack;	/* bytes */
	size_t changes; /* words of 8 bytes that differ, near the low end */
	size_t threads;
	uint64_t samples;
};

static double seconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

struct bench {
	const struct shape *shape;
	uint64_t random;
	uint8_t *stacks;
	struct reel_register_slot slots[N_REGISTERS];
	struct reel_record_sample_layout layout;
	uint64_t values[N_REGISTERS];
	uint8_t known[3];
	struct reel_region region;
};

static void bench_create(const struct shape *shape, struct bench *ret)
{
	size_t size = shape->threads * shape->stack;

	*ret = (struct bench){ .shape = shape, .random = 1, .known = { 0xff, 0xff, 1 } };
	ret->stacks = malloc(size);
	/* Like real stacks: return addresses, pointers into the stack, small numbers, zeros. */
	for (size_t i = 0; i < size; i += 8) {
		uint64_t random = next_random(&ret->random), word = 0;

		if (random % 8 == 0)
			word = 0x400000 + random / 8 % 0x100000;
		else if (random % 8 < 3)
			word = BASE + random / 8 % 0x10000;
		else if (random % 8 < 5)
			word = random / 8 % 1000;
		reel_store64(ret->stacks + i, word);
	}
	for (uint16_t i = 0; i < N_REGISTERS; i++)
		ret->slots[i] = (struct reel_register_slot){ i, 8 };
	ret->layout = (struct reel_record_sample_layout){ 0, N_REGISTERS, ret->slots };
}

static void next_sample(struct bench *bench, uint64_t i, struct reel_sample *ret)
{
	uint64_t thread = i % bench->shape->threads;
	uint8_t *stack = bench->stacks + thread * bench->shape->stack;
	/* The low end moves by up to a quarter of a small stack. */
	size_t cut = next_random(&bench->random) % 32 * 8;

	for (size_t n = 0; n < bench->shape->changes; n++) {
		size_t at = next_random(&bench->random) % (bench->shape->stack / 32);

		reel_store64(stack + cut + at * 8,
			     0x400000 + next_random(&bench->random) % 0x100000);
	}
	for (size_t n = 0; n < N_REGISTERS; n += 2)
		bench->values[n] = next_random(&bench->random) % 0x1000000;
	bench->region = (struct reel_region){
		.address = BASE + cut,
		.bytes = stack + cut,
		.size = bench->shape->stack - cut,
	};
	*ret = (struct reel_sample){
		.id = i,
		.time = 1000000 + i * 50000,
		.thread = thread + 1,
		.cpu = i % 8,
		.event = 1,
		.weight = 10101010,
		.where = 1,
		.pc = bench->values[16],
		.layout = &bench->layout,
		.values = bench->values,
		.known = bench->known,
		.regions = &bench->region,
		.n_regions = 1,
	};
}

static void run_generator(const struct shape *shape, double *ret)
{
	struct reel_sample sample;
	struct bench bench;
	double start;

	bench_create(shape, &bench);
	start = seconds();
	for (uint64_t i = 0; i < shape->samples; i++)
		next_sample(&bench, i, &sample);
	*ret = seconds() - start;
	free(bench.stacks);
}

/* The encoder alone, without zstd; `generator` is subtracted. */
static double run_encoder(const struct shape *shape, double generator)
{
	struct reel_sample_encoder *encoder;
	struct reel_buffer buffer = { 0 };
	size_t ends[REEL_STREAMS];
	struct reel_sample sample;
	uint64_t expanded = 0;
	uint32_t records = 0;
	struct bench bench;
	double start;

	bench_create(shape, &bench);
	must(reel_sample_encoder_create(&(struct reel_sample_target){ .word_bits = 64 }, &encoder));
	start = seconds();
	for (uint64_t i = 0; i < shape->samples; i++) {
		next_sample(&bench, i, &sample);
		must(reel_sample_encode(encoder, &sample, &records, &expanded));
		if (expanded >= 64 << 20) {
			must(reel_sample_encoder_finish(encoder, &buffer, ends));
			buffer.size = expanded = 0;
		}
	}
	start = seconds() - start - generator;
	reel_sample_encoder_destroy(encoder);
	reel_buffer_free(&buffer);
	free(bench.stacks);
	return start;
}

static double run_writer(const struct shape *shape, double generator, int fd,
			 struct reel_writer_counts *counts_ret)
{
	struct reel_writer *writer;
	struct reel_sample sample;
	struct bench bench;
	double start;

	bench_create(shape, &bench);
	must(reel_writer_create(fd, "bench", NULL, NULL, &writer));
	start = seconds();
	for (uint64_t i = 0; i < shape->samples; i++) {
		next_sample(&bench, i, &sample);
		must(reel_writer_sample(writer, &sample));
	}
	must(reel_writer_finish(writer));
	start = seconds() - start - generator;
	*counts_ret = reel_writer_counts(writer);
	reel_writer_destroy(writer);
	free(bench.stacks);
	return start;
}

static double run_reader(int fd, uint64_t *samples_ret)
{
	struct reel_block_reader *block_reader;
	const struct reel_block *blocks;
	struct reel_block_item item;
	struct reel_reader *reader;
	double start = seconds();
	size_t n;

	*samples_ret = 0;
	must(reel_reader_open_fd(fd, "bench", NULL, &reader));
	must(reel_block_reader_create(reader, &block_reader));
	blocks = reel_reader_blocks(reader, &n);
	for (size_t i = 0; i < n; i++) {
		must(reel_block_reader_load(block_reader, &blocks[i]));
		do {
			must(reel_block_reader_next(block_reader, &item));
			*samples_ret += item.kind == REEL_ITEM_SAMPLE;
		} while (item.kind != REEL_ITEM_END);
	}
	reel_block_reader_destroy(block_reader);
	reel_reader_close(reader);
	return seconds() - start;
}

static void run(const struct shape *shape)
{
	double generator, encoder, writer, reader;
	struct reel_writer_counts counts;
	int fd = memory_file("", 0);
	uint64_t samples;

	run_generator(shape, &generator);
	encoder = run_encoder(shape, generator);
	writer = run_writer(shape, generator, fd, &counts);
	reader = run_reader(fd, &samples);
	must_be(samples == shape->samples, "all samples");
	printf("%-34s encode %6.2f GB/s %5.0f ns  write %6.2f GB/s %5.0f ns  read %6.2f GB/s %5.0f "
	       "ns  %4.0f file bytes/sample\n",
	       shape->name, (double)counts.stack_bytes / encoder / 1e9,
	       encoder / (double)samples * 1e9, (double)counts.stack_bytes / writer / 1e9,
	       writer / (double)samples * 1e9, (double)counts.stack_bytes / reader / 1e9,
	       reader / (double)samples * 1e9, (double)counts.file_bytes / (double)samples);
}

int main(void)
{
	const struct shape shapes[] = {
		{ "32 KiB stacks, 200 bytes differ", 32 << 10, 25, 8, 100000 },
		{ "32 KiB stacks, 2000 threads", 32 << 10, 25, 2000, 50000 },
		{ "1 KiB stacks, 5 words differ", 1 << 10, 5, 8, 1000000 },
		{ "64 KiB stacks, nothing differs", 64 << 10, 0, 8, 50000 },
	};

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		run(&shapes[i]);
	return 0;
}

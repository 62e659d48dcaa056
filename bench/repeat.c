/* SPDX-License-Identifier: Apache-2.0 */
/*
 * repeat N IN OUT [BYTES] - a long capture made from a short one
 *
 * The samples of IN, N times over, with new ids and later times, as if the program had continued
 * the same way.  Side records are unchanged, except that processes and threads end N times as late.
 *  BYTES: of stacks in a block (64 MiB).
 */
#include <err.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "format/reader.h"
#include "format/writer.h"
#include "tests/support/or_exit.h"

struct repeating {
	struct reel_sample_target target;
	struct reel_reader *reader;
	struct reel_block_reader *block_reader;
	struct reel_writer *writer;
	uint64_t first_time, last_time; /* of the samples */
	uint64_t n, round, next_id;
};

static uint64_t duration(const struct repeating *repeating)
{
	return repeating->last_time - repeating->first_time + 1;
}

static void find_times(struct repeating *repeating)
{
	size_t n;
	const struct reel_block *blocks = reel_reader_blocks(repeating->reader, &n);

	repeating->first_time = UINT64_MAX;
	for (size_t i = 0; i < n; i++) {
		const struct reel_block_header *header = &blocks[i].header;

		if (header->type != REEL_BLOCK_SAMPLES)
			continue;
		if (header->time_first < repeating->first_time)
			repeating->first_time = header->time_first;
		if (header->time_last > repeating->last_time)
			repeating->last_time = header->time_last;
	}
	if (repeating->first_time > repeating->last_time)
		errx(1, "no samples");
}

static void visit_blocks(struct repeating *repeating, bool samples,
			 void (*visit)(struct repeating *repeating,
				       const struct reel_block_item *item))
{
	size_t n;
	const struct reel_block *blocks = reel_reader_blocks(repeating->reader, &n);

	for (size_t i = 0; i < n; i++) {
		struct reel_block_item item;

		if (blocks[i].header.type == REEL_BLOCK_INDEX ||
		    (blocks[i].header.type == REEL_BLOCK_SAMPLES) != samples)
			continue;
		check(reel_block_reader_load(repeating->block_reader, &blocks[i]));
		for (;;) {
			check(reel_block_reader_next(repeating->block_reader, &item));
			if (item.kind == REEL_ITEM_END)
				break;
			visit(repeating, &item);
		}
	}
}

static void find_target(struct repeating *repeating, const struct reel_block_item *item)
{
	if (item->kind != REEL_ITEM_RECORD || item->record.id != REEL_RECORD_CAPTURE)
		return;
	repeating->target.word_bits = (unsigned)item->record.capture.word_bits;
	repeating->target.big_endian = item->record.capture.byte_order == REEL_BYTE_ORDER_BIG;
}

static void copy_side(struct repeating *repeating, const struct reel_block_item *item)
{
	struct reel_record record = item->record;
	uint64_t more = (repeating->n - 1) * duration(repeating);

	if (item->kind != REEL_ITEM_RECORD || record.id == REEL_RECORD_END)
		return;
	if (record.id == REEL_RECORD_SPACE_EXIT)
		record.space_exit.time += more;
	if (record.id == REEL_RECORD_THREAD_EXIT)
		record.thread_exit.time += more;
	check(reel_writer_record(repeating->writer, &record));
}

static void copy_sample(struct repeating *repeating, const struct reel_block_item *item)
{
	struct reel_sample sample = item->sample;

	if (item->kind != REEL_ITEM_SAMPLE)
		return;
	sample.id = repeating->next_id++;
	sample.time += repeating->round * duration(repeating);
	check(reel_writer_sample(repeating->writer, &sample));
}

static void write_end(struct repeating *repeating)
{
	struct reel_record end = { .id = REEL_RECORD_END };

	end.end.time = repeating->first_time + repeating->n * duration(repeating);
	end.end.samples = reel_writer_counts(repeating->writer).samples;
	check(reel_writer_record(repeating->writer, &end));
}

int main(int argc, char **argv)
{
	struct reel_writer_options options = { 0 };
	struct repeating repeating = { .next_id = 1 };
	int fd;

	if (argc < 4 || argc > 5)
		errx(2, "usage: repeat N IN OUT [BYTES]");
	repeating.n = strtoull(argv[1], NULL, 10);
	if (argc > 4)
		options.block_expanded = strtoull(argv[4], NULL, 10);
	if (!repeating.n)
		errx(2, "N must be a number, at least 1");
	check(reel_reader_open(argv[2], NULL, &repeating.reader));
	check(reel_block_reader_create(repeating.reader, &repeating.block_reader));
	find_times(&repeating);
	fd = open(argv[3], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		err(1, "%s", argv[3]);
	visit_blocks(&repeating, false, find_target);
	options.target = repeating.target;
	check(reel_writer_create(fd, argv[3], &options, NULL, &repeating.writer));
	visit_blocks(&repeating, false, copy_side);
	check(reel_writer_flush(repeating.writer));
	for (; repeating.round < repeating.n; repeating.round++)
		visit_blocks(&repeating, true, copy_sample);
	check(reel_writer_flush(repeating.writer));
	write_end(&repeating);
	check(reel_writer_finish(repeating.writer));
	reel_writer_destroy(repeating.writer);
	if (close(fd))
		err(1, "%s", argv[3]);
	reel_block_reader_destroy(repeating.block_reader);
	reel_reader_close(repeating.reader);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * storm N IN OUT - a capture with N more processes, which no sample needs
 *
 * Like a shell script that constantly forks: each process is forked from the first one of IN, and
 * ends at once.  Samples and all other records are unchanged.
 */
#include <err.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "format/reader.h"
#include "format/writer.h"
#include "tests/support/or_exit.h"

/* Above the ids of all recorders. */
#define FIRST_ID ((uint64_t)1 << 40)

struct storm {
	struct reel_reader *reader;
	struct reel_block_reader *block_reader;
	struct reel_writer *writer;
	struct reel_sample_target target;
	struct reel_record_space parent;
	struct reel_record end;
	uint64_t made, n;
};

static void write_record(struct storm *storm, const struct reel_record *record)
{
	check(reel_writer_record(storm->writer, record));
}

static void write_process(struct storm *storm, uint64_t time)
{
	uint64_t id = FIRST_ID + storm->made++;
	struct reel_record record = { .id = REEL_RECORD_SPACE };

	record.space = storm->parent;
	record.space.time = time;
	record.space.parent = storm->parent.id;
	record.space.id = id;
	record.space.origin = REEL_ORIGIN_FORK;
	record.space.pid = 100000 + storm->made;
	write_record(storm, &record);
	record = (struct reel_record){ .id = REEL_RECORD_THREAD };
	record.thread = (struct reel_record_thread){
		.time = time,
		.id = id,
		.space = id,
		.origin = REEL_ORIGIN_FORK,
		.tid = 100000 + storm->made,
		.comm = reel_bytes_of_string("storm"),
	};
	write_record(storm, &record);
	record = (struct reel_record){ .id = REEL_RECORD_THREAD_EXIT };
	record.thread_exit = (struct reel_record_thread_exit){ .time = time, .thread = id };
	write_record(storm, &record);
	record = (struct reel_record){ .id = REEL_RECORD_SPACE_EXIT };
	record.space_exit = (struct reel_record_space_exit){ .time = time, .space = id };
	write_record(storm, &record);
}

static void copy_item(struct storm *storm, const struct reel_block_item *item)
{
	if (item->kind == REEL_ITEM_SAMPLE)
		check(reel_writer_sample(storm->writer, &item->sample));
	if (item->kind != REEL_ITEM_RECORD)
		return;
	if (item->record.id == REEL_RECORD_END)
		storm->end = item->record;
	else
		write_record(storm, &item->record);
}

static void note_item(struct storm *storm, const struct reel_block_item *item)
{
	if (item->kind != REEL_ITEM_RECORD)
		return;
	if (item->record.id == REEL_RECORD_CAPTURE) {
		storm->target.word_bits = (unsigned)item->record.capture.word_bits;
		storm->target.big_endian = item->record.capture.byte_order == REEL_BYTE_ORDER_BIG;
	}
	if (item->record.id == REEL_RECORD_SPACE && !storm->parent.id)
		storm->parent = item->record.space;
}

static void visit(struct storm *storm, const struct reel_block *block,
		  void (*take)(struct storm *storm, const struct reel_block_item *item))
{
	struct reel_block_item item;

	check(reel_block_reader_load(storm->block_reader, block));
	for (;;) {
		check(reel_block_reader_next(storm->block_reader, &item));
		if (item.kind == REEL_ITEM_END)
			break;
		take(storm, &item);
	}
}

/* Spreads the processes over the samples. */
static void copy_blocks(struct storm *storm, const struct reel_block *blocks, size_t n_blocks,
			size_t n_samples)
{
	size_t n = 0;

	for (size_t i = 0; i < n_blocks; i++) {
		const struct reel_block_header *header = &blocks[i].header;

		if (header->type == REEL_BLOCK_SAMPLES) {
			uint64_t until = storm->n * ++n / n_samples;

			while (storm->made < until)
				write_process(storm, header->time_first);
		}
		if (header->type == REEL_BLOCK_SAMPLES || header->type == REEL_BLOCK_SIDE)
			visit(storm, &blocks[i], copy_item);
		check(reel_writer_flush(storm->writer));
	}
}

int main(int argc, char **argv)
{
	struct storm storm = { 0 };
	struct reel_writer_options options = { 0 };
	const struct reel_block *blocks;
	size_t n_blocks, n_samples = 0;
	int fd;

	if (argc != 4)
		errx(2, "usage: storm N IN OUT");
	storm.n = strtoull(argv[1], NULL, 10);
	check(reel_reader_open(argv[2], NULL, &storm.reader));
	check(reel_block_reader_create(storm.reader, &storm.block_reader));
	blocks = reel_reader_blocks(storm.reader, &n_blocks);
	for (size_t i = 0; i < n_blocks; i++) {
		n_samples += blocks[i].header.type == REEL_BLOCK_SAMPLES;
		if (blocks[i].header.type == REEL_BLOCK_SIDE)
			visit(&storm, &blocks[i], note_item);
	}
	if (!n_samples || !storm.parent.id)
		errx(1, "%s has no samples, or no process", argv[2]);
	fd = open(argv[3], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		err(1, "%s", argv[3]);
	options.target = storm.target;
	check(reel_writer_create(fd, argv[3], &options, NULL, &storm.writer));
	copy_blocks(&storm, blocks, n_blocks, n_samples);
	if (storm.end.id) {
		/* The writer counts the blocks and records. */
		storm.end.end.blocks = storm.end.end.side_records = 0;
		write_record(&storm, &storm.end);
	}
	check(reel_writer_finish(storm.writer));
	reel_writer_destroy(storm.writer);
	if (close(fd))
		err(1, "%s", argv[3]);
	reel_block_reader_destroy(storm.block_reader);
	reel_reader_close(storm.reader);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a capture as a program would, and collects the outcome in one struct. */
#ifndef TESTS_SUPPORT_READ_ALL_H
#define TESTS_SUPPORT_READ_ALL_H

#include "format/end_counts.h"
#include "tests/support/capture.h"

/* A bit for each enum reel_error_code. */
#define CODE(name) (1u << REEL_ERROR_##name)

struct outcome {
	unsigned codes; /* of opening, blocks and problems */
	bool opened, has_trailer, has_end;
	uint64_t blocks, records, samples, unknown;
	/* Over every returned byte, so that a sanitizer and a test see them all. */
	uint64_t checksum;
	/* Messages, one per line. */
	struct reel_buffer text;
	struct reel_end_counts end_counts;
};

static inline void outcome_say(struct outcome *outcome, unsigned code, const char *message)
{
	outcome->codes |= 1u << code;
	reel_buffer_append(&outcome->text, message, strlen(message));
	reel_buffer_append(&outcome->text, "\n", 1);
}

static inline void outcome_error(struct outcome *outcome, struct reel_error *error)
{
	outcome_say(outcome, reel_error_code(error), reel_error_message(error));
	reel_error_destroy(error);
}

static inline void outcome_sum(struct outcome *outcome, const void *bytes, size_t size)
{
	/* zlib treats NULL as a query. */
	if (size)
		outcome->checksum = outcome->checksum * 31 + crc32(0, bytes, (uInt)size);
}

static inline void outcome_sample(struct outcome *outcome, const struct reel_sample *sample)
{
	outcome->samples++;
	outcome_sum(outcome, &sample->id, sizeof(sample->id));
	outcome_sum(outcome, &sample->time, sizeof(sample->time));
	outcome_sum(outcome, &sample->pc, sizeof(sample->pc));
	if (sample->layout) {
		outcome_sum(outcome, sample->values, sample->layout->n_slots * sizeof(uint64_t));
		outcome_sum(outcome, sample->known, (sample->layout->n_slots + 7) / 8);
	}
	for (size_t i = 0; i < sample->n_regions; i++) {
		const struct reel_region *region = &sample->regions[i];

		outcome_sum(outcome, &region->address, sizeof(region->address));
		outcome_sum(outcome, region->bytes, region->size);
		outcome_sum(outcome, region->missing, region->n_missing * sizeof(*region->missing));
	}
	outcome_sum(outcome, sample->kernel_chain, sample->n_kernel_chain * sizeof(uint64_t));
	outcome_sum(outcome, sample->frame_chain, sample->n_frame_chain * sizeof(uint64_t));
	outcome_sum(outcome, &sample->kernel_frame, sizeof(sample->kernel_frame));
}

static inline void outcome_item(struct outcome *outcome, const struct reel_block_item *item)
{
	outcome->records++;
	switch (item->kind) {
	case REEL_ITEM_SAMPLE:
		outcome_sample(outcome, &item->sample);
		break;
	case REEL_ITEM_LAYOUT:
		for (size_t i = 0; i < item->layout->n_slots; i++)
			outcome->checksum +=
				item->layout->slots[i].dwarf << 4 | item->layout->slots[i].size;
		break;
	case REEL_ITEM_UNKNOWN:
		outcome->unknown++;
		/* fall through */
	default:
		/* The digest is of a file, whose id is random. */
		if (item->kind == REEL_ITEM_RECORD && item->record.id == REEL_RECORD_DIGEST)
			break;
		outcome->has_end |=
			item->kind == REEL_ITEM_RECORD && item->record.id == REEL_RECORD_END;
		outcome_sum(outcome, item->frame.payload.start,
			    (size_t)(item->frame.payload.end - item->frame.payload.start));
		break;
	}
}

static inline void outcome_block(struct outcome *outcome, struct reel_block_reader *block_reader,
				 const struct reel_block *block)
{
	struct reel_error *error = reel_block_reader_load(block_reader, block);
	const struct reel_problem *problems;
	struct reel_block_item item;
	size_t n;

	outcome->blocks++;
	while (!error) {
		error = reel_block_reader_next(block_reader, &item);
		if (!error && item.kind == REEL_ITEM_END)
			break;
		if (!error)
			outcome_item(outcome, &item);
	}
	if (error)
		outcome_error(outcome, error);
	reel_end_counts_add_items(&outcome->end_counts, block_reader);
	problems = reel_block_reader_problems(block_reader, &n);
	for (size_t i = 0; i < n; i++)
		outcome_say(outcome, problems[i].code, problems[i].message);
}

/* Call this when all blocks were read. */
static inline void outcome_tally(struct outcome *outcome, const struct reel_reader *reader)
{
	struct reel_error *errors[2];

	reel_end_counts_add_blocks(&outcome->end_counts, reader);
	errors[0] = reel_end_counts_check_side(&outcome->end_counts, reader);
	errors[1] = reel_end_counts_check_samples(&outcome->end_counts, reader);
	for (size_t i = 0; i < 2; i++)
		if (errors[i])
			outcome_error(outcome, errors[i]);
}

/* Collects the outcome of opening and closes the reader. The caller frees ret->text. */
static inline void read_opened(struct reel_error *error, struct reel_reader *reader,
			       struct outcome *ret)
{
	struct reel_block_reader *block_reader;
	const struct reel_problem *problems;
	const struct reel_block *blocks;
	size_t n;

	*ret = (struct outcome){ 0 };
	if (error) {
		outcome_error(ret, error);
		reel_buffer_append(&ret->text, "", 1);
		return;
	}
	ret->opened = true;
	ret->has_trailer = reel_reader_has_trailer(reader);
	problems = reel_reader_problems(reader, &n);
	for (size_t i = 0; i < n; i++)
		outcome_say(ret, problems[i].code, problems[i].message);
	must(reel_block_reader_create(reader, &block_reader));
	blocks = reel_reader_blocks(reader, &n);
	for (size_t i = 0; i < n; i++)
		outcome_block(ret, block_reader, &blocks[i]);
	reel_block_reader_destroy(block_reader);
	outcome_tally(ret, reader);
	reel_reader_close(reader);
	reel_buffer_append(&ret->text, "", 1);
}

static inline void read_all(const void *bytes, size_t size, struct outcome *ret)
{
	struct reel_reader *reader = NULL;
	struct reel_error *error = open_bytes(bytes, size, &reader);

	read_opened(error, reader, ret);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "replay/late_weights.h"

static int by_sample(const void *a, const void *b)
{
	const struct reel_late_weight *left = a, *right = b;

	return (left->sample > right->sample) - (left->sample < right->sample);
}

static struct reel_error *add(struct reel_late_weights *weights,
			      const struct reel_record_sample_weight *record)
{
	if (weights->n == weights->capacity) {
		size_t more = weights->capacity ? weights->capacity * 2 : 256;
		struct reel_late_weight *list = reallocarray(weights->list, more, sizeof(*list));

		if (!list)
			return reel_error_no_memory();
		weights->list = list;
		weights->capacity = more;
	}
	weights->list[weights->n++] = (struct reel_late_weight){ record->sample, record->weight };
	return NULL;
}

static struct reel_error *read_block(struct reel_block_reader *block_reader,
				     const struct reel_block *block, struct reel_late_weights *ret)
{
	struct reel_error *error = reel_block_reader_load(block_reader, block);

	while (!error) {
		struct reel_block_item item;

		error = reel_block_reader_next(block_reader, &item);
		if (error || item.kind == REEL_ITEM_END)
			break;
		if (item.kind == REEL_ITEM_RECORD && item.record.id == REEL_RECORD_SAMPLE_WEIGHT)
			error = add(ret, &item.record.sample_weight);
	}
	if (error && reel_error_code(error) == REEL_ERROR_NO_MEMORY)
		return error;
	reel_error_destroy(error);
	return NULL;
}

struct reel_error *reel_late_weights_read(const struct reel_reader *reader,
					  struct reel_late_weights *ret)
{
	struct reel_block_reader *block_reader;
	size_t n_blocks;
	const struct reel_block *blocks = reel_reader_blocks(reader, &n_blocks);
	struct reel_error *error = reel_block_reader_create(reader, &block_reader);

	if (error)
		return error;
	for (size_t i = 0; i < n_blocks && !error; i++) {
		if (blocks[i].header.type == REEL_BLOCK_SAMPLES)
			error = read_block(block_reader, &blocks[i], ret);
	}
	reel_block_reader_destroy(block_reader);
	if (!error && ret->n)
		qsort(ret->list, ret->n, sizeof(*ret->list), by_sample);
	return error;
}

void reel_late_weights_free(struct reel_late_weights *weights)
{
	free(weights->list);
	*weights = (struct reel_late_weights){ 0 };
}

uint64_t reel_late_weights_of(const struct reel_late_weights *weights,
			      const struct reel_sample *sample)
{
	struct reel_late_weight key = { .sample = sample->id };
	const struct reel_late_weight *found = NULL;

	if (weights->n)
		found = bsearch(&key, weights->list, weights->n, sizeof(key), by_sample);
	return found ? found->weight : sample->weight;
}

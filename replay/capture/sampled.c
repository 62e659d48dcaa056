/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/array.h"
#include "base/id_set.h"
#include "format/schema.h"
#include "replay/capture/sampled.h"

/* Reading fewer side records takes less time than finding the needed ones. */
#define RECORDS_MIN 65536

struct fork {
	uint64_t space, parent;
};

/* A thread without samples. */
struct idle {
	uint64_t space, thread;
};

struct reel_sampled {
	struct reel_id_set threads, spaces;
	struct fork *forks;
	size_t n_forks, forks_capacity;
	struct idle *idle;
	size_t n_idle, idle_capacity;
	/* The ids in `spaces`. */
	uint64_t *space_list;
	size_t n_spaces, spaces_capacity;
	bool lacks_memory;
};

void reel_sampled_destroy(struct reel_sampled *sampled)
{
	if (!sampled)
		return;
	reel_id_set_free(&sampled->threads);
	reel_id_set_free(&sampled->spaces);
	free(sampled->forks);
	free(sampled->idle);
	free(sampled->space_list);
	free(sampled);
}

static bool has_many_records(const struct reel_reader *reader)
{
	size_t n;
	const struct reel_block *blocks = reel_reader_blocks(reader, &n);
	uint64_t records = 0;

	for (size_t i = 0; i < n; i++)
		if (blocks[i].header.type == REEL_BLOCK_SIDE)
			records += blocks[i].header.records;
	return records >= RECORDS_MIN;
}

/* Damage ends a block; complete reads report it. */
static struct reel_error *end_of_block(struct reel_error *error)
{
	if (!error || reel_error_code(error) == REEL_ERROR_NO_MEMORY)
		return error;
	reel_error_destroy(error);
	return NULL;
}

/* ---- samples -------------------------------------------------------------------------------- */

static struct reel_error *add_threads(struct reel_sampled *sampled,
				      struct reel_block_reader *block_reader,
				      const struct reel_block *block)
{
	struct reel_error *error = reel_block_reader_load_heads(block_reader, block);
	struct reel_block_item item;

	while (!error) {
		error = reel_block_reader_next(block_reader, &item);
		if (error || item.kind == REEL_ITEM_END)
			break;
		if (item.kind == REEL_ITEM_SAMPLE &&
		    !reel_id_set_add(&sampled->threads, item.sample.thread))
			error = reel_error_no_memory();
	}
	return end_of_block(error);
}

static struct reel_error *add_all_threads(struct reel_sampled *sampled,
					  struct reel_block_reader *block_reader,
					  const struct reel_block *const *blocks, size_t n)
{
	for (size_t i = 0; i < n; i++)
		TRY(add_threads(sampled, block_reader, blocks[i]));
	return NULL;
}

/* ---- processes ------------------------------------------------------------------------------ */

static struct reel_error *add_space(struct reel_sampled *sampled, uint64_t space)
{
	if (!space || reel_id_set_has(&sampled->spaces, space))
		return NULL;
	TRY(REEL_APPEND(sampled->space_list, sampled->n_spaces, sampled->spaces_capacity, space));
	return reel_id_set_add(&sampled->spaces, space) ? NULL : reel_error_no_memory();
}

/*
 * A reel_block_reader_choose that refuses everything: it takes the first numbers of millions of
 * records.  Decoding complete records would take five times as long.
 */
static bool add_record(const void *context, const struct reel_record_frame *frame)
{
	struct reel_sampled *sampled = (struct reel_sampled *)context;
	struct reel_cursor cursor = frame->payload;
	struct reel_error *error = NULL;
	uint64_t id, other;

	if (frame->id != REEL_RECORD_SPACE && frame->id != REEL_RECORD_THREAD &&
	    frame->id != REEL_RECORD_THREAD_EXEC)
		return false;
	/* All of these begin with a time, an id, and the id of a space. */
	(void)reel_cursor_uleb(&cursor);
	id = reel_cursor_uleb(&cursor);
	other = reel_cursor_uleb(&cursor);
	if (frame->id == REEL_RECORD_SPACE && reel_cursor_uleb(&cursor) == REEL_ORIGIN_FORK)
		error = REEL_APPEND(sampled->forks, sampled->n_forks, sampled->forks_capacity,
				    (struct fork){ id, other });
	else if (frame->id == REEL_RECORD_SPACE)
		return false;
	else if (reel_id_set_has(&sampled->threads, id))
		error = add_space(sampled, other);
	else
		error = REEL_APPEND(sampled->idle, sampled->n_idle, sampled->idle_capacity,
				    (struct idle){ other, id });
	sampled->lacks_memory |= error != NULL;
	return false;
}

static struct reel_error *add_spaces(struct reel_sampled *sampled,
				     struct reel_block_reader *block_reader,
				     const struct reel_block *block)
{
	struct reel_error *error = reel_block_reader_load(block_reader, block);
	struct reel_block_item item;

	while (!error) {
		error = reel_block_reader_next(block_reader, &item);
		if (error || item.kind == REEL_ITEM_END)
			break;
		/* The block's first record is always returned. */
		add_record(sampled, &item.frame);
	}
	return sampled->lacks_memory ? reel_error_no_memory() : end_of_block(error);
}

/* Records of later times are not needed. */
static struct reel_error *add_all_spaces(struct reel_sampled *sampled,
					 struct reel_block_reader *block_reader,
					 const struct reel_reader *reader, uint64_t to)
{
	struct reel_error *error = NULL;
	size_t n;
	const struct reel_block *blocks = reel_reader_blocks(reader, &n);

	reel_block_reader_choose(block_reader, add_record, sampled);
	for (size_t i = 0; i < n && !error; i++)
		if (blocks[i].header.type == REEL_BLOCK_SIDE &&
		    reel_block_overlaps(&blocks[i].header, 0, to))
			error = add_spaces(sampled, block_reader, &blocks[i]);
	reel_block_reader_choose(block_reader, NULL, NULL);
	return error;
}

static int compare_forks(const void *a, const void *b)
{
	const struct fork *x = a, *y = b;

	return (x->space > y->space) - (x->space < y->space);
}

/* Whether ids ascend, as recorders assign them. */
static bool is_ascending(const struct reel_sampled *sampled)
{
	for (size_t i = 1; i < sampled->n_forks; i++)
		if (sampled->forks[i].space < sampled->forks[i - 1].space)
			return false;
	return true;
}

/* Adds all ancestors: the list grows while it is read. */
static struct reel_error *add_parents(struct reel_sampled *sampled)
{
	for (size_t i = 0; i < sampled->n_spaces; i++) {
		uint64_t space = sampled->space_list[i];

		/* An id defined twice has two parents, and either may be used. */
		for (size_t at = REEL_PARTITION_POINT(sampled->n_forks, j,
						      sampled->forks[j].space < space);
		     at < sampled->n_forks && sampled->forks[at].space == space; at++)
			TRY(add_space(sampled, sampled->forks[at].parent));
	}
	return NULL;
}

/* Of sampled processes: one is the main thread, whose name is the process's. */
static struct reel_error *add_idle_threads(struct reel_sampled *sampled)
{
	for (size_t i = 0; i < sampled->n_idle; i++)
		if (reel_id_set_has(&sampled->spaces, sampled->idle[i].space) &&
		    !reel_id_set_add(&sampled->threads, sampled->idle[i].thread))
			return reel_error_no_memory();
	return NULL;
}

/* Adds the needed spaces from the known threads. */
static struct reel_error *add_needed_spaces(struct reel_sampled *sampled,
					    struct reel_block_reader *block_reader,
					    const struct reel_reader *reader, uint64_t to)
{
	struct reel_error *error;

	TRY(add_all_spaces(sampled, block_reader, reader, to));
	if (!is_ascending(sampled))
		qsort(sampled->forks, sampled->n_forks, sizeof(*sampled->forks), compare_forks);
	error = add_parents(sampled);
	if (!error)
		error = add_idle_threads(sampled);
	free(sampled->forks);
	free(sampled->idle);
	free(sampled->space_list);
	sampled->forks = NULL;
	sampled->idle = NULL;
	sampled->space_list = NULL;
	return error;
}

struct reel_error *reel_sampled_create(struct reel_block_reader *block_reader,
				       const struct reel_reader *reader,
				       const struct reel_block *const *sample_blocks,
				       size_t n_sample_blocks, uint64_t to,
				       struct reel_sampled **ret)
{
	struct reel_sampled *sampled;
	struct reel_error *error;

	*ret = NULL;
	if (!has_many_records(reader))
		return NULL;
	sampled = calloc(1, sizeof(*sampled));
	if (!sampled)
		return reel_error_no_memory();
	error = add_all_threads(sampled, block_reader, sample_blocks, n_sample_blocks);
	if (!error)
		error = add_needed_spaces(sampled, block_reader, reader, to);
	if (error)
		reel_sampled_destroy(sampled);
	else
		*ret = sampled;
	return error;
}

bool reel_sampled_wants(const void *context, const struct reel_record_frame *frame)
{
	const struct reel_sampled *sampled = context;
	uint64_t id;

	switch (reel_record_frame_subject(frame, &id)) {
	case REEL_ID_SPACE:
		return reel_id_set_has(&sampled->spaces, id);
	case REEL_ID_THREAD:
		return reel_id_set_has(&sampled->threads, id);
	default:
		return true;
	}
}

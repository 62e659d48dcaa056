/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "replay/traces/trace_workers.h"

/* About as many batches as are usually queued.  With fewer, batches would be freed and allocated
 * repeatedly, which scatters memory. */
#define SPARE_MAX 32

/* The batches of a block, first one first. */
struct slot {
	struct reel_batch *first, **end;
	bool done; /* no more batches follow */
};

struct worker {
	struct reel_trace_workers *workers;
	struct reel_trace_maker *maker;
	pthread_t thread;
};

struct reel_trace_workers {
	const struct reel_block *const *blocks;
	size_t n_blocks;

	pthread_mutex_t lock;
	pthread_cond_t batch_came; /* of the block being read */
	pthread_cond_t room_came;
	/* Block i is in slots[i % n_slots].  Blocks from `read` on, fewer than n_slots, are being
	 * made or are finished but not read yet. */
	struct slot *slots;
	size_t n_slots;
	size_t read, next; /* the block being read; the next one to make */
	/* Bytes of finished batches, and their limit. */
	size_t queued, queued_max;
	bool stop;
	struct reel_error *error; /* the error that stopped a thread */
	struct reel_batch *spare;
	size_t n_spare;

	struct worker *list;
	size_t n;
};

/* ---- the threads ------------------------------------------------------------------- */

/* Waits until a block may be taken; false if none are left or all threads must end. */
static bool next_block(struct reel_trace_workers *workers, size_t *ret)
{
	bool taken;

	pthread_mutex_lock(&workers->lock);
	while (!workers->stop && workers->next < workers->n_blocks &&
	       workers->next - workers->read >= workers->n_slots)
		pthread_cond_wait(&workers->room_came, &workers->lock);
	taken = !workers->stop && workers->next < workers->n_blocks;
	if (taken)
		*ret = workers->next++;
	pthread_mutex_unlock(&workers->lock);
	return taken;
}

static struct reel_batch *reuse_batch(struct reel_trace_workers *workers)
{
	struct reel_batch *batch;

	pthread_mutex_lock(&workers->lock);
	batch = workers->spare;
	if (batch) {
		workers->spare = batch->next;
		workers->n_spare--;
	}
	pthread_mutex_unlock(&workers->lock);
	return batch;
}

/*
 * Waits until the batch of that block may be queued.  The block being read may always have one
 * batch queued, or its reader would wait forever.
 */
static bool wait_for_room(struct reel_trace_workers *workers, size_t block, size_t size)
{
	while (!workers->stop && workers->queued && workers->queued + size > workers->queued_max &&
	       (block != workers->read || workers->slots[block % workers->n_slots].first))
		pthread_cond_wait(&workers->room_came, &workers->lock);
	return !workers->stop;
}

/* False: all is to end. */
static bool queue(struct reel_trace_workers *workers, size_t block, struct reel_batch *batch,
		  bool more)
{
	struct slot *slot = &workers->slots[block % workers->n_slots];
	size_t size = reel_batch_size(batch);
	bool go_on;

	pthread_mutex_lock(&workers->lock);
	go_on = wait_for_room(workers, block, size);
	batch->next = NULL;
	*slot->end = batch;
	slot->end = &batch->next;
	slot->done = !more;
	workers->queued += size;
	if (block == workers->read)
		pthread_cond_signal(&workers->batch_came);
	pthread_mutex_unlock(&workers->lock);
	return go_on;
}

/* Handles a lack of memory even for an empty batch. */
static void fail(struct reel_trace_workers *workers, struct reel_error *error)
{
	pthread_mutex_lock(&workers->lock);
	if (workers->error)
		reel_error_destroy(error);
	else
		workers->error = error;
	workers->stop = true;
	pthread_cond_broadcast(&workers->batch_came);
	pthread_cond_broadcast(&workers->room_came);
	pthread_mutex_unlock(&workers->lock);
}

/* False: all is to end. */
static bool make_block(struct worker *worker, size_t block)
{
	struct reel_trace_workers *workers = worker->workers;
	bool more = true, go_on = true;

	reel_trace_maker_start(worker->maker, workers->blocks[block]);
	while (more && go_on) {
		struct reel_batch *batch = reuse_batch(workers);
		struct reel_error *error = batch ? NULL : reel_batch_create(&batch);

		if (error) {
			fail(workers, error);
			return false;
		}
		more = reel_trace_maker_fill(worker->maker, batch);
		go_on = queue(workers, block, batch, more);
	}
	return go_on;
}

static void *work(void *context)
{
	struct worker *worker = context;
	size_t block;

	while (next_block(worker->workers, &block) && make_block(worker, block))
		;
	return NULL;
}

/* ---- their owner's side -------------------------------------------------------------- */

/* The program's own threads handle signals. */
static void start_threads(struct reel_trace_workers *workers,
			  struct reel_trace_maker *const *makers, size_t n)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	for (; workers->n < n; workers->n++) {
		struct worker *worker = &workers->list[workers->n];

		*worker = (struct worker){ .workers = workers, .maker = makers[workers->n] };
		if (pthread_create(&worker->thread, NULL, work, worker))
			break;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

struct reel_error *reel_trace_workers_create(const struct reel_block *const *blocks,
					     size_t n_blocks,
					     struct reel_trace_maker *const *makers,
					     size_t n_makers, struct reel_trace_workers **ret)
{
	struct reel_trace_workers *workers = calloc(1, sizeof(*workers));

	if (!workers)
		return reel_error_no_memory();
	workers->blocks = blocks;
	workers->n_blocks = n_blocks;
	workers->n_slots = n_makers + 2;
	/* The thread with the block being read does not wait for room. */
	workers->queued_max = (n_makers > 1 ? n_makers - 1 : 1) * REEL_QUEUED_OF_THREAD;
	if (workers->queued_max > REEL_QUEUED_MAX)
		workers->queued_max = REEL_QUEUED_MAX;
	workers->slots = calloc(workers->n_slots, sizeof(*workers->slots));
	workers->list = calloc(n_makers, sizeof(*workers->list));
	if (!workers->slots || !workers->list) {
		free(workers->slots);
		free(workers->list);
		free(workers);
		return reel_error_no_memory();
	}
	for (size_t i = 0; i < workers->n_slots; i++)
		workers->slots[i].end = &workers->slots[i].first;
	pthread_mutex_init(&workers->lock, NULL);
	pthread_cond_init(&workers->batch_came, NULL);
	pthread_cond_init(&workers->room_came, NULL);
	start_threads(workers, makers, n_makers);
	*ret = workers;
	if (!workers->n) {
		reel_trace_workers_destroy(workers);
		*ret = NULL;
	}
	return NULL;
}

static void free_list(struct reel_batch *batch)
{
	while (batch) {
		struct reel_batch *next = batch->next;

		reel_batch_destroy(batch);
		batch = next;
	}
}

void reel_trace_workers_destroy(struct reel_trace_workers *workers)
{
	if (!workers)
		return;
	pthread_mutex_lock(&workers->lock);
	workers->stop = true;
	pthread_cond_broadcast(&workers->room_came);
	pthread_mutex_unlock(&workers->lock);
	for (size_t i = 0; i < workers->n; i++)
		pthread_join(workers->list[i].thread, NULL);
	for (size_t i = 0; i < workers->n_slots; i++)
		free_list(workers->slots[i].first);
	free_list(workers->spare);
	reel_error_destroy(workers->error);
	pthread_mutex_destroy(&workers->lock);
	pthread_cond_destroy(&workers->batch_came);
	pthread_cond_destroy(&workers->room_came);
	free(workers->slots);
	free(workers->list);
	free(workers);
}

static struct reel_batch *pop(struct reel_trace_workers *workers, struct slot *slot)
{
	struct reel_batch *batch = slot->first;

	slot->first = batch->next;
	if (!slot->first)
		slot->end = &slot->first;
	workers->queued -= reel_batch_size(batch);
	pthread_cond_broadcast(&workers->room_came);
	return batch;
}

struct reel_error *reel_trace_workers_next(struct reel_trace_workers *workers,
					   struct reel_batch **ret, size_t *block_ret)
{
	struct reel_error *error = NULL;

	*ret = NULL;
	pthread_mutex_lock(&workers->lock);
	while (workers->read < workers->n_blocks && !*ret && !error) {
		struct slot *slot = &workers->slots[workers->read % workers->n_slots];

		*block_ret = workers->read;
		if (slot->first) {
			*ret = pop(workers, slot);
		} else if (slot->done) {
			slot->done = false;
			workers->read++;
			pthread_cond_broadcast(&workers->room_came);
		} else if (workers->error) {
			error = workers->error;
			workers->error = NULL;
			workers->read = workers->n_blocks;
		} else {
			pthread_cond_wait(&workers->batch_came, &workers->lock);
		}
	}
	pthread_mutex_unlock(&workers->lock);
	return error;
}

void reel_trace_workers_give_back(struct reel_trace_workers *workers, struct reel_batch *batch)
{
	bool keep;

	reel_batch_clear(batch);
	pthread_mutex_lock(&workers->lock);
	keep = workers->n_spare < SPARE_MAX;
	if (keep) {
		batch->next = workers->spare;
		workers->spare = batch;
		workers->n_spare++;
	}
	pthread_mutex_unlock(&workers->lock);
	if (!keep)
		reel_batch_destroy(batch);
}

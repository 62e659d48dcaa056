/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "format/block_queue.h"

/* Emptied buffers up to this size are used again. */
#define SPARE_MAX (16u << 20)

/*
 * The more bytes wait, the lower zstd's level: -1 takes three quarters of level 1's time on stacks
 * of random words, and makes them 9 % larger; -7 half of it, and 16 %.
 */
static const struct {
	size_t waiting;
	int level;
} hurries[] = {
	{ 16u << 20, -7 },
	{ 8u << 20, -1 },
};

enum job_kind {
	JOB_BEGIN,
	JOB_WRITE,
	JOB_FINISH,
	JOB_COPY,
	JOB_END_COPY,
};

struct job {
	struct job *next;
	enum job_kind kind;
	struct reel_block_file *file;
	struct reel_raw_block block;
	struct reel_block_file *copy;
	struct reel_record_end end;
};

struct reel_block_queue {
	pthread_t thread;
	struct reel_error *(*enter)(void); /* may be NULL */
	pthread_mutex_t mutex;
	/* There is a job, or the end; and: no jobs are left. */
	pthread_cond_t has_job, is_idle;
	struct job *first, **last;
	bool is_busy; /* with a job that is no longer in the list */
	bool ends, is_abandoned;
	struct reel_error *error; /* the first one */
	struct reel_block_file_counts counts;
	struct reel_buffer spare;
	atomic_size_t waiting;
};

/* ---- memory ------------------------------------------------------------------------- */

/* The memory that a job holds; never 0, so that small jobs count as well. */
static size_t job_size(const struct job *job)
{
	return sizeof(*job) + job->block.raw.size;
}

static void job_free(struct job *job)
{
	reel_block_file_release(job->file);
	reel_block_file_release(job->copy);
	reel_buffer_free(&job->block.raw);
	free(job);
}

static void free_jobs(struct reel_block_queue *queue)
{
	while (queue->first) {
		struct job *job = queue->first;

		queue->first = job->next;
		job_free(job);
	}
	queue->last = &queue->first;
}

static void queue_free(struct reel_block_queue *queue)
{
	free_jobs(queue);
	reel_error_destroy(queue->error);
	reel_buffer_free(&queue->spare);
	pthread_cond_destroy(&queue->has_job);
	pthread_cond_destroy(&queue->is_idle);
	pthread_mutex_destroy(&queue->mutex);
	free(queue);
}

/* ---- the thread --------------------------------------------------------------------- */

static int level_limit(size_t waiting)
{
	for (size_t i = 0; i < sizeof(hurries) / sizeof(*hurries); i++) {
		if (waiting >= hurries[i].waiting)
			return hurries[i].level;
	}
	return INT_MAX;
}

static struct reel_error *job_do(const struct job *job)
{
	switch (job->kind) {
	case JOB_BEGIN:
		return reel_block_file_begin(job->file);
	case JOB_WRITE:
		return reel_block_file_write(job->file, &job->block);
	case JOB_COPY:
		return reel_block_file_copy(job->file, job->copy);
	case JOB_END_COPY:
		return reel_block_file_end_copy(job->file, &job->end);
	case JOB_FINISH:
		break;
	}
	return reel_block_file_finish(job->file);
}

/* Adds the written amounts to `counts`. */
static struct reel_error *job_run(const struct job *job, struct reel_block_file_counts *counts)
{
	struct reel_block_file_counts before = reel_block_file_counts(job->file), after;
	struct reel_error *error = job_do(job);

	after = reel_block_file_counts(job->file);
	counts->bytes += after.bytes - before.bytes;
	counts->samples += after.samples - before.samples;
	counts->lost += after.lost - before.lost;
	return error;
}

/* The next job; NULL at the end.  Called with the mutex held. */
static struct job *next_job(struct reel_block_queue *queue)
{
	struct job *job;

	while (!queue->first && !queue->ends)
		pthread_cond_wait(&queue->has_job, &queue->mutex);
	if (queue->ends)
		return NULL;
	job = queue->first;
	queue->first = job->next;
	if (!queue->first)
		queue->last = &queue->first;
	return job;
}

/* Keeps the larger of two buffers for a later block. */
static void keep_spare(struct reel_block_queue *queue, struct reel_buffer *buffer)
{
	struct reel_buffer kept = queue->spare;

	if (buffer->capacity <= kept.capacity || buffer->capacity > SPARE_MAX)
		return;
	queue->spare = *buffer;
	queue->spare.size = 0;
	*buffer = kept;
}

static void *run(void *context)
{
	struct reel_block_queue *queue = context;
	bool abandoned;
	struct job *job;

	pthread_mutex_lock(&queue->mutex);
	if (queue->enter)
		queue->error = queue->enter();
	while ((job = next_job(queue))) {
		struct reel_block_file_counts counts = queue->counts;
		bool failed = queue->error != NULL;
		struct reel_error *error;

		queue->is_busy = true;
		pthread_mutex_unlock(&queue->mutex);
		reel_block_file_limit_level(job->file, level_limit(atomic_load(&queue->waiting)));
		error = failed ? NULL : job_run(job, &counts);
		atomic_fetch_sub(&queue->waiting, job_size(job));
		pthread_mutex_lock(&queue->mutex);
		queue->counts = counts;
		keep_spare(queue, &job->block.raw);
		if (error)
			queue->error = error;
		job_free(job);
		queue->is_busy = false;
		if (!queue->first || error)
			pthread_cond_broadcast(&queue->is_idle);
	}
	abandoned = queue->is_abandoned;
	pthread_mutex_unlock(&queue->mutex);
	/* Nobody else frees it. */
	if (abandoned)
		queue_free(queue);
	return NULL;
}

/* ---- life --------------------------------------------------------------------------- */

struct reel_error *reel_block_queue_create(struct reel_error *(*enter)(void),
					   struct reel_block_queue **ret)
{
	struct reel_block_queue *queue = calloc(1, sizeof(*queue));
	pthread_condattr_t attributes;
	int errnum;

	if (!queue)
		return reel_error_no_memory();
	queue->enter = enter;
	queue->last = &queue->first;
	pthread_mutex_init(&queue->mutex, NULL);
	pthread_cond_init(&queue->has_job, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&queue->is_idle, &attributes);
	pthread_condattr_destroy(&attributes);
	errnum = pthread_create(&queue->thread, NULL, run, queue);
	if (errnum) {
		queue_free(queue);
		return reel_error_os(errnum, "starting the writer thread");
	}
	*ret = queue;
	return NULL;
}

void reel_block_queue_destroy(struct reel_block_queue *queue, bool abandon)
{
	pthread_t thread;

	if (!queue)
		return;
	pthread_mutex_lock(&queue->mutex);
	queue->ends = true;
	queue->is_abandoned = abandon;
	free_jobs(queue);
	pthread_cond_signal(&queue->has_job);
	thread = queue->thread;
	if (abandon)
		pthread_detach(thread);
	pthread_mutex_unlock(&queue->mutex);
	if (abandon)
		return;
	pthread_join(thread, NULL);
	queue_free(queue);
}

/* ---- jobs --------------------------------------------------------------------------- */

static struct reel_error *append_job(struct reel_block_queue *queue, struct job from,
				     struct reel_raw_block *block)
{
	struct job *job = malloc(sizeof(*job));

	if (!job)
		return reel_error_no_memory();
	*job = from;
	reel_block_file_use(job->file);
	if (job->copy)
		reel_block_file_use(job->copy);
	if (block) {
		job->block = *block;
		block->raw = (struct reel_buffer){ 0 };
		reel_raw_block_clear(block);
	}
	atomic_fetch_add(&queue->waiting, job_size(job));
	pthread_mutex_lock(&queue->mutex);
	if (block) {
		block->raw = queue->spare;
		queue->spare = (struct reel_buffer){ 0 };
	}
	*queue->last = job;
	queue->last = &job->next;
	pthread_cond_signal(&queue->has_job);
	pthread_mutex_unlock(&queue->mutex);
	return NULL;
}

struct reel_error *reel_block_queue_begin(struct reel_block_queue *queue,
					  struct reel_block_file *file)
{
	return append_job(queue, (struct job){ .kind = JOB_BEGIN, .file = file }, NULL);
}

struct reel_error *reel_block_queue_write(struct reel_block_queue *queue,
					  struct reel_block_file *file,
					  struct reel_raw_block *block)
{
	return append_job(queue, (struct job){ .kind = JOB_WRITE, .file = file }, block);
}

struct reel_error *reel_block_queue_finish(struct reel_block_queue *queue,
					   struct reel_block_file *file)
{
	return append_job(queue, (struct job){ .kind = JOB_FINISH, .file = file }, NULL);
}

struct reel_error *reel_block_queue_copy(struct reel_block_queue *queue,
					 struct reel_block_file *ring, struct reel_block_file *copy)
{
	return append_job(queue, (struct job){ .kind = JOB_COPY, .file = ring, .copy = copy },
			  NULL);
}

struct reel_error *reel_block_queue_end_copy(struct reel_block_queue *queue,
					     struct reel_block_file *ring,
					     const struct reel_record_end *end)
{
	return append_job(queue, (struct job){ .kind = JOB_END_COPY, .file = ring, .end = *end },
			  NULL);
}

/* ---- progress ----------------------------------------------------------------------- */

struct reel_block_file_counts reel_block_queue_counts(struct reel_block_queue *queue)
{
	struct reel_block_file_counts counts;

	pthread_mutex_lock(&queue->mutex);
	counts = queue->counts;
	pthread_mutex_unlock(&queue->mutex);
	return counts;
}

size_t reel_block_queue_waiting(const struct reel_block_queue *queue)
{
	return atomic_load_explicit(&queue->waiting, memory_order_relaxed);
}

struct reel_error *reel_block_queue_check(struct reel_block_queue *queue)
{
	struct reel_error *error = NULL;

	pthread_mutex_lock(&queue->mutex);
	if (queue->error)
		error = reel_error_create(reel_error_code(queue->error), "%s",
					  reel_error_message(queue->error));
	pthread_mutex_unlock(&queue->mutex);
	return error;
}

bool reel_block_queue_wait(struct reel_block_queue *queue, unsigned int timeout_ms)
{
	struct timespec until;
	bool is_idle;
	int result = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += timeout_ms / 1000;
	until.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	pthread_mutex_lock(&queue->mutex);
	while ((queue->first || queue->is_busy) && !queue->error && !result)
		result = pthread_cond_timedwait(&queue->is_idle, &queue->mutex, &until);
	is_idle = (!queue->first && !queue->is_busy) || queue->error;
	pthread_mutex_unlock(&queue->mutex);
	return is_idle;
}

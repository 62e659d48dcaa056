/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/output_place.h"
#include "base/quantity.h"
#include "record/output/output.h"
#include "record/output/parts.h"

/* The shortest time between rounds. */
#define ROUND_MIN REEL_NS_PER_SECOND
/* Between looks at a full disk. */
#define WAIT_MS 20
/* ns. A part without room for its rest ends at this age, so that a full disk gets few. */
#define CUT_AGE REEL_NS_PER_SECOND

struct reel_output {
	struct reel_output_options options;
	struct reel_output_place place; /* without rotation */
	struct reel_parts *parts;	/* with rotation; NULL: none */
	int lasting;			/* a FIFO or a device, until it is written to; -1: none */
	/* Shared by all parts: the next one begins while the last one is still being written. */
	struct reel_block_queue *queue;
	struct reel_writer *writer;
	const char *path; /* without rotation */
	bool is_abandoned;
	uint64_t part;
	uint8_t recording_id[REEL_FILE_ID_SIZE];
	uint64_t part_start, last_flush;
	uint64_t round_start, round_bytes; /* bytes when the round began */
	uint64_t past_samples; /* of finished parts */
	uint64_t known_lost;   /* when the part began */
};

/* ---- parts -------------------------------------------------------------------------- */

static struct reel_error *open_stdout(struct reel_output *output, int *fd_ret)
{
	/* A stray print to stdout must not get into the capture. */
	*fd_ret = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	if (*fd_ret < 0)
		return reel_error_os(errno, "opening standard output");
	output->path = "standard output";
	return NULL;
}

/* The file has its name from the start: its data is found there however the recorder ends. */
static struct reel_error *open_only(struct reel_output *output, int *fd_ret)
{
	_cleanup_free_ char *temporary = NULL;
	struct reel_error *error;

	output->path = output->options.path;
	if (output->lasting >= 0) {
		*fd_ret = output->lasting;
		output->lasting = -1;
		return NULL;
	}
	TRY(reel_output_place_create_temporary(&output->place, &temporary, fd_ret));
	/* Keeps an existing file, as perf does. */
	error = reel_output_place_move_old(&output->place);
	if (error)
		unlinkat(output->place.folder, temporary, 0);
	else
		error = reel_output_place_take_name(&output->place, temporary);
	return error;
}

static struct reel_error *open_path(struct reel_output *output, int *fd_ret)
{
	if (!strcmp(output->options.path, "-"))
		return open_stdout(output, fd_ret);
	return output->parts ? reel_parts_create(output->parts, fd_ret) : open_only(output, fd_ret);
}

static struct reel_error *open_part(struct reel_output *output)
{
	struct reel_writer_options options = {
		.level = output->options.level,
		.target = output->options.target,
		.recipients = output->options.recipients,
		.queue = output->queue,
		.owns_fd = true,
		.make_room = output->parts ? reel_parts_make_room : NULL,
		.finished = output->parts ? reel_parts_finished : NULL,
		.context = output->parts,
		.ring_time = output->options.ring_time,
		.ring_size = output->options.ring_size,
	};
	_cleanup_fd_ int fd = -1;
	int handed_over;

	/* The files made of it are encrypted, not the ring. */
	if (options.ring_size)
		options.recipients = NULL;
	else
		TRY(open_path(output, &fd));
	handed_over = fd;
	fd = -1;
	TRY(reel_writer_create(handed_over, options.ring_size ? "the ring" : reel_output_path(output),
			       &options, NULL, &output->writer));
	if (!output->part)
		memcpy(output->recording_id, reel_writer_file_id(output->writer),
		       sizeof(output->recording_id));
	output->part_start = output->round_start = output->last_flush = reel_now();
	return NULL;
}

static struct reel_error *open_place(struct reel_output *output)
{
	const struct reel_output_options *options = &output->options;
	const char *path = options->path;

	if (!strcmp(path, "-"))
		return NULL;
	if (options->rotate_time || options->rotate_size || options->ring_size)
		return reel_parts_open(&options->parts, &output->parts);
	TRY(reel_output_place_open(path, &output->place));
	return output->place.is_lasting
		       ? reel_output_place_open_lasting(&output->place, &output->lasting)
		       : NULL;
}

struct reel_error *reel_output_open(const struct reel_output_options *options,
				    struct reel_output **ret)
{
	struct reel_output *output = calloc(1, sizeof(*output));
	struct reel_error *error;

	if (!output)
		return reel_error_no_memory();
	output->options = *options;
	output->place.folder = output->lasting = -1;
	error = open_place(output);
	if (error) {
		reel_output_close(output);
		return error;
	}
	*ret = output;
	return NULL;
}

struct reel_error *reel_output_begin(struct reel_output *output)
{
	TRY(reel_block_queue_create(output->options.enter_writer, &output->queue));
	return open_part(output);
}

void reel_output_close(struct reel_output *output)
{
	if (!output)
		return;
	if (output->parts)
		reel_parts_end(output->parts);
	reel_block_queue_destroy(output->queue, output->is_abandoned);
	reel_writer_destroy(output->writer);
	reel_output_place_close(&output->place);
	if (output->lasting >= 0)
		close(output->lasting);
	/* An abandoned thread may still use them. */
	if (output->is_abandoned)
		return;
	reel_parts_close(output->parts);
	free(output);
}

/* ---- writing ------------------------------------------------------------------------ */

struct reel_error *reel_output_record(struct reel_output *output, const struct reel_record *record)
{
	return reel_writer_record(output->writer, record);
}

struct reel_error *reel_output_sample(struct reel_output *output, const struct reel_sample *sample)
{
	return reel_writer_sample(output->writer, sample);
}

struct reel_error *reel_output_flush(struct reel_output *output)
{
	TRY(reel_writer_flush(output->writer));
	output->last_flush = reel_now();
	return NULL;
}

uint64_t reel_output_flush_time(const struct reel_output *output)
{
	return output->last_flush + output->options.flush_interval;
}

struct reel_error *reel_output_finish(struct reel_output *output)
{
	return reel_writer_finish(output->writer);
}

struct reel_error *reel_output_check(struct reel_output *output)
{
	if (output->parts)
		reel_parts_work(output->parts);
	return reel_block_queue_check(output->queue);
}

size_t reel_output_waiting(const struct reel_output *output)
{
	return reel_block_queue_waiting(output->queue);
}

bool reel_output_wait(struct reel_output *output, unsigned int timeout_ms)
{
	uint64_t end = reel_now() + timeout_ms * REEL_NS_PER_MS;

	for (;;) {
		bool is_done = reel_block_queue_wait(output->queue, WAIT_MS);

		if (output->parts)
			reel_parts_work(output->parts);
		if (is_done || reel_now() >= end)
			return is_done;
	}
}

void reel_output_abandon(struct reel_output *output)
{
	output->is_abandoned = true;
}

/* ---- rotation ----------------------------------------------------------------------- */

bool reel_output_rotation_is_due(const struct reel_output *output, uint64_t now)
{
	uint64_t time = output->options.rotate_time, size = output->options.rotate_size;
	uint64_t bytes = reel_writer_counts(output->writer).file_bytes;
	uint64_t total = output->options.parts.total, age = now - output->part_start;

	if (output->options.ring_size)
		return false;
	/* There is no room for the rest of this part. */
	if (reel_block_queue_counts(output->queue).lost > output->known_lost && age >= CUT_AGE)
		return true;
	/* Only whole parts can be deleted. */
	return (time && now > output->part_start && age >= time) || (size && bytes >= size) ||
	       (total && bytes >= total / 2);
}

struct reel_error *reel_output_next(struct reel_output *output)
{
	struct reel_error *error;

	output->past_samples += reel_writer_counts(output->writer).samples;
	output->known_lost = reel_block_queue_counts(output->queue).lost;
	/* Its file stays open until it is written. */
	reel_writer_destroy(output->writer);
	output->writer = NULL;
	output->part++;
	error = open_part(output);
	/* The recording ends with the previous part. */
	if (error)
		output->part--;
	return error;
}

/* ---- flight recorder ---------------------------------------------------------------- */

bool reel_output_round_is_due(const struct reel_output *output, uint64_t now)
{
	uint64_t age = now - output->round_start;
	uint64_t bytes = reel_writer_counts(output->writer).file_bytes - output->round_bytes;

	/* Stating everything anew must not be all that it does. */
	return age >= output->options.ring_time ||
	       (age >= ROUND_MIN && bytes >= output->options.ring_size / 2);
}

struct reel_error *reel_output_begin_round(struct reel_output *output)
{
	TRY(reel_writer_begin_round(output->writer));
	output->round_start = reel_now();
	output->round_bytes = reel_writer_counts(output->writer).file_bytes;
	output->part++;
	return NULL;
}

struct reel_error *reel_output_begin_dump(struct reel_output *output)
{
	_cleanup_fd_ int fd = -1;
	int handed_over;

	TRY(reel_parts_create(output->parts, &fd));
	handed_over = fd;
	fd = -1;
	return reel_writer_begin_copy(output->writer, handed_over, reel_parts_path(output->parts),
				      output->options.recipients);
}

struct reel_error *reel_output_end_dump(struct reel_output *output,
					const struct reel_record_end *end)
{
	return reel_writer_end_copy(output->writer, end);
}

/* ---- state -------------------------------------------------------------------------- */

struct reel_parts *reel_output_parts(const struct reel_output *output)
{
	return output->parts;
}

const char *reel_output_path(const struct reel_output *output)
{
	return output->parts ? reel_parts_path(output->parts) : output->path;
}

uint64_t reel_output_part(const struct reel_output *output)
{
	return output->part;
}

const uint8_t *reel_output_recording_id(const struct reel_output *output)
{
	return output->recording_id;
}

struct reel_output_counts reel_output_counts(const struct reel_output *output)
{
	struct reel_block_file_counts written = reel_block_queue_counts(output->queue);
	struct reel_output_counts ret = {
		.samples = output->past_samples,
		.safe_samples = written.samples,
		.safe_bytes = written.bytes,
		.lost = written.lost,
	};

	if (output->writer)
		ret.part_samples = reel_writer_counts(output->writer).samples;
	ret.samples += ret.part_samples;
	return ret;
}

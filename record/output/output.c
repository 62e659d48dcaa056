/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/output_place.h"
#include "record/output/output.h"
#include "base/quantity.h"

/* A part skips up to this many names taken by others meanwhile. */
#define NAMES_MAX 10000
/* Between looks at a full disk. */
#define WAIT_MS 20

struct reel_output {
	struct reel_output_options options;
	struct reel_output_place place;
	int lasting; /* a FIFO or a device, until it is written to; -1: none */
	/* Shared by all parts: the next one begins while the last one is still being written. */
	struct reel_block_queue *queue;
	struct reel_writer *writer;
	char *path; /* of the current part */
	bool is_abandoned;
	uint64_t part;
	uint64_t number; /* in the names of parts */
	uint8_t recording_id[REEL_FILE_ID_SIZE];
	uint64_t part_start, last_flush;
	/* Finished parts that --rotate may delete if there are too many, oldest first. */
	struct part {
		char *path;
		uint64_t bytes;
	} * parts;
	size_t n_parts;
	uint64_t past_samples; /* of finished parts */
	/* The writing thread may not delete files: on a full disk it waits for this thread to. */
	pthread_mutex_t mutex;
	pthread_cond_t has_answer;
	enum { ROOM_ENOUGH, ROOM_WANTED, ROOM_MADE, ROOM_NONE } room;
	int full; /* the file that needs room */
	uint64_t n_dropped, n_deleted;
};

static bool rotates(const struct reel_output *output)
{
	return output->options.rotate_time || output->options.rotate_size;
}

/* ---- names -------------------------------------------------------------------------- */

/* The number is inserted before ".reel", or else at the end. */
static size_t stem_size(const char *path)
{
	size_t size = strlen(path);

	return size > 5 && !strcmp(path + size - 5, ".reel") ? size - 5 : size;
}

static char *part_name(const char *path, uint64_t number)
{
	size_t stem = stem_size(path);
	char *name;

	if (asprintf(&name, "%.*s.%04" PRIu64 "%s", (int)stem, path, number, path + stem) < 0)
		return NULL;
	return name;
}

/* The number in a name made by part_name; 0 for other names. */
static uint64_t part_number(const char *name, const char *base)
{
	size_t stem = stem_size(base);
	char *end;
	uint64_t number;

	if (strncmp(name, base, stem) || name[stem] != '.' || name[stem + 1] < '0' ||
	    name[stem + 1] > '9')
		return 0;
	number = strtoull(name + stem + 1, &end, 10);
	return strcmp(end, base + stem) ? 0 : number;
}

/* The highest number of a part in the folder: parts of earlier recordings stay. */
static uint64_t highest_number(const struct reel_output_place *place)
{
	int fd = openat(place->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = fd < 0 ? NULL : fdopendir(fd);
	uint64_t highest = 0;
	struct dirent *entry;

	if (!directory) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	while ((entry = readdir(directory))) {
		uint64_t number = part_number(entry->d_name, place->name);

		if (number > highest && number < UINT64_MAX)
			highest = number;
	}
	closedir(directory);
	return highest;
}

/* ---- room for parts ----------------------------------------------------------------- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void delete_oldest(struct reel_output *output)
{
	/* If this fails, somebody else deleted the part, or wants to keep it. */
	unlinkat(output->place.folder, base_name(output->parts[0].path), 0);
	free(output->parts[0].path);
	output->n_deleted++;
	output->n_parts--;
	memmove(output->parts, output->parts + 1, output->n_parts * sizeof(*output->parts));
}

/* Called by the writing thread. */
static bool wait_for_room(void *context, int fd)
{
	struct reel_output *output = context;
	bool made;

	pthread_mutex_lock(&output->mutex);
	if (output->room == ROOM_ENOUGH) {
		output->room = ROOM_WANTED;
		output->full = fd;
	}
	while (output->room == ROOM_WANTED)
		pthread_cond_wait(&output->has_answer, &output->mutex);
	made = output->room == ROOM_MADE;
	if (made)
		output->room = ROOM_ENOUGH;
	pthread_mutex_unlock(&output->mutex);
	return made;
}

/* Whether the oldest finished part is not the one that is still being written. */
static bool can_drop(const struct reel_output *output)
{
	struct stat oldest, full;

	return output->n_parts && !fstat(output->full, &full) &&
	       (fstatat(output->place.folder, base_name(output->parts[0].path), &oldest,
			AT_SYMLINK_NOFOLLOW) ||
		oldest.st_ino != full.st_ino || oldest.st_dev != full.st_dev);
}

static void make_room(struct reel_output *output)
{
	pthread_mutex_lock(&output->mutex);
	if (output->room == ROOM_WANTED) {
		output->room = can_drop(output) ? ROOM_MADE : ROOM_NONE;
		if (output->room == ROOM_MADE) {
			delete_oldest(output);
			output->n_dropped++;
		}
		pthread_cond_signal(&output->has_answer);
	}
	pthread_mutex_unlock(&output->mutex);
}

/* From now on the writing thread gets no room. */
static void end_room(struct reel_output *output)
{
	pthread_mutex_lock(&output->mutex);
	output->room = ROOM_NONE;
	pthread_cond_signal(&output->has_answer);
	pthread_mutex_unlock(&output->mutex);
}

/* Deletes parts beyond the limit of all parts' bytes. */
static void trim(struct reel_output *output)
{
	uint64_t limit = output->options.rotate_total;
	uint64_t sum = limit ? reel_writer_counts(output->writer).file_bytes : 0;
	struct stat status;

	if (!limit || !output->n_parts)
		return;
	/* The last one may have grown. */
	if (!fstatat(output->place.folder, base_name(output->parts[output->n_parts - 1].path),
		     &status, AT_SYMLINK_NOFOLLOW))
		output->parts[output->n_parts - 1].bytes = (uint64_t)status.st_size;
	for (size_t i = 0; i < output->n_parts; i++)
		sum += output->parts[i].bytes;
	while (output->n_parts && sum > limit) {
		sum -= output->parts[0].bytes;
		delete_oldest(output);
	}
}

uint64_t reel_output_dropped(const struct reel_output *output)
{
	return output->n_dropped;
}

/* ---- parts -------------------------------------------------------------------------- */

static struct reel_error *open_stdout(struct reel_output *output, int *fd_ret)
{
	/* A stray print to stdout must not get into the capture. */
	*fd_ret = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	if (*fd_ret < 0)
		return reel_error_os(errno, "opening standard output");
	output->path = strdup("standard output");
	return output->path ? NULL : reel_error_no_memory();
}

/* The file has its name from the start: its data is found there however the recorder ends. */
static struct reel_error *open_only(struct reel_output *output, int *fd_ret)
{
	_cleanup_free_ char *temporary = NULL;
	struct reel_error *error;

	output->path = strdup(output->options.path);
	if (!output->path)
		return reel_error_no_memory();
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

/* A file created since the numbers were checked keeps its name. */
static struct reel_error *open_numbered(struct reel_output *output, int *fd_ret)
{
	for (unsigned int i = 0; i < NAMES_MAX; i++, output->number++) {
		_cleanup_free_ char *name = part_name(output->place.name, output->number);

		free(output->path);
		output->path = part_name(output->options.path, output->number);
		if (!name || !output->path)
			return reel_error_no_memory();
		*fd_ret = reel_output_place_create(&output->place, name);
		/* The part that ended may still need this room: its thread waits for it as well. */
		while (*fd_ret < 0 && (errno == ENOSPC || errno == EDQUOT) && output->n_parts > 1) {
			delete_oldest(output);
			output->n_dropped++;
			*fd_ret = reel_output_place_create(&output->place, name);
		}
		if (*fd_ret >= 0 || errno != EEXIST)
			break;
	}
	return *fd_ret < 0 ? reel_error_os(errno, "creating %s", output->path) : NULL;
}

static struct reel_error *open_path(struct reel_output *output, int *fd_ret)
{
	if (!strcmp(output->options.path, "-"))
		return open_stdout(output, fd_ret);
	return rotates(output) ? open_numbered(output, fd_ret) : open_only(output, fd_ret);
}

static struct reel_error *open_part(struct reel_output *output)
{
	struct reel_writer_options options = {
		.level = output->options.level,
		.target = output->options.target,
		.recipients = output->options.recipients,
		.queue = output->queue,
		.owns_fd = true,
		.make_room = rotates(output) ? wait_for_room : NULL,
		.room_context = output,
	};
	_cleanup_fd_ int fd = -1;
	int handed_over;

	TRY(open_path(output, &fd));
	handed_over = fd;
	fd = -1;
	TRY(reel_writer_create(handed_over, output->path, &options, NULL, &output->writer));
	if (!output->part)
		memcpy(output->recording_id, reel_writer_file_id(output->writer),
		       sizeof(output->recording_id));
	output->part_start = output->last_flush = reel_now();
	return NULL;
}

static struct reel_error *open_place(struct reel_output *output)
{
	const char *path = output->options.path;

	if (!strcmp(path, "-"))
		return NULL;
	if (rotates(output)) {
		TRY(reel_output_place_open_folder(path, &output->place));
		output->number = highest_number(&output->place) + 1;
		return NULL;
	}
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
	pthread_mutex_init(&output->mutex, NULL);
	pthread_cond_init(&output->has_answer, NULL);
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
	end_room(output);
	reel_block_queue_destroy(output->queue, output->is_abandoned);
	reel_writer_destroy(output->writer);
	reel_output_place_close(&output->place);
	if (output->lasting >= 0)
		close(output->lasting);
	for (size_t i = 0; i < output->n_parts; i++)
		free(output->parts[i].path);
	free(output->parts);
	free(output->path);
	/* An abandoned thread may still use it. */
	if (!output->is_abandoned)
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
	trim(output);
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
	make_room(output);
	return reel_block_queue_check(output->queue);
}

size_t reel_output_waiting(const struct reel_output *output)
{
	return reel_block_queue_waiting(output->queue);
}

bool reel_output_wait(struct reel_output *output, unsigned int timeout_ms)
{
	uint64_t end = reel_now() + timeout_ms * REEL_NS_PER_MS;

	while (!reel_block_queue_wait(output->queue, WAIT_MS)) {
		make_room(output);
		if (reel_now() >= end)
			return false;
	}
	return true;
}

void reel_output_abandon(struct reel_output *output)
{
	output->is_abandoned = true;
}

/* ---- rotation ----------------------------------------------------------------------- */

bool reel_output_rotation_is_due(const struct reel_output *output, uint64_t now)
{
	uint64_t time = output->options.rotate_time, size = output->options.rotate_size;

	return (time && now > output->part_start && now - output->part_start >= time) ||
	       (size && reel_writer_counts(output->writer).file_bytes >= size);
}

struct reel_error *reel_output_next(struct reel_output *output)
{
	struct part *grown = reallocarray(output->parts, output->n_parts + 1, sizeof(*grown));
	struct reel_error *error;

	if (!grown)
		return reel_error_no_memory();
	output->parts = grown;
	output->parts[output->n_parts++] =
		(struct part){ output->path, reel_writer_counts(output->writer).file_bytes };
	output->path = NULL;
	output->past_samples += reel_writer_counts(output->writer).samples;
	/* Its file stays open until it is written. */
	reel_writer_destroy(output->writer);
	output->writer = NULL;
	while (output->options.rotate_keep && output->n_parts > output->options.rotate_keep)
		delete_oldest(output);
	output->part++;
	output->number++;
	error = open_part(output);
	if (!error)
		trim(output);
	if (error) {
		/* The recording ends with the previous part. */
		free(output->path);
		output->path = output->parts[--output->n_parts].path;
		output->part--;
	}
	return error;
}

void reel_output_protect(struct reel_output *output, void (*visit)(void *context, const char *path),
			 void *context)
{
	for (size_t i = 0; i < output->n_parts; i++) {
		visit(context, output->parts[i].path);
		free(output->parts[i].path);
	}
	output->n_parts = 0;
}

/* ---- state -------------------------------------------------------------------------- */

const struct reel_output_place *reel_output_place_of_parts(const struct reel_output *output)
{
	return rotates(output) ? &output->place : NULL;
}

const char *reel_output_path(const struct reel_output *output)
{
	return output->path;
}

uint64_t reel_output_part(const struct reel_output *output)
{
	return output->part;
}

uint64_t reel_output_kept(const struct reel_output *output)
{
	return output->part - output->n_deleted;
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
	};

	if (output->writer)
		ret.part_samples = reel_writer_counts(output->writer).samples;
	ret.samples += ret.part_samples;
	return ret;
}

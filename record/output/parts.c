/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "record/output/parts.h"

/* A part skips up to this many names taken by others meanwhile. */
#define NAMES_MAX 10000
/* For 2 s. */
#define LOCK_TRIES 20
#define PARTIAL	   ".partial"
/* In names, '0' is any digit. */
#define TIME_PATTERN "00000000T000000.000Z.reel"

struct part {
	char *path;	/* the final one */
	uint64_t bytes; /* once finished */
};

struct reel_parts {
	struct reel_parts_options options;
	struct reel_output_place place;
	bool is_folder;
	int lock;	 /* of DIR/, against a second recorder */
	bool waits;	 /* another recorder still has it */
	char *prefix;	 /* in DIR/: of names, "HOST-" */
	uint64_t number; /* of the next part */
	char *partial;	 /* the newest part's path until it is finished */
	/* Deleted because the disk was full; of this recording. */
	uint64_t n_dropped, n_deleted;

	pthread_mutex_t mutex; /* for what follows */
	pthread_cond_t has_answer;
	enum { ROOM_ENOUGH, ROOM_WANTED, ROOM_MADE, ROOM_NONE } room;
	bool is_full; /* why it is wanted: the disk is full, or else the parts have their total */
	bool ends;
	struct part *list; /* oldest first; the newest is being filled */
	size_t n;
	/*
	 * Parts since the start: no longer in the list, of earlier recordings, kept by
	 * reel_parts_protect, written, and renamed after that.
	 */
	uint64_t n_gone, n_earlier, n_protected, n_finished, n_named;
	uint64_t finished_bytes, writing_bytes;
};

/* ---- names -------------------------------------------------------------------------- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool ends_in(const char *name, const char *end)
{
	size_t size = strlen(name), end_size = strlen(end);

	return size >= end_size && !strcmp(name + size - end_size, end);
}

/* The number is inserted before ".reel", or else at the end. */
static size_t stem_size(const char *path)
{
	return strlen(path) - (ends_in(path, ".reel") && strlen(path) > 5 ? 5 : 0);
}

/* The number in the name of a part; 0 for other names. */
static uint64_t part_number(const char *name, const char *base)
{
	size_t stem = stem_size(base);
	char *end;
	uint64_t number;

	if (strncmp(name, base, stem) || name[stem] != '.' || name[stem + 1] < '0' ||
	    name[stem + 1] > '9')
		return 0;
	number = strtoull(name + stem + 1, &end, 10);
	if (strncmp(end, base + stem, strlen(base + stem)))
		return 0;
	end += strlen(base + stem);
	return (*end && strcmp(end, PARTIAL)) || number == UINT64_MAX ? 0 : number;
}

/* Whether it is the name of a part in DIR/, finished or not. */
static bool is_ours(const struct reel_parts *parts, const char *name)
{
	const char *at = name + strlen(parts->prefix);

	if (strncmp(name, parts->prefix, strlen(parts->prefix)) != 0)
		return false;
	for (const char *p = TIME_PATTERN; *p; p++, at++) {
		if (*p == '0' ? *at < '0' || *at > '9' : *at != *p)
			return false;
	}
	return !*at || !strcmp(at, PARTIAL);
}

/* Any host name, as a part of a file's name. */
static char *host_prefix(void)
{
	char host[256] = "";

	if (gethostname(host, sizeof(host) - 1) || !*host)
		strcpy(host, "host");
	for (char *p = host; *p; p++) {
		bool is_plain = (*p >= '0' && *p <= '9') || (*p >= 'a' && *p <= 'z') ||
				(*p >= 'A' && *p <= 'Z') || *p == '-' || *p == '_';

		if (!is_plain && (*p != '.' || p == host))
			*p = '_';
	}
	return reel_text_print("%s-", host);
}

/* The current time in ms, for parts in DIR/. */
static uint64_t time_number(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static char *part_path(const struct reel_parts *parts)
{
	const char *path = parts->options.path;
	time_t seconds = (time_t)(parts->number / 1000);
	size_t stem = stem_size(path);
	char text[32];
	struct tm tm;

	if (!parts->is_folder)
		return reel_text_print("%.*s.%04" PRIu64 "%s", (int)stem, path, parts->number,
				       path + stem);
	gmtime_r(&seconds, &tm);
	strftime(text, sizeof(text), "%Y%m%dT%H%M%S", &tm);
	return reel_text_print("%s%s%s.%03uZ.reel", path, parts->prefix, text,
			       (unsigned int)(parts->number % 1000));
}

static bool exists(const struct reel_parts *parts, const char *name)
{
	struct stat status;

	return !fstatat(parts->place.folder, name, &status, AT_SYMLINK_NOFOLLOW);
}

/* ---- room --------------------------------------------------------------------------- */

static void drop_front(struct reel_parts *parts)
{
	pthread_mutex_lock(&parts->mutex);
	parts->finished_bytes -= parts->list->bytes;
	free(parts->list->path);
	parts->n--;
	parts->n_gone++;
	memmove(parts->list, parts->list + 1, parts->n * sizeof(*parts->list));
	pthread_mutex_unlock(&parts->mutex);
}

static void name_finished(struct reel_parts *parts)
{
	uint64_t n_finished;

	pthread_mutex_lock(&parts->mutex);
	n_finished = parts->n_finished;
	pthread_mutex_unlock(&parts->mutex);
	for (; parts->n_named < n_finished; parts->n_named++) {
		const struct part *part = &parts->list[parts->n_named - parts->n_gone];
		_cleanup_free_ char *partial = reel_text_print("%s" PARTIAL, base_name(part->path));

		if (!partial)
			return;
		/* Not even its header had room. */
		if (!part->bytes)
			unlinkat(parts->place.folder, partial, 0);
		/* A file that took the name meanwhile is not ours to replace. */
		else if (!exists(parts, base_name(part->path)))
			renameat(parts->place.folder, partial, parts->place.folder,
				 base_name(part->path));
	}
	while (parts->n_gone < parts->n_protected && parts->n_gone < parts->n_named)
		drop_front(parts);
}

/* Whether there was a finished part to delete. */
static bool delete_oldest(struct reel_parts *parts)
{
	name_finished(parts);
	if (parts->n_gone < parts->n_protected || parts->n_gone >= parts->n_named)
		return false;
	/* If this fails, somebody else deleted the part, or wants to keep it. */
	unlinkat(parts->place.folder, base_name(parts->list->path), 0);
	parts->n_deleted += parts->n_gone >= parts->n_earlier;
	drop_front(parts);
	return true;
}

static bool is_below_floor(const struct reel_parts *parts, int fd, size_t size)
{
	uint64_t floor = parts->options.min_free, available;
	struct statvfs disk;

	if ((!floor && !parts->options.min_free_percent) || fstatvfs(fd, &disk))
		return false;
	if (parts->options.min_free_percent)
		floor = (uint64_t)((double)disk.f_blocks * (double)disk.f_frsize *
				   (double)parts->options.min_free_percent / 100);
	available = (uint64_t)disk.f_bavail * disk.f_frsize;
	return available < floor || available - floor < size;
}

static bool exceeds_total(const struct reel_parts *parts, size_t size)
{
	uint64_t total = parts->options.total, taken = parts->finished_bytes + parts->writing_bytes;

	return total && (taken > total || size > total - taken);
}

/* Asks the recording's thread.  Called with the mutex held. */
static bool wait_for_room(struct reel_parts *parts)
{
	parts->room = ROOM_WANTED;
	while (parts->room == ROOM_WANTED && !parts->ends)
		pthread_cond_wait(&parts->has_answer, &parts->mutex);
	return parts->room == ROOM_MADE && !parts->ends;
}

bool reel_parts_make_room(void *context, int fd, size_t size)
{
	struct reel_parts *parts = context;
	bool has_room = false, may_retry;

	do {
		/* 0: the disk is full, whatever the limits say.  A look at it may take long. */
		bool is_full = !size || is_below_floor(parts, fd, size);

		pthread_mutex_lock(&parts->mutex);
		parts->is_full = is_full;
		has_room = !is_full && !parts->waits && !exceeds_total(parts, size);
		may_retry = !has_room && wait_for_room(parts);
		if (has_room)
			parts->writing_bytes += size;
		pthread_mutex_unlock(&parts->mutex);
	} while (may_retry && size);
	return has_room || may_retry;
}

struct reel_error *reel_parts_finished(void *context, int fd)
{
	struct reel_parts *parts = context;
	struct stat status;
	struct part *part;

	if (fsync(fd) && errno != ENOSPC && errno != EDQUOT)
		return reel_error_os(errno, "writing a part to disk");
	if (fstat(fd, &status))
		return reel_error_os(errno, "writing a part to disk");
	pthread_mutex_lock(&parts->mutex);
	part = &parts->list[parts->n_finished++ - parts->n_gone];
	part->bytes = (uint64_t)status.st_size;
	parts->finished_bytes += part->bytes;
	parts->writing_bytes = 0;
	pthread_mutex_unlock(&parts->mutex);
	return NULL;
}

void reel_parts_end(struct reel_parts *parts)
{
	pthread_mutex_lock(&parts->mutex);
	parts->ends = true;
	pthread_cond_signal(&parts->has_answer);
	pthread_mutex_unlock(&parts->mutex);
}

/* ---- new parts ------------------------------------------------------------------------ */

/* Takes over the path. */
static struct reel_error *append(struct reel_parts *parts, char *path, uint64_t bytes)
{
	struct part *grown;

	pthread_mutex_lock(&parts->mutex);
	grown = reallocarray(parts->list, parts->n + 1, sizeof(*grown));
	if (grown) {
		parts->list = grown;
		parts->list[parts->n++] = (struct part){ path, bytes };
		parts->finished_bytes += bytes;
	}
	pthread_mutex_unlock(&parts->mutex);
	if (grown)
		return NULL;
	free(path);
	return reel_error_no_memory();
}

/* Creates the file unless the final name is taken. */
static int create(const struct reel_parts *parts, const char *path, const char *partial)
{
	if (!exists(parts, base_name(path)))
		return reel_output_place_create(&parts->place, base_name(partial));
	errno = EEXIST;
	return -1;
}

struct reel_error *reel_parts_create(struct reel_parts *parts, int *fd_ret)
{
	_cleanup_free_ char *path = NULL, *partial = NULL;
	struct reel_error *error;
	unsigned int i = 0;

	name_finished(parts);
	while (parts->options.keep && parts->n > parts->options.keep && delete_oldest(parts))
		;
	if (parts->is_folder)
		parts->number = time_number();
	do {
		free(path);
		free(partial);
		path = part_path(parts);
		partial = path ? reel_text_print("%s" PARTIAL, path) : NULL;
		if (!partial)
			return reel_error_no_memory();
		*fd_ret = create(parts, path, partial);
		while (*fd_ret < 0 && (errno == ENOSPC || errno == EDQUOT) &&
		       delete_oldest(parts)) {
			parts->n_dropped++;
			*fd_ret = create(parts, path, partial);
		}
		parts->number++;
	} while (*fd_ret < 0 && errno == EEXIST && ++i < NAMES_MAX);
	if (*fd_ret < 0)
		return reel_error_os(errno, "creating %s", partial);
	error = append(parts, path, 0);
	path = NULL;
	if (error) {
		close(*fd_ret);
		return error;
	}
	free(parts->partial);
	parts->partial = partial;
	partial = NULL;
	return NULL;
}

void reel_parts_protect(struct reel_parts *parts, void (*visit)(void *context, const char *path),
			void *context)
{
	for (size_t i = 0; i + 1 < parts->n; i++) {
		if (parts->n_gone + i >= parts->n_protected)
			visit(context, parts->list[i].path);
	}
	parts->n_protected = parts->n_gone + parts->n - 1;
}

/* ---- life --------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct part *)a)->path, ((const struct part *)b)->path);
}

static bool is_listed(const struct reel_parts *parts, const char *name)
{
	for (size_t i = 0; i < parts->n; i++) {
		if (!strcmp(base_name(parts->list[i].path), name))
			return true;
	}
	return false;
}

/* In DIR/: a part of an earlier recording.  What a killed recorder left gets its name. */
static struct reel_error *adopt(struct reel_parts *parts, const char *name)
{
	_cleanup_free_ char *final = strdup(name);
	struct stat status;
	char *path;

	if (fstatat(parts->place.folder, name, &status, AT_SYMLINK_NOFOLLOW) ||
	    !S_ISREG(status.st_mode))
		return NULL;
	if (!final)
		return reel_error_no_memory();
	if (ends_in(name, PARTIAL)) {
		final[strlen(final) - strlen(PARTIAL)] = '\0';
		/* Our own. */
		if (parts->options.takes_over && is_listed(parts, final))
			return NULL;
		if (!status.st_size)
			unlinkat(parts->place.folder, name, 0);
		if (!status.st_size || exists(parts, final))
			return NULL;
		if (renameat(parts->place.folder, name, parts->place.folder, final))
			return reel_error_os(errno, "renaming %s%s", parts->options.path, name);
	}
	path = reel_text_print("%s%s", parts->options.path, final);
	return path ? append(parts, path, (uint64_t)status.st_size) : reel_error_no_memory();
}

/* Best effort on file systems without locks.  Helpers of a recorder that just ended may hold it. */
static struct reel_error *take_lock(const struct reel_parts *parts)
{
	for (unsigned int i = 0; flock(parts->lock, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;
	     i++) {
		if (i == LOCK_TRIES)
			return reel_error_create(REEL_ERROR_INVALID,
						 "another stackreel-record writes to %s",
						 parts->options.path);
		usleep(100000);
	}
	return NULL;
}

static struct reel_error *adopt_all(struct reel_parts *parts, DIR *directory)
{
	struct reel_error *error = NULL;
	struct dirent *entry;

	while (!error && (entry = readdir(directory))) {
		if (is_ours(parts, entry->d_name))
			error = adopt(parts, entry->d_name);
	}
	return error;
}

static void find_highest(struct reel_parts *parts, DIR *directory)
{
	struct dirent *entry;

	while ((entry = readdir(directory))) {
		uint64_t number = part_number(entry->d_name, parts->place.name);

		if (number >= parts->number)
			parts->number = number + 1;
	}
}

static DIR *open_folder(const struct reel_parts *parts)
{
	int fd = openat(parts->place.folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = fd < 0 ? NULL : fdopendir(fd);

	if (!directory && fd >= 0)
		close(fd);
	return directory;
}

/* Parts of earlier recordings: their highest number, or in DIR/ all of them. */
static struct reel_error *look_at_folder(struct reel_parts *parts)
{
	DIR *directory = open_folder(parts);
	struct reel_error *error = NULL;

	if (!directory)
		return parts->is_folder ? reel_error_os(errno, "reading %s", parts->options.path)
					: NULL;
	if (!parts->is_folder) {
		find_highest(parts, directory);
		closedir(directory);
		return NULL;
	}
	parts->lock = fcntl(dirfd(directory), F_DUPFD_CLOEXEC, 3);
	parts->waits = parts->options.takes_over;
	if (!parts->waits)
		error = take_lock(parts);
	if (!error && !parts->waits)
		error = adopt_all(parts, directory);
	closedir(directory);
	qsort(parts->list, parts->n, sizeof(*parts->list), compare);
	parts->n_earlier = parts->n_finished = parts->n_named = parts->n;
	return error;
}

/* Puts `n_earlier` parts at the list's end before the others, which have had no room so far. */
static bool put_first(struct reel_parts *parts, size_t n_earlier)
{
	size_t n_own = parts->n - n_earlier;
	struct part *list = calloc(parts->n + 1, sizeof(*list));

	if (!list)
		return false;
	qsort(parts->list + n_own, n_earlier, sizeof(*list), compare);
	memcpy(list, parts->list + n_own, n_earlier * sizeof(*list));
	memcpy(list + n_earlier, parts->list, n_own * sizeof(*list));
	free(parts->list);
	parts->list = list;
	parts->n_earlier = n_earlier;
	parts->n_finished += n_earlier;
	parts->n_named += n_earlier;
	if (parts->n_protected)
		parts->n_protected += n_earlier;
	return true;
}

/* Once the other recorder has ended, its parts count as earlier ones. */
static void take_over(struct reel_parts *parts)
{
	_cleanup_error_ struct reel_error *error = NULL;
	size_t n_own = parts->n;
	DIR *directory;

	if (flock(parts->lock, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
		return;
	directory = open_folder(parts);
	if (directory) {
		/* Without memory, some are not counted, and stay. */
		error = adopt_all(parts, directory);
		closedir(directory);
	}
	pthread_mutex_lock(&parts->mutex);
	while (parts->n > n_own && !put_first(parts, parts->n - n_own))
		free(parts->list[--parts->n].path);
	parts->waits = false;
	if (parts->room == ROOM_WANTED)
		parts->room = ROOM_MADE;
	pthread_cond_signal(&parts->has_answer);
	pthread_mutex_unlock(&parts->mutex);
}

void reel_parts_work(struct reel_parts *parts)
{
	bool is_wanted, made;

	if (parts->waits)
		take_over(parts);
	name_finished(parts);
	pthread_mutex_lock(&parts->mutex);
	is_wanted = parts->room == ROOM_WANTED && !parts->waits;
	pthread_mutex_unlock(&parts->mutex);
	if (!is_wanted)
		return;
	made = delete_oldest(parts);
	pthread_mutex_lock(&parts->mutex);
	parts->n_dropped += made && parts->is_full;
	parts->room = made ? ROOM_MADE : ROOM_NONE;
	pthread_cond_signal(&parts->has_answer);
	pthread_mutex_unlock(&parts->mutex);
}

struct reel_error *reel_parts_open(const struct reel_parts_options *options,
				   struct reel_parts **ret)
{
	struct reel_parts *parts = calloc(1, sizeof(*parts));
	struct reel_error *error;

	if (!parts)
		return reel_error_no_memory();
	parts->options = *options;
	parts->place.folder = parts->lock = -1;
	parts->place.mode = REEL_PLACE_PRIVATE;
	parts->number = 1;
	pthread_mutex_init(&parts->mutex, NULL);
	pthread_cond_init(&parts->has_answer, NULL);
	parts->is_folder = ends_in(options->path, "/");
	parts->prefix = host_prefix();
	if (!parts->prefix)
		error = reel_error_no_memory();
	else if (parts->is_folder)
		error = reel_output_folder_open(options->path, &parts->place.folder);
	else
		error = reel_output_place_open_folder(options->path, &parts->place);
	if (!error)
		error = look_at_folder(parts);
	if (error) {
		reel_parts_close(parts);
		return error;
	}
	*ret = parts;
	return NULL;
}

void reel_parts_close(struct reel_parts *parts)
{
	if (!parts)
		return;
	reel_output_place_close(&parts->place);
	if (parts->lock >= 0)
		close(parts->lock);
	for (size_t i = 0; i < parts->n; i++)
		free(parts->list[i].path);
	free(parts->list);
	free(parts->partial);
	free(parts->prefix);
	pthread_cond_destroy(&parts->has_answer);
	pthread_mutex_destroy(&parts->mutex);
	free(parts);
}

/* ---- state -------------------------------------------------------------------------- */

const struct reel_output_place *reel_parts_place(const struct reel_parts *parts)
{
	return &parts->place;
}

const char *reel_parts_path(const struct reel_parts *parts)
{
	if (!parts->n)
		return NULL;
	return parts->n_named == parts->n_gone + parts->n ? parts->list[parts->n - 1].path
							  : parts->partial;
}

const char *reel_parts_final_path(const struct reel_parts *parts)
{
	return parts->n ? parts->list[parts->n - 1].path : NULL;
}

const char *reel_parts_last(const struct reel_parts *parts)
{
	return parts->n_named > parts->n_gone ? parts->list[parts->n_named - parts->n_gone - 1].path
					      : NULL;
}

uint64_t reel_parts_dropped(const struct reel_parts *parts)
{
	return parts->n_dropped;
}

uint64_t reel_parts_deleted(const struct reel_parts *parts)
{
	return parts->n_deleted;
}

uint64_t reel_parts_bytes(struct reel_parts *parts)
{
	uint64_t bytes;

	pthread_mutex_lock(&parts->mutex);
	bytes = parts->finished_bytes + parts->writing_bytes;
	pthread_mutex_unlock(&parts->mutex);
	return bytes;
}

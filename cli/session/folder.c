/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/files.h"
#include "base/quantity.h"
#include "cli/print/text.h"
#include "cli/session/folder.h"
#include "cli/session/sandbox.h"
#include "cli/session/wall_time.h"
#include "host/system.h"

/* A recorder that ends one part and begins the next takes less. */
#define GAP_MIN REEL_NS_PER_SECOND
/* List at most this many gaps, and count the rest. */
#define GAPS_MAX 10
/* That read captures, besides the first. */
#define THREADS_MAX 7

bool folder_is(const char *path)
{
	struct stat status;

	return !stat(path, &status) && S_ISDIR(status.st_mode);
}

/* ---- reading --------------------------------------------------------------------------------- */

struct reading {
	const struct options *options;
	bool contents;
	struct folder *folder;
	size_t next;		    /* of its parts */
	struct reel_error **errors; /* of each part; NULL: it was read */
};

static void add_part(struct folder *folder, char *path)
{
	folder->parts = memory_resize(folder->parts, folder->n + 1, sizeof(*folder->parts));
	folder->parts[folder->n++] = (struct folder_part){ path, NULL };
}

static void *read_outlines(void *context)
{
	struct reading *reading = context;
	struct folder *folder = reading->folder;
	size_t i;

	while ((i = __atomic_fetch_add(&reading->next, 1, __ATOMIC_RELAXED)) < folder->n)
		reading->errors[i] =
			reel_outline_read(folder->parts[i].path, reading->options->identities.items,
					  reading->contents, &folder->parts[i].outline);
	return NULL;
}

/* On each CPU, since most of the time goes into decompressing. */
static void read_at_once(struct reading *reading)
{
	pthread_t threads[THREADS_MAX];
	size_t wanted = reel_system_cpus(), n = 0;

	if (wanted > reading->folder->n)
		wanted = reading->folder->n;
	while (n < THREADS_MAX && n + 1 < wanted &&
	       !pthread_create(&threads[n], NULL, read_outlines, reading))
		n++;
	read_outlines(reading);
	while (n)
		pthread_join(threads[--n], NULL);
}

/* Keeps the parts that were read. */
static struct reel_error *sift(const struct reading *reading)
{
	struct folder *folder = reading->folder;
	struct reel_error *failure = NULL;
	size_t n = 0;

	for (size_t i = 0; i < folder->n; i++) {
		struct reel_error *error = reading->errors[i];

		if (!error) {
			folder->parts[n++] = folder->parts[i];
			continue;
		}
		free(folder->parts[i].path);
		if (reel_error_code(error) == REEL_ERROR_NOT_A_CAPTURE) {
			reel_error_destroy(error);
			folder->others++;
		} else if (reel_error_code(error) == REEL_ERROR_NO_MEMORY && !failure) {
			failure = error;
		} else {
			no_error(error);
			folder->unread++;
		}
	}
	folder->n = n;
	return failure;
}

static struct reel_error *read_parts(const struct options *options, bool contents,
				     struct folder *folder)
{
	_cleanup_free_ struct reel_error **errors =
		memory_resize(NULL, folder->n + 1, sizeof(*errors));
	struct reading reading = { options, contents, folder, 0, errors };

	read_at_once(&reading);
	return sift(&reading);
}

static int compare_parts(const void *a, const void *b)
{
	const struct reel_outline *x = ((const struct folder_part *)a)->outline,
				  *y = ((const struct folder_part *)b)->outline;
	int order = strcmp(x->hostname, y->hostname);

	if (order)
		return order;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return memcmp(x->file_id, y->file_id, sizeof(x->file_id));
}

static void free_part(struct folder_part *part)
{
	reel_outline_destroy(part->outline);
	free(part->path);
}

void folder_free(struct folder *folder)
{
	for (size_t i = 0; i < folder->n; i++)
		free_part(&folder->parts[i]);
	free(folder->parts);
}

/* Keeps one of several copies of a capture. */
static void drop_copies(struct folder *folder)
{
	size_t n = 0;

	for (size_t i = 0; i < folder->n; i++) {
		if (n && !compare_parts(&folder->parts[n - 1], &folder->parts[i])) {
			complain("%s: skipped, since it is a copy of %s", folder->parts[i].path,
				 folder->parts[n - 1].path);
			free_part(&folder->parts[i]);
		} else {
			folder->parts[n++] = folder->parts[i];
		}
	}
	folder->n = n;
}

/* Not links, since whoever may write to the folder would choose among our files. */
static void find_parts(const char *directory, DIR *entries, struct folder *folder)
{
	struct dirent *entry;

	while ((entry = readdir(entries))) {
		struct stat status;

		if (*entry->d_name == '.' ||
		    fstatat(dirfd(entries), entry->d_name, &status, AT_SYMLINK_NOFOLLOW))
			continue;
		if (S_ISREG(status.st_mode))
			add_part(folder, memory_print("%s/%s", directory, entry->d_name));
		else
			folder->others += !S_ISDIR(status.st_mode);
	}
}

struct reel_error *folder_read(const struct options *options, bool contents, struct folder *ret)
{
	DIR *entries;
	struct reel_error *error;

	*ret = (struct folder){ 0 };
	if (folder_is(options->file)) {
		entries = opendir(options->file);
		if (!entries)
			return reel_error_os(errno, "%s: cannot read the directory", options->file);
		find_parts(options->file, entries, ret);
		closedir(entries);
	} else {
		add_part(ret, memory_print("%s", options->file));
	}
	error = read_parts(options, contents, ret);
	if (ret->n)
		qsort(ret->parts, ret->n, sizeof(*ret->parts), compare_parts);
	drop_copies(ret);
	return error;
}

/* ---- what is missing ------------------------------------------------------------------------- */

struct gaps {
	const struct options *options;
	uint64_t n, time;
};

static void add_gap(struct gaps *gaps, const char *host, uint64_t from, uint64_t to)
{
	uint64_t end = gaps->options->wall.to;

	if (end && to > end)
		to = end;
	if (to <= from || to - from < GAP_MIN)
		return;
	gaps->time += to - from;
	if (gaps->n++ < GAPS_MAX)
		complain("%s: nothing was recorded%s%s from %s to %s (%s)", gaps->options->file,
			 *host ? " on " : "", host, format_local_time(from).text,
			 format_local_time(to).text, format_nanoseconds(to - from).text);
}

static bool is_in_time(const struct options *options, const struct reel_outline *part)
{
	const struct wall_range *wall = &options->wall;

	return part->end >= wall->from && (!wall->to || part->start <= wall->to);
}

/* Of all hosts, also those without a part of the time. */
static void report_gaps(const struct options *options, const struct folder *folder)
{
	struct gaps gaps = { .options = options };
	const char *host = NULL;
	uint64_t known = 0;

	for (size_t i = 0; i < folder->n; i++) {
		const struct reel_outline *part = folder->parts[i].outline;

		if (!host || strcmp(part->hostname, host) != 0) {
			if (host)
				add_gap(&gaps, host, known, options->wall.to);
			host = part->hostname;
			known = options->wall.from ? options->wall.from : part->start;
		}
		add_gap(&gaps, host, known, part->start);
		if (part->end > known)
			known = part->end;
		if (!part->complete && is_in_time(options, part))
			complain("%s: unfinished: samples after %s are missing",
				 folder->parts[i].path, format_local_time(part->end).text);
	}
	add_gap(&gaps, host, known, options->wall.to);
	if (gaps.n > GAPS_MAX)
		complain("%s: %s more gaps; in all, %s were not recorded", options->file,
			 format_count(gaps.n - GAPS_MAX).text, format_nanoseconds(gaps.time).text);
}

/* ---- joining --------------------------------------------------------------------------------- */

struct joining {
	struct options *options;
	struct folder folder;
	struct folder chosen; /* borrows from `folder` */
	bool damaged;
};

static void report_problem(void *context, const char *path, const char *message)
{
	struct joining *joining = context;

	(void)path;
	joining->damaged = true;
	complain("%s", message);
}

/* --time from the first sample on becomes times of the wall clock. */
static void set_wall_times(struct options *options, const struct folder *folder)
{
	uint64_t first = UINT64_MAX;

	for (size_t i = 0; i < folder->n; i++) {
		const struct reel_outline *part = folder->parts[i].outline;

		if (part->last_sample && part->first_sample < first)
			first = part->first_sample;
	}
	if (options->from)
		options->wall.from = first + options->from;
	if (options->to)
		options->wall.to = first + options->to;
	options->from = options->to = 0;
}

static struct reel_error *nothing_recorded(const struct joining *joining)
{
	const struct folder *folder = &joining->folder;
	const char *file = joining->options->file;
	uint64_t from = UINT64_MAX, to = 0;

	if (!folder->n)
		return reel_error_create(REEL_ERROR_NOT_FOUND,
					 "%s: no readable captures in this directory", file);
	for (size_t i = 0; i < folder->n; i++) {
		const struct reel_outline *part = folder->parts[i].outline;

		from = part->start < from ? part->start : from;
		to = part->end > to ? part->end : to;
	}
	return reel_error_create(
		REEL_ERROR_NOT_FOUND,
		"%s: no samples in the selected time, %s to %s; the captures are from %s to %s",
		file,
		joining->options->wall.from ? format_local_time(joining->options->wall.from).text
					    : "the start",
		joining->options->wall.to ? format_local_time(joining->options->wall.to).text
					  : "the end",
		format_local_time(from).text, format_local_time(to).text);
}

static struct reel_error *choose(struct joining *joining)
{
	const struct folder *folder = &joining->folder;
	const struct options *options = joining->options;
	const struct wall_range *wall = &options->wall;
	struct folder *chosen = &joining->chosen;

	set_wall_times(joining->options, folder);
	chosen->parts = memory_get((folder->n + 1) * sizeof(*chosen->parts));
	for (size_t i = 0; i < folder->n; i++) {
		if (is_in_time(options, folder->parts[i].outline))
			chosen->parts[chosen->n++] = folder->parts[i];
	}
	if (!chosen->n)
		return nothing_recorded(joining);
	if (options->quiet)
		return NULL;
	complain("%s: reading %s of %s parts, from %s to %s", options->file,
		 format_count(chosen->n).text, format_count(folder->n).text,
		 format_local_time(wall->from ? wall->from : chosen->parts[0].outline->start).text,
		 wall->to ? format_local_time(wall->to).text : "their end");
	report_gaps(options, folder);
	return NULL;
}

static struct reel_error *merge(struct joining *joining, int fd)
{
	const struct options *options = joining->options;
	const struct folder *chosen = &joining->chosen;
	const REEL_SIZED(reel_rewrite_options, rewrite, .decrypt = true,
			 .identities = options->identities.items, .from = options->wall.from,
			 .to = options->wall.to, .problem = report_problem, .context = joining);
	REEL_SIZED(reel_rewrite_counts, counts);
	_cleanup_free_ const char **paths = memory_get((chosen->n + 1) * sizeof(*paths));

	for (size_t i = 0; i < chosen->n; i++)
		paths[i] = chosen->parts[i].path;
	TRY(reel_captures_merge_fd(paths, fd, options->file, &rewrite, &counts));
	return counts.samples ? NULL : nothing_recorded(joining);
}

static struct reel_error *join(struct joining *joining, int fd)
{
	TRY(folder_read(joining->options, false, &joining->folder));
	TRY(choose(joining));
	joining->damaged = joining->folder.unread;
	return merge(joining, fd);
}

static void joining_free(struct joining *joining)
{
	folder_free(&joining->folder);
	free(joining->chosen.parts);
}

enum child_status { CHILD_DONE, CHILD_DAMAGED, CHILD_FAILED };

/* The sandbox has no way back, and this process still has to open other files. */
static struct reel_error *join_in_sandbox(struct joining *joining, int fd)
{
	int status = -1;
	pid_t child = fork();

	if (!child) {
		reel_system_end_with_parent(SIGKILL);
		if (!sandbox_enter(joining->options) || !no_error(join(joining, fd)))
			_exit(CHILD_FAILED);
		_exit(joining->damaged ? CHILD_DAMAGED : CHILD_DONE);
	}
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (!WIFEXITED(status) || WEXITSTATUS(status) == CHILD_FAILED)
		return reel_error_create(REEL_ERROR_CORRUPT, "%s: cannot be read in the sandbox",
					 joining->options->file);
	joining->damaged = WEXITSTATUS(status) == CHILD_DAMAGED;
	return NULL;
}

/* Decrypted samples stay in memory. */
static struct reel_error *create_file(const struct options *options, int *ret)
{
	if (!options->identities.count)
		return reel_temporary_file(ret);
	*ret = reel_system_memory_file("capture");
	return *ret < 0 ? reel_error_os(errno, "creating a file in memory") : NULL;
}

struct reel_error *folder_join(struct options *options, bool *damaged_ret, int *fd_ret)
{
	struct joining joining = { .options = options };
	struct reel_error *error;
	int fd;

	if (options->may_lack_header)
		return reel_error_create(REEL_ERROR_INVALID,
					 "%s: is a directory; name its files instead",
					 options->file);
	tzset(); /* before the sandbox */
	TRY(create_file(options, &fd));
	error = sandbox_is_wanted(options) ? join_in_sandbox(&joining, fd) : join(&joining, fd);
	joining_free(&joining);
	if (error) {
		close(fd);
		return error;
	}
	options->from = options->to = 0;
	options->identities = (struct string_list){ 0 };
	*damaged_ret = joining.damaged;
	*fd_ret = fd;
	return NULL;
}

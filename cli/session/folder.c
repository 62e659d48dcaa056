/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/print/text.h"
#include "cli/session/folder.h"

bool folder_is(const char *path)
{
	struct stat status;

	return !stat(path, &status) && S_ISDIR(status.st_mode);
}

/* ---- reading --------------------------------------------------------------------------------- */

static struct reel_error *read_part(const struct options *options, const char *path, bool contents,
				    struct folder *folder)
{
	const struct reel_outline *outline;
	struct reel_error *error =
		reel_outline_read(path, options->identities.items, contents, &outline);

	if (error && reel_error_code(error) == REEL_ERROR_NO_MEMORY)
		return error;
	if (error && reel_error_code(error) == REEL_ERROR_NOT_A_CAPTURE) {
		reel_error_destroy(error);
		folder->others++;
		return NULL;
	}
	if (!no_error(error)) {
		folder->unread++;
		return NULL;
	}
	folder->parts = memory_resize(folder->parts, folder->n + 1, sizeof(*folder->parts));
	folder->parts[folder->n++] = (struct folder_part){ memory_print("%s", path), outline };
	return NULL;
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
static struct reel_error *read_entries(const struct options *options, DIR *entries, bool contents,
				       struct folder *folder)
{
	struct dirent *entry;

	while ((entry = readdir(entries))) {
		_cleanup_free_ char *path = memory_print("%s/%s", options->file, entry->d_name);
		struct stat status;

		if (*entry->d_name == '.' ||
		    fstatat(dirfd(entries), entry->d_name, &status, AT_SYMLINK_NOFOLLOW))
			continue;
		if (S_ISREG(status.st_mode))
			TRY(read_part(options, path, contents, folder));
		else
			folder->others += !S_ISDIR(status.st_mode);
	}
	return NULL;
}

struct reel_error *folder_read(const struct options *options, bool contents, struct folder *ret)
{
	DIR *entries;
	struct reel_error *error;

	*ret = (struct folder){ 0 };
	if (!folder_is(options->file))
		return read_part(options, options->file, contents, ret);
	entries = opendir(options->file);
	if (!entries)
		return reel_error_os(errno, "%s: cannot read the directory", options->file);
	error = read_entries(options, entries, contents, ret);
	closedir(entries);
	if (ret->n)
		qsort(ret->parts, ret->n, sizeof(*ret->parts), compare_parts);
	drop_copies(ret);
	return error;
}

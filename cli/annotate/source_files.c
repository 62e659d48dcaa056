/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/regular_file.h"
#include "cli/annotate/source_files.h"
#include "cli/print/text.h"

/* Handwritten sources are far smaller; the capture's path is untrusted. */
#define SOURCE_SIZE_MAX (64 << 20)
#define TAB_WIDTH	8
#define LINE_LENGTH_MAX 4096

void source_files_free(struct source_files *files)
{
	for (size_t i = 0; i < files->n; i++) {
		struct source_file *file = files->all[i];

		free(file->local);
		free(file->why);
		free(file->bytes);
		free(file->lines);
		free(file);
	}
	free(files->all);
	free(files->folders.items);
	pointer_map_free(&files->by_path);
}

/* ---- reading ------------------------------------------------------------------------------ */

static bool read_whole(int fd, char *bytes, size_t size, size_t *size_ret)
{
	size_t done = 0;

	while (done < size) {
		ssize_t got = read(fd, bytes + done, size - done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return false;
		if (!got)
			break;
		done += (size_t)got;
	}
	*size_ret = done;
	return true;
}

static void find_lines(struct source_file *file, size_t size)
{
	size_t capacity = 1024;

	file->lines = memory_resize(NULL, capacity, sizeof(*file->lines));
	file->lines[0] = 0;
	for (size_t i = 0; i < size; i++) {
		if (file->bytes[i] != '\n' && i + 1 != size)
			continue;
		if (++file->n_lines == capacity) {
			capacity *= 2;
			file->lines = memory_resize(file->lines, capacity, sizeof(*file->lines));
		}
		file->lines[file->n_lines] = i + 1;
	}
}

static const char *read_source(struct source_file *file, int fd, const struct stat *status,
			       uint64_t recorded)
{
	size_t size;

	if (status->st_size > SOURCE_SIZE_MAX)
		return "larger than 64 MiB";
	file->bytes = memory_get((size_t)status->st_size + 1);
	if (!read_whole(fd, file->bytes, (size_t)status->st_size, &size))
		return strerror(errno);
	find_lines(file, size);
	file->is_newer = recorded && (uint64_t)status->st_mtime > recorded / 1000000000;
	return NULL;
}

/* Why the path of an existing file cannot be read; NULL: it was read, or it does not exist. */
static char *read_path(struct source_file *file, const char *path, uint64_t recorded)
{
	_cleanup_error_ struct reel_error *error = NULL;
	_cleanup_fd_ int fd = -1;
	struct stat status;
	const char *why;

	if (stat(path, &status))
		return errno == ENOENT || errno == ENOTDIR
			       ? NULL
			       : memory_print("%s: %s", path, strerror(errno));
	if (!S_ISREG(status.st_mode))
		return memory_print("%s: not a regular file", path);
	error = reel_regular_file_open(path, &fd, &status);
	if (error)
		return memory_print("%s", reel_error_message(error));
	why = read_source(file, fd, &status, recorded);
	if (why)
		return memory_print("%s: %s", path, why);
	file->local = memory_print("%s", path);
	return NULL;
}

/* False: no such file; takes ownership of the path. */
static bool try_path(struct source_file *file, char *path, uint64_t recorded)
{
	_cleanup_free_ char *owned = path;
	char *why = read_path(file, owned, recorded);

	if (why) {
		free(file->why);
		file->why = why;
	}
	return file->local;
}

/* ---- looking for it ----------------------------------------------------------------------- */

/* Searches below the folder: by the whole path, then with one leading folder less each time. */
static bool find_below(struct source_file *file, const char *folder, uint64_t recorded)
{
	for (const char *part = file->path; part; part = strchr(part, '/')) {
		while (*part == '/')
			part++;
		if (*part && try_path(file, memory_print("%s/%s", folder, part), recorded))
			return true;
	}
	return false;
}

static void find_source(struct source_file *file, const struct source_files *files)
{
	const struct options *options = files->session->options;
	uint64_t recorded = files->session->info->start_wall_time;

	for (size_t i = 0; i < files->folders.count; i++) {
		if (find_below(file, files->folders.items[i], recorded))
			return;
	}
	for (size_t i = 0; i < options->symfs.count; i++) {
		if (try_path(file, memory_print("%s/%s", options->symfs.items[i], file->path),
			     recorded))
			return;
	}
	if (options->no_host_files || *file->path != '/')
		return;
	if (session_trusts_paths(files->session)) {
		try_path(file, memory_print("%s", file->path), recorded);
	} else if (!file->why) {
		file->why = memory_print("the capture belongs to user %u, so its paths are not "
					 "opened; use --source-path DIR or --sandbox",
					 reel_capture_owner(files->session->capture));
	}
}

const struct source_file *source_file_get(struct source_files *files, const char *path)
{
	struct source_file *file = pointer_map_get(&files->by_path, path);

	if (file || !*path)
		return file;
	for (size_t i = 0; i < files->n && !file; i++) {
		if (!strcmp(files->all[i]->path, path))
			file = files->all[i];
	}
	if (!file) {
		file = memory_get(sizeof(*file));
		*file = (struct source_file){ .path = path };
		find_source(file, files);
		files->all = memory_resize(files->all, files->n + 1, sizeof(struct source_file *));
		files->all[files->n++] = file;
	}
	pointer_map_put(&files->by_path, path, file);
	return file;
}

/* ---- lines -------------------------------------------------------------------------------- */

char *source_line(const struct source_file *file, uint32_t line)
{
	char text[LINE_LENGTH_MAX];
	size_t n = 0;

	if (!file || !file->bytes || !line || line > file->n_lines)
		return NULL;
	for (size_t i = file->lines[line - 1]; i < file->lines[line]; i++) {
		char c = file->bytes[i];

		if (n + TAB_WIDTH >= sizeof(text))
			break;
		if (c == '\t')
			do
				text[n++] = ' ';
			while (n % TAB_WIDTH);
		else if (c != '\n' && c != '\r')
			text[n++] = c;
	}
	while (n && text[n - 1] == ' ')
		n--;
	return text_escape_again((const uint8_t *)text, n, "");
}

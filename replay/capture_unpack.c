/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a capture's images as files that debuggers find by their build-id.  Whoever made the
 * capture chose everything in it, so nothing of it becomes part of a path but hexadecimal digits,
 * and no link is followed below the folder.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "base/id_table.h"
#include "base/sized.h"
#include "replay/capture.h"

/* A file of this capture, by a hash of its path. */
struct unpacked_file {
	struct reel_id_entry by_path;
	uint64_t size;
};

struct unpack {
	struct reel_unpack_options options;
	const char *directory;
	int folder; /* the directory */
	struct reel_unpack_counts counts;
	struct reel_id_table files; /* struct unpacked_file */
	struct reel_error *error;
};

/* Below the folder: two names and a file's, and how it is shown. */
struct unpacked_path {
	const char *top;
	char middle[3], name[2 * REEL_BUILD_ID_MAX + sizeof(".debug")];
	char whole[sizeof(".build-id/xx/") + 2 * REEL_BUILD_ID_MAX + sizeof(".debug")];
};

static void put_hex(char *text, struct reel_bytes bytes)
{
	for (size_t i = 0; i < bytes.size; i++)
		sprintf(text + 2 * i, "%02x", bytes.data[i]);
}

static uint64_t hash(struct reel_bytes bytes)
{
	uint64_t value = 0xcbf29ce484222325;

	for (size_t i = 0; i < bytes.size; i++)
		value = (value ^ bytes.data[i]) * 0x100000001b3; /* FNV-1a */
	return value;
}

/* .build-id/xx/yyyy.debug, as gdb and perf look for it; without a build-id nobody does. */
static void make_path(const struct reel_record_module *record, struct unpacked_path *ret)
{
	char digits[2 * REEL_BUILD_ID_MAX + 1] = "";
	uint8_t path[8];
	struct reel_bytes id = record->build_id;

	ret->top = ".build-id";
	if (id.size < 2 || id.size > REEL_BUILD_ID_MAX) {
		ret->top = ".no-build-id";
		id = record->file_digest;
	}
	if (id.size < 2 || id.size > REEL_BUILD_ID_MAX) {
		reel_store64(path, hash(record->path));
		id = (struct reel_bytes){ path, sizeof(path) };
	}
	put_hex(digits, id);
	memcpy(ret->middle, digits, 2);
	ret->middle[2] = '\0';
	snprintf(ret->name, sizeof(ret->name), "%s.debug", digits + 2);
	snprintf(ret->whole, sizeof(ret->whole), "%s/%s/%s", ret->top, ret->middle, ret->name);
}

/* A folder in a folder, which may be there already, but not as a link; -1 and errno. */
static int open_folder(int folder, const char *name)
{
	if (mkdirat(folder, name, 0700) && errno != EEXIST)
		return -1;
	return openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int create(const struct unpack *unpack, const struct unpacked_path *path, bool replace,
		  int *folder_ret)
{
	_cleanup_fd_ int top = open_folder(unpack->folder, path->top);

	*folder_ret = top < 0 ? -1 : open_folder(top, path->middle);
	if (*folder_ret < 0)
		return -1;
	if (replace)
		unlinkat(*folder_ret, path->name, 0);
	return openat(*folder_ret, path->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		      0600);
}

/* Why it was not written; NULL: it was. */
static struct reel_error *write_image(const struct unpack *unpack, const struct reel_module *module,
				      const struct unpacked_path *path, bool replace)
{
	_cleanup_fd_ int folder = -1;
	_cleanup_fd_ int fd = create(unpack, path, replace, &folder);
	int errnum;

	if (fd < 0 && errno == EEXIST)
		return reel_error_create(REEL_ERROR_OS,
					 "%s/%s: is there already: --force "
					 "replaces it",
					 unpack->directory, path->whole);
	if (fd < 0)
		return reel_error_os(errno, "%s/%s", unpack->directory, path->whole);
	errnum = reel_write_all(fd, module->image, module->image_size, NULL);
	if (!errnum)
		return NULL;
	unlinkat(folder, path->name, 0);
	return reel_error_os(errnum, "%s/%s", unpack->directory, path->whole);
}

/* What is no ELF file, or not of the module's build-id, would only mislead who finds it. */
static struct reel_error *check(const struct reel_module *module)
{
	struct reel_bytes build_id = module->record->build_id;
	struct reel_elf_file *file;
	struct reel_error *error =
		reel_elf_file_open_memory(module->image, module->image_size, "its image", &file);

	if (error)
		return error;
	if (build_id.size && !reel_bytes_are_equal(reel_elf_file_build_id(file), build_id))
		error = reel_error_create(REEL_ERROR_MISMATCH, "its image has another build-id");
	reel_elf_file_close(file);
	return error;
}

/*
 * A file that is mapped under several paths is several modules, each with what its own frames ask:
 * the largest of their images is written.
 */
static struct reel_error *write_largest(struct unpack *unpack, const struct reel_module *module,
					const struct unpacked_path *path)
{
	uint64_t key = hash(reel_bytes_of_string(path->whole));
	struct unpacked_file *file =
		(struct unpacked_file *)reel_id_table_find(&unpack->files, key);
	struct reel_error *error;

	if (file && module->image_size <= file->size)
		return NULL;
	error = write_image(unpack, module, path, unpack->options.force || file);
	if (error)
		return error;
	if (!file) {
		file = calloc(1, sizeof(*file));
		if (!file)
			return reel_error_no_memory();
		file->by_path.id = key;
		if (!reel_id_table_insert(&unpack->files, &file->by_path)) {
			free(file);
			return reel_error_no_memory();
		}
		unpack->counts.files++;
	}
	unpack->counts.bytes += module->image_size - file->size;
	file->size = module->image_size;
	return NULL;
}

static void free_file(void *context, struct reel_id_entry *entry)
{
	(void)context;
	free(entry);
}

/* For reel_modules_visit. */
static void unpack_module(void *context, const struct reel_module *module)
{
	struct unpack *unpack = context;
	struct reel_bytes name = module->record->path;
	_cleanup_free_ char *module_path = NULL;
	struct unpacked_path path;
	struct reel_error *error;

	if (unpack->error || !module->image)
		return;
	module_path = reel_text_print("%.*s", (int)name.size, (const char *)name.data);
	if (!module_path) {
		unpack->error = reel_error_no_memory();
		return;
	}
	make_path(module->record, &path);
	error = check(module);
	if (!error)
		error = write_largest(unpack, module, &path);
	if (error && reel_error_code(error) == REEL_ERROR_NO_MEMORY) {
		unpack->error = error;
		return;
	}
	unpack->counts.left_out += error != NULL;
	if (unpack->options.visit)
		unpack->options.visit(unpack->options.context, module_path, path.whole,
				      error ? reel_error_message(error) : NULL);
	reel_error_destroy(error);
}

struct reel_error *reel_capture_unpack(struct reel_capture *capture, const char *directory,
				       const struct reel_unpack_options *options,
				       struct reel_unpack_counts *counts)
{
	struct unpack unpack = { .directory = directory, .folder = -1 };

	reel_sized_take(&unpack.options, sizeof(unpack.options), options);
	if (mkdir(directory, 0700) && errno != EEXIST)
		return reel_error_os(errno, "%s", directory);
	unpack.folder = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (unpack.folder < 0)
		return reel_error_os(errno, "%s", directory);
	reel_modules_visit(capture->modules, unpack_module, &unpack);
	close(unpack.folder);
	reel_id_table_visit(&unpack.files, free_file, NULL);
	reel_id_table_free(&unpack.files);
	if (unpack.error)
		return unpack.error;
	reel_sized_give(counts, sizeof(*counts), &unpack.counts);
	return NULL;
}

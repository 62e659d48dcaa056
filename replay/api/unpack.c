/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a capture's modules as files that debuggers find by their build-id: their images in the
 * capture, or complete local files.  Everything in the capture was chosen by its author, so only
 * hexadecimal digits from it become part of paths, and links below the folder are not followed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/files.h"
#include "base/output_place.h"
#include "base/id_table.h"
#include "base/sized.h"
#include "elf/elf_sections.h"
#include "elf/file_search.h"
#include "replay/capture/capture.h"

/* ---- a folder of files by their build-ids --------------------------------------------------- */

struct folder {
	const char *name;
	int fd;
};

/* Below the folder: two folders and a file; and the path for display. */
struct file_path {
	const char *top;
	char middle[3], name[2 * REEL_BUILD_ID_MAX + sizeof(".debug")];
	char whole[sizeof(".build-id/xx/") + 2 * REEL_BUILD_ID_MAX + sizeof(".debug")];
};

/* The contents of a new file: bytes, or a whole file's. */
struct contents {
	const uint8_t *bytes;
	uint64_t size;
	int fd; /* the file, if `bytes` is NULL */
};

/* .build-id/xx/yyyy and the suffix ("" or ".debug"); without a usable build-id, a file in
 * .no-build-id/, by the file's digest, or else by a hash of the module's path. */
static void make_path(const struct reel_record_module *module, const char *suffix,
		      struct file_path *ret)
{
	char digits[REEL_BUILD_ID_TEXT];
	uint8_t path[8];
	struct reel_bytes id = module->build_id;

	ret->top = ".build-id";
	if (id.size < 2 || id.size > REEL_BUILD_ID_MAX) {
		ret->top = ".no-build-id";
		id = module->file_digest;
	}
	if (id.size < 2 || id.size > REEL_BUILD_ID_MAX) {
		reel_store64(path, reel_bytes_hash(REEL_HASH_BEGIN, module->path));
		id = (struct reel_bytes){ path, sizeof(path) };
	}
	reel_build_id_print(id, digits);
	memcpy(ret->middle, digits, 2);
	ret->middle[2] = '\0';
	snprintf(ret->name, sizeof(ret->name), "%s%s", digits + 2, suffix);
	snprintf(ret->whole, sizeof(ret->whole), "%s/%s/%s", ret->top, ret->middle, ret->name);
}

/* Opens or creates a folder in a folder, but not through a link; -1 and errno. */
static int open_folder(int folder, const char *name)
{
	if (mkdirat(folder, name, 0700) && errno != EEXIST)
		return -1;
	return openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int create(int folder, const struct file_path *path, bool replace, int *folder_ret)
{
	_cleanup_fd_ int top = open_folder(folder, path->top);

	*folder_ret = top < 0 ? -1 : open_folder(top, path->middle);
	if (*folder_ret < 0)
		return -1;
	if (replace)
		unlinkat(*folder_ret, path->name, 0);
	return openat(*folder_ret, path->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		      0600);
}

/* An existing file is an error unless it may be replaced. */
static struct reel_error *write_new(const struct folder *folder, const struct file_path *path,
				    const struct contents *contents, bool replace)
{
	_cleanup_fd_ int parent = -1;
	_cleanup_fd_ int fd = create(folder->fd, path, replace, &parent);
	int errnum;

	if (fd < 0 && errno == EEXIST)
		return reel_error_create(REEL_ERROR_OS,
					 "%s/%s already exists; use --force to replace it",
					 folder->name, path->whole);
	if (fd < 0)
		return reel_error_os(errno, "%s/%s", folder->name, path->whole);
	errnum = contents->bytes ? reel_write_all(fd, contents->bytes, contents->size, NULL)
				 : reel_copy_all(contents->fd, fd);
	if (!errnum)
		return NULL;
	unlinkat(parent, path->name, 0);
	return reel_error_os(errnum, "%s/%s", folder->name, path->whole);
}

/* ---- files of this capture ------------------------------------------------------------------ */

/* A file of this capture, by a hash of its path. */
struct unpacked_file {
	struct reel_id_entry by_path;
	uint64_t size;
};

struct unpack {
	struct reel_unpack_options options;
	struct folder folder;
	struct reel_unpack_counts counts;
	struct reel_id_table files; /* struct unpacked_file */
	struct reel_error *error;
};

/* The file of that path, added if it is new; NULL: no memory. */
static struct unpacked_file *file_at(struct unpack *unpack, const struct file_path *path)
{
	uint64_t key = reel_bytes_hash(REEL_HASH_BEGIN, reel_bytes_of_string(path->whole));
	struct unpacked_file *file =
		(struct unpacked_file *)reel_id_table_find(&unpack->files, key);

	return file ? file : reel_id_table_add(&unpack->files, key, sizeof(*file));
}

/*
 * A file mapped under several paths is several modules, each with an image for its own frames:
 * writes the largest image.
 */
static struct reel_error *write_largest(struct unpack *unpack, const struct file_path *path,
					const struct contents *contents)
{
	struct unpacked_file *file = file_at(unpack, path);

	if (!file)
		return reel_error_no_memory();
	if (contents->size <= file->size)
		return NULL;
	TRY(write_new(&unpack->folder, path, contents, unpack->options.force || file->size));
	unpack->counts.files += !file->size;
	unpack->counts.bytes += contents->size - file->size;
	file->size = contents->size;
	return NULL;
}

/* Reports the result; takes ownership of the error. */
static void report(struct unpack *unpack, const struct reel_module *module, const char *path,
		   struct reel_error *error)
{
	struct reel_bytes name = module->record->path;
	_cleanup_free_ char *module_path =
		reel_text_print("%.*s", (int)name.size, (const char *)name.data);

	if (error && reel_error_code(error) == REEL_ERROR_NO_MEMORY) {
		unpack->error = error;
		return;
	}
	if (!module_path)
		unpack->error = reel_error_no_memory();
	unpack->counts.left_out += error != NULL;
	if (unpack->options.visit && module_path)
		unpack->options.visit(unpack->options.context, module_path, path,
				      error ? reel_error_message(error) : NULL);
	reel_error_destroy(error);
}

/* ---- images --------------------------------------------------------------------------------- */

/* Invalid ELF files and those with a different build-id would only mislead their users. */
static struct reel_error *check(const struct reel_module *module)
{
	struct reel_bytes build_id = module->record->build_id;
	struct reel_elf_file *file;
	struct reel_error *error = NULL;

	TRY(reel_module_image_need(module->image));
	TRY(reel_elf_file_open_memory(module->image->bytes, module->image->size, "embedded image",
				      &file));
	if (build_id.size && !reel_bytes_are_equal(reel_elf_file_build_id(file), build_id))
		error = reel_error_create(REEL_ERROR_MISMATCH,
					  "embedded image has a different build-id");
	reel_elf_file_close(file);
	return error;
}

static struct reel_error *write_image(struct unpack *unpack, const struct reel_module *module,
				      const struct file_path *path)
{
	_cleanup_free_ uint8_t *copy = malloc(module->image->size);
	struct contents contents = { .bytes = copy, .size = module->image->size };

	if (!copy)
		return reel_error_no_memory();
	memcpy(copy, module->image->bytes, module->image->size);
	reel_elf_clean_names((char *)copy, module->image->size);
	return write_largest(unpack, path, &contents);
}

/* For reel_modules_visit. */
static void unpack_image(void *context, const struct reel_module *module)
{
	struct unpack *unpack = context;
	struct file_path path;
	struct reel_error *error;

	if (unpack->error || !module->image)
		return;
	make_path(module->record, ".debug", &path);
	error = check(module);
	if (!error)
		error = write_image(unpack, module, &path);
	report(unpack, module, path.whole, error);
}

/* ---- whole files ---------------------------------------------------------------------------- */

static void write_file(struct unpack *unpack, const struct reel_module *module,
		       const struct reel_record_module *named, const struct reel_elf_file *file,
		       const char *suffix)
{
	struct contents contents = { .fd = file ? reel_elf_file_descriptor(file) : -1 };
	struct file_path path;

	if (contents.fd < 0 || unpack->error)
		return;
	contents.size = reel_elf_file_length(file);
	make_path(named, suffix, &path);
	report(unpack, module, path.whole, write_largest(unpack, &path, &contents));
}

/* Writes the common parts that `dwz -m` moved out of several files. */
static void write_alternate(struct unpack *unpack, const struct reel_module *module,
			    const struct reel_elf_file *file)
{
	const struct reel_elf_file *alternate = file ? reel_elf_file_alternate(file) : NULL;
	const struct reel_record_module named = {
		.path = module->record->path,
		.build_id =
			alternate ? reel_elf_file_build_id(alternate) : (struct reel_bytes){ 0 },
	};

	write_file(unpack, module, &named, alternate, ".debug");
}

/* For reel_modules_visit: the files opened by traces. */
static void unpack_files(void *context, const struct reel_module *module)
{
	struct unpack *unpack = context;

	write_file(unpack, module, module->record, module->files.file, "");
	write_file(unpack, module, module->record, module->files.debug, ".debug");
	write_alternate(unpack, module, module->files.file);
	write_alternate(unpack, module, module->files.debug);
}

/* Unwinds all samples, which opens the files of their frames. */
static struct reel_error *open_files(struct reel_capture *capture)
{
	const struct reel_trace *trace;
	struct reel_traces *traces;
	struct reel_error *error;

	TRY(reel_traces_create(capture, NULL, &traces));
	do
		error = reel_traces_next(traces, &trace);
	while (!error && trace);
	reel_traces_destroy(traces);
	return error;
}

/* ---- all of them ---------------------------------------------------------------------------- */

static struct reel_error *unpack_all(struct unpack *unpack, struct reel_capture *capture)
{
	if (unpack->options.full)
		TRY(open_files(capture));
	reel_modules_visit(capture->modules, unpack->options.full ? unpack_files : unpack_image,
			   unpack);
	return unpack->error;
}

struct reel_error *reel_capture_unpack(struct reel_capture *capture, const char *directory,
				       const struct reel_unpack_options *options,
				       struct reel_unpack_counts *counts)
{
	struct unpack unpack = { .folder = { directory, -1 } };
	struct reel_error *error;

	reel_sized_take(&unpack.options, sizeof(unpack.options), options);
	error = reel_output_folder_open(directory, &unpack.folder.fd);
	if (!error)
		error = unpack_all(&unpack, capture);
	if (unpack.folder.fd >= 0)
		close(unpack.folder.fd);
	reel_id_table_free_all(&unpack.files);
	if (!error)
		reel_sized_give(counts, sizeof(*counts), &unpack.counts);
	return error;
}

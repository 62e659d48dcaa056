/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a capture's modules as files that debuggers find by their build-id: their images in the
 * capture, or complete local files.
 */
#include <stdlib.h>
#include <string.h>

#include "base/id_table.h"
#include "base/sized.h"
#include "elf/clean_names.h"
#include "replay/capture/capture.h"
#include "replay/files/build_id_folder.h"

/* A file of this capture, by a hash of its path. */
struct unpacked_file {
	struct reel_id_entry by_path;
	uint64_t size;
};

struct unpack {
	struct reel_unpack_options options;
	struct reel_build_id_folder folder;
	struct reel_unpack_counts counts;
	struct reel_id_table files; /* struct unpacked_file */
	struct reel_error *error;
};

/* The file of that path, added if it is new; NULL: no memory. */
static struct unpacked_file *file_at(struct unpack *unpack, const struct reel_build_id_path *path)
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
static struct reel_error *write_largest(struct unpack *unpack,
					const struct reel_build_id_path *path,
					const struct reel_contents *contents)
{
	struct unpacked_file *file = file_at(unpack, path);

	if (!file)
		return reel_error_no_memory();
	if (contents->size <= file->size)
		return NULL;
	TRY(reel_build_id_folder_write(&unpack->folder, path, contents,
				       unpack->options.force || file->size));
	unpack->counts.files += !file->size;
	unpack->counts.bytes += contents->size - file->size;
	file->size = contents->size;
	return NULL;
}

/* Reports the result; takes ownership of the error. */
static void tell(struct unpack *unpack, const struct reel_module *module, const char *path,
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

	TRY(reel_elf_file_open_memory(module->image, module->image_size, "embedded image", &file));
	if (build_id.size && !reel_bytes_are_equal(reel_elf_file_build_id(file), build_id))
		error = reel_error_create(REEL_ERROR_MISMATCH,
					  "embedded image has a different build-id");
	reel_elf_file_close(file);
	return error;
}

static struct reel_error *write_image(struct unpack *unpack, const struct reel_module *module,
				      const struct reel_build_id_path *path)
{
	_cleanup_free_ uint8_t *copy = malloc(module->image_size);
	struct reel_contents contents = { .bytes = copy, .size = module->image_size };

	if (!copy)
		return reel_error_no_memory();
	memcpy(copy, module->image, module->image_size);
	reel_elf_clean_names((char *)copy, module->image_size);
	return write_largest(unpack, path, &contents);
}

/* For reel_modules_visit. */
static void unpack_image(void *context, const struct reel_module *module)
{
	struct unpack *unpack = context;
	struct reel_build_id_path path;
	struct reel_error *error;

	if (unpack->error || !module->image)
		return;
	reel_build_id_path_make(module->record, ".debug", &path);
	error = check(module);
	if (!error)
		error = write_image(unpack, module, &path);
	tell(unpack, module, path.whole, error);
}

/* ---- whole files ---------------------------------------------------------------------------- */

static void write_file(struct unpack *unpack, const struct reel_module *module,
		       const struct reel_record_module *named, const struct reel_elf_file *file,
		       const char *suffix)
{
	struct reel_contents contents = { .fd = file ? reel_elf_file_descriptor(file) : -1 };
	struct reel_build_id_path path;

	if (contents.fd < 0 || unpack->error)
		return;
	contents.size = reel_elf_file_length(file);
	reel_build_id_path_make(named, suffix, &path);
	tell(unpack, module, path.whole, write_largest(unpack, &path, &contents));
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

static void free_file(void *context, struct reel_id_entry *entry)
{
	(void)context;
	free(entry);
}

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
	struct unpack unpack = { 0 };
	struct reel_error *error;

	reel_sized_take(&unpack.options, sizeof(unpack.options), options);
	error = reel_build_id_folder_open(directory, &unpack.folder);
	if (!error)
		error = unpack_all(&unpack, capture);
	reel_build_id_folder_close(&unpack.folder);
	reel_id_table_visit(&unpack.files, free_file, NULL);
	reel_id_table_free(&unpack.files);
	if (!error)
		reel_sized_give(counts, sizeof(*counts), &unpack.counts);
	return error;
}

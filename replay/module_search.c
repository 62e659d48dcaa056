/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <zlib.h>

#include "format/bytes.h"
#include "format/regular_file.h"
#include "replay/module_search.h"
#include "replay/text.h"

/* A file that was named for whatever module has its build-id. */
struct named_file {
	char *path;
	uint8_t build_id[REEL_BUILD_ID_MAX];
	size_t build_id_size;
	bool debug_only;
};

struct reel_module_search {
	char **symfs;	   /* NULL-terminated, like the next */
	char **debug_dirs; /* with DEBUG_DIR under each symfs directory */
	struct named_file *named;
	size_t n_named;
	bool no_host_files;
};

/* One search: what is wanted, and what was seen on the way. */
struct attempt {
	const struct reel_module_search *search;
	const struct reel_record_module *module;
	char *path; /* as recorded, NUL-terminated, without " (deleted)" */
	bool deleted;
	char hex[2 * REEL_BUILD_ID_MAX + 1]; /* the build-id, "" for none */
	struct reel_buffer seen; /* "/a: No such file or directory; /b has build-id 12" */
	bool mismatch, broken;
};

static void print_hex(const uint8_t *bytes, size_t size, char *ret)
{
	for (size_t i = 0; i < size; i++)
		sprintf(ret + 2 * i, "%02x", bytes[i]);
	ret[2 * size] = 0;
}

/* ---- the search's own copy of the options --------------------------------- */

static void free_strings(char **strings)
{
	for (size_t i = 0; strings && strings[i]; i++)
		free(strings[i]);
	free(strings);
}

static size_t count_strings(const char *const *strings)
{
	size_t n = 0;

	while (strings && strings[n])
		n++;
	return n;
}

static char **copy_strings(const char *const *strings)
{
	char **copy = calloc(count_strings(strings) + 1, sizeof(*copy));

	for (size_t i = 0; copy && strings && strings[i]; i++) {
		copy[i] = strdup(strings[i]);
		if (!copy[i]) {
			free_strings(copy);
			return NULL;
		}
	}
	return copy;
}

/* DEBUG_DIRs as given, then each of them as it is in the copies of the target's file system. */
static char **make_debug_dirs(const char *const *given, char *const *symfs)
{
	static const char *const usual[] = { "/usr/lib/debug", NULL };
	const char *const *dirs = given ? given : usual;
	size_t n = count_strings(dirs), at = 0;
	char **all = calloc(n * (count_strings((const char *const *)symfs) + 1) + 1, sizeof(*all));
	bool fine = all != NULL;

	for (size_t i = 0; fine && i < n; i++)
		fine = (all[at++] = strdup(dirs[i]));
	for (size_t j = 0; fine && symfs[j]; j++) {
		for (size_t i = 0; fine && i < n; i++) {
			if (dirs[i][0] == '/')
				fine = (all[at++] = reel_text_print("%s%s", symfs[j], dirs[i]));
		}
	}
	if (!fine) {
		free_strings(all);
		return NULL;
	}
	return all;
}

static struct reel_error *read_named_file(const char *path, struct named_file *ret)
{
	struct reel_elf_file *file;
	struct reel_error *error = reel_elf_file_open(path, &file);
	const uint8_t *build_id;

	if (error)
		return error;
	build_id = reel_elf_file_build_id(file, &ret->build_id_size);
	memcpy(ret->build_id, build_id, ret->build_id_size);
	ret->debug_only = reel_elf_file_is_debug_only(file);
	ret->path = strdup(path);
	reel_elf_file_close(file);
	return ret->path ? NULL : reel_error_no_memory();
}

static struct reel_error *copy_options(const struct reel_capture_options *options,
				       struct reel_module_search *search)
{
	size_t n = count_strings(options->module_files);
	struct reel_error *error = NULL;

	search->no_host_files = options->no_host_files;
	search->symfs = copy_strings(options->symfs);
	if (search->symfs)
		search->debug_dirs = make_debug_dirs(options->debug_dirs, search->symfs);
	search->named = calloc(n + 1, sizeof(*search->named));
	if (!search->debug_dirs || !search->named)
		return reel_error_no_memory();
	while (!error && search->n_named < n) {
		struct named_file *named = &search->named[search->n_named];

		error = read_named_file(options->module_files[search->n_named], named);
		search->n_named++;
	}
	return error;
}

struct reel_error *reel_module_search_create(const struct reel_capture_options *options,
					     struct reel_module_search **ret)
{
	struct reel_module_search *search = calloc(1, sizeof(*search));
	struct reel_error *error;

	if (!search)
		return reel_error_no_memory();
	error = copy_options(options, search);
	if (error) {
		reel_module_search_destroy(search);
		return error;
	}
	*ret = search;
	return NULL;
}

void reel_module_search_destroy(struct reel_module_search *search)
{
	if (!search)
		return;
	for (size_t i = 0; i < search->n_named; i++)
		free(search->named[i].path);
	free(search->named);
	free_strings(search->symfs);
	free_strings(search->debug_dirs);
	free(search);
}

void reel_module_files_free(struct reel_module_files *files)
{
	reel_elf_file_close(files->file);
	reel_elf_file_close(files->debug);
	free(files->problem);
	*files = (struct reel_module_files){ 0 };
}

/* ---- the file --------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void note(struct attempt *attempt, const char *format,
						       ...)
{
	_cleanup_free_ char *text = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	if (attempt->seen.size)
		reel_buffer_append(&attempt->seen, "; ", 2);
	if (text)
		reel_buffer_append(&attempt->seen, text, strlen(text));
	else
		attempt->seen.failed = true;
}

/* Opens a candidate; *ret is NULL if it cannot be, and then that is noted. */
static struct reel_error *open_candidate(struct attempt *attempt, const char *path,
					 struct reel_elf_file **ret)
{
	struct reel_error *error;

	*ret = NULL;
	error = path ? reel_elf_file_open(path, ret) : reel_error_no_memory();
	if (!error)
		return NULL;
	switch (reel_error_code(error)) {
	case REEL_ERROR_NO_MEMORY:
		return error;
	case REEL_ERROR_OS:
	case REEL_ERROR_PERMISSION:
		break;
	default:
		attempt->broken = true;
	}
	note(attempt, "%s", reel_error_message(error));
	reel_error_destroy(error);
	return NULL;
}

static bool has_build_id(const struct reel_elf_file *file, const uint8_t *wanted,
			 size_t wanted_size)
{
	size_t size;
	const uint8_t *build_id = reel_elf_file_build_id(file, &size);

	return size == wanted_size && memcmp(build_id, wanted, size) == 0;
}

static void note_build_id(struct attempt *attempt, const struct reel_elf_file *file)
{
	char hex[2 * REEL_BUILD_ID_MAX + 1];
	size_t size;
	const uint8_t *build_id = reel_elf_file_build_id(file, &size);

	print_hex(build_id, size, hex);
	note(attempt, size ? "%s has build-id %s" : "%s has no build-id%s",
	     reel_elf_file_path(file), hex);
	attempt->mismatch = true;
}

/* Whether an opened file is the module's; what speaks against it is noted. */
static bool is_the_module(struct attempt *attempt, const struct reel_elf_file *file, bool named)
{
	const struct reel_record_module *module = attempt->module;
	const char *path = reel_elf_file_path(file);
	uint64_t device, inode;

	if (reel_elf_file_is_debug_only(file)) {
		note(attempt, "%s is a debug file, without code", path);
		return false;
	}
	if (module->build_id.size) {
		if (has_build_id(file, module->build_id.data, module->build_id.size))
			return true;
		note_build_id(attempt, file);
		return false;
	}
	if (named)
		return true;
	if (!module->inode) {
		note(attempt,
		     "%s may be another file: the capture has neither build-id nor inode of it",
		     path);
		attempt->mismatch = true;
		return false;
	}
	if (reel_elf_file_identity(file, &device, &inode) && inode == module->inode &&
	    major(device) == module->device_major && minor(device) == module->device_minor)
		return true;
	note(attempt, "%s is another file (there is no build-id, and its device and inode differ)",
	     path);
	attempt->mismatch = true;
	return false;
}

/* Tries a path (which it frees); *ret stays NULL if that is not the module's file. */
static struct reel_error *try_file(struct attempt *attempt, char *path, bool named,
				   struct reel_elf_file **ret)
{
	_cleanup_free_ char *owned = path;
	struct reel_elf_file *file;
	struct reel_error *error;

	if (*ret)
		return NULL;
	error = open_candidate(attempt, owned, &file);
	if (error || !file)
		return error;
	if (is_the_module(attempt, file, named))
		*ret = file;
	else
		reel_elf_file_close(file);
	return NULL;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool same_build_id(const struct named_file *named, const uint8_t *build_id, size_t size)
{
	return size && named->build_id_size == size && memcmp(named->build_id, build_id, size) == 0;
}

static struct reel_error *try_named_files(struct attempt *attempt, struct reel_elf_file **ret)
{
	const struct reel_module_search *search = attempt->search;
	const struct reel_record_module *module = attempt->module;
	struct reel_error *error = NULL;

	for (size_t i = 0; !error && i < search->n_named && !*ret; i++) {
		const struct named_file *named = &search->named[i];

		/* One of the same name and another build-id is worth a word. */
		if (!named->debug_only &&
		    (same_build_id(named, module->build_id.data, module->build_id.size) ||
		     strcmp(base_name(named->path), base_name(attempt->path)) == 0))
			error = try_file(attempt, strdup(named->path), true, ret);
	}
	return error;
}

/* DIR/.build-id/xx/yyyy + suffix */
static char *build_id_path(const char *dir, const char *hex, const char *suffix)
{
	return reel_text_print("%s/.build-id/%.2s/%s%s", dir, hex, hex + 2, suffix);
}

/* A path that the kernel reports is absolute and has no "..": anything else leads out of symfs. */
static bool is_searchable(const char *path)
{
	size_t length = strlen(path);

	return path[0] == '/' && path[1] && !strstr(path, "/../") &&
	       !(length >= 3 && strcmp(path + length - 3, "/..") == 0);
}

static struct reel_error *find_file(struct attempt *attempt, struct reel_elf_file **ret)
{
	const struct reel_module_search *search = attempt->search;
	struct reel_error *error = try_named_files(attempt, ret);
	bool by_path = is_searchable(attempt->path);

	if (!by_path)
		note(attempt, "the path is not one of a file");
	for (size_t i = 0; !error && by_path && search->symfs[i]; i++)
		error = try_file(attempt, reel_text_print("%s%s", search->symfs[i], attempt->path),
				 true, ret);
	if (!error && by_path && !search->no_host_files)
		error = try_file(attempt, strdup(attempt->path), false, ret);
	for (size_t i = 0; !error && attempt->hex[0] && search->debug_dirs[i]; i++)
		error = try_file(attempt, build_id_path(search->debug_dirs[i], attempt->hex, ""),
				 false, ret);
	return error;
}

/* ---- its debug file ----------------------------------------------------------- */

/* The CRC of .gnu_debuglink is zlib's, of the whole file. */
static bool has_crc(const char *path, uint32_t wanted)
{
	uint8_t bytes[65536];
	uLong crc = crc32(0, NULL, 0);
	struct reel_error *error;
	struct stat status;
	FILE *stream;
	size_t n;
	int fd;

	error = reel_regular_file_open(path, &fd, &status);
	reel_error_destroy(error);
	if (error)
		return false;
	stream = fdopen(fd, "rb");
	if (!stream) {
		close(fd);
		return false;
	}
	while ((n = fread(bytes, 1, sizeof(bytes), stream)) > 0)
		crc = crc32(crc, bytes, (uInt)n);
	n = ferror(stream) ? 1 : 0;
	fclose(stream);
	return !n && crc == wanted;
}

static bool is_same_file(const struct reel_elf_file *a, const struct reel_elf_file *b)
{
	uint64_t a_device, a_inode, b_device, b_inode;

	return reel_elf_file_identity(a, &a_device, &a_inode) &&
	       reel_elf_file_identity(b, &b_device, &b_inode) && a_device == b_device &&
	       a_inode == b_inode;
}

/* Whether a file holds debug information of another one. */
static bool is_debug_file_of(const struct reel_elf_file *debug, const struct reel_elf_file *file)
{
	size_t size;
	const uint8_t *build_id = reel_elf_file_build_id(file, &size);
	uint32_t crc;

	if (reel_elf_file_machine(debug) != reel_elf_file_machine(file) ||
	    reel_elf_file_word_bits(debug) != reel_elf_file_word_bits(file) ||
	    (!reel_elf_file_has_debug_info(debug) && !reel_elf_file_has_symbols(debug)) ||
	    is_same_file(debug, file))
		return false;
	if (size)
		return has_build_id(debug, build_id, size);
	return reel_elf_file_debuglink(file, &crc) && has_crc(reel_elf_file_path(debug), crc);
}

/* Tries a path (which it frees). That there is no debug file is no problem, so nothing is noted. */
static struct reel_error *try_debug_file(const struct reel_elf_file *file, char *path,
					 struct reel_elf_file **ret)
{
	_cleanup_free_ char *owned = path;
	struct reel_elf_file *debug;
	struct reel_error *error;

	if (*ret)
		return NULL;
	error = owned ? reel_elf_file_open(owned, &debug) : reel_error_no_memory();
	if (error && reel_error_code(error) == REEL_ERROR_NO_MEMORY)
		return error;
	if (error)
		reel_error_destroy(error);
	else if (is_debug_file_of(debug, file))
		*ret = debug;
	else
		reel_elf_file_close(debug);
	return NULL;
}

/* .gnu_debuglink's name, as gdb looks for it. */
static struct reel_error *try_debuglink(const struct attempt *attempt,
					const struct reel_elf_file *file,
					struct reel_elf_file **ret)
{
	const struct reel_module_search *search = attempt->search;
	const char *path = reel_elf_file_path(file);
	int dir_size = (int)(base_name(path) - path);
	int recorded_dir_size = (int)(base_name(attempt->path) - attempt->path);
	struct reel_error *error;
	const char *link;
	uint32_t crc;

	link = reel_elf_file_debuglink(file, &crc);
	if (!link || strchr(link, '/'))
		return NULL;
	error = try_debug_file(file, reel_text_print("%.*s%s", dir_size, path, link), ret);
	if (!error)
		error = try_debug_file(file, reel_text_print("%.*s.debug/%s", dir_size, path, link),
				       ret);
	for (size_t i = 0; !error && search->debug_dirs[i]; i++)
		error = try_debug_file(file,
				       reel_text_print("%s%.*s%s", search->debug_dirs[i],
						       recorded_dir_size, attempt->path, link),
				       ret);
	return error;
}

static struct reel_error *find_debug_file(const struct attempt *attempt,
					  const struct reel_elf_file *file,
					  struct reel_elf_file **ret)
{
	const struct reel_module_search *search = attempt->search;
	char hex[2 * REEL_BUILD_ID_MAX + 1];
	struct reel_error *error = NULL;
	size_t size;
	const uint8_t *build_id = reel_elf_file_build_id(file, &size);

	if (reel_elf_file_has_debug_info(file))
		return NULL;
	print_hex(build_id, size, hex);
	for (size_t i = 0; !error && i < search->n_named; i++) {
		if (same_build_id(&search->named[i], build_id, size))
			error = try_debug_file(file, strdup(search->named[i].path), ret);
	}
	for (size_t i = 0; !error && size && search->debug_dirs[i]; i++)
		error = try_debug_file(file, build_id_path(search->debug_dirs[i], hex, ".debug"),
				       ret);
	return error ? error : try_debuglink(attempt, file, ret);
}

/* ---- the file that dwz moved common debug information to ----------------------- */

static struct reel_error *try_alternate(struct reel_elf_file *file, char *path)
{
	_cleanup_free_ char *owned = path;
	struct reel_elf_file *alternate;
	struct reel_error *error;
	const uint8_t *build_id;
	size_t size;

	if (reel_elf_file_alternate(file))
		return NULL;
	error = owned ? reel_elf_file_open(owned, &alternate) : reel_error_no_memory();
	if (error && reel_error_code(error) == REEL_ERROR_NO_MEMORY)
		return error;
	if (error) {
		reel_error_destroy(error);
		return NULL;
	}
	reel_elf_file_altlink(file, &build_id, &size);
	if (has_build_id(alternate, build_id, size) && !is_same_file(alternate, file))
		reel_elf_file_set_alternate(file, alternate);
	else
		reel_elf_file_close(alternate);
	return NULL;
}

static struct reel_error *find_alternate(const struct reel_module_search *search,
					 struct reel_elf_file *file)
{
	const char *path = reel_elf_file_path(file), *link, *under_dwz;
	char hex[2 * REEL_BUILD_ID_MAX + 1];
	struct reel_error *error = NULL;
	const uint8_t *build_id;
	size_t size;

	link = reel_elf_file_altlink(file, &build_id, &size);
	if (!link || !size)
		return NULL;
	print_hex(build_id, size, hex);
	for (size_t i = 0; !error && i < search->n_named; i++) {
		if (same_build_id(&search->named[i], build_id, size))
			error = try_alternate(file, strdup(search->named[i].path));
	}
	for (size_t i = 0; !error && search->debug_dirs[i]; i++)
		error = try_alternate(file, build_id_path(search->debug_dirs[i], hex, ".debug"));
	/* Distributions keep them in DEBUG_DIR/.dwz, wherever that is on this host. */
	under_dwz = strstr(link, "/.dwz/");
	for (size_t i = 0; !error && under_dwz && search->debug_dirs[i]; i++)
		error = try_alternate(file,
				      reel_text_print("%s%s", search->debug_dirs[i], under_dwz));
	if (!error && link[0] != '/')
		error = try_alternate(
			file, reel_text_print("%.*s%s", (int)(base_name(path) - path), path, link));
	else if (!error)
		error = try_alternate(file, strdup(link));
	return error;
}

/* ---- all together ----------------------------------------------------------------- */

static struct reel_error *prepare(struct attempt *attempt)
{
	static const char suffix[] = " (deleted)";
	struct reel_bytes path = attempt->module->path;
	size_t size = path.size, suffix_size = sizeof(suffix) - 1;

	if (size > suffix_size &&
	    memcmp(path.data + size - suffix_size, suffix, suffix_size) == 0) {
		size -= suffix_size;
		attempt->deleted = true;
	}
	/* It would stand in messages many times, and no file can have it. */
	if (size >= PATH_MAX) {
		note(attempt, "its path has %zu bytes", size);
		size = 0;
	}
	attempt->path = size ? strndup((const char *)path.data, size) : strdup("");
	if (!attempt->path)
		return reel_error_no_memory();
	if (attempt->module->build_id.size > REEL_BUILD_ID_MAX)
		return reel_error_create(REEL_ERROR_INVALID, "%s: build-id of %zu bytes",
					 attempt->path, attempt->module->build_id.size);
	print_hex(attempt->module->build_id.data, attempt->module->build_id.size, attempt->hex);
	return NULL;
}

static struct reel_error *describe_problem(struct attempt *attempt, struct reel_module_files *ret)
{
	const char *path = attempt->path[0] ? attempt->path : "a module without a path";

	ret->state = attempt->mismatch ? REEL_MODULE_MISMATCH
		     : attempt->broken ? REEL_MODULE_BROKEN
				       : REEL_MODULE_MISSING;
	if (!attempt->seen.size)
		note(attempt, "nowhere to look");
	reel_buffer_u8(&attempt->seen, 0);
	if (attempt->seen.failed)
		return reel_error_no_memory();
	ret->problem = reel_text_print(
		"no file for %s%s%s%s (%s%s); give it with --module FILE, or --symfs DIR "
		"with a copy of the recorded host's files",
		path, attempt->deleted ? ", which was deleted or replaced," : "",
		attempt->hex[0] ? " with build-id " : "", attempt->hex,
		(const char *)attempt->seen.bytes,
		attempt->search->no_host_files ? "; files of this host are not used" : "");
	return ret->problem ? NULL : reel_error_no_memory();
}

static struct reel_error *search_all(struct attempt *attempt, struct reel_module_files *ret)
{
	struct reel_error *error = prepare(attempt);

	if (error)
		return error;
	error = find_file(attempt, &ret->file);
	if (error)
		return error;
	if (!ret->file)
		return describe_problem(attempt, ret);
	ret->state = REEL_MODULE_FOUND;
	error = find_debug_file(attempt, ret->file, &ret->debug);
	if (!error && ret->debug)
		error = find_alternate(attempt->search, ret->debug);
	if (!error)
		error = find_alternate(attempt->search, ret->file);
	return error;
}

struct reel_error *reel_module_search_find(struct reel_module_search *search,
					   const struct reel_record_module *module,
					   struct reel_module_files *ret)
{
	struct attempt attempt = { .search = search, .module = module };
	struct reel_error *error;

	*ret = (struct reel_module_files){ 0 };
	error = search_all(&attempt, ret);
	if (error)
		reel_module_files_free(ret);
	free(attempt.path);
	reel_buffer_free(&attempt.seen);
	return error;
}

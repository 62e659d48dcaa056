/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <zlib.h>

#include "base/regular_file.h"
#include "elf/file_search.h"
#include "replay/files/module_search.h"
#include "base/text.h"
#include "base/elf_identity.h"

/* The properties of a file named for whatever module has its build-id. */
struct named_file {
	struct reel_build_id build_id;
	bool debug_only;
};

struct reel_module_search {
	struct reel_search_folders places;
	struct named_file *named; /* for each of places.named */
	bool no_host_files;
};

/* One search: the wanted module, and the candidates seen so far. */
struct attempt {
	const struct reel_module_search *search;
	const struct reel_record_module *module;
	const char *root; /* the only root to search; NULL: anywhere */
	char *path;	  /* as recorded, NUL-terminated, without " (deleted)" */
	bool deleted;
	bool unchecked;		      /* nothing identifies the file */
	char hex[REEL_BUILD_ID_TEXT]; /* the build-id, "" if none */
	struct reel_candidates candidates;
};

static struct reel_error *read_named_file(const char *path, struct named_file *ret)
{
	struct reel_elf_file *file;
	struct reel_bytes build_id;

	TRY(reel_elf_file_open(path, &file));
	build_id = reel_elf_file_build_id(file);
	memcpy(ret->build_id.bytes, build_id.data, build_id.size);
	ret->build_id.size = (uint8_t)build_id.size;
	ret->debug_only = reel_elf_file_is_debug_only(file);
	reel_elf_file_close(file);
	return NULL;
}

static struct reel_error *copy_options(const struct reel_capture_options *options,
				       struct reel_module_search *search)
{
	const struct reel_strings *named = &search->places.named;

	TRY(reel_search_folders_copy(options, &search->places));
	search->no_host_files = options->no_host_files;
	search->named = calloc(named->n + 1, sizeof(*search->named));
	if (!search->named)
		return reel_error_no_memory();
	for (size_t i = 0; i < named->n; i++)
		TRY(read_named_file(named->all[i], &search->named[i]));
	return NULL;
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
	reel_search_folders_free(&search->places);
	free(search->named);
	free(search);
}

struct reel_bytes reel_module_search_build_id(const struct reel_module_search *search,
					      const char *path)
{
	for (size_t i = 0; i < search->places.named.n; i++) {
		if (!strcmp(search->places.named.all[i], path))
			return reel_build_id_bytes(&search->named[i].build_id);
	}
	return (struct reel_bytes){ 0 };
}

void reel_module_files_free(struct reel_module_files *files)
{
	reel_elf_file_close(files->file);
	reel_elf_file_close(files->debug);
	free(files->problem);
	*files = (struct reel_module_files){ 0 };
}

/* ---- the file --------------------------------------------------------------- */

/* Opens a candidate; on failure *ret is NULL and the reason is noted. */
static struct reel_error *open_candidate(struct attempt *attempt, const char *path,
					 struct reel_elf_file **ret)
{
	struct reel_error *error;

	*ret = NULL;
	error = path ? reel_elf_file_open(path, ret) : reel_error_no_memory();
	return error ? reel_candidates_note_error(&attempt->candidates, error) : NULL;
}

/* Whether it is the recorded file, possibly stripped, or its unstripped version. */
static bool has_digest(struct attempt *attempt, const struct reel_elf_file *file)
{
	const struct reel_record_module *module = attempt->module;
	const char *path = reel_elf_file_path(file);
	uint8_t digest[REEL_FILE_DIGEST_SIZE];
	uint64_t size = reel_elf_file_length(file);

	if (reel_elf_file_digest(file, digest) &&
	    reel_bytes_are_equal((struct reel_bytes){ digest, sizeof(digest) },
				 module->file_digest))
		return true;
	if (size != module->file_size)
		reel_candidates_note(&attempt->candidates,
				     "%s is not the recorded file: it has %llu bytes instead of "
				     "%llu, and a different digest",
				     path, (unsigned long long)size,
				     (unsigned long long)module->file_size);
	else
		reel_candidates_note(
			&attempt->candidates,
			"%s is not the recorded file: same size, but a different digest", path);
	attempt->candidates.mismatch = true;
	return false;
}

/* Whether an opened file is the module's; notes the reason if not. */
static bool is_the_module(struct attempt *attempt, const struct reel_elf_file *file, bool named)
{
	const struct reel_record_module *module = attempt->module;
	struct reel_candidates *candidates = &attempt->candidates;
	const char *path = reel_elf_file_path(file);
	uint64_t device, inode;

	if (reel_elf_file_is_debug_only(file)) {
		reel_candidates_note(candidates, "%s is a debug file without code", path);
		return false;
	}
	if (module->build_id.size) {
		if (reel_bytes_are_equal(reel_elf_file_build_id(file), module->build_id))
			return true;
		reel_candidates_note_build_id(candidates, file);
		return false;
	}
	if (module->file_digest.size)
		return has_digest(attempt, file);
	attempt->unchecked = true;
	if (named)
		return true;
	if (!module->inode) {
		reel_candidates_note(
			candidates,
			"%s may be a different file: the capture has no build-id or inode for it",
			path);
		candidates->mismatch = true;
		return false;
	}
	if (reel_elf_file_identity(file, &device, &inode) && inode == module->inode &&
	    major(device) == module->device_major && minor(device) == module->device_minor)
		return true;
	reel_candidates_note(candidates,
			     "%s is a different file (no build-id, and device and inode differ)",
			     path);
	candidates->mismatch = true;
	return false;
}

/* Tries a path (which it frees); *ret stays NULL if it is not the module's file. */
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

static bool same_build_id(const struct named_file *named, struct reel_bytes build_id)
{
	return build_id.size &&
	       reel_bytes_are_equal(reel_build_id_bytes(&named->build_id), build_id);
}

static struct reel_error *try_named_files(struct attempt *attempt, struct reel_elf_file **ret)
{
	const struct reel_module_search *search = attempt->search;
	const struct reel_record_module *module = attempt->module;
	struct reel_error *error = NULL;

	for (size_t i = 0; !error && i < search->places.named.n && !*ret; i++) {
		const struct named_file *named = &search->named[i];
		const char *path = search->places.named.all[i];

		/* A file of the same name with another build-id is worth mentioning. */
		if (!named->debug_only &&
		    (same_build_id(named, module->build_id) ||
		     strcmp(reel_base_name(path), reel_base_name(attempt->path)) == 0))
			error = try_file(attempt, strdup(path), true, ret);
	}
	return error;
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
	const struct reel_search_folders *places = &attempt->search->places;
	bool by_path = is_searchable(attempt->path);
	char *fetched;

	if (attempt->root)
		return by_path ? try_file(attempt,
					  reel_text_print("%s%s", attempt->root, attempt->path),
					  false, ret)
			       : NULL;
	TRY(try_named_files(attempt, ret));
	if (!by_path)
		reel_candidates_note(&attempt->candidates, "not a file path");
	for (size_t i = 0; by_path && i < places->symfs.n; i++)
		TRY(try_file(attempt, reel_text_print("%s%s", places->symfs.all[i], attempt->path),
			     true, ret));
	if (by_path && !attempt->search->no_host_files)
		TRY(try_file(attempt, strdup(attempt->path), false, ret));
	for (size_t i = 0; attempt->hex[0] && i < places->debug_dirs.n; i++)
		TRY(try_file(attempt,
			     reel_build_id_path(places->debug_dirs.all[i], attempt->hex, ""), false,
			     ret));
	fetched = *ret ? NULL : reel_fetched_path(places, attempt->hex, "executable");
	return fetched ? try_file(attempt, fetched, false, ret) : NULL;
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

bool reel_elf_files_are_same(const struct reel_elf_file *a, const struct reel_elf_file *b)
{
	uint64_t a_device, a_inode, b_device, b_inode;

	if (!a || !b)
		return a == b;
	return reel_elf_file_identity(a, &a_device, &a_inode) &&
	       reel_elf_file_identity(b, &b_device, &b_inode) && a_device == b_device &&
	       a_inode == b_inode;
}

/* Whether a file holds debug information of another file. */
static bool is_debug_file_of(const struct reel_elf_file *debug, const struct reel_elf_file *file)
{
	struct reel_bytes build_id = reel_elf_file_build_id(file);
	uint32_t crc;

	if (reel_elf_file_machine(debug) != reel_elf_file_machine(file) ||
	    reel_elf_file_word_bits(debug) != reel_elf_file_word_bits(file) ||
	    (!reel_elf_file_has_debug_info(debug) && !reel_elf_file_has_symbols(debug)) ||
	    reel_elf_files_are_same(debug, file))
		return false;
	if (build_id.size)
		return reel_bytes_are_equal(reel_elf_file_build_id(debug), build_id);
	return reel_elf_file_debuglink(file, &crc) && has_crc(reel_elf_file_path(debug), crc);
}

/* Tries a path (which it frees).  A missing debug file is not a problem, so nothing is noted. */
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

/* Tries .gnu_debuglink's name in the places that gdb searches. */
static struct reel_error *try_debuglink(const struct attempt *attempt,
					const struct reel_elf_file *file,
					struct reel_elf_file **ret)
{
	const struct reel_strings *debug_dirs = &attempt->search->places.debug_dirs;
	const char *path = reel_elf_file_path(file);
	int dir_size = (int)(reel_base_name(path) - path);
	int recorded_dir_size = (int)(reel_base_name(attempt->path) - attempt->path);
	const char *link;
	uint32_t crc;

	link = reel_elf_file_debuglink(file, &crc);
	if (!link || strchr(link, '/'))
		return NULL;
	TRY(try_debug_file(file, reel_text_print("%.*s%s", dir_size, path, link), ret));
	TRY(try_debug_file(file, reel_text_print("%.*s.debug/%s", dir_size, path, link), ret));
	for (size_t i = 0; i < debug_dirs->n; i++)
		TRY(try_debug_file(file,
				   reel_text_print("%s%.*s%s", debug_dirs->all[i],
						   recorded_dir_size, attempt->path, link),
				   ret));
	return NULL;
}

static struct reel_error *find_debug_file(const struct attempt *attempt,
					  const struct reel_elf_file *file,
					  struct reel_elf_file **ret)
{
	const struct reel_search_folders *places = &attempt->search->places;
	struct reel_bytes build_id = reel_elf_file_build_id(file);
	char hex[REEL_BUILD_ID_TEXT];
	char *fetched;

	if (reel_elf_file_has_debug_info(file))
		return NULL;
	reel_build_id_print(build_id, hex);
	for (size_t i = 0; i < places->named.n; i++) {
		if (same_build_id(&attempt->search->named[i], build_id))
			TRY(try_debug_file(file, strdup(places->named.all[i]), ret));
	}
	for (size_t i = 0; build_id.size && i < places->debug_dirs.n; i++)
		TRY(try_debug_file(
			file, reel_build_id_path(places->debug_dirs.all[i], hex, ".debug"), ret));
	TRY(try_debuglink(attempt, file, ret));
	fetched = *ret ? NULL : reel_fetched_path(places, hex, "debuginfo");
	return fetched ? try_debug_file(file, fetched, ret) : NULL;
}

/* ---- dwz's file with common debug information ---------------------------------- */

static struct reel_error *try_alternate(struct reel_elf_file *file, char *path)
{
	_cleanup_free_ char *owned = path;
	struct reel_elf_file *alternate;
	struct reel_error *error;
	struct reel_bytes build_id;

	if (reel_elf_file_alternate(file))
		return NULL;
	error = owned ? reel_elf_file_open(owned, &alternate) : reel_error_no_memory();
	if (error && reel_error_code(error) == REEL_ERROR_NO_MEMORY)
		return error;
	if (error) {
		reel_error_destroy(error);
		return NULL;
	}
	reel_elf_file_altlink(file, &build_id);
	if (reel_bytes_are_equal(reel_elf_file_build_id(alternate), build_id) &&
	    !reel_elf_files_are_same(alternate, file))
		reel_elf_file_set_alternate(file, alternate);
	else
		reel_elf_file_close(alternate);
	return NULL;
}

static struct reel_error *find_alternate(const struct reel_module_search *search,
					 struct reel_elf_file *file)
{
	const char *path = reel_elf_file_path(file), *link, *under_dwz;
	const struct reel_strings *debug_dirs = &search->places.debug_dirs;
	char hex[REEL_BUILD_ID_TEXT];
	struct reel_bytes build_id;
	char *fetched;

	link = reel_elf_file_altlink(file, &build_id);
	if (!link || !build_id.size)
		return NULL;
	reel_build_id_print(build_id, hex);
	for (size_t i = 0; i < search->places.named.n; i++) {
		if (same_build_id(&search->named[i], build_id))
			TRY(try_alternate(file, strdup(search->places.named.all[i])));
	}
	for (size_t i = 0; i < debug_dirs->n; i++)
		TRY(try_alternate(file, reel_build_id_path(debug_dirs->all[i], hex, ".debug")));
	/* Distributions keep these files in DEBUG_DIR/.dwz, wherever DEBUG_DIR is on this host. */
	under_dwz = strstr(link, "/.dwz/");
	for (size_t i = 0; under_dwz && i < debug_dirs->n; i++)
		TRY(try_alternate(file, reel_text_print("%s%s", debug_dirs->all[i], under_dwz)));
	if (link[0] != '/')
		TRY(try_alternate(
			file,
			reel_text_print("%.*s%s", (int)(reel_base_name(path) - path), path, link)));
	else
		TRY(try_alternate(file, strdup(link)));
	fetched = reel_elf_file_alternate(file)
			  ? NULL
			  : reel_fetched_path(&search->places, hex, "debuginfo");
	return fetched ? try_alternate(file, fetched) : NULL;
}

/* ---- files made by -gsplit-dwarf ---------------------------------------------- */

static struct reel_error *add_below(const struct reel_strings *roots, const char *path,
				    struct reel_strings *ret)
{
	struct reel_error *error = NULL;

	for (size_t i = 0; !error && i < roots->n; i++)
		error = reel_strings_add(ret, reel_text_print("%s%s", roots->all[i], path));
	return error;
}

/* Skips duplicates. */
static struct reel_error *add_beside(const char *module_path, const char *name,
				     struct reel_strings *ret)
{
	char *path = reel_text_print("%.*s%s", (int)(reel_base_name(module_path) - module_path),
				     module_path, name);

	for (size_t i = 0; path && i < ret->n; i++) {
		if (!strcmp(path, ret->all[i])) {
			free(path);
			return NULL;
		}
	}
	return reel_strings_add(ret, path);
}

struct reel_error *reel_module_search_split_files(const struct reel_module_search *search,
						  const char *module_path, const char *directory,
						  const char *name, struct reel_strings *ret)
{
	const char *slash = directory[0] ? "/" : "";
	_cleanup_free_ char *path =
		name[0] == '/' ? strdup(name) : reel_text_print("%s%s%s", directory, slash, name);

	if (!path)
		return reel_error_no_memory();
	if (!search || strlen(path) >= PATH_MAX)
		return NULL;
	if (is_searchable(path)) {
		TRY(add_below(&search->places.symfs, path, ret));
		TRY(add_below(&search->places.debug_dirs, path, ret));
	}
	if (path[0] == '/' && !search->no_host_files)
		TRY(reel_strings_add(ret, strdup(path)));
	return is_searchable(path) ? add_beside(module_path, reel_base_name(path), ret) : NULL;
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
	/* Many messages would repeat a longer path, and no file can have one. */
	if (size >= PATH_MAX) {
		reel_candidates_note(&attempt->candidates, "path is too long: %zu bytes", size);
		size = 0;
	}
	attempt->path = size ? strndup((const char *)path.data, size) : strdup("");
	if (!attempt->path)
		return reel_error_no_memory();
	if (attempt->module->build_id.size > REEL_BUILD_ID_MAX)
		return reel_error_create(REEL_ERROR_INVALID, "%s: build-id of %zu bytes",
					 attempt->path, attempt->module->build_id.size);
	reel_build_id_print(attempt->module->build_id, attempt->hex);
	return NULL;
}

static struct reel_error *describe_problem(struct attempt *attempt, struct reel_module_files *ret)
{
	const char *path = attempt->path[0] ? attempt->path : "a module without a path", *seen;

	ret->state = reel_candidates_state(&attempt->candidates);
	if (!attempt->candidates.seen.size)
		reel_candidates_note(&attempt->candidates, "nowhere to look");
	TRY(reel_candidates_text(&attempt->candidates, &seen));
	ret->problem = reel_text_print(
		"no file for %s%s%s%s (%s%s); use --module FILE, or --symfs DIR with a copy of the "
		"recorded host's files (/proc/PID/root for a running container)",
		path, attempt->deleted ? ", which was deleted or replaced," : "",
		attempt->hex[0] ? " with build-id " : "", attempt->hex, seen,
		attempt->search->no_host_files ? "; this host's files are not used" : "");
	return ret->problem ? NULL : reel_error_no_memory();
}

static struct reel_error *search_all(struct attempt *attempt, struct reel_module_files *ret)
{
	TRY(prepare(attempt));
	TRY(find_file(attempt, &ret->file));
	if (!ret->file)
		return describe_problem(attempt, ret);
	ret->state = REEL_MODULE_FOUND;
	ret->unchecked = attempt->unchecked;
	TRY(find_debug_file(attempt, ret->file, &ret->debug));
	if (ret->debug)
		TRY(find_alternate(attempt->search, ret->debug));
	return find_alternate(attempt->search, ret->file);
}

static struct reel_error *run(struct attempt attempt, struct reel_module_files *ret)
{
	struct reel_error *error;

	*ret = (struct reel_module_files){ 0 };
	error = search_all(&attempt, ret);
	if (error)
		reel_module_files_free(ret);
	free(attempt.path);
	reel_candidates_free(&attempt.candidates);
	return error;
}

struct reel_error *reel_module_search_find(struct reel_module_search *search,
					   const struct reel_record_module *module,
					   struct reel_module_files *ret)
{
	return run((struct attempt){ .search = search, .module = module }, ret);
}

struct reel_error *reel_module_search_find_below(struct reel_module_search *search,
						 const char *root,
						 const struct reel_record_module *module,
						 struct reel_module_files *ret)
{
	return run((struct attempt){ .search = search, .module = module, .root = root }, ret);
}

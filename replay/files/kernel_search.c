/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf/file_search.h"
#include "replay/files/kernel_search.h"
#include "base/text.h"

struct reel_kernel_search {
	struct reel_search_folders places;
	struct reel_strings roots;   /* places.symfs, and "" for this host */
	struct reel_strings modules; /* all modules' files in the release's folders */
	bool modules_listed;
	char *release;
};

/* One search: the wanted module, and the candidates seen so far. */
struct attempt {
	const struct reel_kernel_search *search;
	const struct reel_record_module *module;
	char name[256]; /* of a kernel module, with '_' for '-'; "" for the kernel */
	char hex[REEL_BUILD_ID_TEXT];
	struct reel_elf_file *found;
	struct reel_candidates candidates;
};

static struct reel_error *copy_options(const struct reel_capture_options *options,
				       struct reel_kernel_search *search)
{
	const struct reel_strings *symfs = &search->places.symfs;

	TRY(reel_search_folders_copy(options, &search->places));
	for (size_t i = 0; i < symfs->n; i++)
		TRY(reel_strings_add(&search->roots, strdup(symfs->all[i])));
	return options->no_host_files ? NULL : reel_strings_add(&search->roots, strdup(""));
}

struct reel_error *reel_kernel_search_create(const struct reel_capture_options *options,
					     const char *release, struct reel_kernel_search **ret)
{
	struct reel_kernel_search *search = calloc(1, sizeof(*search));
	struct reel_error *error;

	if (!search)
		return reel_error_no_memory();
	/* It becomes part of paths, and comes from a possibly hostile file. */
	if (strchr(release, '/') || !strcmp(release, "..") || !strcmp(release, "."))
		release = "";
	search->release = strdup(release);
	error = search->release ? copy_options(options, search) : reel_error_no_memory();
	if (error) {
		reel_kernel_search_destroy(search);
		return error;
	}
	*ret = search;
	return NULL;
}

void reel_kernel_search_destroy(struct reel_kernel_search *search)
{
	if (!search)
		return;
	reel_search_folders_free(&search->places);
	reel_strings_free(&search->roots);
	reel_strings_free(&search->modules);
	free(search->release);
	free(search);
}

/* ---- candidates --------------------------------------------------------------- */

static bool is_the_module(struct attempt *attempt, const struct reel_elf_file *file, bool named)
{
	struct reel_bytes wanted = attempt->module->build_id;

	if (wanted.size && !reel_bytes_are_equal(reel_elf_file_build_id(file), wanted)) {
		reel_candidates_note_build_id(&attempt->candidates, file);
		return false;
	}
	if (wanted.size || named)
		return true;
	reel_candidates_note(&attempt->candidates, "%s may be from a different kernel",
			     reel_elf_file_path(file));
	attempt->candidates.mismatch = true;
	return false;
}

/* Debug information is better than symbols alone, and symbols are better than nothing. */
static bool is_better(const struct reel_elf_file *file, const struct reel_elf_file *found)
{
	if (!reel_elf_file_has_debug_info(file) && !reel_elf_file_has_symbols(file))
		return false;
	return !found ||
	       (reel_elf_file_has_debug_info(file) && !reel_elf_file_has_debug_info(found));
}

/* Missing files are not worth a note. */
static struct reel_error *record_error(struct attempt *attempt, struct reel_error *error)
{
	if (reel_error_code(error) != REEL_ERROR_OS)
		return reel_candidates_note_error(&attempt->candidates, error);
	reel_error_destroy(error);
	return NULL;
}

/* Tries a path (which it frees). */
static struct reel_error *try_file(struct attempt *attempt, char *path, bool named)
{
	_cleanup_free_ char *owned = path;
	struct reel_elf_file *file;
	struct reel_error *error;

	if (attempt->found && reel_elf_file_has_debug_info(attempt->found))
		return NULL;
	error = owned ? reel_elf_file_open(owned, &file) : reel_error_no_memory();
	if (error)
		return record_error(attempt, error);
	if (is_the_module(attempt, file, named) && is_better(file, attempt->found)) {
		error = reel_elf_file_lay_out(file);
		if (!error) {
			reel_elf_file_close(attempt->found);
			attempt->found = file;
			return NULL;
		}
		error = record_error(attempt, error);
	}
	reel_elf_file_close(file);
	return error;
}

/* ---- names ----------------------------------------------------------------------- */

/* The suffixes of a module's file after its name. */
static bool is_module_suffix(const char *suffix)
{
	static const char *const all[] = { ".ko", ".ko.debug", ".ko.xz", ".ko.zst", ".ko.gz" };

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		if (!strcmp(suffix, all[i]))
			return true;
	}
	return false;
}

/* "nf-tables.ko" and "nf_tables.ko.debug" are nf_tables. */
static bool is_module_file(const char *path, const char *name)
{
	size_t size = strlen(name);

	path = reel_base_name(path);
	for (size_t i = 0; i < size; i++)
		if (path[i] != name[i] && !(path[i] == '-' && name[i] == '_'))
			return false;
	return is_module_suffix(path + size);
}

static bool has_name(const struct attempt *attempt, const char *path)
{
	if (*attempt->name)
		return is_module_file(path, attempt->name);
	return !strncmp(reel_base_name(path), "vmlinux", strlen("vmlinux"));
}

/* "[nf-tables]" and "/lib/…/nf-tables.ko.xz" are nf_tables. */
static void set_name(struct attempt *attempt)
{
	const char *path = (const char *)attempt->module->path.data;
	size_t size = attempt->module->path.size, n = 0;

	if (attempt->module->kind != REEL_MODULE_KERNEL_MODULE)
		return;
	for (size_t i = 0; i < size; i++) {
		if (path[i] == '/' || path[i] == '[')
			n = 0;
		else if (path[i] == ']' ||
			 (path[i] == '.' && size - i >= 3 && !memcmp(path + i, ".ko", 3)))
			break;
		else if (n + 1 < sizeof(attempt->name))
			attempt->name[n++] = path[i] == '-' ? '_' : path[i];
	}
	attempt->name[n] = 0;
}

/* ---- where to look ----------------------------------------------------------------- */

static struct reel_error *try_named(struct attempt *attempt)
{
	const struct reel_strings *named = &attempt->search->places.named;
	struct reel_error *error = NULL;

	for (size_t i = 0; !error && i < named->n; i++) {
		struct reel_elf_file *file;
		struct reel_bytes build_id;
		bool is_it;

		/* Files of other modules are not candidates. */
		error = reel_elf_file_open(named->all[i], &file);
		if (error) {
			error = record_error(attempt, error);
			continue;
		}
		build_id = reel_elf_file_build_id(file);
		is_it = build_id.size && reel_bytes_are_equal(build_id, attempt->module->build_id);
		reel_elf_file_close(file);
		if (is_it || has_name(attempt, named->all[i]))
			error = try_file(attempt, strdup(named->all[i]), true);
	}
	return error;
}

static struct reel_error *try_build_ids(struct attempt *attempt)
{
	const struct reel_strings *dirs = &attempt->search->places.debug_dirs;

	for (size_t i = 0; attempt->hex[0] && i < dirs->n; i++) {
		TRY(try_file(attempt, reel_build_id_path(dirs->all[i], attempt->hex, ".debug"),
			     false));
		TRY(try_file(attempt, reel_build_id_path(dirs->all[i], attempt->hex, ""), false));
	}
	return NULL;
}

/* Tries DIR + each of the names, %s being the release, with and without ".debug". */
static struct reel_error *try_kernel(struct attempt *attempt, const struct reel_strings *dirs)
{
	static const struct {
		const char *before, *behind;
	} names[] = {
		{ "boot/vmlinux-", "" },
		{ "lib/modules/", "/vmlinux" },
		{ "lib/modules/", "/build/vmlinux" },
		{ "usr/lib/modules/", "/vmlinux" },
		{ "usr/lib/modules/", "/build/vmlinux" },
	};
	struct reel_error *error = NULL;

	for (size_t i = 0; !error && i < 2 * dirs->n * (sizeof(names) / sizeof(*names)); i++) {
		size_t name = i / 2 % (sizeof(names) / sizeof(*names));
		size_t dir = i / 2 / (sizeof(names) / sizeof(*names));

		error = try_file(attempt,
				 reel_text_print("%s/%s%s%s%s", dirs->all[dir], names[name].before,
						 attempt->search->release, names[name].behind,
						 i % 2 ? ".debug" : ""),
				 false);
	}
	return error;
}

/* Lists modules' files below PATH; does not follow links to folders (build, source). */
static struct reel_error *list_modules(struct reel_kernel_search *search, char *path, int flags)
{
	int fd = path ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags) : -1;
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);
	struct reel_error *error = path ? NULL : reel_error_no_memory();
	const struct dirent *entry;

	if (fd >= 0 && !folder)
		close(fd);
	while (folder && !error && (entry = readdir(folder))) {
		const char *end = strstr(entry->d_name, ".ko");
		char *below;

		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		below = reel_text_print("%s/%s", path, entry->d_name);
		if (end && is_module_suffix(end) && entry->d_type != DT_DIR)
			error = reel_strings_add(&search->modules, below);
		else if (entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN)
			error = list_modules(search, below, O_NOFOLLOW);
		else
			free(below);
	}
	if (folder)
		closedir(folder);
	free(path);
	return error;
}

static struct reel_error *list_all_modules(struct reel_kernel_search *search)
{
	const struct reel_strings *lists[] = { &search->places.debug_dirs, &search->roots };

	search->modules_listed = true;
	for (size_t i = 0; *search->release && i < 2; i++) {
		for (size_t j = 0; j < 2 * lists[i]->n; j++)
			TRY(list_modules(search,
					 reel_text_print("%s%s/lib/modules/%s",
							 lists[i]->all[j / 2], j % 2 ? "/usr" : "",
							 search->release),
					 0));
	}
	return NULL;
}

static struct reel_error *try_module(struct reel_kernel_search *search, struct attempt *attempt)
{
	struct reel_error *error = search->modules_listed ? NULL : list_all_modules(search);

	for (size_t i = 0; !error && i < search->modules.n; i++)
		if (is_module_file(search->modules.all[i], attempt->name))
			error = try_file(attempt, strdup(search->modules.all[i]), false);
	return error;
}

static struct reel_error *describe_problem(struct attempt *attempt, struct reel_module_files *ret)
{
	bool has_seen = attempt->candidates.seen.size;
	const char *seen;

	TRY(reel_candidates_text(&attempt->candidates, &seen));
	ret->state = reel_candidates_state(&attempt->candidates);
	ret->problem = reel_text_print(
		"no debug information for %s%s%s%s: functions have the names in the capture, but "
		"no lines or inlined functions; use --module FILE, or --debug-dir DIR with the "
		"kernel debug package's /usr/lib/debug%s%s",
		*attempt->name ? "kernel module " : "the kernel", attempt->name,
		attempt->hex[0] ? " with build-id " : "", attempt->hex, has_seen ? "; " : "", seen);
	return ret->problem ? NULL : reel_error_no_memory();
}

static struct reel_error *search_all(struct reel_kernel_search *search, struct attempt *attempt)
{
	TRY(try_named(attempt));
	TRY(try_build_ids(attempt));
	if (!attempt->module->build_id.size)
		return NULL;
	if (*attempt->name)
		return try_module(search, attempt);
	if (!*search->release)
		return NULL;
	TRY(try_kernel(attempt, &search->places.debug_dirs));
	return try_kernel(attempt, &search->roots);
}

struct reel_error *reel_kernel_search_find(struct reel_kernel_search *search,
					   const struct reel_record_module *module,
					   struct reel_module_files *ret)
{
	struct attempt attempt = { .search = search, .module = module };
	struct reel_error *error;

	*ret = (struct reel_module_files){ 0 };
	set_name(&attempt);
	if (module->build_id.size <= REEL_BUILD_ID_MAX)
		reel_build_id_print(module->build_id, attempt.hex);
	error = search_all(search, &attempt);
	if (!error && attempt.found) {
		ret->state = REEL_MODULE_FOUND;
		ret->debug = attempt.found;
		attempt.found = NULL;
	} else if (!error) {
		error = describe_problem(&attempt, ret);
	}
	reel_elf_file_close(attempt.found);
	reel_candidates_free(&attempt.candidates);
	return error;
}

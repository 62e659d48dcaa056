/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <stdarg.h>
#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/bytes.h"
#include "replay/kernel_search.h"
#include "replay/text.h"

struct list {
	char **all;
	size_t n, capacity;
};

struct reel_kernel_search {
	struct list debug_dirs;
	struct list roots; /* "" is this host's */
	struct list named;
	struct list modules; /* all files of modules, of the folders of the release */
	bool modules_listed;
	char *release;
};

/* One search: what is wanted, and what was seen on the way. */
struct attempt {
	const struct reel_kernel_search *search;
	const struct reel_record_module *module;
	char name[256]; /* of a kernel module, '_' for '-'; "" for the kernel */
	char hex[2 * REEL_BUILD_ID_MAX + 1];
	struct reel_elf_file *found;
	struct reel_buffer seen; /* "; /a has build-id 12; /b: truncated" */
	bool mismatch, broken;
};

/* ---- lists of strings ------------------------------------------------------- */

static void list_free(struct list *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->all[i]);
	free(list->all);
}

/* Appends `string`, which it takes (NULL: there was no memory for it). */
static struct reel_error *append(struct list *list, char *string)
{
	if (string && list->n == list->capacity) {
		size_t capacity = list->capacity ? 2 * list->capacity : 16;
		char **all = reallocarray(list->all, capacity, sizeof(*all));

		if (all) {
			list->all = all;
			list->capacity = capacity;
		}
	}
	if (!string || list->n == list->capacity) {
		free(string);
		return reel_error_no_memory();
	}
	list->all[list->n++] = string;
	return NULL;
}

static struct reel_error *append_all(struct list *list, const char *const *from)
{
	struct reel_error *error = NULL;

	for (size_t i = 0; !error && from && from[i]; i++)
		error = append(list, strdup(from[i]));
	return error;
}

static struct reel_error *copy_options(const struct reel_capture_options *options,
				       struct reel_kernel_search *search)
{
	static const char *const usual[] = { "/usr/lib/debug", NULL };
	const char *const *debug_dirs = options->debug_dirs ? options->debug_dirs : usual;
	struct reel_error *error = append_all(&search->debug_dirs, debug_dirs);

	for (size_t i = 0; !error && options->symfs && options->symfs[i]; i++) {
		for (size_t j = 0; !error && debug_dirs[j]; j++) {
			if (debug_dirs[j][0] == '/')
				error = append(
					&search->debug_dirs,
					reel_text_print("%s%s", options->symfs[i], debug_dirs[j]));
		}
	}
	if (!error)
		error = append_all(&search->roots, options->symfs);
	if (!error && !options->no_host_files)
		error = append(&search->roots, strdup(""));
	return error ? error : append_all(&search->named, options->module_files);
}

struct reel_error *reel_kernel_search_create(const struct reel_capture_options *options,
					     const char *release, struct reel_kernel_search **ret)
{
	struct reel_kernel_search *search = calloc(1, sizeof(*search));
	struct reel_error *error;

	if (!search)
		return reel_error_no_memory();
	/* It becomes a part of paths, and comes from a file. */
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
	list_free(&search->debug_dirs);
	list_free(&search->roots);
	list_free(&search->named);
	list_free(&search->modules);
	free(search->release);
	free(search);
}

/* ---- candidates --------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void note(struct attempt *attempt, const char *format,
						       ...)
{
	_cleanup_free_ char *text = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	reel_buffer_append(&attempt->seen, "; ", 2);
	if (text)
		reel_buffer_append(&attempt->seen, text, strlen(text));
	else
		attempt->seen.failed = true;
}

static void print_hex(const uint8_t *bytes, size_t size, char *ret)
{
	for (size_t i = 0; i < size; i++)
		sprintf(ret + 2 * i, "%02x", bytes[i]);
	ret[2 * size] = 0;
}

static bool is_the_module(struct attempt *attempt, const struct reel_elf_file *file, bool named)
{
	struct reel_bytes wanted = attempt->module->build_id;
	char hex[2 * REEL_BUILD_ID_MAX + 1];
	const uint8_t *build_id;
	size_t size;

	build_id = reel_elf_file_build_id(file, &size);
	if (!wanted.size && named)
		return true;
	if (wanted.size && size == wanted.size && !memcmp(build_id, wanted.data, size))
		return true;
	attempt->mismatch = true;
	print_hex(build_id, size, hex);
	if (!wanted.size)
		note(attempt, "%s may be of another kernel", reel_elf_file_path(file));
	else
		note(attempt, size ? "%s has build-id %s" : "%s has no build-id%s",
		     reel_elf_file_path(file), hex);
	return false;
}

/* One with debug information is better than one with symbols only, and that better than none. */
static bool is_better(const struct reel_elf_file *file, const struct reel_elf_file *found)
{
	if (!reel_elf_file_has_debug_info(file) && !reel_elf_file_has_symbols(file))
		return false;
	return !found ||
	       (reel_elf_file_has_debug_info(file) && !reel_elf_file_has_debug_info(found));
}

/* What is not there is not worth a word. */
static struct reel_error *note_error(struct attempt *attempt, struct reel_error *error)
{
	enum reel_error_code code = reel_error_code(error);

	if (code == REEL_ERROR_NO_MEMORY)
		return error;
	if (code != REEL_ERROR_OS) {
		attempt->broken |= code != REEL_ERROR_PERMISSION;
		note(attempt, "%s", reel_error_message(error));
	}
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
		return note_error(attempt, error);
	if (is_the_module(attempt, file, named) && is_better(file, attempt->found)) {
		error = reel_elf_file_lay_out(file);
		if (!error) {
			reel_elf_file_close(attempt->found);
			attempt->found = file;
			return NULL;
		}
		error = note_error(attempt, error);
	}
	reel_elf_file_close(file);
	return error;
}

/* ---- names ----------------------------------------------------------------------- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* "nf-tables.ko" and "nf_tables.ko.debug" are nf_tables. */
static bool is_module_file(const char *path, const char *name)
{
	size_t size = strlen(name);

	path = base_name(path);
	for (size_t i = 0; i < size; i++)
		if (path[i] != name[i] && !(path[i] == '-' && name[i] == '_'))
			return false;
	return !strcmp(path + size, ".ko") || !strcmp(path + size, ".ko.debug");
}

static bool has_name(const struct attempt *attempt, const char *path)
{
	if (*attempt->name)
		return is_module_file(path, attempt->name);
	return !strncmp(base_name(path), "vmlinux", strlen("vmlinux"));
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
	const struct list *named = &attempt->search->named;
	struct reel_error *error = NULL;

	for (size_t i = 0; !error && i < named->n; i++) {
		struct reel_elf_file *file;
		const uint8_t *build_id;
		size_t size;
		bool is_it;

		/* Those of other modules are no candidates. */
		error = reel_elf_file_open(named->all[i], &file);
		if (error) {
			error = note_error(attempt, error);
			continue;
		}
		build_id = reel_elf_file_build_id(file, &size);
		is_it = size && size == attempt->module->build_id.size &&
			!memcmp(build_id, attempt->module->build_id.data, size);
		reel_elf_file_close(file);
		if (is_it || has_name(attempt, named->all[i]))
			error = try_file(attempt, strdup(named->all[i]), true);
	}
	return error;
}

static struct reel_error *try_build_ids(struct attempt *attempt)
{
	const struct list *dirs = &attempt->search->debug_dirs;
	struct reel_error *error = NULL;

	for (size_t i = 0; !error && attempt->hex[0] && i < dirs->n; i++) {
		error = try_file(attempt,
				 reel_text_print("%s/.build-id/%.2s/%s.debug", dirs->all[i],
						 attempt->hex, attempt->hex + 2),
				 false);
		if (!error)
			error = try_file(attempt,
					 reel_text_print("%s/.build-id/%.2s/%s", dirs->all[i],
							 attempt->hex, attempt->hex + 2),
					 false);
	}
	return error;
}

/* DIR + each of the names, %s being the release, with and without ".debug". */
static struct reel_error *try_kernel(struct attempt *attempt, const struct list *dirs)
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

/* Files of modules below DIR; links to folders are not followed (build, source). */
static struct reel_error *list_modules(struct reel_kernel_search *search, char *dir)
{
	char *paths[] = { dir, NULL };
	struct reel_error *error = NULL;
	FTSENT *entry;
	FTS *tree;

	if (!dir)
		return reel_error_no_memory();
	tree = fts_open(paths, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR | FTS_NOSTAT, NULL);
	while (tree && !error && (entry = fts_read(tree))) {
		const char *end = strstr(entry->fts_name, ".ko");

		if (end && entry->fts_info != FTS_D && entry->fts_info != FTS_DP &&
		    (!strcmp(end, ".ko") || !strcmp(end, ".ko.debug")))
			error = append(&search->modules, strdup(entry->fts_path));
	}
	if (tree)
		fts_close(tree);
	free(dir);
	return error;
}

static struct reel_error *list_all_modules(struct reel_kernel_search *search)
{
	const struct list *lists[] = { &search->debug_dirs, &search->roots };
	struct reel_error *error = NULL;

	search->modules_listed = true;
	for (size_t i = 0; *search->release && i < 2; i++) {
		for (size_t j = 0; !error && j < lists[i]->n; j++) {
			error = list_modules(search,
					     reel_text_print("%s/lib/modules/%s", lists[i]->all[j],
							     search->release));
			if (!error)
				error = list_modules(
					search, reel_text_print("%s/usr/lib/modules/%s",
								lists[i]->all[j], search->release));
		}
	}
	return error;
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
	ret->state = attempt->mismatch ? REEL_MODULE_MISMATCH
		     : attempt->broken ? REEL_MODULE_BROKEN
				       : REEL_MODULE_MISSING;
	reel_buffer_u8(&attempt->seen, 0);
	if (attempt->seen.failed)
		return reel_error_no_memory();
	ret->problem = reel_text_print(
		"no file with the debug information of %s%s%s%s: its functions have the names that "
		"the capture has, without lines and inlined ones; give it with --module FILE, or "
		"--debug-dir DIR with what the kernel's debug package has in /usr/lib/debug%s",
		*attempt->name ? "kernel module " : "the kernel", attempt->name,
		attempt->hex[0] ? " with build-id " : "", attempt->hex,
		(const char *)attempt->seen.bytes);
	return ret->problem ? NULL : reel_error_no_memory();
}

static struct reel_error *search_all(struct reel_kernel_search *search, struct attempt *attempt)
{
	struct reel_error *error = try_named(attempt);

	if (!error)
		error = try_build_ids(attempt);
	if (error || !attempt->module->build_id.size)
		return error;
	if (*attempt->name)
		return try_module(search, attempt);
	if (!*search->release)
		return NULL;
	error = try_kernel(attempt, &search->debug_dirs);
	return error ? error : try_kernel(attempt, &search->roots);
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
		print_hex(module->build_id.data, module->build_id.size, attempt.hex);
	error = search_all(search, &attempt);
	if (!error && attempt.found) {
		ret->state = REEL_MODULE_FOUND;
		ret->debug = attempt.found;
		attempt.found = NULL;
	} else if (!error) {
		error = describe_problem(&attempt, ret);
	}
	reel_elf_file_close(attempt.found);
	reel_buffer_free(&attempt.seen);
	return error;
}

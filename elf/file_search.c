/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "elf/file_search.h"
#include "base/text.h"

/* ---- where to look ---------------------------------------------------------- */

struct reel_error *reel_strings_add(struct reel_strings *strings, char *string)
{
	if (!string || !reel_array_reserve(&strings->all, strings->n, &strings->capacity,
					   sizeof(*strings->all))) {
		free(string);
		return reel_error_no_memory();
	}
	strings->all[strings->n++] = string;
	return NULL;
}

void reel_strings_free(struct reel_strings *strings)
{
	for (size_t i = 0; i < strings->n; i++)
		free(strings->all[i]);
	free(strings->all);
}

static struct reel_error *add_copies(struct reel_strings *strings, const char *const *from)
{
	struct reel_error *error = NULL;

	for (size_t i = 0; !error && from && from[i]; i++)
		error = reel_strings_add(strings, strdup(from[i]));
	return error;
}

struct reel_error *reel_search_folders_copy(const struct reel_capture_options *options,
					    struct reel_search_folders *ret)
{
	static const char *const usual[] = { "/usr/lib/debug", NULL };
	const char *const *dirs = options->debug_dirs ? options->debug_dirs : usual;

	TRY(add_copies(&ret->symfs, options->symfs));
	if (options->debuginfod_cache) {
		ret->debuginfod_cache = strdup(options->debuginfod_cache);
		if (!ret->debuginfod_cache)
			return reel_error_no_memory();
	}
	TRY(add_copies(&ret->named, options->module_files));
	TRY(add_copies(&ret->debug_dirs, dirs));
	for (size_t i = 0; i < ret->symfs.n; i++) {
		for (size_t j = 0; dirs[j]; j++) {
			if (dirs[j][0] == '/')
				TRY(reel_strings_add(
					&ret->debug_dirs,
					reel_text_print("%s%s", ret->symfs.all[i], dirs[j])));
		}
	}
	return NULL;
}

void reel_search_folders_free(struct reel_search_folders *places)
{
	reel_strings_free(&places->symfs);
	reel_strings_free(&places->debug_dirs);
	reel_strings_free(&places->named);
	free(places->debuginfod_cache);
}

const char *reel_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

char *reel_build_id_path(const char *dir, const char *hex, const char *suffix)
{
	return reel_text_print("%s/.build-id/%.2s/%s%s", dir, hex, hex + 2, suffix);
}

/* The client keeps an empty file if no server had the file: no search must find that. */
char *reel_fetched_path(const struct reel_search_folders *places, const char *hex, const char *kind)
{
	struct stat status;
	char *path;

	if (!places->debuginfod_cache || !hex[0])
		return NULL;
	path = reel_text_print("%s/%s/%s", places->debuginfod_cache, hex, kind);
	if (path && !stat(path, &status) && S_ISREG(status.st_mode) && status.st_size)
		return path;
	free(path);
	return NULL;
}

/* ---- rejected files ----------------------------------------------------------- */

void reel_build_id_print(struct reel_bytes build_id, char *ret)
{
	for (size_t i = 0; i < build_id.size; i++)
		sprintf(ret + 2 * i, "%02x", build_id.data[i]);
	ret[2 * build_id.size] = 0;
}

void reel_candidates_note(struct reel_candidates *candidates, const char *format, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	if (candidates->seen.size)
		reel_buffer_append(&candidates->seen, "; ", 2);
	if (text)
		reel_buffer_append(&candidates->seen, text, strlen(text));
	else
		candidates->seen.failed = true;
}

void reel_candidates_note_build_id(struct reel_candidates *candidates,
				   const struct reel_elf_file *file)
{
	struct reel_bytes build_id = reel_elf_file_build_id(file);
	char hex[REEL_BUILD_ID_TEXT];

	reel_build_id_print(build_id, hex);
	reel_candidates_note(candidates,
			     build_id.size ? "%s has build-id %s" : "%s has no build-id%s",
			     reel_elf_file_path(file), hex);
	candidates->mismatch = true;
}

struct reel_error *reel_candidates_note_error(struct reel_candidates *candidates,
					      struct reel_error *error)
{
	enum reel_error_code code = reel_error_code(error);

	if (code == REEL_ERROR_NO_MEMORY)
		return error;
	candidates->broken |= code != REEL_ERROR_OS && code != REEL_ERROR_PERMISSION;
	reel_candidates_note(candidates, "%s", reel_error_message(error));
	reel_error_destroy(error);
	return NULL;
}

enum reel_module_state reel_candidates_state(const struct reel_candidates *candidates)
{
	return candidates->mismatch ? REEL_MODULE_MISMATCH
	       : candidates->broken ? REEL_MODULE_BROKEN
				    : REEL_MODULE_MISSING;
}

struct reel_error *reel_candidates_text(struct reel_candidates *candidates, const char **ret)
{
	reel_buffer_u8(&candidates->seen, 0);
	*ret = (const char *)candidates->seen.bytes;
	return candidates->seen.failed ? reel_error_no_memory() : NULL;
}

void reel_candidates_free(struct reel_candidates *candidates)
{
	reel_buffer_free(&candidates->seen);
}

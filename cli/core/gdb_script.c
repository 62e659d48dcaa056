/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/core/gdb_script.h"
#include "cli/print/text.h"

#define DEBUG_DIR "/usr/lib/debug"

/* ---- paths ---------------------------------------------------------------------------------- */

/* gdb reads a script line by line, and no quotes protect a newline. */
static bool is_printable(const char *path)
{
	for (; *path; path++) {
		if ((unsigned char)*path < ' ')
			return false;
	}
	return true;
}

/* realpath() would leave another root, as in /proc/PID/root. */
static char *absolute(const char *path)
{
	_cleanup_free_ char *folder = *path == '/' ? NULL : getcwd(NULL, 0);

	return memory_print("%s%s%s", folder ? folder : "", folder ? "/" : "", path);
}

/* core-file takes the rest of the line before gdb 16, and a quoted name since then: only names
 * without blanks and quotes are the same to both. */
bool gdb_script_can_name(const char *core_path)
{
	_cleanup_free_ char *path = absolute(core_path);

	if (is_printable(path) && !strpbrk(path, " \"'\\"))
		return true;
	complain("%s: gdb cannot open a core file with blanks or quotes in its path", path);
	return false;
}

static void print_quoted(const char *path, FILE *file)
{
	fputc('"', file);
	for (; *path; path++) {
		if (*path == '"' || *path == '\\')
			fputc('\\', file);
		fputc(*path, file);
	}
	fputc('"', file);
}

/* ---- modules -------------------------------------------------------------------------------- */

/* The image as reel_capture_unpack names it; NULL for one without a build-id. */
static char *image_of(const struct gdb_script *script, const struct reel_module_info *info)
{
	if (!info->embedded || !*info->build_id)
		return NULL;
	return memory_print("%s/.build-id/%.2s/%s.debug", script->images, info->build_id,
			    info->build_id + 2);
}

/* gdb looks for debug files in the folders above and beside the module, but those given by --module
 * and those in debuginfod's cache are elsewhere. */
static bool is_debug_file_hidden(const struct reel_module_info *info)
{
	return *info->debug_path && is_printable(info->debug_path) &&
	       !strstr(info->debug_path, "/.build-id/");
}

static void print_file(const char *path, uint64_t bias, FILE *file)
{
	_cleanup_free_ char *whole = absolute(path);

	fputs("add-symbol-file ", file);
	print_quoted(whole, file);
	fprintf(file, " -o 0x%" PRIx64 "\n", bias);
}

static bool print_module(const struct gdb_script *script, const struct reel_core_module *module,
			 FILE *file)
{
	struct reel_module_info info;
	_cleanup_free_ char *image = NULL, *escaped = NULL;
	const char *local;

	if (!no_error(reel_capture_module(script->capture, module->id, &info)))
		return false;
	escaped = text_escape(info.path, "");
	image = image_of(script, &info);
	local = *info.local_path ? info.local_path : image;
	if (!local || !module->has_bias || !is_printable(local)) {
		fprintf(file, "# %s: no file\n", escaped);
		return true;
	}
	if (image)
		fprintf(file, "# %s: only its image in the capture\n", escaped);
	print_file(local, module->bias, file);
	if (is_debug_file_hidden(&info))
		print_file(info.debug_path, module->bias, file);
	return true;
}

/* ---- the script ----------------------------------------------------------------------------- */

static void print_folders(const struct string_list *folders, const char *below, FILE *file)
{
	for (size_t i = 0; i < folders->count; i++) {
		_cleanup_free_ char *folder = absolute(folders->items[i]);

		if (is_printable(folder))
			fprintf(file, "%s%s:", folder, below);
	}
}

/* Where the options look for debug files. */
static void print_debug_folders(const struct options *options, FILE *file)
{
	fputs("set debug-file-directory ", file);
	print_folders(&options->debug_dirs, "", file);
	print_folders(&options->symfs, DEBUG_DIR, file);
	fputs(DEBUG_DIR "\n", file);
}

static void print_head(const struct gdb_script *script, FILE *file)
{
	const struct reel_core_info *info = reel_core_get_info(script->core);
	_cleanup_free_ char *capture = text_escape(script->options->file, ""),
			    *comm = text_escape(info->comm, "");

	fprintf(file,
		"# Sample %" PRIu64 " of %s (%s, process %" PRIu32 ", thread %" PRIu32
		"), for gdb -x.\n",
		script->sample, capture, comm, info->pid, info->tid);
	fputs("# The capture has its stack and registers. gdb reads code and constants in the "
	      "files below, and cannot\n"
	      "# access other memory: heaps, global and thread-local variables.\n"
	      "# These registers were not recorded and read as 0: flags, segments, vectors and the "
	      "like",
	      file);
	fprintf(file, "%s%s.\n", *info->unknown_registers ? ", and " : "", info->unknown_registers);
	if (info->scrubbed)
		fputs("# The sample is scrubbed: words that are not addresses read as 0 or 1.\n",
		      file);
	if (info->stack_cut)
		fputs("# The stack was cut: its outer frames are missing.\n", file);
}

bool gdb_script_print(const struct gdb_script *script, FILE *file)
{
	_cleanup_free_ char *core_path = absolute(script->core_path);
	size_t n;
	const struct reel_core_module *modules = reel_core_modules(script->core, &n);

	print_head(script, file);
	/* Frames as in stackreel's traces, up to the thread's start. */
	fputs("set backtrace past-main on\n"
	      "set backtrace past-entry on\n",
	      file);
	print_debug_folders(script->options, file);
	/* First, since it selects the CPU. */
	fprintf(file, "core-file %s\n", core_path);
	for (size_t i = 0; i < n; i++) {
		if (!print_module(script, &modules[i], file))
			return false;
	}
	fputs("frame\n", file);
	return true;
}

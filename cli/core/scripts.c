/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/core/core_command.h"
#include "cli/print/text.h"

#define DEBUG_DIR "/usr/lib/debug"

/* ---- paths ---------------------------------------------------------------------------------- */

/* Debuggers read a script line by line, and no quotes protect a newline, nor lldb from commands in
 * backquotes. */
static bool is_printable(const char *path)
{
	return reel_text_is_clean(path) && !strchr(path, '`');
}

/* realpath() would leave another root, as in /proc/PID/root. */
static char *absolute(const char *path)
{
	_cleanup_free_ char *folder = *path == '/' ? NULL : getcwd(NULL, 0);

	return memory_print("%s%s%s", folder ? folder : "", folder ? "/" : "", path);
}

/* core-file takes the rest of the line before gdb 16, and a quoted name since then: only names
 * without blanks and quotes are the same to both. */
bool core_script_can_name(const char *core_path)
{
	_cleanup_free_ char *path = absolute(core_path);

	if (is_printable(path) && !strpbrk(path, " \"'\\"))
		return true;
	complain("%s: gdb cannot open a core file with blanks or quotes in its path", path);
	return false;
}

static void print_quoted(const char *path, FILE *file)
{
	_cleanup_free_ char *whole = absolute(path);

	fputc('"', file);
	for (const char *c = whole; *c; c++) {
		if (*c == '"' || *c == '\\')
			fputc('\\', file);
		fputc(*c, file);
	}
	fputc('"', file);
}

/* A file name's bytes need not be UTF-8. */
static void print_python_bytes(const char *path, FILE *file)
{
	_cleanup_free_ char *whole = absolute(path);

	fputs("b\"", file);
	for (const char *c = whole; *c; c++) {
		if (*c == '"' || *c == '\\' || (unsigned char)*c > 126)
			fprintf(file, "\\x%02x", (unsigned char)*c);
		else
			fputc(*c, file);
	}
	fputc('"', file);
}

/* ---- modules -------------------------------------------------------------------------------- */

/* A module's files. */
struct files {
	struct reel_module_info info;
	char *image;
	const char *local; /* NULL: none */
};

static void files_free(struct files *files)
{
	free(files->image);
}

/* The image as reel_capture_unpack names it; NULL for one without a build-id. */
static char *image_of(const struct core_script *script, const struct reel_module_info *info)
{
	if (!info->embedded || !*info->build_id)
		return NULL;
	return memory_print("%s/.build-id/%.2s/%s.debug", script->images, info->build_id,
			    info->build_id + 2);
}

static bool find_files(const struct core_script *script, const struct reel_core_module *module,
		       struct files *ret)
{
	*ret = (struct files){ .info.size = sizeof(ret->info) };
	if (!no_error(reel_capture_module(script->capture, module->id, &ret->info)))
		return false;
	ret->image = image_of(script, &ret->info);
	ret->local = *ret->info.local_path ? ret->info.local_path : ret->image;
	if (ret->local && (!module->has_bias || !is_printable(ret->local)))
		ret->local = NULL;
	return true;
}

/* Debuggers look for debug files in the folders above and beside the module, but those given by
 * --module and those in debuginfod's cache are elsewhere. */
static bool is_debug_file_hidden(const struct reel_module_info *info)
{
	return *info->debug_path && is_printable(info->debug_path) &&
	       !strstr(info->debug_path, "/.build-id/");
}

/* Prints a module's part of a script. */
typedef void print_module_fn(const struct reel_core_module *module, const struct files *files,
			     FILE *file);

static bool print_modules(const struct core_script *script, FILE *file, print_module_fn *print)
{
	size_t n;
	const struct reel_core_module *modules = reel_core_modules(script->core, &n);

	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ char *escaped = NULL;
		struct files files;

		if (!find_files(script, &modules[i], &files))
			return false;
		escaped = text_escape(files.info.path, "");
		if (!files.local)
			fprintf(file, "# %s: no file\n", escaped);
		else if (files.image && files.local == files.image)
			fprintf(file, "# %s: only its image in the capture\n", escaped);
		if (files.local)
			print(&modules[i], &files, file);
		files_free(&files);
	}
	return true;
}

/* ---- what all say --------------------------------------------------------------------------- */

static void print_head(const struct core_script *script, const char *use, FILE *file)
{
	const struct reel_core_info *info = reel_core_get_info(script->core);
	_cleanup_free_ char *capture = text_escape(script->options->file, ""),
			    *comm = text_escape(info->comm, "");

	fprintf(file,
		"# Sample %" PRIu64 " of %s (%s, process %" PRIu32 ", thread %" PRIu32
		"), for %s.\n",
		script->sample, capture, comm, info->pid, info->tid, use);
	fputs("# The capture has its stack and registers. Code and constants are read in the "
	      "files below; other\n"
	      "# memory is unknown: heaps, global and thread-local variables.\n"
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

/* ---- gdb ------------------------------------------------------------------------------------ */

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

static void print_gdb_file(const char *path, uint64_t bias, FILE *file)
{
	fputs("add-symbol-file ", file);
	print_quoted(path, file);
	fprintf(file, " -o 0x%" PRIx64 "\n", bias);
}

static void print_gdb_module(const struct reel_core_module *module, const struct files *files,
			     FILE *file)
{
	print_gdb_file(files->local, module->bias, file);
	if (is_debug_file_hidden(&files->info))
		print_gdb_file(files->info.debug_path, module->bias, file);
}

static bool print_gdb(const struct core_script *script, FILE *file)
{
	_cleanup_free_ char *core_path = absolute(script->core_path);

	print_head(script, "gdb -x", file);
	/* Frames as in stackreel's traces, up to the thread's start. */
	fputs("set backtrace past-main on\n"
	      "set backtrace past-entry on\n",
	      file);
	print_debug_folders(script->options, file);
	/* First, since it selects the CPU. */
	fprintf(file, "core-file %s\n", core_path);
	if (!print_modules(script, file, print_gdb_module))
		return false;
	fputs("frame\n", file);
	return true;
}

/* ---- lldb ----------------------------------------------------------------------------------- */

static void print_lldb_folders(const struct string_list *folders, const char *below, FILE *file)
{
	for (size_t i = 0; i < folders->count; i++) {
		_cleanup_free_ char *folder = memory_print("%s%s", folders->items[i], below);

		if (!is_printable(folder))
			continue;
		fputs("settings append target.debug-file-search-paths ", file);
		print_quoted(folder, file);
		fputc('\n', file);
	}
}

static void print_lldb_module(const struct reel_core_module *module, const struct files *files,
			      FILE *file)
{
	/* The program is the target. */
	if (!module->is_program) {
		fputs("target modules add ", file);
		print_quoted(files->local, file);
		fputc('\n', file);
	}
	fputs("target modules load --file ", file);
	print_quoted(files->local, file);
	fprintf(file, " --slide 0x%" PRIx64 "\n", module->bias);
	if (!is_debug_file_hidden(&files->info))
		return;
	fputs("target symbols add --shlib ", file);
	print_quoted(files->local, file);
	fputc(' ', file);
	print_quoted(files->info.debug_path, file);
	fputc('\n', file);
}

static bool print_lldb(const struct core_script *script, FILE *file)
{
	size_t n;
	const struct reel_core_module *modules = reel_core_modules(script->core, &n);

	print_head(script, "lldb -s", file);
	print_lldb_folders(&script->options->debug_dirs, "", file);
	print_lldb_folders(&script->options->symfs, DEBUG_DIR, file);
	fputs("target create --core ", file);
	print_quoted(script->core_path, file);
	for (size_t i = 0; i < n; i++) {
		struct files files;

		if (!modules[i].is_program)
			continue;
		if (!find_files(script, &modules[i], &files))
			return false;
		fputc(' ', file);
		if (files.local)
			print_quoted(files.local, file);
		files_free(&files);
		break;
	}
	fputc('\n', file);
	return print_modules(script, file, print_lldb_module);
}

/* ---- drgn ----------------------------------------------------------------------------------- */

/* drgn takes addresses, so the file's own must be known. */
static const char drgn_functions[] =
	"import struct\n"
	"\n"
	"def addresses(path):\n"
	"    with open(path, 'rb') as file:\n"
	"        data = file.read(65536)\n"
	"    order, wide = '<>'[data[5] - 1], data[4] == 2\n"
	"    at = struct.unpack_from(order + ('Q' if wide else 'I'), data, 32 if wide else 28)[0]\n"
	"    size, n = struct.unpack_from(order + 'HH', data, 54 if wide else 42)\n"
	"    layout = order + ('I12xQ16xQ' if wide else 'I4xI8xI')\n"
	"    headers = [struct.unpack_from(layout, data, at + i * size) for i in range(n)]\n"
	"    loads = [header[1:] for header in headers if header[0] == 1]\n"
	"    return min(load[0] for load in loads), max(sum(load) for load in loads)\n"
	"\n"
	"def add(path, bias, debug=None):\n"
	"    low, high = (address + bias for address in addresses(path))\n"
	"    for module in prog.modules():\n"
	"        if module.address_range and module.address_range[0] <= low < "
	"module.address_range[1]:\n"
	"            break\n"
	"    else:\n"
	"        module = prog.extra_module(path.decode(errors='replace'), create=True)\n"
	"        module = module[0] if isinstance(module, tuple) else module\n"
	"        module.address_range = low, high\n"
	"    for file in (debug, path):\n"
	"        if file:\n"
	"            module.try_file(file, force=True)\n"
	"\n";

static void print_drgn_module(const struct reel_core_module *module, const struct files *files,
			      FILE *file)
{
	fputs("add(", file);
	print_python_bytes(files->local, file);
	fprintf(file, ", 0x%" PRIx64, module->bias);
	if (*files->info.debug_path) {
		fputs(", ", file);
		print_python_bytes(files->info.debug_path, file);
	}
	fputs(")\n", file);
}

static bool print_drgn(const struct core_script *script, FILE *file)
{
	print_head(script, "drgn -c CORE", file);
	fputs(drgn_functions, file);
	if (!print_modules(script, file, print_drgn_module))
		return false;
	fputs("print(next(prog.threads()).stack_trace())\n", file);
	return true;
}

const struct core_debugger core_debuggers[CORE_DEBUGGERS] = {
	{ ".gdb", print_gdb },
	{ ".lldb", print_lldb },
	{ ".py", print_drgn },
};

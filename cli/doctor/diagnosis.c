/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "cli/doctor/diagnosis.h"
#include "cli/print/text.h"

/* ---- runtimes -------------------------------------------------------------------------------- */

/* Programs that interpret others or make code while they run: how to recognise them by their files,
 * and what makes them name the functions they run. */
static const struct runtime {
	const char *name;
	/* Prefixes of a path's last component, each not followed by a letter. */
	const char *files[3];
	/* What names the code that it makes; NULL if it makes none. */
	const char *remedy;
	/* Prefixes of functions that run the program's, and what shows these; NULL if nothing does. */
	const char *interpreters[2], *shown_by;
} runtimes[] = {
	{ "Node.js",
	  { "node", "nodejs" },
	  "node --perf-basic-prof --interpreted-frames-native-stack" },
	{ "Java",
	  { "libjvm.so" },
	  "stackreel-record --java-perfmap (JDK 17), or java "
	  "-XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit" },
	{ "Python",
	  { "python3.", "libpython3." },
	  NULL, /* code in its processes is made by libraries such as numba */
	  { "_PyEval_EvalFrameDefault" },
	  "stackreel-record without --no-interpreters (CPython 3.8 to 3.15), except in a "
	  "process's first 10 ms; with other recorders, python3 -X perf (3.12)" },
	{ "Ruby",
	  { "ruby", "libruby" },
	  "ruby --yjit --yjit-perf (3.3)",
	  { "ruby_run_node", "rb_" }, /* what Debian's files name */
	  "stackreel-record without --no-interpreters (Ruby 3.1 to 3.4), except in a process's "
	  "first 100 ms" },
	{ "PHP", { "php", "libphp", "mod_php" }, "php -d opcache.jit_debug=16 (a perf map)" },
	{ "Erlang", { "beam.smp" }, "erl +JPperf true (OTP 25)" },
	{ ".NET", { "libcoreclr.so", "dotnet" }, "DOTNET_PerfMapEnabled=1" },
	{ "LuaJIT", { "luajit", "libluajit" }, "build it with XCFLAGS=-DLUAJIT_USE_PERFTOOLS" },
};

#define RUNTIMES (sizeof(runtimes) / sizeof(*runtimes))

static bool is_file(const char *name, const char *start)
{
	size_t size = strlen(start);

	return !strncmp(name, start, size) && !isalpha((unsigned char)name[size]);
}

/* Below RUNTIMES; RUNTIMES if none. */
static size_t runtime_of_path(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	for (size_t i = 0; i < RUNTIMES; i++) {
		for (size_t j = 0; j < 3 && runtimes[i].files[j]; j++) {
			if (is_file(name, runtimes[i].files[j]))
				return i;
		}
	}
	return RUNTIMES;
}

/* ---- counting -------------------------------------------------------------------------------- */

bool module_stats_open(const struct session *session, struct module_stats *ret)
{
	_cleanup_free_ struct reel_module_info *modules = NULL;
	size_t n;

	*ret = (struct module_stats){
		.has_native_only = session->options->runtimes == REEL_RUNTIMES_NATIVE,
	};
	if (!no_error(reel_capture_modules(session->capture, &modules, &n)))
		return false;
	ret->modules = memory_get((n + 1) * sizeof(*ret->modules));
	for (size_t i = 0; i < n; i++)
		ret->modules[i] =
			(struct module_counts){ .id = modules[i].id,
						.is_file = modules[i].kind == REEL_MODULE_FILE,
						.is_jit = modules[i].kind == REEL_MODULE_ANONYMOUS,
						.runtime = runtime_of_path(modules[i].path) };
	ret->n = n;
	return true;
}

void module_stats_free(struct module_stats *stats)
{
	free(stats->modules);
	free(stats->processes);
}

static struct module_counts *counts_of(struct module_stats *stats, uint64_t id)
{
	size_t at = REEL_PARTITION_POINT(stats->n, i, stats->modules[i].id < id);

	return at < stats->n && stats->modules[at].id == id ? &stats->modules[at] : NULL;
}

static void count_once(uint64_t *count, uint64_t *seen, const struct reel_trace *trace)
{
	*count += *seen != trace->id + 1;
	*seen = trace->id + 1;
}

/* For inlined functions, the containing function tells as much. */
static void count_frame(struct module_stats *stats, const struct reel_trace *trace,
			const struct reel_frame *frame)
{
	struct module_counts *counts = counts_of(stats, frame->module_id);

	if (frame->inlined || !counts)
		return;
	counts->has_lines |= *frame->file;
	count_once(&counts->samples, &counts->seen, trace);
	if (!*frame->function)
		count_once(&counts->nameless, &counts->seen_nameless, trace);
	/* Only the builder's host has debug information of the kernel and the vDSO. */
	if (*frame->file || !counts->is_file)
		return;
	stats->lineless++;
	count_once(&counts->lineless, &counts->seen_lineless, trace);
}

/* The other ends concern the stack. */
static bool is_ended_by_module(enum reel_stop stop)
{
	return stop == REEL_STOP_MODULE_MISSING || stop == REEL_STOP_NO_UNWIND_INFO ||
	       stop == REEL_STOP_BAD_UNWIND_INFO;
}

static struct jit_process *process_of(struct module_stats *stats, uint32_t pid)
{
	size_t at = REEL_PARTITION_POINT(stats->n_processes, i, stats->processes[i].pid < pid);

	if (at < stats->n_processes && stats->processes[at].pid == pid)
		return &stats->processes[at];
	stats->processes = memory_reserve(stats->processes, &stats->capacity, stats->n_processes,
					  sizeof(*stats->processes));
	memmove(&stats->processes[at + 1], &stats->processes[at],
		(stats->n_processes++ - at) * sizeof(*stats->processes));
	stats->processes[at] = (struct jit_process){ .pid = pid };
	return &stats->processes[at];
}

static void count_jit(struct module_stats *stats, const struct reel_trace *trace)
{
	struct jit_process *process;
	bool is_nameless = false;
	unsigned found = 0;

	for (size_t i = 0; i < trace->n_frames; i++) {
		const struct reel_frame *frame = trace->frames[i];
		const struct module_counts *counts = counts_of(stats, frame->module_id);

		if (!counts)
			continue;
		if (counts->runtime < RUNTIMES)
			found |= 1u << counts->runtime;
		is_nameless |= counts->is_jit && !*frame->function;
	}
	if (!found && !is_nameless)
		return;
	process = process_of(stats, trace->pid);
	process->runtimes |= found;
	process->nameless += is_nameless;
}

static bool is_interpreter(const struct runtime *runtime, const char *function)
{
	for (size_t i = 0; i < 2 && runtime->interpreters[i]; i++) {
		if (!strncmp(function, runtime->interpreters[i], strlen(runtime->interpreters[i])))
			return true;
	}
	return false;
}

/* Counts the interpreter whose functions are missing, if the trace has no frame of a runtime. */
static void count_interpreter(struct module_stats *stats, const struct reel_trace *trace)
{
	struct module_counts *interpreter = NULL;

	if (stats->has_native_only)
		return;
	for (size_t i = 0; i < trace->n_frames; i++) {
		const struct reel_frame *frame = trace->frames[i];
		struct module_counts *counts = counts_of(stats, frame->module_id);

		if (frame->runtime)
			return;
		if (counts && counts->runtime < RUNTIMES &&
		    is_interpreter(&runtimes[counts->runtime], frame->function))
			interpreter = counts;
	}
	if (interpreter)
		interpreter->interpreting++;
}

bool module_stats_count(void *context, const struct reel_trace *trace,
			const struct reel_event_info *event)
{
	struct module_stats *stats = context;

	(void)event;
	for (size_t i = 0; i < trace->n_frames; i++)
		count_frame(stats, trace, trace->frames[i]);
	count_jit(stats, trace);
	count_interpreter(stats, trace);
	if (trace->n_frames && is_ended_by_module(trace->stop)) {
		struct module_counts *last =
			counts_of(stats, trace->frames[trace->n_frames - 1]->module_id);

		if (last)
			last->ended++;
	}
	return true;
}

/* ---- diagnoses ------------------------------------------------------------------------------- */

const struct diagnosis diagnoses[DIAGNOSES] = {
	[MISSING_FILE] = { "file",
			   "copy it from its host (scp HOST:/PATH DIR/PATH) and use --symfs DIR; "
			   "for "
			   "a running container, use --symfs /proc/PID/root; for a copy elsewhere, "
			   "--module FILE; or embed the parts that are needed, on a host that has "
			   "the file (stackreel pack)",
			   true },
	[MISSING_ROWS] = { "unwind rows",
			   "code without unwind information that cannot be followed either; if "
			   ".debug_frame was stripped, use --debug-dir or --module with the debug "
			   "symbols; in your own assembly, add .cfi directives",
			   true },
	[MISSING_SYMBOLS] = { "symbols",
			      "install the distribution's debug symbols (packages named -dbgsym or "
			      "-debuginfo); for your own programs, keep the file from before strip "
			      "and use --module FILE",
			      true },
	[MISSING_LINES] = { "lines (embedded)",
			    "the capture contains the parts of the file that its traces need, but "
			    "no "
			    "lines, since they were missing where it was packed; pack it again "
			    "(stackreel pack) where the debug information is, or add the file "
			    "(--symfs, --module)" },
	[MISSING_MORE] = { "some lines",
			   "the debug information does not contain them: assembly, or "
			   "code built without -g" },
	[MISSING_KALLSYMS] = { "kernel symbols",
			       "record as root or with CAP_SYSLOG, on a host where "
			       "/proc/sys/kernel/kptr_restrict is not 2" },
	[JIT_CODE] = { "names", "code generated by a JIT that recorded no names; start the runtime "
				"so that it names its code" },
	[INTERPRETED] = { "program's functions",
			  "an interpreter ran functions that were not recorded; what records "
			  "them:" },
	[MISSING_STACK] = { "stacks cut at the limit",
			    "record with a larger --max-stack (stackreel-record(1))" },
	[MISSING_IMAGES] = { "modules not embedded, or only in part",
			     "their files could not be read in time, or exceeded the limit for "
			     "embedded data; stackreel-record -v names each with the reason; if "
			     "the "
			     "limit was exceeded, use --embed-limit=60M, or -p instead of -a; for "
			     "this capture, embed the parts where the files still exist (stackreel "
			     "pack), or add the files here (--symfs)",
			     .loss = REEL_LOSS_IMAGES },
	[MISSING_JIT_NAMES] = { "names not recorded",
				"a perf map or jitdump file was not a regular file of the "
				"process's "
				"user or root (ls -l /proc/PID/root/tmp/perf-*.map), was truncated "
				"or invalid; or a JIT wrote more than the recorder keeps, 64 MB "
				"per "
				"part: record fewer processes (-p), or in parts (--rotate). Of "
				"Python, code that ran once and was freed before it was read, "
				"such as the body of a module or class",
				.loss = REEL_LOSS_JIT },
};

unsigned diagnoses_of(const struct module_counts *counts, const struct reel_module_info *module)
{
	unsigned bits = counts->interpreting ? 1u << INTERPRETED : 0;

	switch (module->kind) {
	case REEL_MODULE_FILE:
		if (module->state != REEL_MODULE_FOUND)
			return bits | 1u << MISSING_FILE;
		bits |= counts->ended ? 1u << MISSING_ROWS : 0;
		if (!counts->nameless && !counts->lineless)
			return bits;
		if (module->embedded && !counts->nameless)
			return bits | 1u << MISSING_LINES;
		return bits | (counts->has_lines || *module->debug_path ? 1u << MISSING_MORE
									: 1u << MISSING_SYMBOLS);
	case REEL_MODULE_KERNEL:
	case REEL_MODULE_KERNEL_MODULE:
		return counts->nameless ? 1u << MISSING_KALLSYMS : 0;
	case REEL_MODULE_ANONYMOUS:
		return counts->nameless ? 1u << JIT_CODE : 0;
	default:
		return 0;
	}
}

unsigned diagnoses_served(const struct module_counts *counts, const struct reel_module_info *module)
{
	unsigned bits = 0;

	for (int kind = 0; kind < DIAGNOSES; kind++)
		bits |= diagnoses[kind].is_served ? 1u << kind : 0;
	return module->build_id[0] ? bits & diagnoses_of(counts, module) : 0;
}

/* ---- remedies ---- */

/* The recorder's count of this loss; also 0 if it does not count it. */
static uint64_t lost(const struct session *session, int kind)
{
	size_t n;
	const struct reel_loss_info *losses = reel_capture_losses(session->capture, &n);
	uint64_t count = 0;

	for (size_t i = 0; diagnoses[kind].loss && i < n; i++)
		count += losses[i].cause == diagnoses[kind].loss ? losses[i].count : 0;
	return count;
}

/* In lines of at most 80 columns. */
static void print_wrapped(FILE *file, const char *text)
{
	unsigned column = 0;

	while (*text) {
		unsigned length = (unsigned)strcspn(text, " ");
		bool fits = column && column + 1 + length <= 80;

		fprintf(file, "%s%.*s",
			fits	 ? " "
			: column ? "\n      "
				 : "      ",
			(int)length, text);
		column = fits ? column + 1 + length : 6 + length;
		text += length;
		text += strspn(text, " ");
	}
	fputc('\n', file);
}

static void print_runtime(const struct session *session, const char *name, uint64_t count,
			  const char *remedy, FILE *file)
{
	_cleanup_free_ char *text = memory_print("%s (%s of the samples): %s", name,
						 format_share(count, session->quality.traces).text,
						 remedy ? remedy : "");

	if (count && remedy)
		print_wrapped(file, text);
}

/* For each runtime whose processes have such samples; if no frame shows the runtime, for those with
 * files in the capture. */
static void print_runtimes(const struct session *session, const struct module_stats *stats,
			   FILE *file)
{
	uint64_t nameless[RUNTIMES] = { 0 };
	unsigned of_capture = 0;

	for (size_t i = 0; i < stats->n; i++) {
		if (stats->modules[i].runtime < RUNTIMES)
			of_capture |= 1u << stats->modules[i].runtime;
	}
	for (size_t i = 0; i < stats->n_processes; i++) {
		const struct jit_process *process = &stats->processes[i];
		unsigned bits = process->runtimes ? process->runtimes : of_capture;

		for (size_t j = 0; j < RUNTIMES; j++)
			nameless[j] += bits >> j & 1 ? process->nameless : 0;
	}
	for (size_t i = 0; i < RUNTIMES; i++)
		print_runtime(session, runtimes[i].name, nameless[i], runtimes[i].remedy, file);
}

static void print_interpreters(const struct session *session, const struct module_stats *stats,
			       FILE *file)
{
	uint64_t interpreting[RUNTIMES] = { 0 };

	for (size_t i = 0; i < stats->n; i++) {
		if (stats->modules[i].interpreting)
			interpreting[stats->modules[i].runtime] += stats->modules[i].interpreting;
	}
	for (size_t i = 0; i < RUNTIMES; i++)
		print_runtime(session, runtimes[i].name, interpreting[i], runtimes[i].shown_by,
			      file);
}

void diagnoses_print_remedies(const struct session *session, const struct module_stats *stats,
			      unsigned told, unsigned served, FILE *file)
{
	const char *start = "\n"
			    "How to fix it\n";
	_cleanup_free_ char *path = text_escape(session->options->file, "");
	const char *servers = getenv("DEBUGINFOD_URLS");
	/* elfutils' server asks those of the distributions. */
	_cleanup_free_ char *fetch =
		memory_print("run 'stackreel report --debuginfod%s %s' to fetch it by its "
			     "build-id, if a debuginfod server has it; or:",
			     servers && *servers ? "" : "=https://debuginfod.elfutils.org", path);

	for (int kind = 0; kind < DIAGNOSES; kind++) {
		uint64_t count = lost(session, kind);

		if (!(told >> kind & 1) && !count)
			continue;
		fprintf(file, "%s  %s", start, diagnoses[kind].name);
		if (count)
			fprintf(file, " (%s)", format_count(count).text);
		fputc('\n', file);
		if (served >> kind & 1)
			print_wrapped(file, fetch);
		print_wrapped(file, diagnoses[kind].remedy);
		if (kind == JIT_CODE)
			print_runtimes(session, stats, file);
		else if (kind == INTERPRETED)
			print_interpreters(session, stats, file);
		start = "";
	}
}

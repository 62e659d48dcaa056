/* SPDX-License-Identifier: Apache-2.0 */
/* stackreel doctor: what each module lacks, how many samples that costs, and what would mend it. */
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/limits.h"
#include "cli/print/text.h"
#include "cli/runtimes.h"
#include "cli/session.h"
#include "cli/summary.h"

#define KEY_ALL OPTION_KEY_OWN

/* Modules that cost a smaller share of the samples are only counted. */
#define WORTH_TELLING (PERCENT / 10)

struct doctor_options {
	struct options common;
	bool all;
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct doctor_options *options = state->input;

	(void)arg;
	switch (key) {
	case ARGP_KEY_INIT:
		options_set_inputs(state, options_of_traces, &options->common);
		return 0;
	case KEY_ALL:
		options->all = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option own_options[] = {
	{ "all", KEY_ALL, NULL, 0,
	  "List modules that cost less than 0.1 % of the samples, and those that lack nothing, too",
	  0 },
	{ 0 }
};

static const struct argp parser = {
	own_options,
	parse_option,
	"[FILE]",
	"Goes through a capture's samples, and tells of each module what it lacks on this host: "
	"its "
	"file, symbols, debug information; how many samples that costs; and what would mend it.\v"
	"FILE is " DEFAULT_CAPTURE " if not given, `-' is standard input. What is missing does not "
	"change the exit status.",
	options_of_traces,
	NULL,
	NULL,
};

/* ---- counting ----------------------------------------------------------------------------- */

/* Samples with a frame of a module, and those of them that lack something there. */
struct patient {
	uint64_t id;
	uint64_t samples, ended, nameless, lineless;
	bool is_file;
	bool is_jit;
	size_t runtime; /* RUNTIMES: it is none's */
	bool has_lines; /* of some frame */
	/* The last trace that each was counted for, + 1. */
	uint64_t seen, seen_nameless, seen_lineless;
};

/* A process's samples that lead through a JIT's code which has no name. */
struct jit_process {
	uint32_t pid;
	unsigned runtimes; /* that its frames are of: bits */
	uint64_t nameless;
};

struct ward {
	struct patient *patients; /* ascending by id */
	size_t n;
	uint64_t lineless;	       /* frames */
	struct jit_process *processes; /* ascending by pid */
	size_t n_processes, capacity;
};

static struct patient *patient_of(struct ward *ward, uint64_t id)
{
	size_t low = 0, high = ward->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ward->patients[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < ward->n && ward->patients[low].id == id ? &ward->patients[low] : NULL;
}

static void count_once(uint64_t *count, uint64_t *seen, const struct reel_trace *trace)
{
	*count += *seen != trace->id + 1;
	*seen = trace->id + 1;
}

/* Of functions that are inlined the one that they are inlined into tells as much. */
static void count_frame(struct ward *ward, const struct reel_trace *trace,
			const struct reel_frame *frame)
{
	struct patient *patient = patient_of(ward, frame->module_id);

	if (frame->inlined || !patient)
		return;
	patient->has_lines |= *frame->file;
	count_once(&patient->samples, &patient->seen, trace);
	if (!*frame->function)
		count_once(&patient->nameless, &patient->seen_nameless, trace);
	/* The kernel's debug information, and the vDSO's, is on no host but their maker's. */
	if (*frame->file || !patient->is_file)
		return;
	ward->lineless++;
	count_once(&patient->lineless, &patient->seen_lineless, trace);
}

/* The other ends have to do with the stack. */
static bool is_ended_by_module(enum reel_stop stop)
{
	return stop == REEL_STOP_MODULE_MISSING || stop == REEL_STOP_NO_UNWIND_INFO ||
	       stop == REEL_STOP_BAD_UNWIND_INFO;
}

static struct jit_process *process_of(struct ward *ward, uint32_t pid)
{
	size_t at = 0, high = ward->n_processes;

	while (at < high) {
		size_t middle = at + (high - at) / 2;

		if (ward->processes[middle].pid < pid)
			at = middle + 1;
		else
			high = middle;
	}
	if (at < ward->n_processes && ward->processes[at].pid == pid)
		return &ward->processes[at];
	if (ward->n_processes == ward->capacity) {
		ward->capacity = 2 * ward->capacity + 16;
		ward->processes =
			memory_resize(ward->processes, ward->capacity, sizeof(*ward->processes));
	}
	memmove(&ward->processes[at + 1], &ward->processes[at],
		(ward->n_processes++ - at) * sizeof(*ward->processes));
	ward->processes[at] = (struct jit_process){ .pid = pid };
	return &ward->processes[at];
}

static void count_jit(struct ward *ward, const struct reel_trace *trace)
{
	struct jit_process *process;
	bool is_nameless = false;
	unsigned found = 0;

	for (size_t i = 0; i < trace->n_frames; i++) {
		const struct reel_frame *frame = trace->frames[i];
		const struct patient *patient = patient_of(ward, frame->module_id);

		if (!patient)
			continue;
		if (patient->runtime < RUNTIMES)
			found |= 1u << patient->runtime;
		is_nameless |= patient->is_jit && !*frame->function;
	}
	if (!found && !is_nameless)
		return;
	process = process_of(ward, trace->pid);
	process->runtimes |= found;
	process->nameless += is_nameless;
}

static bool count_trace(void *context, const struct reel_trace *trace,
			const struct reel_event_info *event)
{
	struct ward *ward = context;

	(void)event;
	for (size_t i = 0; i < trace->n_frames; i++)
		count_frame(ward, trace, trace->frames[i]);
	count_jit(ward, trace);
	if (trace->n_frames && is_ended_by_module(trace->stop)) {
		struct patient *last =
			patient_of(ward, trace->frames[trace->n_frames - 1]->module_id);

		if (last)
			last->ended++;
	}
	return true;
}

/* ---- what it lacks ------------------------------------------------------------------------ */

enum lack {
	LACKS_FILE,
	LACKS_ROWS,
	LACKS_SYMBOLS,
	LACKS_LINES, /* what is embedded has none */
	LACKS_MORE,  /* a file with debug information is there, and does not say all */
	LACKS_KALLSYMS,
	IS_JIT,
	/* No module does: */
	LACKS_STACK,
	LACKS_IMAGES,
	LACKS_JIT_NAMES,
	LACKS, /* how many there are */
};

static const struct {
	const char *name, *cure;
	bool is_served;	     /* by debuginfod, of a module whose build-id is known */
	enum reel_loss loss; /* 0, or what the recorder counted: then it is lacking */
} lacks[LACKS] = {
	[LACKS_FILE] = { "its file",
			 "copy it from the host, as it lies there (scp HOST:/PATH DIR/PATH), and "
			 "give --symfs DIR; of a container while it runs, --symfs /proc/PID/root; "
			 "a copy that lies elsewhere, --module FILE; or, on a host that has it, "
			 "put what is needed of it into the capture (stackreel pack)",
			 true },
	[LACKS_ROWS] = { "unwind rows",
			 "code without unwind information, which does not tell its caller itself; "
			 "if it was stripped of .debug_frame, --debug-dir or --module with its "
			 "debug symbols; of your own assembly, .cfi directives",
			 true },
	[LACKS_SYMBOLS] = { "symbols",
			    "install the distribution's debug symbols (packages named -dbgsym or "
			    "-debuginfo); of your own programs keep the file as it was before "
			    "strip, and give --module FILE",
			    true },
	[LACKS_LINES] = { "lines (embedded)",
			  "the capture itself has what its traces need of the file, but no lines: "
			  "there were none where it was packed. Pack it again (stackreel pack) "
			  "where the debug information is, or give the file, too (--symfs, "
			  "--module)" },
	[LACKS_MORE] = { "some lines", "the debug information is here, and does not have them: "
				       "assembly, or what was built without -g" },
	[LACKS_KALLSYMS] = { "kernel symbols", "record as root, or with CAP_SYSLOG, where "
					       "/proc/sys/kernel/kptr_restrict is not 2" },
	[IS_JIT] = { "names", "code that was made while the program ran (a JIT's) is in no file, "
			      "and nothing names it: record the program when its JIT does" },
	[LACKS_STACK] = { "stacks that were cut",
			  "record with a larger --max-stack (stackreel-record(1))" },
	[LACKS_IMAGES] = { "modules that were not embedded, or not with all that is needed",
			   "their files could not be read while they were mapped, or in time, or "
			   "took more than a capture may have: stackreel-record -v names each, and "
			   "says why; where there was too much, --embed-limit=60M, or -p instead "
			   "of -a, helps. This capture: where the files still are, put what is "
			   "needed of them into it (stackreel pack), or give them here (--symfs)",
			   .loss = REEL_LOSS_IMAGES },
	[LACKS_JIT_NAMES] = { "names of JIT code that were left out",
			      "a perf map or jitdump was no regular file, a link, or not the "
			      "process's user's or root's (ls -l /proc/PID/root/tmp/perf-*.map), "
			      "or "
			      "it was cut off or made no sense; or JITs said more than the "
			      "recorder "
			      "keeps: record fewer processes (-p) or in parts (--rotate), each of "
			      "which has 64 MB of names",
			      .loss = REEL_LOSS_JIT },
};

/* Samples that lack something there. */
static uint64_t cost(const struct patient *patient)
{
	uint64_t most = patient->ended;

	most = patient->nameless > most ? patient->nameless : most;
	return patient->lineless > most ? patient->lineless : most;
}

/* Bits by enum lack. */
static unsigned lacks_of(const struct patient *patient, const struct reel_module_info *module)
{
	unsigned bits = 0;

	switch (module->kind) {
	case REEL_MODULE_FILE:
		if (module->state != REEL_MODULE_FOUND)
			return 1u << LACKS_FILE;
		bits |= patient->ended ? 1u << LACKS_ROWS : 0;
		if (!patient->nameless && !patient->lineless)
			return bits;
		if (module->embedded && !patient->nameless)
			return bits | 1u << LACKS_LINES;
		return bits | (patient->has_lines || *module->debug_path ? 1u << LACKS_MORE
									 : 1u << LACKS_SYMBOLS);
	case REEL_MODULE_KERNEL:
	case REEL_MODULE_KERNEL_MODULE:
		return patient->nameless ? 1u << LACKS_KALLSYMS : 0;
	case REEL_MODULE_ANONYMOUS:
		return patient->nameless ? 1u << IS_JIT : 0;
	default:
		return 0;
	}
}

/* The same, those that a debuginfod server may mend. */
static unsigned served_lacks_of(const struct patient *patient,
				const struct reel_module_info *module)
{
	unsigned bits = 0;

	for (int lack = 0; lack < LACKS; lack++)
		bits |= lacks[lack].is_served ? 1u << lack : 0;
	return module->build_id[0] ? bits & lacks_of(patient, module) : 0;
}

/* ---- printing ----------------------------------------------------------------------------- */

static int compare_counts(uint64_t a, uint64_t b)
{
	return (a < b) - (a > b);
}

/* What ends traces first, then what leaves them without names. */
static int compare_patients(const void *a, const void *b)
{
	const struct patient *x = a, *y = b;

	if (x->ended != y->ended)
		return compare_counts(x->ended, y->ended);
	if (x->nameless != y->nameless)
		return compare_counts(x->nameless, y->nameless);
	if (x->lineless != y->lineless)
		return compare_counts(x->lineless, y->lineless);
	return x->samples != y->samples ? compare_counts(x->samples, y->samples)
					: (x->id > y->id) - (x->id < y->id);
}

static void print_share(FILE *file, uint64_t count, uint64_t of)
{
	fprintf(file, "  %9s", count ? format_share(count, of).text : "");
}

#define LACKS_WIDTH    22
#define PROBLEM_COLUMN (4 * 11 + 2 + LACKS_WIDTH + 2)

static void print_lacks(unsigned bits, FILE *file)
{
	const char *start = "";
	size_t width = 0;

	for (int lack = 0; lack < LACKS; lack++) {
		if (!(bits >> lack & 1))
			continue;
		width += strlen(start) + strlen(lacks[lack].name);
		fprintf(file, "%s%s", start, lacks[lack].name);
		start = ", ";
	}
	if (!bits)
		width = (size_t)fprintf(file, "nothing");
	if (width < LACKS_WIDTH)
		fprintf(file, "%*s", (int)(LACKS_WIDTH - width), "");
}

static void print_patient(const struct session *session, const struct patient *patient,
			  const struct reel_module_info *module, FILE *file)
{
	_cleanup_free_ char *path = text_escape(*module->path ? module->path : "[unknown]", "");
	_cleanup_free_ char *build_id = text_escape(module->build_id, "");
	_cleanup_free_ char *problem = text_escape(module->problem, "");
	uint64_t traces = session->quality.traces;
	unsigned bits = lacks_of(patient, module);

	print_share(file, patient->samples, traces);
	print_share(file, patient->ended, traces);
	print_share(file, patient->nameless, traces);
	print_share(file, patient->lineless, traces);
	fputs("  ", file);
	print_lacks(bits, file);
	fprintf(file, "  %s%s%s\n", path, *build_id ? "  " : "", build_id);
	if (*problem && !(bits & 1u << IS_JIT))
		fprintf(file, "%*s%s\n", PROBLEM_COLUMN, "", problem);
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

/* Of each runtime whose processes have such samples; where no frame tells which it is, of those
 * that the capture has files of. */
static void print_runtimes(const struct session *session, const struct ward *ward, FILE *file)
{
	uint64_t nameless[RUNTIMES] = { 0 };
	unsigned of_capture = 0;

	for (size_t i = 0; i < ward->n; i++) {
		if (ward->patients[i].runtime < RUNTIMES)
			of_capture |= 1u << ward->patients[i].runtime;
	}
	for (size_t i = 0; i < ward->n_processes; i++) {
		const struct jit_process *process = &ward->processes[i];
		unsigned bits = process->runtimes ? process->runtimes : of_capture;

		for (size_t j = 0; j < RUNTIMES; j++)
			nameless[j] += bits >> j & 1 ? process->nameless : 0;
	}
	for (size_t i = 0; i < RUNTIMES; i++) {
		_cleanup_free_ char *text = memory_print(
			"%s (%s of the samples): %s", runtimes[i].name,
			format_share(nameless[i], session->quality.traces).text, runtimes[i].cure);

		if (nameless[i])
			print_wrapped(file, text);
	}
}

/* How many the recorder counted of what is lacking; 0 too where it counts no such thing. */
static uint64_t lost(const struct session *session, int lack)
{
	size_t n;
	const struct reel_loss_info *losses = reel_capture_losses(session->capture, &n);
	uint64_t count = 0;

	for (size_t i = 0; lacks[lack].loss && i < n; i++)
		count += losses[i].cause == lacks[lack].loss ? losses[i].count : 0;
	return count;
}

/* `served` of what is `told` may be on a debuginfod server, where nobody has asked it yet. */
static void print_cures(const struct session *session, const struct ward *ward, unsigned told,
			unsigned served, FILE *file)
{
	const char *start = "\nWhat mends it\n";
	_cleanup_free_ char *path = text_escape(session->options->file, "");
	_cleanup_free_ char *fetch =
		memory_print("if a debuginfod server has it, stackreel report --debuginfod %s "
			     "fetches it by its build-id",
			     path);

	for (int lack = 0; lack < LACKS; lack++) {
		uint64_t count = lost(session, lack);

		if (!(told >> lack & 1) && !count)
			continue;
		fprintf(file, "%s  %s", start, lacks[lack].name);
		if (count)
			fprintf(file, " (%s)", format_count(count).text);
		fputc('\n', file);
		if (served >> lack & 1)
			print_wrapped(file, fetch);
		print_wrapped(file, lacks[lack].cure);
		if (lack == IS_JIT)
			print_runtimes(session, ward, file);
		start = "";
	}
}

static int compare_ids(const void *a, const void *b)
{
	const struct reel_module_info *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static void print_ward(const struct session *session, const struct doctor_options *options,
		       struct ward *ward, const struct reel_module_info *modules, size_t n,
		       const struct output *output)
{
	uint64_t traces = session->quality.traces;
	const uint64_t *stops = session->quality.stops;
	unsigned told = 0, served = 0;
	size_t left_out = 0, well = 0;
	FILE *file = output->file;

	qsort(ward->patients, ward->n, sizeof(*ward->patients), compare_patients);
	fprintf(file, "\n%s  %9s  %9s  %9s  %9s  %-*s  %s%s\n", color_bold(output), "SAMPLES",
		"ENDED", "NO NAME", "NO LINE", LACKS_WIDTH, "LACKS", "MODULE", color_end(output));
	for (size_t i = 0; i < ward->n; i++) {
		const struct patient *patient = &ward->patients[i];
		const struct reel_module_info key = { .id = patient->id };
		const struct reel_module_info *module =
			bsearch(&key, modules, n, sizeof(key), compare_ids);

		if (!patient->samples || !module)
			continue;
		if (options->all || percent_of(cost(patient), traces) >= WORTH_TELLING) {
			print_patient(session, patient, module, file);
			told |= lacks_of(patient, module);
			served |= served_lacks_of(patient, module);
		} else if (cost(patient)) {
			left_out++;
		} else {
			well++;
		}
	}
	if (left_out)
		fprintf(file, "%s more cost less than 0.1 %% of the samples (--all)\n",
			format_count(left_out).text);
	if (well)
		fprintf(file, "%s lack%s nothing (--all)\n", format_count(well).text,
			well == 1 ? "s" : "");
	if (percent_of(stops[REEL_STOP_STACK_CUT], traces) >= WORTH_TELLING)
		told |= 1u << LACKS_STACK;
	if (session->options->debuginfod.fetch)
		served = 0;
	print_cures(session, ward, told, served, file);
}

static void print_summary(const struct session *session, const struct ward *ward, FILE *file)
{
	const struct quality *quality = &session->quality;

	summary_print_origin(session, file);
	fprintf(file, "\n%s samples, ", format_count(session->quality.traces).text);
	quality_print(&session->quality, file);
	fprintf(file, "\nof %s frames %s have no name, %s no line\n",
		format_count(quality->frames).text,
		format_share(quality->nameless, quality->frames).text,
		format_share(ward->lineless, quality->frames).text);
}

static bool ward_open(const struct session *session, struct ward *ret)
{
	const struct reel_module_info *modules;
	size_t n;

	*ret = (struct ward){ 0 };
	if (!no_error(reel_capture_modules(session->capture, &modules, &n)))
		return false;
	ret->patients = memory_get((n + 1) * sizeof(*ret->patients));
	for (size_t i = 0; i < n; i++)
		ret->patients[i] =
			(struct patient){ .id = modules[i].id,
					  .is_file = modules[i].kind == REEL_MODULE_FILE,
					  .is_jit = modules[i].kind == REEL_MODULE_ANONYMOUS,
					  .runtime = runtime_of_path(modules[i].path) };
	ret->n = n;
	return true;
}

int command_doctor(int argc, char **argv)
{
	struct doctor_options options = { 0 };
	const struct reel_module_info *modules;
	struct ward ward = { 0 };
	struct session session;
	struct output output;
	int status = STATUS_ERROR;
	size_t n;

	options_init(&options.common);
	argp_parse(&parser, argc, argv, 0, NULL, &options);
	if (!session_open(&session, &options.common)) {
		options_free(&options.common);
		return STATUS_ERROR;
	}
	if (ward_open(&session, &ward) && session_visit(&session, count_trace, &ward) &&
	    no_error(reel_capture_modules(session.capture, &modules, &n)) &&
	    output_open(&output, options.common.output)) {
		session_warn(&session);
		print_summary(&session, &ward, output.file);
		print_ward(&session, &options, &ward, modules, n, &output);
		status = output_close(&output, session_status(&session));
	}
	free(ward.patients);
	free(ward.processes);
	session_close(&session);
	options_free(&options.common);
	return status;
}

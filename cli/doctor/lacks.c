/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cli/doctor/lacks.h"
#include "cli/doctor/runtimes.h"
#include "cli/session/limits.h"
#include "cli/print/text.h"

const struct lacking lacks[LACKS] = {
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

unsigned lacks_of(const struct patient *patient, const struct reel_module_info *module)
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

unsigned lacks_served(const struct patient *patient, const struct reel_module_info *module)
{
	unsigned bits = 0;

	for (int lack = 0; lack < LACKS; lack++)
		bits |= lacks[lack].is_served ? 1u << lack : 0;
	return module->build_id[0] ? bits & lacks_of(patient, module) : 0;
}

/* ---- cures ---- */

/* The recorder's count of this loss; also 0 if it does not count it. */
static uint64_t lost(const struct session *session, int lack)
{
	size_t n;
	const struct reel_loss_info *losses = reel_capture_losses(session->capture, &n);
	uint64_t count = 0;

	for (size_t i = 0; lacks[lack].loss && i < n; i++)
		count += losses[i].cause == lacks[lack].loss ? losses[i].count : 0;
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

/* For each runtime whose processes have such samples; if no frame shows the runtime, for those with
 * files in the capture. */
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

void lacks_print_cures(const struct session *session, const struct ward *ward, unsigned told,
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

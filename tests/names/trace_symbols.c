/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the names of each address in the traces of captures, by the public API alone:
 * trace_symbols CAPTURE...
 *
 * For each (module, address), once: a line
 *   A, file on this host, file with its debug information or -, address
 * then for each function, innermost first, F, function, file, line, all separated by tabs.  The
 * address is the one that was looked up: for a return address, the preceding byte.
 *
 *   trace_symbols --no-host-files [--debug-dir DIR]... CAPTURE...
 * only uses the parts of files in the capture.
 *
 *   trace_symbols --kernel [--module FILE | --debug-dir DIR]... CAPTURE...
 * prints the kernel's frames instead, with the runtime address at the end of each line A.  It only
 * reads FILEs and DIRs.
 */
#include <search.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/or_exit.h"

/* Frames are interned: the same pointer is the same address. */
static int compare_pointers(const void *a, const void *b)
{
	return a < b ? -1 : a > b;
}

/* Frames [from, to) of the trace are one address. */
static void print_address(struct reel_capture *capture, const struct reel_trace *trace, size_t from,
			  size_t to)
{
	const struct reel_frame *frame = trace->frames[from];
	REEL_SIZED(reel_module_info, module);
	uint64_t address = frame->module_address;

	check(reel_capture_module(capture, frame->module_id, &module));
	if (!frame->kernel && (!module.id || module.state != REEL_MODULE_FOUND))
		return;
	if (frame->kernel)
		printf("A\t%s\t-\t0x%llx\t0x%llx\n",
		       module.id && module.debug_path[0] ? module.debug_path : "-",
		       (unsigned long long)(address - !frame->exact),
		       (unsigned long long)(trace->addresses[from] - !frame->exact));
	else
		printf("A\t%s\t%s\t0x%llx\n", module.local_path,
		       module.debug_path[0] ? module.debug_path : "-",
		       (unsigned long long)(address - !frame->exact));
	for (size_t i = from; i < to; i++)
		printf("F\t%s\t%s\t%u\n", trace->frames[i]->function, trace->frames[i]->file,
		       trace->frames[i]->line);
}

static void print_trace(struct reel_capture *capture, const struct reel_trace *trace, bool kernel,
			void **seen)
{
	size_t to, begin = kernel ? 0 : trace->n_kernel_frames;
	size_t end = kernel ? trace->n_kernel_frames : trace->n_frames;

	for (size_t from = begin; from < end; from = to) {
		void *known;

		to = from;
		while (to < trace->n_frames && trace->frames[to]->inlined)
			to++;
		if (to < trace->n_frames)
			to++;
		known = tfind(trace->frames[from], seen, compare_pointers);
		if (known)
			continue;
		if (!tsearch(trace->frames[from], seen, compare_pointers))
			exit(1);
		print_address(capture, trace, from, to);
	}
}

static void keep(void *node)
{
}

static void print_capture(const char *path, const struct reel_capture_options *options, bool kernel)
{
	const struct reel_trace *trace;
	struct reel_capture *capture;
	struct reel_traces *traces;
	void *seen = NULL;

	check(reel_capture_open(path, options, &capture));
	check(reel_traces_create(capture, NULL, &traces));
	for (;;) {
		check(reel_traces_next(traces, &trace));
		if (!trace)
			break;
		print_trace(capture, trace, kernel, &seen);
	}
	tdestroy(seen, keep);
	reel_traces_destroy(traces);
	reel_capture_close(capture);
}

int main(int argc, char **argv)
{
	REEL_SIZED(reel_capture_options, options, .no_demangle = true);
	const char **modules = calloc((size_t)argc, sizeof(*modules)), **module = modules;
	const char **dirs = calloc((size_t)argc, sizeof(*dirs)), **dir = dirs;
	bool kernel = argc > 1 && !strcmp(argv[1], "--kernel");
	bool embedded = argc > 1 && !strcmp(argv[1], "--no-host-files");
	int i = 1 + (kernel || embedded);

	if (!modules || !dirs)
		return 1;
	for (; (kernel || embedded) && i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "--module"))
			*module++ = argv[i + 1];
		else if (!strcmp(argv[i], "--debug-dir"))
			*dir++ = argv[i + 1];
		else
			break;
	}
	if (kernel || embedded) {
		options.no_host_files = true;
		options.module_files = modules;
		options.debug_dirs = dirs;
	}
	for (; i < argc; i++)
		print_capture(argv[i], &options, kernel);
	free(modules);
	free(dirs);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Captures, replayed with an ELF file from the same input: traces, names, and views of all records.
 * The traces are the same when repeated, and with two threads.  The code of their functions is
 * read.
 */
#include <stdlib.h>

#include "tests/fuzz/replay_parts.h"

static bool count_record(void *context, const struct reel_record_view *record)
{
	must_be(record->name && record->name[0], "a name");
	return ++*(uint64_t *)context < 100000;
}

static void read_about(struct reel_capture *capture)
{
	const struct reel_capture_info *info = reel_capture_info(capture);
	const struct reel_capture_problem *problems;
	struct reel_module_info *modules;
	uint64_t records = 0;
	size_t n;

	must_be(info->hostname && info->arch, "all that is known about it");
	must(reel_capture_modules(capture, &modules, &n));
	for (size_t i = 0; i < n; i++)
		must_be(modules[i].path && modules[i].problem, "a module's texts");
	free(modules);
	problems = reel_capture_problems(capture, &n);
	for (size_t i = 0; i < n; i++)
		must_be(problems[i].code && problems[i].message[0], "a problem's text");
	reel_capture_events(capture, &n);
	reel_capture_losses(capture, &n);
	reel_capture_marks(capture, &n);
	must(reel_capture_visit_records(capture, count_record, &records));
}

/* The answers about a function's instructions are consistent, and end. */
static void read_function(struct reel_capture *capture, const struct reel_trace *trace,
			  const struct reel_frame *frame)
{
	const REEL_SIZED(reel_function_options, options, .thread = trace->thread,
			 .time = trace->time, .starts = &frame->module_address, .n_starts = 1);
	const struct reel_function_instruction *instruction;
	struct reel_function *function;
	uint64_t next;

	if (!fuzz_fine(reel_function_open(capture, frame, &options, &function)))
		return;
	next = reel_function_get_info(function)->begin;
	for (size_t i = 0; i < 300; i++) {
		if (!fuzz_fine(reel_function_next(function, &instruction)) || !instruction)
			break;
		must_be(instruction->address == next && instruction->size, "the next instruction");
		must_be(instruction->n_places && instruction->places[0].function,
			"the data of an instruction");
		next += instruction->size;
	}
	reel_function_close(function);
}

static void read_functions(struct reel_capture *capture)
{
	const struct reel_trace *trace;
	struct reel_traces *traces;

	must(reel_traces_create(capture, NULL, &traces));
	for (size_t i = 0; i < 8; i++) {
		if (!fuzz_fine(reel_traces_next(traces, &trace)) || !trace)
			break;
		for (size_t j = 0; j < trace->n_frames && j < 8; j++)
			read_function(capture, trace, trace->frames[j]);
	}
	reel_traces_destroy(traces);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct replay_parts parts;
	struct reel_cursor input = reel_cursor(data, size);
	uint32_t threads = reel_cursor_u8(&input) % 8 ? 1 : 2;
	struct reel_capture *capture, *again;

	replay_parts_take(&input, &parts);
	if (!replay_open(&parts, parts.capture.path, 1, &capture))
		return 0;
	must_be(replay_open(&parts, parts.capture.path, threads, &again), "a capture twice");
	must_be_same_traces(capture, again, "the same traces");
	read_about(capture);
	read_functions(capture);
	reel_capture_close(again);
	reel_capture_close(capture);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "record/runtime/runtime.h"

#include <stdlib.h>

#include "base/quantity.h"
#include "record/runtime/python.h"
#include "record/runtime/ruby.h"

static const struct reel_runtime *const runtimes[] = {
	[REEL_BPF_INTERPRETER_PYTHON] = &python_runtime,
	[REEL_BPF_INTERPRETER_RUBY] = &ruby_runtime,
};

const struct reel_runtime *reel_runtime_of(uint32_t kind)
{
	return kind < sizeof(runtimes) / sizeof(*runtimes) ? runtimes[kind] : NULL;
}

bool reel_runtime_is_valid(const struct reel_bpf_interpreter *interpreter)
{
	const struct reel_runtime *runtime = reel_runtime_of(interpreter->kind);

	return runtime && runtime->is_valid(interpreter);
}

enum reel_runtime_answer reel_runtime_locate(uint32_t pid, const struct reel_runtime_place *place,
					     struct reel_bpf_interpreter *ret)
{
	const struct reel_runtime *runtime = reel_runtime_of(place->kind);

	*ret = (struct reel_bpf_interpreter){ 0 };
	return runtime ? runtime->locate(pid, place, ret) : REEL_RUNTIME_UNKNOWN;
}

bool reel_runtime_functions(uint32_t pid, const struct reel_runtime_place *place,
			    const struct reel_runtime_code *codes, size_t count, uint64_t deadline,
			    void (*visit)(void *context,
					  const struct reel_runtime_function *function),
			    void *context)
{
	const struct reel_runtime *runtime = reel_runtime_of(place->kind);
	_cleanup_free_ struct reel_runtime_reader *reader = NULL;
	bool whole = true;

	if (!runtime)
		return true;
	reader = calloc(1, runtime->reader_size);
	if (!reader)
		return false;
	reader->pid = pid;
	reader->place = place;
	if (!runtime->reader_init(reader))
		return true;
	for (size_t i = 0; i < count && whole; i++) {
		struct reel_runtime_function function = { .code = codes[i] };

		reader->name.size = reader->file.size = reader->lines.size = 0;
		whole = reel_now() <= deadline;
		if (!whole || !runtime->read_function(reader, &codes[i], &function.line) ||
		    reader->name.failed || reader->file.failed || reader->lines.failed)
			continue;
		function.name = (struct reel_bytes){ reader->name.bytes, reader->name.size };
		function.file = (struct reel_bytes){ reader->file.bytes, reader->file.size };
		if (reader->lines.size <= REEL_RUNTIME_LINES_MAX)
			function.lines =
				(struct reel_bytes){ reader->lines.bytes, reader->lines.size };
		visit(context, &function);
	}
	reel_buffer_free(&reader->name);
	reel_buffer_free(&reader->file);
	reel_buffer_free(&reader->lines);
	return whole;
}

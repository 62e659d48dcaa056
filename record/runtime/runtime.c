/* SPDX-License-Identifier: Apache-2.0 */
#include "record/runtime/runtime.h"

#include "record/runtime/python.h"
#include "record/runtime/ruby.h"

static const struct reel_runtime runtimes[] = {
	[REEL_BPF_INTERPRETER_PYTHON] = { REEL_RUNTIME_PYTHON, false, python_locate,
					  python_is_valid, python_functions },
	[REEL_BPF_INTERPRETER_RUBY] = { REEL_RUNTIME_RUBY, true, ruby_locate, ruby_is_valid,
					ruby_functions },
};

const struct reel_runtime *reel_runtime_of(uint32_t kind)
{
	return kind < sizeof(runtimes) / sizeof(*runtimes) && runtimes[kind].id ? &runtimes[kind]
										: NULL;
}

bool reel_runtime_is_valid(const struct reel_bpf_interpreter *interpreter)
{
	const struct reel_runtime *runtime = reel_runtime_of(interpreter->kind);

	return runtime && interpreter->frame_size && !(interpreter->frame_size & 7) &&
	       interpreter->frame_size <= REEL_BPF_FRAME_SIZE && runtime->is_valid(interpreter);
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

	return !runtime || runtime->functions(pid, place, codes, count, deadline, visit, context);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "record/runtime/runtime.h"

#include "record/runtime/python.h"

static bool is_in_frame(uint16_t offset, size_t size)
{
	return offset == REEL_BPF_NO_OFFSET || offset + size <= REEL_BPF_FRAME_SIZE;
}

bool reel_runtime_is_valid(const struct reel_bpf_interpreter *interpreter)
{
	return interpreter->kind == REEL_BPF_INTERPRETER_PYTHON &&
	       (interpreter->position_size == 4 || interpreter->position_size == 8) &&
	       is_in_frame(interpreter->frame_previous, 8) &&
	       is_in_frame(interpreter->frame_code, 8) &&
	       is_in_frame(interpreter->frame_position, interpreter->position_size) &&
	       is_in_frame(interpreter->frame_is_entry, 1) &&
	       is_in_frame(interpreter->frame_owner, 1);
}

enum reel_runtime_answer reel_runtime_locate(uint32_t pid, const struct reel_runtime_place *place,
					     struct reel_bpf_interpreter *ret)
{
	*ret = (struct reel_bpf_interpreter){ 0 };
	switch (place->kind) {
	case REEL_BPF_INTERPRETER_PYTHON:
		return python_locate(pid, place, ret);
	default:
		return REEL_RUNTIME_UNKNOWN;
	}
}

bool reel_runtime_functions(uint32_t pid, const struct reel_runtime_place *place,
			    const struct reel_runtime_code *codes, size_t count, uint64_t deadline,
			    void (*visit)(void *context,
					  const struct reel_runtime_function *function),
			    void *context)
{
	switch (place->kind) {
	case REEL_BPF_INTERPRETER_PYTHON:
		return python_functions(pid, place, codes, count, deadline, visit, context);
	default:
		return true;
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two questions to a process's interpreter: where BPF finds its frames, and which functions these
 * are of.  The answers are read from the memory of a process that runs on and may contain anything,
 * so a failed check means no answer.  docs/runtimes.md explains how to add a runtime.
 */
#ifndef RECORD_RUNTIME_RUNTIME_H
#define RECORD_RUNTIME_RUNTIME_H

#include "base/bytes.h"
#include "record/proc/file_hints.h"

enum reel_runtime_answer {
	REEL_RUNTIME_UNKNOWN, /* an unknown version, or its memory failed a check */
	REEL_RUNTIME_LATER,   /* it has not started yet, or cannot be read now */
	REEL_RUNTIME_FOUND,
};

/* `at` of the place is the address of the state in the process. */
enum reel_runtime_answer reel_runtime_locate(uint32_t pid, const struct reel_runtime_place *place,
					     struct reel_bpf_interpreter *ret);
/* Whether all fields of frames are within `frame_size`, and that within REEL_BPF_FRAME_SIZE. */
bool reel_runtime_is_valid(const struct reel_bpf_interpreter *interpreter);

/* A frame's function: struct reel_bpf_frame's code and identity. */
struct reel_runtime_code {
	uint64_t address;
	uint32_t identity;
	uint32_t reserved;
};

/* Functions with longer texts are not visited; longer lines are left out. */
#define REEL_RUNTIME_TEXT_MAX  4096
#define REEL_RUNTIME_LINES_MAX 65536

/* As in struct reel_record_function; a line of 0 in `lines` is an unknown one. */
struct reel_runtime_function {
	struct reel_runtime_code code;
	uint64_t line;
	struct reel_bytes name, file, lines;
};

/* Visits the functions of code that is still the same.  False if the `deadline` (reel_now's time)
 * passed first. */
bool reel_runtime_functions(uint32_t pid, const struct reel_runtime_place *place,
			    const struct reel_runtime_code *codes, size_t count, uint64_t deadline,
			    void (*visit)(void *context,
					  const struct reel_runtime_function *function),
			    void *context);

/* Reads functions of one process. */
struct reel_runtime_reader {
	uint32_t pid;
	const struct reel_runtime_place *place;
	/* Of the function that was read last. */
	struct reel_buffer name, file, lines;
};

/* For is_valid below. */
static inline bool reel_runtime_has_frame_size(const struct reel_bpf_interpreter *interpreter)
{
	return interpreter->frame_size && !(interpreter->frame_size & 7) &&
	       interpreter->frame_size <= REEL_BPF_FRAME_SIZE;
}

/* A runtime; its kind's functions have these tasks. */
struct reel_runtime {
	uint64_t id; /* enum reel_runtime_kind, for FUNCTION and FRAMES */
	/* Addresses on the native stack follow all frames (struct reel_bpf_frame). */
	bool natives_follow;
	enum reel_runtime_answer (*locate)(uint32_t pid, const struct reel_runtime_place *place,
					   struct reel_bpf_interpreter *ret);
	bool (*is_valid)(const struct reel_bpf_interpreter *interpreter);
	/* Of a struct that begins with a struct reel_runtime_reader. */
	size_t reader_size;
	/* The rest of a zeroed reader.  False for an unknown version, or if a check failed. */
	bool (*reader_init)(struct reel_runtime_reader *reader);
	/* Fills the reader's buffers.  False if the code is not the same any more. */
	bool (*read_function)(struct reel_runtime_reader *reader,
			      const struct reel_runtime_code *wanted, uint64_t *line_ret);
};

/* NULL if the kind is unknown (enum reel_bpf_interpreter_kind). */
const struct reel_runtime *reel_runtime_of(uint32_t kind);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* CPython, as the interface of runtime.h asks for it. */
#ifndef RECORD_RUNTIME_PYTHON_H
#define RECORD_RUNTIME_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/runtime/runtime.h"

/* ---- fields of all versions (python_offsets.c) ---- */

enum python_field {
	PYTHON_RUNTIME_HEAD, /* _PyRuntimeState.interpreters.head */
	PYTHON_INTERPRETER_NEXT,
	PYTHON_INTERPRETER_THREADS, /* threads.head, tstate_head */
	PYTHON_THREAD_NEXT,
	PYTHON_THREAD_INTERPRETER,
	PYTHON_THREAD_ID,
	PYTHON_THREAD_NATIVE_ID,
	PYTHON_THREAD_FRAME,
	PYTHON_THREAD_CFRAME,
	PYTHON_CFRAME_FRAME,
	PYTHON_CFRAME_PREVIOUS,
	PYTHON_FRAME_PREVIOUS,
	PYTHON_FRAME_CODE,
	PYTHON_FRAME_POSITION, /* f_lasti, prev_instr, instr_ptr */
	PYTHON_FRAME_IS_ENTRY,
	PYTHON_FRAME_OWNER,
	PYTHON_CODE_FILE,
	PYTHON_CODE_NAME,
	PYTHON_CODE_QUALIFIED, /* co_qualname */
	PYTHON_CODE_LINES,     /* co_lnotab, co_linetable */
	PYTHON_CODE_FIRST_LINE,
	PYTHON_CODE_CODE, /* co_code_adaptive */
	PYTHON_OBJECT_TYPE,
	PYTHON_TYPE_NAME,
	PYTHON_BYTES_LENGTH,
	PYTHON_BYTES_DATA,
	PYTHON_TEXT_LENGTH,
	PYTHON_TEXT_STATE,
	PYTHON_TEXT_ASCII_SIZE, /* sizeof(PyASCIIObject) */
	PYTHON_TEXT_SIZE,	/* sizeof(PyUnicodeObject) */
	PYTHON_FIELDS,
};

#define PYTHON_NO_FIELD 0xffff

struct python_version {
	uint32_t version;
	/* The fields are places in _Py_DebugOffsets, with which the process's _PyRuntime begins;
	 * otherwise, they are the offsets themselves. */
	bool is_indirect;
	uint16_t fields[PYTHON_FIELDS];
};

extern const struct python_version python_versions[];
extern const size_t n_python_versions;

/* ---- one process's fields, and reading them (python.c) ---- */

struct python_layout {
	uint32_t pid;
	uint32_t version; /* as struct reel_runtime_place has it */
	bool is_free_threaded;
	uint16_t fields[PYTHON_FIELDS]; /* offsets, or PYTHON_NO_FIELD */
};

enum reel_runtime_answer python_layout_find(uint32_t pid, const struct reel_runtime_place *place,
					    struct python_layout *ret);

bool python_read(const struct python_layout *layout, uint64_t object, enum python_field field,
		 void *ret, size_t size);
/* The pointer in a field, which is a multiple of 8 and not NULL. */
bool python_follow(const struct python_layout *layout, uint64_t object, enum python_field field,
		   uint64_t *ret);
/* Whether the object has a type of this name. */
bool python_is_a(const struct python_layout *layout, uint64_t object, const char *type);
/* Where a code object's identity begins: four words that are all its own, and are set once. */
uint16_t python_identity(const struct python_layout *layout);

extern const struct reel_runtime python_runtime;

enum reel_runtime_answer python_locate(uint32_t pid, const struct reel_runtime_place *place,
				       struct reel_bpf_interpreter *ret);
bool python_is_valid(const struct reel_bpf_interpreter *interpreter);

/* ---- tables of lines (python_lines.c) ---- */

/*
 * The lines of positions as struct reel_bpf_frame has them, for a version (0x030b00); 0 is the line
 * of instructions without one.  `code` is the offset of instructions in a code object (since 3.11).
 */
void python_lines_write(uint32_t version, struct reel_bytes table, uint64_t first_line,
			uint64_t code, struct reel_buffer *ret);

#endif

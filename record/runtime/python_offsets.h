/* SPDX-License-Identifier: Apache-2.0 */
/* Where CPython has the fields that are read of its state, by version. */
#ifndef RECORD_RUNTIME_PYTHON_OFFSETS_H
#define RECORD_RUNTIME_PYTHON_OFFSETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif

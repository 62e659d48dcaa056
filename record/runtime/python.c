/* SPDX-License-Identifier: Apache-2.0 */
#include "record/runtime/python.h"

#include <string.h>

#include "record/proc/proc.h"

/* The begin of _Py_DebugOffsets (pycore_debug_offsets.h). */
struct debug_offsets {
	char cookie[8];
	uint64_t version; /* PY_VERSION_HEX */
	uint64_t is_free_threaded;
};

/* All places of python_offsets.c are below. */
#define DEBUG_OFFSETS_SIZE 1024
/* Offsets are below, far above what structs have: interpreters are the largest. */
#define OFFSET_MAX 0x8000

/* Reading races with the process: it is wrong only if it is so each time. */
#define TRIES 3
/* Threads and frames to look at. */
#define THREADS_MAX 64
#define FRAMES_MAX  16
/* PID_MAX_LIMIT of the kernel. */
#define TID_MAX (4u << 20)

/* enum _frameowner: FRAME_OWNED_BY_CSTACK, since 3.14 FRAME_OWNED_BY_INTERPRETER. */
#define OWNER_NATIVE 3
/* Objects are aligned to 16 bytes; the lower bits of a _PyStackRef are its own. */
#define STACK_REF_TAGS 7

/* ---- one process's fields ------------------------------------------------------------------ */

/* Objects of threads without the GIL start with another header, but all we read of them is in
 * _Py_DebugOffsets. */
static bool read_offsets(const struct python_version *version, const uint8_t *bytes,
			 struct python_layout *ret)
{
	for (size_t i = 0; i < PYTHON_FIELDS; i++) {
		uint16_t place = version->fields[i];
		uint64_t offset;

		ret->fields[i] = PYTHON_NO_FIELD;
		if (place == PYTHON_NO_FIELD)
			continue;
		if (place + sizeof(offset) > DEBUG_OFFSETS_SIZE)
			return false;
		memcpy(&offset, bytes + place, sizeof(offset));
		if (offset >= OFFSET_MAX)
			return false;
		ret->fields[i] = (uint16_t)offset;
	}
	return true;
}

static const struct python_version *version_of(uint32_t number)
{
	for (size_t i = 0; i < n_python_versions; i++) {
		if (python_versions[i].version == number)
			return &python_versions[i];
	}
	return NULL;
}

enum reel_runtime_answer python_layout_find(uint32_t pid, const struct reel_runtime_place *place,
					    struct python_layout *ret)
{
	const struct python_version *version = version_of(place->version);
	uint8_t bytes[DEBUG_OFFSETS_SIZE];
	struct debug_offsets begin;

	*ret = (struct python_layout){ .pid = pid, .version = place->version };
	if (!version)
		return REEL_RUNTIME_UNKNOWN;
	if (!version->is_indirect) {
		memcpy(ret->fields, version->fields, sizeof(ret->fields));
		return REEL_RUNTIME_FOUND;
	}
	if (!reel_proc_memory(pid, place->at, bytes, sizeof(bytes)))
		return REEL_RUNTIME_LATER;
	memcpy(&begin, bytes, sizeof(begin));
	ret->is_free_threaded = begin.is_free_threaded != 0;
	return !memcmp(begin.cookie, "xdebugpy", sizeof(begin.cookie)) &&
			       begin.version >> 16 << 8 == place->version &&
			       begin.is_free_threaded <= 1 && read_offsets(version, bytes, ret)
		       ? REEL_RUNTIME_FOUND
		       : REEL_RUNTIME_UNKNOWN;
}

bool python_read(const struct python_layout *layout, uint64_t object, enum python_field field,
		 void *ret, size_t size)
{
	return layout->fields[field] != PYTHON_NO_FIELD &&
	       reel_proc_memory(layout->pid, object + layout->fields[field], ret, size);
}

bool python_follow(const struct python_layout *layout, uint64_t object, enum python_field field,
		   uint64_t *ret)
{
	return python_read(layout, object, field, ret, sizeof(*ret)) && *ret && !(*ret & 7);
}

bool python_is_a(const struct python_layout *layout, uint64_t object, const char *type)
{
	size_t size = strlen(type) + 1;
	uint64_t at, name;
	char text[16];

	return size <= sizeof(text) && python_follow(layout, object, PYTHON_OBJECT_TYPE, &at) &&
	       python_read(layout, at, PYTHON_TYPE_NAME, &name, sizeof(name)) &&
	       reel_proc_memory(layout->pid, name, text, size) && !memcmp(text, type, size);
}

uint16_t python_identity(const struct python_layout *layout)
{
	uint16_t file = layout->fields[PYTHON_CODE_FILE];

	/* co_filename, co_name, co_qualname, co_linetable. */
	if (layout->version >= 0x030b00)
		return file;
	/* co_cell2arg, co_filename, co_name, co_lnotab or co_linetable; the next one changes. */
	return (uint16_t)(file - 8);
}

/* ---- whether they are right -------------------------------------------------------------------- */

static uint64_t code_of(const struct python_layout *layout, uint64_t frame)
{
	uint64_t code;

	if (!python_read(layout, frame, PYTHON_FRAME_CODE, &code, sizeof(code)))
		return 0;
	return layout->version >= 0x030e00 ? code & ~(uint64_t)STACK_REF_TAGS : code;
}

static bool is_native(const struct python_layout *layout, uint64_t frame)
{
	uint8_t owner;

	return python_read(layout, frame, PYTHON_FRAME_OWNER, &owner, sizeof(owner)) &&
	       owner >= OWNER_NATIVE;
}

/* Whether the frames are functions', by the first such one; or LATER. */
static enum reel_runtime_answer check_frames(const struct python_layout *layout, uint64_t frame)
{
	bool has_function = false;

	for (size_t i = 0; i < FRAMES_MAX && frame; i++) {
		uint64_t code = code_of(layout, frame);

		if (!is_native(layout, frame)) {
			if (code && python_is_a(layout, code, "code"))
				return REEL_RUNTIME_FOUND;
			has_function = true;
		}
		if (!python_read(layout, frame, PYTHON_FRAME_PREVIOUS, &frame, sizeof(frame)))
			return REEL_RUNTIME_UNKNOWN;
	}
	return has_function ? REEL_RUNTIME_UNKNOWN : REEL_RUNTIME_LATER;
}

static bool frame_of(const struct python_layout *layout, uint64_t thread, uint64_t *ret)
{
	if (layout->fields[PYTHON_THREAD_FRAME] != PYTHON_NO_FIELD)
		return python_read(layout, thread, PYTHON_THREAD_FRAME, ret, sizeof(*ret));
	return python_follow(layout, thread, PYTHON_THREAD_CFRAME, &thread) &&
	       python_read(layout, thread, PYTHON_CFRAME_FRAME, ret, sizeof(*ret));
}

/* Fields of a thread that do not change; the thread's own structure is where pthread_self() says.
 * Threads that are being made have no number yet. */
static bool is_thread(const struct python_layout *layout, uint64_t interpreter, uint64_t thread)
{
	uint64_t back, number = 0, id, word;

	return python_follow(layout, thread, PYTHON_THREAD_INTERPRETER, &back) &&
	       back == interpreter &&
	       (layout->fields[PYTHON_THREAD_NATIVE_ID] == PYTHON_NO_FIELD ||
		python_read(layout, thread, PYTHON_THREAD_NATIVE_ID, &number, sizeof(number))) &&
	       number <= TID_MAX &&
	       python_read(layout, thread, PYTHON_THREAD_ID, &id, sizeof(id)) &&
	       (!id || reel_proc_memory(layout->pid, id, &word, sizeof(word)));
}

/* A process may have no frame at the time, as when a server waits for requests. */
static enum reel_runtime_answer check(const struct python_layout *layout, uint64_t runtime)
{
	uint64_t interpreter, thread, frame;
	bool is_wrong = false;

	if (!python_read(layout, runtime, PYTHON_RUNTIME_HEAD, &interpreter, sizeof(interpreter)) ||
	    !interpreter ||
	    !python_read(layout, interpreter, PYTHON_INTERPRETER_THREADS, &thread,
			 sizeof(thread)) ||
	    !thread)
		return REEL_RUNTIME_LATER;
	for (size_t i = 0; i < THREADS_MAX && thread; i++) {
		if (!is_thread(layout, interpreter, thread) || !frame_of(layout, thread, &frame))
			return REEL_RUNTIME_UNKNOWN;
		switch (check_frames(layout, frame)) {
		case REEL_RUNTIME_FOUND:
			return REEL_RUNTIME_FOUND;
		case REEL_RUNTIME_UNKNOWN:
			is_wrong = true;
			break;
		case REEL_RUNTIME_LATER:
			break;
		}
		if (!python_read(layout, thread, PYTHON_THREAD_NEXT, &thread, sizeof(thread)))
			return REEL_RUNTIME_UNKNOWN;
	}
	return is_wrong ? REEL_RUNTIME_UNKNOWN : REEL_RUNTIME_FOUND;
}

static bool is_in_frame(const struct reel_bpf_interpreter *interpreter, uint16_t offset,
			size_t size)
{
	return offset == REEL_BPF_NO_OFFSET || offset + size <= interpreter->frame_size;
}

bool python_is_valid(const struct reel_bpf_interpreter *interpreter)
{
	const struct reel_bpf_python *python = &interpreter->python;

	return reel_runtime_has_frame_size(interpreter) &&
	       (python->position_size == 4 || python->position_size == 8) &&
	       is_in_frame(interpreter, python->frame_previous, 8) &&
	       is_in_frame(interpreter, python->frame_code, 8) &&
	       is_in_frame(interpreter, python->frame_position, python->position_size) &&
	       is_in_frame(interpreter, python->frame_is_entry, 1) &&
	       is_in_frame(interpreter, python->frame_owner, 1);
}

/* The bytes of a frame up to the last field that BPF wants. */
static uint16_t frame_size(const struct reel_bpf_python *python)
{
	const uint16_t ends[] = {
		(uint16_t)(python->frame_previous + 8),
		(uint16_t)(python->frame_code + 8),
		(uint16_t)(python->frame_position + python->position_size),
		(uint16_t)(python->frame_is_entry + 1), /* or 0: NO_OFFSET */
		(uint16_t)(python->frame_owner + 1),
	};
	uint16_t size = 0;

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		size = ends[i] > size ? ends[i] : size;
	return (uint16_t)((size + 7) & ~7);
}

static void fill(const struct python_layout *layout, uint64_t runtime,
		 struct reel_bpf_interpreter *ret)
{
	const uint16_t *fields = layout->fields;
	bool has_address = layout->version >= 0x030b00;

	*ret = (struct reel_bpf_interpreter){
		.head = runtime + fields[PYTHON_RUNTIME_HEAD],
		.kind = REEL_BPF_INTERPRETER_PYTHON,
		.python = {
			.interpreter_next = fields[PYTHON_INTERPRETER_NEXT],
			.interpreter_threads = fields[PYTHON_INTERPRETER_THREADS],
			.thread_next = fields[PYTHON_THREAD_NEXT],
			.thread_native_id = fields[PYTHON_THREAD_NATIVE_ID],
			.thread_id = fields[PYTHON_THREAD_ID],
			.thread_frame = fields[PYTHON_THREAD_FRAME],
			.thread_cframe = fields[PYTHON_THREAD_CFRAME],
			.cframe_frame = fields[PYTHON_CFRAME_FRAME],
			.cframe_previous = fields[PYTHON_CFRAME_PREVIOUS],
			.frame_previous = fields[PYTHON_FRAME_PREVIOUS],
			.frame_code = fields[PYTHON_FRAME_CODE],
			.frame_position = fields[PYTHON_FRAME_POSITION],
			.frame_is_entry = fields[PYTHON_FRAME_IS_ENTRY],
			.frame_owner = fields[PYTHON_FRAME_OWNER],
			.owner_native = OWNER_NATIVE,
			.position_size = has_address ? 8 : 4,
			.code_tags = layout->version >= 0x030e00 ? STACK_REF_TAGS : 0,
			.code_identity = python_identity(layout),
		},
	};
	ret->frame_size = frame_size(&ret->python);
}

enum reel_runtime_answer python_locate(uint32_t pid, const struct reel_runtime_place *place,
				       struct reel_bpf_interpreter *ret)
{
	struct reel_bpf_interpreter interpreter;
	enum reel_runtime_answer answer;
	struct python_layout layout;

	answer = python_layout_find(pid, place, &layout);
	if (answer != REEL_RUNTIME_FOUND)
		return answer;
	fill(&layout, place->at, &interpreter);
	if (!python_is_valid(&interpreter))
		return REEL_RUNTIME_UNKNOWN;
	for (size_t i = 0; i < TRIES; i++) {
		answer = check(&layout, place->at);
		if (answer != REEL_RUNTIME_UNKNOWN)
			break;
	}
	if (answer == REEL_RUNTIME_FOUND)
		*ret = interpreter;
	return answer;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "record/runtime/python_layout.h"

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

/* Objects of threads without the GIL start with another header, but all we read of them is in
 * _Py_DebugOffsets. */
static bool take_offsets(const struct python_version *version, const uint8_t *bytes,
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
			       begin.is_free_threaded <= 1 && take_offsets(version, bytes, ret)
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

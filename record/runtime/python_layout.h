/* SPDX-License-Identifier: Apache-2.0 */
/* Where one process's CPython has its fields, and reading them. */
#ifndef RECORD_RUNTIME_PYTHON_LAYOUT_H
#define RECORD_RUNTIME_PYTHON_LAYOUT_H

#include "record/runtime/python_offsets.h"
#include "record/runtime/runtime.h"

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

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "record/proc/runtime_place.h"

/* PY_RELEASE_LEVEL_GAMMA: before, a version's layout changes. */
#define RELEASE_CANDIDATE 0xc0

/*
 * CPython's version.  Py_Version is a constant since 3.11.  Earlier versions are told by the
 * functions that they added to the API: executables have no name to tell them by, and the text of
 * the version is in no known place.
 */
static uint32_t python_version(const struct reel_dynamic_file *file)
{
	static const struct {
		const char *function;
		uint32_t version;
	} added[] = {
		{ "PyModule_AddObjectRef", 0x030a00 },
		{ "PyFrame_GetCode", 0x030900 },
		{ "PyCode_NewWithPosOnlyArgs", 0x030800 },
	};
	Elf64_Sym symbol;
	uint64_t version;
	uint32_t index;

	if (reel_dynamic_file_symbol(file, "Py_Version", STT_OBJECT, &index, &symbol))
		return reel_dynamic_file_bytes(file, symbol.st_value, &version, sizeof(version)) &&
				       (version & 0xf0) >= RELEASE_CANDIDATE
			       ? (uint32_t)(version >> 16) << 8
			       : 0;
	for (size_t i = 0; i < sizeof(added) / sizeof(*added); i++) {
		if (reel_dynamic_file_symbol(file, added[i].function, STT_FUNC, &index, &symbol))
			return added[i].version;
	}
	return 0;
}

static bool find_python(const struct reel_dynamic_file *file, const Elf64_Sym *symbol,
			struct reel_runtime_place *ret)
{
	ret->version = python_version(file);
	ret->at = symbol->st_value;
	return true;
}

/* The variables that lead to the state have no symbols: the place is the segment that has them. */
static bool find_ruby(const struct reel_dynamic_file *file, const Elf64_Sym *symbol,
		      struct reel_runtime_place *ret)
{
	uint64_t first = UINT64_MAX;
	int32_t version[2];

	if (reel_dynamic_file_bytes(file, symbol->st_value, version, sizeof(version)) &&
	    version[0] > 0 && version[0] < 256 && version[1] >= 0 && version[1] < 256)
		ret->version = (uint32_t)(version[0] << 16 | version[1] << 8);
	for (size_t i = 0; i < file->n_segments; i++) {
		const Elf64_Phdr *segment = &file->segments[i];

		if (segment->p_type != PT_LOAD)
			continue;
		if (segment->p_vaddr < first)
			first = segment->p_vaddr;
		if (!(segment->p_flags & PF_W))
			continue;
		ret->at = segment->p_vaddr;
		ret->size = segment->p_memsz;
		ret->before = segment->p_vaddr - first;
		return true;
	}
	return false;
}

static const struct runtime {
	enum reel_bpf_interpreter_kind kind;
	const char *symbol;
	/* Sets `at` to an address in the file. */
	bool (*find)(const struct reel_dynamic_file *file, const Elf64_Sym *symbol,
		     struct reel_runtime_place *ret);
} runtimes[] = {
	{ REEL_BPF_INTERPRETER_PYTHON, "_PyRuntime", find_python },
	{ REEL_BPF_INTERPRETER_RUBY, "ruby_api_version", find_ruby },
};

void reel_runtime_place_find(const struct reel_dynamic_file *file, struct reel_runtime_place *ret)
{
	uint64_t distance;
	Elf64_Sym symbol;
	uint32_t index;

	*ret = (struct reel_runtime_place){ 0 };
	for (size_t i = 0; i < sizeof(runtimes) / sizeof(*runtimes); i++) {
		if (!reel_dynamic_file_symbol(file, runtimes[i].symbol, STT_OBJECT, &index,
					      &symbol) ||
		    !reel_dynamic_file_distance(file, &distance) ||
		    !runtimes[i].find(file, &symbol, ret))
			continue;
		ret->kind = runtimes[i].kind;
		ret->at -= distance;
		return;
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "record/proc/file_hints.h"

#include <string.h>

#include "record/proc/dynamic_file.h"

/* ---- thread-local variables -------------------------------------------------------------- */

static const struct {
	const char *symbol;
	enum reel_bpf_published published;
} variables[] = {
	{ "otel_thread_ctx_v1", REEL_BPF_PUBLISHED_REQUEST },
	{ "caml_state", REEL_BPF_PUBLISHED_OCAML },
};

/* Files with more of these are not understood; all are far above what linkers make. */
#define RELOCATIONS_MAX (1u << 20)
#define TLS_ALIGN_MAX	(1u << 20)
#define TLS_SIZE_MAX	(1u << 30)

#ifndef R_AARCH64_TLS_DTPMOD
#define R_AARCH64_TLS_DTPMOD 1028
#define R_AARCH64_TLS_TPREL  1030
#endif

/*
 * Relocations by psABI, and the table of a thread's blocks by glibc (sysdeps/x86_64/nptl/tls.h,
 * sysdeps/aarch64/nptl/tls.h: tcbhead_t; sysdeps/generic/dl-dtv.h: dtv_t) and musl
 * (src/internal/pthread_impl.h: struct pthread).
 */
static const struct cpu {
	uint16_t machine;
	/* Bytes at the thread pointer that precede the executable's block; -1: it ends at the
	 * thread pointer. */
	int gap;
	uint32_t module, offset, descriptor;
	int16_t table, musl_table;
} cpus[] = {
	{ EM_X86_64, -1, R_X86_64_DTPMOD64, R_X86_64_TPOFF64, R_X86_64_TLSDESC, 8, 8 },
	{ EM_AARCH64, 16, R_AARCH64_TLS_DTPMOD, R_AARCH64_TLS_TPREL, R_AARCH64_TLSDESC, 0, -8 },
};

static const struct cpu *cpu_of(const struct reel_dynamic_file *file)
{
	for (size_t i = 0; i < sizeof(cpus) / sizeof(*cpus); i++) {
		if (cpus[i].machine == file->header.e_machine)
			return &cpus[i];
	}
	return NULL;
}

/* The executable's block: it has the alignment of its segment's address (psABI, "Thread-local
 * storage", variants I and II). */
static bool place_in_executable(const struct reel_dynamic_file *file, const struct cpu *cpu,
				const Elf64_Sym *symbol, struct reel_bpf_publisher *ret)
{
	const Elf64_Phdr *segment = reel_dynamic_file_segment(file, PT_TLS);
	uint64_t align = segment && segment->p_align ? segment->p_align : 1, begin;

	if (!segment || align > TLS_ALIGN_MAX || align & (align - 1) ||
	    segment->p_memsz > TLS_SIZE_MAX || symbol->st_value > segment->p_memsz)
		return false;
	if (cpu->gap < 0) {
		begin = segment->p_memsz;
		begin = -(begin + ((-segment->p_vaddr - begin) & (align - 1)));
	} else {
		begin = (uint64_t)cpu->gap;
		begin += (segment->p_vaddr - begin) & (align - 1);
	}
	ret->kind = REEL_BPF_PUBLISHER_OFFSET;
	ret->at = begin + symbol->st_value;
	return true;
}

/* What a relocation fills in, if it is the symbol's. */
static enum reel_bpf_publisher_kind kind_of(const struct reel_dynamic_file *file,
					    const struct cpu *cpu, const Elf64_Rela *relocation,
					    uint32_t index, const Elf64_Sym *symbol)
{
	uint32_t type = (uint32_t)ELF64_R_TYPE(relocation->r_info);
	uint64_t of = ELF64_R_SYM(relocation->r_info), offset;
	/* A symbol that no other module can replace may be left out. */
	bool is_its = of == index || (!of && (uint64_t)relocation->r_addend == symbol->st_value);

	if (type == cpu->offset && is_its)
		return REEL_BPF_PUBLISHER_WORD;
	if (type == cpu->descriptor && is_its)
		return REEL_BPF_PUBLISHER_DESCRIPTOR;
	if (type != cpu->module)
		return REEL_BPF_PUBLISHER_NONE;
	if (of == index ||
	    (!of &&
	     reel_dynamic_file_bytes(file, relocation->r_offset + 8, &offset, sizeof(offset)) &&
	     offset == symbol->st_value))
		return REEL_BPF_PUBLISHER_INDEX;
	return REEL_BPF_PUBLISHER_NONE;
}

static bool search_relocations(const struct reel_dynamic_file *file, const struct cpu *cpu,
			       uint64_t table, uint64_t size, uint32_t index,
			       const Elf64_Sym *symbol, struct reel_bpf_publisher *ret)
{
	Elf64_Rela relocations[128];
	uint64_t n = size / sizeof(*relocations), distance, part;

	if (!table || n > RELOCATIONS_MAX || !reel_dynamic_file_distance(file, &distance))
		return false;
	for (uint64_t at = 0; at < n; at += part) {
		part = n - at < 128 ? n - at : 128;
		if (!reel_dynamic_file_bytes(file, table + at * sizeof(*relocations), relocations,
					     part * sizeof(*relocations)))
			return false;
		for (uint64_t i = 0; i < part; i++) {
			ret->kind = kind_of(file, cpu, &relocations[i], index, symbol);
			ret->at = relocations[i].r_offset - distance;
			if (ret->kind)
				return true;
		}
	}
	return false;
}

static void find_variable(const struct reel_dynamic_file *file, const struct cpu *cpu,
			  const char *name, struct reel_bpf_publisher *ret)
{
	Elf64_Sym symbol;
	uint32_t index;

	if (!reel_dynamic_file_symbol(file, name, STT_TLS, &index, &symbol))
		return;
	if (file->is_executable) {
		place_in_executable(file, cpu, &symbol, ret);
		return;
	}
	for (size_t i = 0; i < 2 && !ret->kind; i++)
		search_relocations(file, cpu, file->relocations[i], file->relocation_sizes[i],
				   index, &symbol, ret);
	ret->table = file->is_musl ? cpu->musl_table : cpu->table;
	ret->table_size = file->is_musl ? 0 : -16;
	ret->table_entry = file->is_musl ? 8 : 16;
}

static void find_publisher(const struct reel_dynamic_file *file, struct reel_bpf_publisher *ret)
{
	const struct cpu *cpu = cpu_of(file);

	for (size_t i = 0; cpu && !ret->kind && i < sizeof(variables) / sizeof(*variables); i++) {
		ret->published = variables[i].published;
		find_variable(file, cpu, variables[i].symbol, ret);
	}
}

/* ---- interpreters ------------------------------------------------------------------------ */

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

static void find_runtime(const struct reel_dynamic_file *file, struct reel_runtime_place *ret)
{
	uint64_t distance;
	Elf64_Sym symbol;
	uint32_t index;

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

/* ---- all ---------------------------------------------------------------------------------- */

static uint64_t find_jit_list(const struct reel_dynamic_file *file)
{
	uint64_t distance;
	Elf64_Sym symbol;
	uint32_t index;

	return reel_dynamic_file_symbol(file, "__jit_debug_descriptor", STT_OBJECT, &index,
					&symbol) &&
			       reel_dynamic_file_distance(file, &distance)
		       ? symbol.st_value - distance
		       : 0;
}

void reel_file_hints_find(int fd, struct reel_file_hints *ret)
{
	struct reel_dynamic_file file;

	*ret = (struct reel_file_hints){ 0 };
	if (!reel_dynamic_file_read(fd, &file))
		return;
	find_publisher(&file, &ret->publisher);
	find_runtime(&file, &ret->runtime);
	ret->jit_list = find_jit_list(&file);
}

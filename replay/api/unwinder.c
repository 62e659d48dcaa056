/* SPDX-License-Identifier: Apache-2.0 */
/* The unwinder for other tools' data: reel_unwinder_* of include/stackreel.h. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/sized.h"
#include "elf/elf_file.h"
#include "replay/synthesis/synthesis.h"
#include "cfi/module_cfi.h"
#include "replay/unwind/unwind.h"
#include "format/timeline/space.h"

/* A mapped file; one for each path. */
struct code_file {
	char *path;
	struct reel_elf_file *file;
	struct reel_cfi *cfi;
	struct reel_rows *rows;
	struct reel_synthesis *synthesis;
};

struct reel_unwinder {
	const struct reel_arch *arch;
	struct reel_unwind_programs *programs;
	/* Mappings are stored like a capture's: one space, one time; a module's id is a file's
	 * index + 1. */
	struct reel_timeline *timeline;
	struct code_file *files;
	size_t n_files;
	uint64_t generation; /* of the mappings */
	struct reel_unwind_cache *cache;
	struct reel_unwind_frames frames;
	struct reel_memory_region *regions;
	size_t n_regions;
	struct reel_unwound unwound; /* the last result */
	void *_Atomic failed;	     /* unreliable rows; NULL: none */
};

#define ONLY_SPACE 1

struct reel_error *reel_unwinder_create(const char *arch, struct reel_unwinder **ret)
{
	struct reel_unwinder *unwinder;
	struct reel_error *error;

	if (!reel_arch_by_name(arch))
		return reel_error_create(REEL_ERROR_UNSUPPORTED,
					 "unknown CPU '%s' (stackreel.h lists the known ones)",
					 arch);
	unwinder = calloc(1, sizeof(*unwinder));
	if (!unwinder)
		return reel_error_no_memory();
	unwinder->arch = reel_arch_by_name(arch);
	error = reel_unwind_programs_create(unwinder->arch, &unwinder->programs);
	if (!error)
		error = reel_timeline_create(false, &unwinder->timeline);
	if (!error)
		error = reel_unwind_cache_create(&unwinder->cache);
	if (error) {
		reel_unwinder_destroy(unwinder);
		return error;
	}
	*ret = unwinder;
	return NULL;
}

static void code_file_free(struct code_file *file)
{
	reel_synthesis_destroy(file->synthesis);
	reel_rows_destroy(file->rows);
	reel_cfi_destroy(file->cfi);
	reel_elf_file_close(file->file);
	free(file->path);
}

void reel_unwinder_destroy(struct reel_unwinder *unwinder)
{
	if (!unwinder)
		return;
	for (size_t i = 0; i < unwinder->n_files; i++)
		code_file_free(&unwinder->files[i]);
	free(unwinder->files);
	reel_timeline_destroy(unwinder->timeline);
	reel_unwind_programs_destroy(unwinder->programs);
	reel_unwind_cache_destroy(unwinder->cache);
	reel_unwind_frames_free(&unwinder->frames);
	free(unwinder->regions);
	free(unwinder);
}

static bool read_code(void *module, uint64_t elf_address, size_t size, uint8_t *bytes_ret)
{
	return reel_elf_file_read(module, elf_address, size, bytes_ret);
}

static struct reel_error *code_file_open(struct reel_unwinder *unwinder, const char *path,
					 struct code_file *file)
{
	file->path = strdup(path);
	if (!file->path)
		return reel_error_no_memory();
	TRY(reel_elf_file_open(path, &file->file));
	if (reel_elf_file_machine(file->file) != unwinder->arch->elf_machine)
		return reel_error_create(
			REEL_ERROR_MISMATCH,
			"%s: mapped file is for ELF machine %u, but the unwinder is for %s (%u)",
			path, reel_elf_file_machine(file->file), unwinder->arch->name,
			unwinder->arch->elf_machine);
	TRY(reel_module_cfi_create(file->file, NULL, unwinder->arch, &file->cfi));
	TRY(reel_rows_create(unwinder->arch, file->cfi, reel_elf_file_entry(file->file),
			     &file->rows));
	TRY(reel_synthesis_create(
		&(struct reel_synthesis_input){ .arch = unwinder->arch,
						.read_code = read_code,
						.module = file->file,
						.find_row = reel_synthesis_cfi_row,
						.rows = file->cfi },
		&file->synthesis));
	reel_rows_tell(file->rows, &unwinder->failed, file->rows);
	return NULL;
}

/* The file's index. */
static struct reel_error *find_or_open(struct reel_unwinder *unwinder, const char *path,
				       size_t *ret)
{
	struct code_file *files, file = { 0 };
	struct reel_error *error;

	for (size_t i = 0; i < unwinder->n_files; i++) {
		if (!strcmp(unwinder->files[i].path, path)) {
			*ret = i;
			return NULL;
		}
	}
	files = reallocarray(unwinder->files, unwinder->n_files + 1, sizeof(*files));
	if (!files)
		return reel_error_no_memory();
	unwinder->files = files;
	error = code_file_open(unwinder, path, &file);
	if (error) {
		code_file_free(&file);
		return error;
	}
	*ret = unwinder->n_files;
	unwinder->files[unwinder->n_files++] = file;
	return NULL;
}

struct reel_error *reel_unwinder_map(struct reel_unwinder *unwinder, uint64_t address,
				     uint64_t size, uint64_t offset, const char *path)
{
	struct reel_record record = { .id = REEL_RECORD_MAP };
	size_t index;

	TRY(find_or_open(unwinder, path, &index));
	record.map = (struct reel_record_map){
		.space = ONLY_SPACE,
		.address = address,
		.size = size,
		.offset = offset,
		.protection = 5,
		.module = index + 1,
	};
	unwinder->generation++;
	return reel_timeline_add(unwinder->timeline, &record);
}

static enum reel_code_found find_code(void *context, uint64_t address, struct reel_code *ret)
{
	const struct reel_unwinder *unwinder = context;
	const struct code_file *file;
	struct reel_mapping mapping;
	uint64_t elf_address;

	if (!reel_timeline_find(unwinder->timeline, ONLY_SPACE, REEL_TIME_NOW, address, &mapping))
		return REEL_CODE_NO_MAPPING;
	file = &unwinder->files[mapping.module - 1];
	if (!reel_elf_file_address_of_offset(file->file, mapping.offset, true, &elf_address))
		return REEL_CODE_MODULE_MISSING;
	*ret = (struct reel_code){
		.rows = file->rows,
		.synthesis = file->synthesis,
		.bias = mapping.address - elf_address,
		.read_code = read_code,
		.module = file->file,
		.begin = mapping.address,
		.size = mapping.size,
		.id = mapping.module,
	};
	return REEL_CODE_FOUND;
}

static bool read_constant(void *context, uint64_t address, size_t size, uint8_t *bytes_ret)
{
	struct reel_code code;

	return find_code(context, address, &code) == REEL_CODE_FOUND &&
	       reel_elf_file_read(code.module, address - code.bias, size, bytes_ret);
}

static struct reel_error *set_state(const struct reel_unwinder *unwinder,
				    const struct reel_register *registers, size_t n,
				    struct reel_unwind_state *state)
{
	bool has_pc = false;

	for (size_t i = 0; i < n; i++) {
		uint8_t slot = reel_arch_slot(unwinder->arch, registers[i].dwarf);

		if (registers[i].dwarf == unwinder->arch->pc) {
			state->pc = registers[i].value;
			has_pc = true;
		}
		if (slot == REEL_ARCH_NO_SLOT)
			continue;
		state->registers[slot] = registers[i].value;
		state->known |= (uint64_t)1 << slot;
	}
	if (!has_pc)
		return reel_error_create(REEL_ERROR_INVALID,
					 "missing pc: register %u of %s was not given",
					 unwinder->arch->pc, unwinder->arch->name);
	return NULL;
}

static struct reel_error *set_memory(struct reel_unwinder *unwinder,
				     const struct reel_memory *memory, size_t n)
{
	TRY(REEL_FIT(unwinder->regions, n, unwinder->n_regions));
	for (size_t i = 0; i < n; i++)
		unwinder->regions[i] = (struct reel_memory_region){
			.address = memory[i].address,
			.size = memory[i].size,
			.bytes = memory[i].bytes,
		};
	return NULL;
}

struct reel_error *reel_unwind(struct reel_unwinder *unwinder, const struct reel_stack *stack,
			       const struct reel_unwound **ret)
{
	struct reel_memory_view view = { .read_other = read_constant, .context = unwinder };
	struct reel_unwind_state state = { .arch = unwinder->arch, .memory = &view };
	struct reel_unwind_input input = {
		.arch = unwinder->arch,
		.memory = &view,
		.find_code = find_code,
		.context = unwinder,
		.generation = unwinder->generation,
		.cache = unwinder->cache,
	};
	const struct reel_unwind_frames *frames = &unwinder->frames;
	struct reel_stack whole = { 0 };
	const struct reel_rows *failed;
	enum reel_stop stop;

	reel_sized_take(&whole, sizeof(whole), stack);
	input.code_mask = whole.pointer_mask;
	input.max_frames = whole.max_frames;
	input.after_syscall = whole.flags & REEL_STACK_AFTER_SYSCALL;
	TRY(set_state(unwinder, whole.registers, whole.n_registers, &state));
	TRY(set_memory(unwinder, whole.memory, whole.n_memory));
	view.regions = unwinder->regions;
	view.n_regions = whole.n_memory;
	/* Every file mapped has the byte order of its target. */
	view.big_endian = unwinder->n_files && reel_elf_file_big_endian(unwinder->files[0].file);
	TRY(reel_unwind_trace(&input, unwinder->programs, &state, &unwinder->frames, &stop));
	failed = atomic_load_explicit(&unwinder->failed, memory_order_acquire);
	if (failed)
		TRY(reel_rows_problem(failed));
	unwinder->unwound = (struct reel_unwound){
		.size = sizeof(unwinder->unwound),
		.addresses = frames->addresses,
		.stack_pointers = frames->sps,
		.steps = frames->steps,
		.n_frames = frames->n,
		.stop = stop,
	};
	*ret = &unwinder->unwound;
	return NULL;
}

int reel_register_perf_number(uint16_t machine, uint32_t word_bits, uint16_t dwarf)
{
	const struct reel_arch *arch = reel_arch_by_machine(machine, word_bits);
	const struct reel_arch_register *reg = arch ? reel_arch_register(arch, dwarf) : NULL;

	return reg ? reg->perf : -1;
}

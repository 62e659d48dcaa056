/* SPDX-License-Identifier: Apache-2.0 */
/* The unwinder for other tools' data: reel_unwinder_* of include/stackreel.h. */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/hash_index.h"
#include "base/regular_file.h"
#include "base/sized.h"
#include "elf/elf_file.h"
#include "replay/synthesis/synthesis.h"
#include "cfi/module_cfi.h"
#include "replay/unwind/unwind.h"
#include "format/timeline/space.h"

/* A mapped file; one for each content. */
struct code_file {
	struct stat status; /* when it was opened */
	struct reel_elf_file *file;
	struct reel_cfi *cfi;
	struct reel_rows *rows;
	struct reel_synthesis *synthesis;
};

/* What unwinders share.  One thread at a time uses them, so it needs no locks. */
struct shared {
	size_t references;
	const struct reel_arch *arch;
	struct reel_unwind_programs *programs;
	/* Mappings are stored like a capture's: a space for each unwinder, one time; a module's id
	 * is a file's index + 1. */
	struct reel_timeline *timeline;
	uint64_t last_space;
	struct code_file *files;
	size_t n_files, capacity;
	struct reel_hash_index by_identity; /* of the files */
	struct reel_unwind_cache *cache;
	void *_Atomic failed; /* a file's unreliable rows; NULL: none */
};

struct reel_unwinder {
	struct shared *shared;
	uint64_t space;
	struct reel_space_view view; /* of its present mappings */
	bool big_endian;
	struct reel_unwind_frames frames;
	struct reel_memory_region *regions;
	size_t n_regions;
	struct reel_unwound unwound; /* the last result */
};

static void code_file_free(struct code_file *file)
{
	reel_synthesis_destroy(file->synthesis);
	reel_rows_destroy(file->rows);
	reel_cfi_destroy(file->cfi);
	reel_elf_file_close(file->file);
}

static void shared_free(struct shared *shared)
{
	for (size_t i = 0; i < shared->n_files; i++)
		code_file_free(&shared->files[i]);
	free(shared->files);
	reel_hash_index_free(&shared->by_identity);
	reel_timeline_destroy(shared->timeline);
	reel_unwind_programs_destroy(shared->programs);
	reel_unwind_cache_destroy(shared->cache);
	free(shared);
}

static struct reel_error *add_unwinder(struct shared *shared, struct reel_unwinder **ret)
{
	struct reel_unwinder *unwinder = calloc(1, sizeof(*unwinder));

	if (!unwinder)
		return reel_error_no_memory();
	shared->references++;
	unwinder->shared = shared;
	unwinder->space = ++shared->last_space;
	*ret = unwinder;
	return NULL;
}

struct reel_error *reel_unwinder_create(const char *arch, struct reel_unwinder **ret)
{
	struct shared *shared;
	struct reel_error *error;

	if (!reel_arch_by_name(arch))
		return reel_error_create(REEL_ERROR_UNSUPPORTED,
					 "unknown CPU '%s' (stackreel.h lists the known ones)",
					 arch);
	shared = calloc(1, sizeof(*shared));
	if (!shared)
		return reel_error_no_memory();
	shared->arch = reel_arch_by_name(arch);
	error = reel_unwind_programs_create(shared->arch, &shared->programs);
	if (!error)
		error = reel_timeline_create(false, &shared->timeline);
	if (!error)
		error = reel_unwind_cache_create(&shared->cache);
	if (!error)
		error = add_unwinder(shared, ret);
	if (error)
		shared_free(shared);
	return error;
}

struct reel_error *reel_unwinder_create_sharing(struct reel_unwinder *other,
						struct reel_unwinder **ret)
{
	return add_unwinder(other->shared, ret);
}

void reel_unwinder_destroy(struct reel_unwinder *unwinder)
{
	struct reel_record exit = { .id = REEL_RECORD_SPACE_EXIT };

	if (!unwinder)
		return;
	exit.space_exit.space = unwinder->space;
	reel_error_destroy(reel_timeline_add(unwinder->shared->timeline, &exit));
	if (!--unwinder->shared->references)
		shared_free(unwinder->shared);
	reel_unwind_frames_free(&unwinder->frames);
	free(unwinder->regions);
	free(unwinder);
}

static bool read_code(void *module, uint64_t elf_address, size_t size, uint8_t *bytes_ret)
{
	return reel_elf_file_read(module, elf_address, size, bytes_ret);
}

static struct reel_error *code_file_open(struct shared *shared, const char *path,
					 struct code_file *file)
{
	int fd;

	TRY(reel_regular_file_open(path, &fd, &file->status));
	TRY(reel_elf_file_open_descriptor(fd, path, &file->file));
	if (reel_elf_file_machine(file->file) != shared->arch->elf_machine)
		return reel_error_create(
			REEL_ERROR_MISMATCH,
			"%s: mapped file is for ELF machine %u, but the unwinder is for %s (%u)",
			path, reel_elf_file_machine(file->file), shared->arch->name,
			shared->arch->elf_machine);
	TRY(reel_module_cfi_create(file->file, NULL, shared->arch, &file->cfi));
	TRY(reel_rows_create(shared->arch, file->cfi, reel_elf_file_entry(file->file),
			     &file->rows));
	TRY(reel_synthesis_create(
		&(struct reel_synthesis_input){ .arch = shared->arch,
						.read_code = read_code,
						.module = file->file,
						.find_row = reel_synthesis_cfi_row,
						.rows = file->cfi },
		&file->synthesis));
	reel_rows_tell(file->rows, &shared->failed, file->rows);
	return NULL;
}

/* A file that was overwritten since has another time or size. */
static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static uint64_t hash_of(const struct stat *status)
{
	return (uint64_t)status->st_ino ^ (uint64_t)status->st_dev << 40;
}

static struct reel_error *add_file(struct shared *shared, const struct code_file *file)
{
	if (!reel_array_reserve(&shared->files, shared->n_files, &shared->capacity,
				sizeof(*shared->files)) ||
	    !reel_hash_index_add(&shared->by_identity, hash_of(&file->status),
				 (uint32_t)shared->n_files))
		return reel_error_no_memory();
	shared->files[shared->n_files++] = *file;
	return NULL;
}

/* The file's index. */
static struct reel_error *find_or_open(struct shared *shared, const char *path, size_t *ret)
{
	struct code_file file = { 0 };
	struct reel_error *error;
	struct stat status;
	uint32_t found;

	if (stat(path, &status))
		return reel_error_os(errno, "%s", path);
	found = REEL_HASH_FIND(&shared->by_identity, hash_of(&status), i,
			       is_same_file(&shared->files[i].status, &status));
	*ret = found;
	if (found != REEL_HASH_NONE)
		return NULL;
	*ret = shared->n_files;
	error = code_file_open(shared, path, &file);
	if (!error)
		error = add_file(shared, &file);
	if (error)
		code_file_free(&file);
	return error;
}

struct reel_error *reel_unwinder_map(struct reel_unwinder *unwinder, uint64_t address,
				     uint64_t size, uint64_t offset, const char *path)
{
	struct reel_record record = { .id = REEL_RECORD_MAP };
	struct shared *shared = unwinder->shared;
	size_t index;

	TRY(find_or_open(shared, path, &index));
	record.map = (struct reel_record_map){
		.space = unwinder->space,
		.address = address,
		.size = size,
		.offset = offset,
		.protection = 5,
		.module = index + 1,
	};
	TRY(reel_timeline_add(shared->timeline, &record));
	unwinder->view = reel_timeline_view(shared->timeline, unwinder->space, REEL_TIME_NOW);
	/* Every file mapped has the byte order of its target. */
	unwinder->big_endian = reel_elf_file_big_endian(shared->files[index].file);
	return NULL;
}

static enum reel_code_found find_code(void *context, uint64_t address, struct reel_code *ret)
{
	const struct reel_unwinder *unwinder = context;
	const struct code_file *file;
	struct reel_mapping mapping;
	uint64_t elf_address;

	if (!reel_space_view_find(&unwinder->view, address, &mapping))
		return REEL_CODE_NO_MAPPING;
	file = &unwinder->shared->files[mapping.module - 1];
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

static struct reel_error *set_state(const struct reel_arch *arch,
				    const struct reel_register *registers, size_t n,
				    struct reel_unwind_state *state)
{
	bool has_pc = false;

	for (size_t i = 0; i < n; i++) {
		uint8_t slot = reel_arch_slot(arch, registers[i].dwarf);

		if (registers[i].dwarf == arch->pc) {
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
					 "missing pc: register %u of %s was not given", arch->pc,
					 arch->name);
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

/* Only files that are mapped here matter: others may belong to hostile processes. */
static struct reel_error *find_problem(const struct reel_unwinder *unwinder)
{
	const struct shared *shared = unwinder->shared;
	struct reel_mapping mapping;
	bool any;

	if (!atomic_load_explicit(&shared->failed, memory_order_acquire))
		return NULL;
	any = reel_space_view_find(&unwinder->view, 0, &mapping) ||
	      reel_space_view_above(&unwinder->view, 0, &mapping);
	for (; any; any = reel_space_view_above(&unwinder->view, mapping.address, &mapping))
		TRY(reel_rows_problem(shared->files[mapping.module - 1].rows));
	return NULL;
}

struct reel_error *reel_unwind(struct reel_unwinder *unwinder, const struct reel_stack *stack,
			       const struct reel_unwound **ret)
{
	struct reel_memory_view view = { .read_other = read_constant, .context = unwinder };
	const struct shared *shared = unwinder->shared;
	struct reel_unwind_state state = { .arch = shared->arch, .memory = &view };
	struct reel_unwind_input input = {
		.arch = shared->arch,
		.memory = &view,
		.find_code = find_code,
		.context = unwinder,
		.generation = unwinder->view.generation,
		.cache = shared->cache,
	};
	const struct reel_unwind_frames *frames = &unwinder->frames;
	struct reel_stack whole = { 0 };
	enum reel_stop stop;

	reel_sized_take(&whole, sizeof(whole), stack);
	input.code_mask = whole.pointer_mask;
	input.max_frames = whole.max_frames;
	input.after_syscall = whole.flags & REEL_STACK_AFTER_SYSCALL;
	TRY(set_state(shared->arch, whole.registers, whole.n_registers, &state));
	TRY(set_memory(unwinder, whole.memory, whole.n_memory));
	view.regions = unwinder->regions;
	view.n_regions = whole.n_memory;
	view.big_endian = unwinder->big_endian;
	TRY(reel_unwind_trace(&input, shared->programs, &state, &unwinder->frames, &stop));
	TRY(find_problem(unwinder));
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

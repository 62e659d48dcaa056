/* SPDX-License-Identifier: Apache-2.0 */
/* Captures of samples that the caller took: reel_recorder_* of include/stackreel.h. */
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "base/output_file.h"
#include "base/regular_file.h"
#include "base/sized.h"
#include "format/timeline/module_set.h"
#include "format/writer.h"
#include "replay/unwind/unwind.h"

#define ONLY_EVENT 1

struct reel_recorder {
	const struct reel_arch *arch;
	struct reel_recorder_options options; /* without its texts, after creating it */
	struct reel_output_file file;
	struct reel_writer *writer;
	struct reel_module_set *modules;
	struct reel_id_table threads, processes; /* by tid and pid, which are their ids, plus 1 */
	uint64_t samples, last_time;
	struct reel_register_slot slots[REEL_ARCH_SLOTS_MAX];
	uint64_t values[REEL_ARCH_SLOTS_MAX];
	uint8_t known[REEL_ARCH_SLOTS_MAX / 8];
};

static struct reel_bytes text(const char *text)
{
	return text ? reel_bytes_of_string(text) : (struct reel_bytes){ 0 };
}

static uint64_t byte_order(const struct reel_recorder *recorder)
{
	return recorder->options.big_endian ? REEL_BYTE_ORDER_BIG : REEL_BYTE_ORDER_LITTLE;
}

static struct reel_error *write_head(struct reel_recorder *recorder)
{
	const struct reel_recorder_options *options = &recorder->options;
	const struct reel_record capture = {
		.id = REEL_RECORD_CAPTURE,
		.capture = { .start_time = options->start_time,
			     .start_wall_time = options->start_wall_time,
			     .clock = 1,
			     .machine = recorder->arch->elf_machine,
			     .word_bits = recorder->arch->word_size * 8u,
			     .byte_order = byte_order(recorder),
			     .page_size = options->page_size ? options->page_size : 4096,
			     .hostname = text(options->hostname),
			     .tool_version = text(options->tool) },
	};
	const struct reel_record event = {
		.id = REEL_RECORD_EVENT,
		.event = { .id = ONLY_EVENT,
			   .perf_type = UINT32_MAX,
			   .period = 1,
			   .weight_unit = options->weights_are_ns ? REEL_WEIGHT_NANOSECONDS
								  : REEL_WEIGHT_COUNT,
			   .name = text(options->event ? options->event : "samples") },
	};

	TRY(reel_writer_record(recorder->writer, &capture));
	return reel_writer_record(recorder->writer, &event);
}

static struct reel_error *start(struct reel_recorder *recorder, const char *path)
{
	const struct reel_writer_options options = {
		.target = { .word_bits = recorder->arch->word_size * 8u,
			    .big_endian = recorder->options.big_endian },
	};
	struct reel_output_file file;

	TRY(reel_module_set_create(&recorder->modules));
	TRY(reel_output_file_open(path, REEL_PLACE_PRIVATE, -1, &file));
	recorder->file = file;
	TRY(reel_writer_create(recorder->file.fd, path, &options, NULL, &recorder->writer));
	TRY(write_head(recorder));
	recorder->options.event = recorder->options.hostname = recorder->options.tool = NULL;
	return NULL;
}

struct reel_error *reel_recorder_create(const char *path, const char *arch,
					const struct reel_recorder_options *options,
					struct reel_recorder **ret)
{
	const struct reel_arch *known = reel_arch_by_name(arch);
	struct reel_recorder *recorder;
	struct reel_error *error;

	if (!known)
		return reel_error_create(REEL_ERROR_UNSUPPORTED,
					 "unknown CPU '%s' (stackreel.h lists the known ones)",
					 arch);
	recorder = calloc(1, sizeof(*recorder));
	if (!recorder)
		return reel_error_no_memory();
	recorder->arch = known;
	recorder->file.fd = -1;
	reel_sized_take(&recorder->options, sizeof(recorder->options), options);
	error = start(recorder, path);
	if (error) {
		reel_recorder_destroy(recorder);
		return error;
	}
	*ret = recorder;
	return NULL;
}

void reel_recorder_destroy(struct reel_recorder *recorder)
{
	if (!recorder)
		return;
	reel_writer_destroy(recorder->writer);
	if (recorder->file.fd >= 0)
		reel_output_file_abandon(&recorder->file);
	reel_module_set_destroy(recorder->modules);
	reel_id_table_free_all(&recorder->threads);
	reel_id_table_free_all(&recorder->processes);
	free(recorder);
}

/* *new_ret: the id was not in the table. */
static struct reel_error *learn(struct reel_id_table *table, uint64_t id, bool *new_ret)
{
	*new_ret = !reel_id_table_find(table, id);
	if (*new_ret && !reel_id_table_add(table, id, sizeof(struct reel_id_entry)))
		return reel_error_no_memory();
	return NULL;
}

static struct reel_error *add_process(struct reel_recorder *recorder, uint32_t pid)
{
	const struct reel_record record = {
		.id = REEL_RECORD_SPACE,
		.space = { .id = pid + 1ull,
			   .pid = pid,
			   .machine = recorder->arch->elf_machine,
			   .word_bits = recorder->arch->word_size * 8u,
			   .byte_order = byte_order(recorder),
			   .code_mask = recorder->options.pointer_mask },
	};
	bool is_new;

	TRY(learn(&recorder->processes, pid, &is_new));
	return is_new ? reel_writer_record(recorder->writer, &record) : NULL;
}

static struct reel_error *add_thread(struct reel_recorder *recorder,
				     const struct reel_snapshot *snapshot)
{
	const struct reel_record record = {
		.id = REEL_RECORD_THREAD,
		.thread = { .id = snapshot->tid + 1ull,
			    .space = snapshot->pid + 1ull,
			    .tid = snapshot->tid,
			    .comm = text(snapshot->comm) },
	};
	bool is_new;

	TRY(add_process(recorder, snapshot->pid));
	TRY(learn(&recorder->threads, snapshot->tid, &is_new));
	return is_new ? reel_writer_record(recorder->writer, &record) : NULL;
}

/* A file that cannot be read has only its name. */
static struct reel_error *add_module(struct reel_recorder *recorder, const char *path,
				     uint64_t *id_ret)
{
	struct reel_record_module module = { .kind = reel_module_kind_of_name(path),
					     .path = text(path) };
	struct reel_record record = { .id = REEL_RECORD_MODULE };
	struct reel_build_id build_id = { 0 };
	struct reel_known_module *known;
	struct reel_error *error;
	struct stat status;
	int fd;

	error = reel_regular_file_open(path, &fd, &status);
	if (!error) {
		if (reel_build_id_of_file(fd, &build_id))
			module.build_id = reel_build_id_bytes(&build_id);
		close(fd);
	}
	reel_error_destroy(error);
	TRY(reel_module_set_add(recorder->modules, &module, &known));
	*id_ret = known->record.id;
	if (known->is_written)
		return NULL;
	known->is_written = true;
	record.module = known->record;
	return reel_writer_record(recorder->writer, &record);
}

struct reel_error *reel_recorder_map(struct reel_recorder *recorder, uint32_t pid, uint64_t time,
				     uint64_t address, uint64_t size, uint64_t offset,
				     const char *path)
{
	struct reel_record record = {
		.id = REEL_RECORD_MAP,
		.map = { .time = time,
			 .space = pid + 1ull,
			 .address = address,
			 .size = size,
			 .offset = offset,
			 .protection = 5,
			 .flags = 2 },
	};

	if (!size || address > UINT64_MAX - (size - 1))
		return reel_error_create(REEL_ERROR_INVALID,
					 "%s: the mapping is empty or ends past the last address",
					 path);
	TRY(add_process(recorder, pid));
	TRY(add_module(recorder, path, &record.map.module));
	return reel_writer_record(recorder->writer, &record);
}

static struct reel_error *set_registers(struct reel_recorder *recorder,
					const struct reel_stack *stack,
					struct reel_record_sample_layout *layout,
					struct reel_sample *sample, uint64_t *sp_ret)
{
	bool has_pc = false;

	for (size_t i = 0; i < stack->n_registers && layout->n_slots < REEL_ARCH_SLOTS_MAX; i++) {
		const struct reel_register *from = &stack->registers[i];
		const struct reel_arch_register *reg =
			reel_arch_register(recorder->arch, from->dwarf);

		if (from->dwarf == recorder->arch->pc) {
			sample->pc = from->value;
			has_pc = true;
		}
		if (from->dwarf == recorder->arch->sp)
			*sp_ret = from->value;
		if (!reg)
			continue;
		recorder->slots[layout->n_slots] =
			(struct reel_register_slot){ from->dwarf, reg->size };
		recorder->values[layout->n_slots++] = from->value;
	}
	if (!has_pc)
		return reel_error_create(REEL_ERROR_INVALID,
					 "missing pc: register %u of %s was not given",
					 recorder->arch->pc, recorder->arch->name);
	layout->slots = recorder->slots;
	sample->layout = layout;
	sample->values = recorder->values;
	sample->known = recorder->known;
	return NULL;
}

static struct reel_error *set_regions(const struct reel_stack *stack, uint64_t sp,
				      struct reel_region regions[REEL_REGIONS_MAX],
				      struct reel_sample *sample)
{
	if (stack->n_memory > REEL_REGIONS_MAX)
		return reel_error_create(REEL_ERROR_INVALID, "more than %d pieces of memory",
					 REEL_REGIONS_MAX);
	for (size_t i = 0; i < stack->n_memory; i++) {
		const struct reel_memory *from = &stack->memory[i];

		if (from->size > REEL_REGION_SIZE_MAX ||
		    (from->size && from->address > UINT64_MAX - (from->size - 1)))
			return reel_error_create(
				REEL_ERROR_INVALID,
				"memory of more than %u bytes, or past the last address",
				REEL_REGION_SIZE_MAX);
		regions[i] = (struct reel_region){
			.kind = sp - from->address <= from->size ? REEL_REGION_STACK
								 : REEL_REGION_OTHER_STACK,
			.address = from->address,
			.bytes = from->bytes,
			.size = from->size,
		};
	}
	sample->regions = regions;
	sample->n_regions = stack->n_memory;
	return NULL;
}

struct reel_error *reel_recorder_add(struct reel_recorder *recorder,
				     const struct reel_snapshot *given)
{
	struct reel_record_sample_layout layout = { .id = 1 };
	struct reel_region regions[REEL_REGIONS_MAX];
	struct reel_snapshot snapshot = { 0 };
	struct reel_stack stack = { 0 };
	struct reel_sample sample;
	uint64_t sp = 0;

	reel_sized_take(&snapshot, sizeof(snapshot), given);
	reel_sized_take(&stack, sizeof(stack), snapshot.stack);
	sample = (struct reel_sample){
		.id = recorder->samples + 1,
		.time = snapshot.time,
		.thread = snapshot.tid + 1ull,
		.cpu = snapshot.cpu,
		.event = ONLY_EVENT,
		.weight = snapshot.weight ? snapshot.weight : 1,
		.where = stack.flags & REEL_STACK_AFTER_SYSCALL ? REEL_WHERE_SYSCALL
								: REEL_WHERE_USER,
	};
	memset(recorder->known, 0xff, sizeof(recorder->known));
	TRY(set_registers(recorder, &stack, &layout, &sample, &sp));
	TRY(set_regions(&stack, sp, regions, &sample));
	TRY(add_thread(recorder, &snapshot));
	TRY(reel_writer_sample(recorder->writer, &sample));
	recorder->samples++;
	if (snapshot.time > recorder->last_time)
		recorder->last_time = snapshot.time;
	return NULL;
}

struct reel_error *reel_recorder_finish(struct reel_recorder *recorder)
{
	const struct reel_record end = {
		.id = REEL_RECORD_END,
		.end = { .time = recorder->last_time,
			 .reason = REEL_END_CONVERTED,
			 .samples = recorder->samples },
	};
	struct reel_error *error = reel_writer_record(recorder->writer, &end);

	if (!error)
		error = reel_writer_finish(recorder->writer);
	error = reel_output_file_close(&recorder->file, error);
	recorder->file.fd = -1;
	return error;
}

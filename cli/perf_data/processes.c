/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks, their names and mappings. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/perf_data/perf_data.h"

/* Ends each record except samples. */
void perf_append_sample_id(struct perf_data *data, uint32_t pid, uint32_t tid, uint64_t time)
{
	perf_append_u32(data, pid);
	perf_append_u32(data, tid);
	perf_append_u64(data, time);
	perf_append_u32(data, 0);
	perf_append_u32(data, 0);
	perf_append_u64(data, 1);
}

static void write_comm(struct perf_data *data, const struct perf_thread *thread, const char *comm,
		       uint64_t time, uint32_t misc)
{
	uint32_t pid = perf_pid_of(data, thread);

	perf_begin_record(data, PERF_RECORD_COMM, misc);
	perf_append_u32(data, pid);
	perf_append_u32(data, thread->tid);
	perf_append_text(data, comm);
	perf_append_sample_id(data, pid, thread->tid, time);
	perf_end_record(data);
}

/* FORK and EXIT are alike. */
static void write_task(struct perf_data *data, uint32_t type, uint32_t misc,
		       const struct perf_thread *thread, const struct perf_thread *parent,
		       uint64_t time)
{
	uint32_t pid = perf_pid_of(data, thread);

	perf_begin_record(data, type, misc);
	perf_append_u32(data, pid);
	perf_append_u32(data, perf_pid_of(data, parent));
	perf_append_u32(data, thread->tid);
	perf_append_u32(data, parent->tid);
	perf_append_u64(data, time);
	perf_append_sample_id(data, pid, thread->tid, time);
	perf_end_record(data);
}

void perf_keep_space(struct perf_data *data, const struct reel_record_view *record)
{
	struct perf_space *space =
		perf_item_of(&data->spaces, perf_number_of(record, "id"), sizeof(*space));

	if (!space)
		return;
	space->pid = (uint32_t)perf_number_of(record, "pid");
	space->machine = (uint16_t)perf_number_of(record, "machine");
	space->word_bits = (uint32_t)perf_number_of(record, "word_bits");
}

void perf_write_thread(struct perf_data *data, const struct reel_record_view *record)
{
	struct perf_thread *thread =
		perf_item_of(&data->threads, perf_number_of(record, "id"), sizeof(*thread));
	_cleanup_free_ char *comm = perf_text_of(record, "comm");
	uint64_t time = perf_number_of(record, "time"), parent = perf_number_of(record, "parent");
	const uint64_t origin_fork = 1;

	if (!thread)
		return;
	thread->space = perf_number_of(record, "space");
	thread->tid = (uint32_t)perf_number_of(record, "tid");
	if (parent && perf_number_of(record, "origin") == origin_fork)
		write_task(data, PERF_RECORD_FORK, 0, thread, perf_thread_of(data, parent), time);
	if (*comm)
		write_comm(data, thread, comm, time, 0);
}

void perf_write_exec(struct perf_data *data, const struct reel_record_view *record)
{
	struct perf_thread *thread =
		pointer_map_get(&data->threads, perf_key_of(perf_number_of(record, "thread")));

	if (!thread)
		return;
	/* perf keeps the mappings from before an exec, and looks for unwind tables there, but not
	 * for a new thread, which takes no mappings from another. */
	write_task(data, PERF_RECORD_FORK, PERF_MISC_FORK_EXEC, thread, thread,
		   perf_number_of(record, "time"));
	thread->space = perf_number_of(record, "space");
	/* Its new name follows in a separate record. */
	write_comm(data, thread, "exec", perf_number_of(record, "time"), PERF_MISC_COMM_EXEC);
}

void perf_write_comm(struct perf_data *data, const struct reel_record_view *record)
{
	_cleanup_free_ char *comm = perf_text_of(record, "comm");

	write_comm(data, perf_thread_of(data, perf_number_of(record, "thread")), comm,
		   perf_number_of(record, "time"), 0);
}

void perf_write_exit(struct perf_data *data, const struct reel_record_view *record)
{
	const struct perf_thread *thread = perf_thread_of(data, perf_number_of(record, "thread"));

	write_task(data, PERF_RECORD_EXIT, 0, thread, thread, perf_number_of(record, "time"));
}

void perf_keep_module(struct perf_data *data, const struct reel_record_view *record)
{
	struct perf_module *module =
		perf_item_of(&data->modules, perf_number_of(record, "id"), sizeof(*module));
	const struct reel_field *id = perf_field_of(record, "build_id");
	size_t size =
		id->n_bytes < sizeof(module->build_id) ? id->n_bytes : sizeof(module->build_id);

	if (!module)
		return;
	free(module->path);
	module->path = perf_text_of(record, "path");
	module->kind = (enum reel_module_kind)perf_number_of(record, "kind");
	module->build_id_size = (uint8_t)size;
	if (size)
		memcpy(module->build_id, id->bytes, size);
}

struct perf_map {
	uint32_t pid;
	uint64_t address, size, offset, time;
	uint32_t protection, flags;
};

static void write_map(struct perf_data *data, const struct perf_module *module,
		      const struct perf_map *map)
{
	uint8_t id[24] = { module->build_id_size };

	memcpy(id + 4, module->build_id, module->build_id_size);
	perf_begin_record(data, PERF_RECORD_MMAP2,
			  PERF_MISC_USER | (module->build_id_size ? PERF_MISC_MMAP_BUILD_ID : 0));
	perf_append_u32(data, map->pid);
	perf_append_u32(data, map->pid);
	perf_append_u64(data, map->address);
	perf_append_u64(data, map->size);
	perf_append_u64(data, map->offset);
	/* In place of device and inode. */
	perf_append_bytes(data, id, sizeof(id));
	perf_append_u32(data, map->protection);
	perf_append_u32(data, map->flags);
	perf_append_text(data, module->path);
	perf_append_sample_id(data, map->pid, map->pid, map->time);
	perf_end_record(data);
}

static void add_segment(void *context, const struct reel_file_segment *segment)
{
	struct perf_module *module = context;
	/* Linkers make ten at most: a file with more must not cause as many records per mapping. */
	const size_t most = 64;

	if (module->n_segments == most)
		return;
	module->segments =
		memory_resize(module->segments, module->n_segments + 1, sizeof(*module->segments));
	module->segments[module->n_segments++] = *segment;
}

static void find_segments(const struct perf_data *data, struct perf_module *module, uint64_t id)
{
	REEL_SIZED(reel_module_info, info);

	module->has_segments = true;
	/* Without that file, perf has no segments either. */
	if (no_error(reel_capture_module(data->capture, id, &info)) && info.id && *info.local_path)
		reel_error_destroy(reel_file_segments(info.local_path, add_segment, module));
}

/*
 * Captures only have mappings of code. perf finds unwind tables only if the file's other segments
 * are mapped beside these.
 */
static void write_other_segments(struct perf_data *data, const struct perf_module *module,
				 const struct perf_map *code)
{
	enum { EXECUTE = 1, WRITE = 2, PROTECTION_READ = 1 };
	uint64_t mask = ~(data->page_size - 1);
	const struct reel_file_segment *segment = NULL;

	for (size_t i = 0; i < module->n_segments && !segment; i++) {
		if (module->segments[i].flags & EXECUTE &&
		    (module->segments[i].offset & mask) == code->offset)
			segment = &module->segments[i];
	}
	for (size_t i = 0; segment && i < module->n_segments; i++) {
		const struct reel_file_segment *other = &module->segments[i];
		struct perf_map map = *code;

		if (other->flags & (EXECUTE | WRITE))
			continue;
		map.address += (other->address & mask) - (segment->address & mask);
		map.size = (other->address + other->size - (other->address & mask) + ~mask) & mask;
		map.offset = other->offset & mask;
		map.protection = PROTECTION_READ;
		write_map(data, module, &map);
	}
}

void perf_write_map(struct perf_data *data, const struct reel_record_view *record)
{
	uint64_t id = perf_number_of(record, "module");
	struct perf_module *module = pointer_map_get(&data->modules, perf_key_of(id));
	const struct perf_map map = {
		.pid = perf_space_of(data, perf_number_of(record, "space"))->pid,
		.address = perf_number_of(record, "address"),
		.size = perf_number_of(record, "size"),
		.offset = perf_number_of(record, "offset"),
		.time = perf_number_of(record, "time"),
		.protection = (uint32_t)perf_number_of(record, "protection"),
		.flags = (uint32_t)perf_number_of(record, "flags"),
	};

	if (!module || module->kind == REEL_MODULE_KERNEL ||
	    module->kind == REEL_MODULE_KERNEL_MODULE)
		return;
	if (module->kind == REEL_MODULE_FILE && !module->has_segments)
		find_segments(data, module, id);
	write_other_segments(data, module, &map);
	write_map(data, module, &map);
}

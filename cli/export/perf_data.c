/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf.data, as `perf record --call-graph dwarf -o -' writes it to a pipe: registers, stacks and
 * mappings as they were recorded, which perf unwinds itself; docs/exports.md.
 *
 * Sources: tools/perf/Documentation/perf.data-file-format.txt, tools/lib/perf/include/perf/event.h
 * and include/uapi/linux/perf_event.h, as of Linux 6.18.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/export/formats.h"
#include "cli/print/text.h"
#include "cli/report/pointer_map.h"

enum {
	RECORD_COMM = 3,
	RECORD_EXIT = 4,
	RECORD_FORK = 7,
	RECORD_SAMPLE = 9,
	RECORD_MMAP2 = 10,
	RECORD_HEADER_ATTR = 64,
	RECORD_HEADER_BUILD_ID = 67,
	RECORD_HEADER_FEATURE = 80,
	MISC_KERNEL = 1,
	MISC_USER = 2,
	MISC_COMM_EXEC = 1 << 13,
	MISC_FORK_EXEC = 1 << 13,
	MISC_MMAP_BUILD_ID = 1 << 14,
	MISC_BUILD_ID_SIZE = 1 << 15,
};

/* perf_event_attr.sample_type: IDENTIFIER, IP, TID, TIME, CPU, PERIOD, CALLCHAIN, REGS_USER,
 * STACK_USER. */
#define SAMPLE_TYPE                                                                                \
	(1 << 16 | 1 << 0 | 1 << 1 | 1 << 2 | 1 << 7 | 1 << 8 | 1 << 5 | 1 << 12 | 1 << 13)
/* mmap, comm, freq, task, sample_id_all, exclude_guest, exclude_callchain_user, mmap2, comm_exec,
 * use_clockid, build_id: bits from the first one that is declared on. */
#define ATTR_FLAGS                                                                                 \
	(1ull << 8 | 1ull << 9 | 1ull << 13 | 1ull << 18 | 1ull << 20 | 1ull << 22 | 1ull << 23 |  \
	 1ull << 24 | 1ull << 25 | 1ull << 34)
#define ATTR_FLAG_FREQ	   (1ull << 10)
#define ATTR_SIZE	   96
#define CONTEXT_KERNEL	   ((uint64_t)-128)
#define CONTEXT_USER	   ((uint64_t)-512)
#define CLOCK_IS_MONOTONIC 1
/* A record's size has 16 bits. */
#define MAX_RECORD 65528
/* Of the registers and all the others of a sample, but its chain. */
#define SAMPLE_ROOM (4096 - 8)
/* Of names, with their NUL. */
#define MAX_TEXT 4096
#define NOBODY	 UINT32_MAX

enum {
	FEATURE_HOSTNAME = 3,
	FEATURE_OSRELEASE = 4,
	FEATURE_ARCH = 6,
	FEATURE_CMDLINE = 11,
	FEATURE_EVENT_DESC = 12
};

/* Samples that were selected: of so many ids in a row. */
struct id_run {
	uint64_t first, count;
};

struct perf_space {
	uint32_t pid, word_bits;
	uint16_t machine;
};

struct perf_thread {
	uint64_t space;
	uint32_t tid;
};

struct perf_module {
	char *path;
	uint8_t build_id[20];
	uint8_t build_id_size;
	enum reel_module_kind kind;
	/* Of the file that serves for it. */
	bool has_segments;
	struct reel_file_segment *segments;
	size_t n_segments;
};

struct perf_data {
	FILE *file;
	bool big_endian;
	uint32_t n_captures, n_events;
	struct id_run *runs;
	size_t n_runs, runs_capacity, run;
	uint64_t run_done;
	/* By id. */
	struct pointer_map spaces, threads, modules;
	uint64_t regs_mask, page_size;
	const struct reel_module_info *infos;
	size_t n_infos;
	uint8_t *record; /* the one that is made */
	size_t size;
	/* Samples whose stack or kernel chain does not fit into a record. */
	uint64_t cut;
};

/* ---- bytes ----------------------------------------------------------------------------------- */

static void put_bytes(struct perf_data *data, const void *bytes, size_t size)
{
	if (size > MAX_RECORD - data->size)
		size = MAX_RECORD - data->size;
	if (size)
		memcpy(data->record + data->size, bytes, size);
	data->size += size;
}

static void put_number(struct perf_data *data, uint64_t value, size_t size)
{
	uint8_t bytes[8];

	for (size_t i = 0; i < size; i++)
		bytes[data->big_endian ? size - 1 - i : i] = (uint8_t)(value >> 8 * i);
	put_bytes(data, bytes, size);
}

static void put_u32(struct perf_data *data, uint32_t value)
{
	put_number(data, value, 4);
}

static void put_u64(struct perf_data *data, uint64_t value)
{
	put_number(data, value, 8);
}

/* With its NUL, and zeros up to a multiple of 8. */
static void put_text(struct perf_data *data, const char *text)
{
	static const uint8_t zeros[8];
	size_t length = strlen(text);

	length = length < MAX_TEXT ? length : MAX_TEXT - 1;
	put_bytes(data, text, length);
	put_bytes(data, zeros, 8 - length % 8);
}

static void begin_record(struct perf_data *data, uint32_t type, uint32_t misc)
{
	data->size = 0;
	put_u32(data, type);
	put_number(data, misc, 2);
	put_number(data, 0, 2);
}

static void end_record(struct perf_data *data)
{
	size_t size = data->size;

	data->size = 6;
	put_number(data, size, 2);
	fwrite(data->record, 1, size, data->file);
}

/* ---- the capture's records ------------------------------------------------------------------- */

static const struct reel_field *field(const struct reel_field *fields, size_t n, const char *name)
{
	static const struct reel_field none = { .kind = REEL_FIELD_NULL };

	for (size_t i = 0; i < n; i++) {
		if (!strcmp(fields[i].name, name))
			return &fields[i];
	}
	return &none;
}

static uint64_t number(const struct reel_record_view *record, const char *name)
{
	return field(record->fields, record->n_fields, name)->value;
}

static char *text(const struct reel_record_view *record, const char *name)
{
	const struct reel_field *found = field(record->fields, record->n_fields, name);
	char *copy = memory_get(found->n_bytes + 1);

	if (found->n_bytes)
		memcpy(copy, found->bytes, found->n_bytes);
	return copy;
}

/* 0 is no id.  Writers count ids up: where pointers have 32 bits, more do not fit. */
static const void *key_of(uint64_t id)
{
	return (const void *)(uintptr_t)id;
}

/* The one of an id, made if there is none; NULL if it is no id. */
static void *item_of(struct pointer_map *map, uint64_t id, size_t size)
{
	void *item = pointer_map_get(map, key_of(id));

	if (!item && key_of(id)) {
		item = memory_get(size);
		pointer_map_put(map, key_of(id), item);
	}
	return item;
}

static void free_items(struct pointer_map *map)
{
	for (size_t i = 0; i < map->n_slots; i++)
		free(map->slots[i].value);
	pointer_map_free(map);
}

static const struct perf_space *space_of(const struct perf_data *data, uint64_t id)
{
	static const struct perf_space unknown = { .pid = NOBODY };
	const struct perf_space *space = pointer_map_get(&data->spaces, key_of(id));

	return space ? space : &unknown;
}

static const struct perf_thread *thread_of(const struct perf_data *data, uint64_t id)
{
	static const struct perf_thread unknown = { .space = UINT64_MAX - 1, .tid = NOBODY };
	const struct perf_thread *thread = pointer_map_get(&data->threads, key_of(id));

	return thread ? thread : &unknown;
}

static uint32_t pid_of(const struct perf_data *data, const struct perf_thread *thread)
{
	return space_of(data, thread->space)->pid;
}

/* ---- processes ------------------------------------------------------------------------------- */

/* What stands behind each record that is no sample. */
static void put_sample_id(struct perf_data *data, uint32_t pid, uint32_t tid, uint64_t time)
{
	put_u32(data, pid);
	put_u32(data, tid);
	put_u64(data, time);
	put_u32(data, 0);
	put_u32(data, 0);
	put_u64(data, 1);
}

static void print_comm(struct perf_data *data, const struct perf_thread *thread, const char *comm,
		       uint64_t time, uint32_t misc)
{
	uint32_t pid = pid_of(data, thread);

	begin_record(data, RECORD_COMM, misc);
	put_u32(data, pid);
	put_u32(data, thread->tid);
	put_text(data, comm);
	put_sample_id(data, pid, thread->tid, time);
	end_record(data);
}

/* FORK and EXIT are alike. */
static void print_task(struct perf_data *data, uint32_t type, uint32_t misc,
		       const struct perf_thread *thread, const struct perf_thread *parent,
		       uint64_t time)
{
	uint32_t pid = pid_of(data, thread);

	begin_record(data, type, misc);
	put_u32(data, pid);
	put_u32(data, pid_of(data, parent));
	put_u32(data, thread->tid);
	put_u32(data, parent->tid);
	put_u64(data, time);
	put_sample_id(data, pid, thread->tid, time);
	end_record(data);
}

static void take_space(struct perf_data *data, const struct reel_record_view *record)
{
	struct perf_space *space = item_of(&data->spaces, number(record, "id"), sizeof(*space));

	if (!space)
		return;
	space->pid = (uint32_t)number(record, "pid");
	space->machine = (uint16_t)number(record, "machine");
	space->word_bits = (uint32_t)number(record, "word_bits");
}

static void take_thread(struct perf_data *data, const struct reel_record_view *record)
{
	struct perf_thread *thread = item_of(&data->threads, number(record, "id"), sizeof(*thread));
	_cleanup_free_ char *comm = text(record, "comm");
	uint64_t time = number(record, "time"), parent = number(record, "parent");
	const uint64_t origin_fork = 1;

	if (!thread)
		return;
	thread->space = number(record, "space");
	thread->tid = (uint32_t)number(record, "tid");
	if (parent && number(record, "origin") == origin_fork)
		print_task(data, RECORD_FORK, 0, thread, thread_of(data, parent), time);
	if (*comm)
		print_comm(data, thread, comm, time, 0);
}

static void take_exec(struct perf_data *data, const struct reel_record_view *record)
{
	struct perf_thread *thread =
		pointer_map_get(&data->threads, key_of(number(record, "thread")));

	if (!thread)
		return;
	/* perf keeps what was mapped before an exec, and looks for unwind tables there: but not if
	 * there is a new thread, which takes no mappings of another. */
	print_task(data, RECORD_FORK, MISC_FORK_EXEC, thread, thread, number(record, "time"));
	thread->space = number(record, "space");
	/* The name that it gets comes in a record of its own. */
	print_comm(data, thread, "exec", number(record, "time"), MISC_COMM_EXEC);
}

static void take_comm(struct perf_data *data, const struct reel_record_view *record)
{
	_cleanup_free_ char *comm = text(record, "comm");

	print_comm(data, thread_of(data, number(record, "thread")), comm, number(record, "time"),
		   0);
}

static void take_exit(struct perf_data *data, const struct reel_record_view *record)
{
	const struct perf_thread *thread = thread_of(data, number(record, "thread"));

	print_task(data, RECORD_EXIT, 0, thread, thread, number(record, "time"));
}

static void take_module(struct perf_data *data, const struct reel_record_view *record)
{
	struct perf_module *module = item_of(&data->modules, number(record, "id"), sizeof(*module));
	const struct reel_field *id = field(record->fields, record->n_fields, "build_id");
	size_t size =
		id->n_bytes < sizeof(module->build_id) ? id->n_bytes : sizeof(module->build_id);

	if (!module)
		return;
	free(module->path);
	module->path = text(record, "path");
	module->kind = (enum reel_module_kind)number(record, "kind");
	module->build_id_size = (uint8_t)size;
	if (size)
		memcpy(module->build_id, id->bytes, size);
}

struct perf_map {
	uint32_t pid;
	uint64_t address, size, offset, time;
	uint32_t protection, flags;
};

static void print_map(struct perf_data *data, const struct perf_module *module,
		      const struct perf_map *map)
{
	uint8_t id[24] = { module->build_id_size };

	memcpy(id + 4, module->build_id, module->build_id_size);
	begin_record(data, RECORD_MMAP2,
		     MISC_USER | (module->build_id_size ? MISC_MMAP_BUILD_ID : 0));
	put_u32(data, map->pid);
	put_u32(data, map->pid);
	put_u64(data, map->address);
	put_u64(data, map->size);
	put_u64(data, map->offset);
	/* In the place of device and inode. */
	put_bytes(data, id, sizeof(id));
	put_u32(data, map->protection);
	put_u32(data, map->flags);
	put_text(data, module->path);
	put_sample_id(data, map->pid, map->pid, map->time);
	end_record(data);
}

static void add_segment(void *context, const struct reel_file_segment *segment)
{
	struct perf_module *module = context;
	/* Linkers make ten at most: a file that has more must not make as many records of each
	 * mapping. */
	const size_t most = 64;

	if (module->n_segments == most)
		return;
	module->segments =
		memory_resize(module->segments, module->n_segments + 1, sizeof(*module->segments));
	module->segments[module->n_segments++] = *segment;
}

static int compare_ids(const void *key, const void *item)
{
	const uint64_t *id = key;
	const struct reel_module_info *info = item;

	return (*id > info->id) - (*id < info->id);
}

static void find_segments(const struct perf_data *data, struct perf_module *module, uint64_t id)
{
	const struct reel_module_info *info =
		data->n_infos ? bsearch(&id, data->infos, data->n_infos, sizeof(*info), compare_ids)
			      : NULL;

	module->has_segments = true;
	/* Without that file, perf has none either. */
	if (info && *info->local_path)
		reel_error_destroy(reel_file_segments(info->local_path, add_segment, module));
}

/*
 * Captures have mappings of code alone; perf finds unwind tables where the file's other segments
 * are mapped, beside these, and only if they are.
 */
static void print_other_segments(struct perf_data *data, const struct perf_module *module,
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
		print_map(data, module, &map);
	}
}

static void take_map(struct perf_data *data, const struct reel_record_view *record)
{
	uint64_t id = number(record, "module");
	struct perf_module *module = pointer_map_get(&data->modules, key_of(id));
	const struct perf_map map = {
		.pid = space_of(data, number(record, "space"))->pid,
		.address = number(record, "address"),
		.size = number(record, "size"),
		.offset = number(record, "offset"),
		.time = number(record, "time"),
		.protection = (uint32_t)number(record, "protection"),
		.flags = (uint32_t)number(record, "flags"),
	};

	if (!module || module->kind == REEL_MODULE_KERNEL ||
	    module->kind == REEL_MODULE_KERNEL_MODULE)
		return;
	if (module->kind == REEL_MODULE_FILE && !module->has_segments)
		find_segments(data, module, id);
	print_other_segments(data, module, &map);
	print_map(data, module, &map);
}

/* ---- samples --------------------------------------------------------------------------------- */

/* Whether it is one of those that traces were asked for, in the same order. */
static bool is_selected(struct perf_data *data, uint64_t id)
{
	const struct id_run *run = &data->runs[data->run];

	if (data->run == data->n_runs || id != run->first + data->run_done)
		return false;
	if (++data->run_done == run->count) {
		data->run++;
		data->run_done = 0;
	}
	return true;
}

static void put_chain(struct perf_data *data, const struct reel_field *chain, uint64_t context,
		      size_t n)
{
	if (!n)
		return;
	put_u64(data, context);
	for (size_t i = 0; i < n; i++)
		put_u64(data, chain->items[i].value);
}

static size_t n_that_fit(const struct reel_field *chain)
{
	const size_t most = 1000;

	return chain->n_items < most ? chain->n_items : most;
}

static void put_registers(struct perf_data *data, const struct reel_field *registers,
			  const struct perf_space *space)
{
	enum { ABI_NONE = 0, ABI_32 = 1, ABI_64 = 2 };
	uint64_t values[64] = { 0 };

	if (!registers->n_items) {
		put_u64(data, ABI_NONE);
		return;
	}
	put_u64(data, space->word_bits == 32 ? ABI_32 : ABI_64);
	for (size_t i = 0; i < registers->n_items; i++) {
		const struct reel_field *slot = registers->items[i].items;
		int perf = reel_register_perf_number(space->machine, space->word_bits,
						     (uint16_t)slot[0].value);

		if (perf >= 0 && perf < 64)
			values[perf] = slot[2].value;
	}
	for (int i = 0; i < 64; i++) {
		if (data->regs_mask >> i & 1)
			put_u64(data, values[i]);
	}
}

static uint64_t stack_pointer(const struct reel_field *registers, const struct perf_space *space)
{
	static const struct {
		uint16_t machine, dwarf;
	} known[] = { { 62, 7 }, { 3, 4 }, { 183, 31 }, { 243, 2 }, { 22, 15 } };

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		for (size_t j = 0; known[i].machine == space->machine && j < registers->n_items;
		     j++) {
			if (registers->items[j].items[0].value == known[i].dwarf)
				return registers->items[j].items[2].value;
		}
	}
	return 0;
}

/* perf's copy begins at sp; ours may begin below. */
static void put_stack(struct perf_data *data, const struct reel_record_view *record,
		      const struct perf_space *space)
{
	const struct reel_field *registers = field(record->fields, record->n_fields, "registers");
	const struct reel_field *regions = field(record->fields, record->n_fields, "regions");
	uint64_t sp = stack_pointer(registers, space), room = MAX_RECORD - 16 - data->size;

	for (size_t i = 0; i < regions->n_items; i++) {
		const struct reel_field *region = &regions->items[i];
		const struct reel_field *bytes = field(region->items, region->n_items, "bytes");
		uint64_t below = sp - field(region->items, region->n_items, "address")->value;
		uint64_t size = bytes->n_bytes - below;

		if (field(region->items, region->n_items, "kind")->value || below >= bytes->n_bytes)
			continue;
		if (size > room) {
			data->cut++;
			size = room;
		}
		size &= ~7ull;
		put_u64(data, size);
		put_bytes(data, bytes->bytes + below, size);
		if (size)
			put_u64(data, size);
		return;
	}
	put_u64(data, 0);
}

static void take_sample(struct perf_data *data, const struct reel_record_view *record)
{
	const struct perf_thread *thread = thread_of(data, number(record, "thread"));
	const struct perf_space *space = space_of(data, thread->space);
	const struct reel_field *kernel = field(record->fields, record->n_fields, "kernel_chain");
	const struct reel_field *user = field(record->fields, record->n_fields, "frame_chain");
	const struct reel_field *registers = field(record->fields, record->n_fields, "registers");
	size_t n_kernel = n_that_fit(kernel), n_user = registers->n_items ? 0 : n_that_fit(user);

	if (!is_selected(data, number(record, "id")))
		return;
	if (n_kernel < kernel->n_items)
		data->cut++;
	/* Without registers it was in the kernel, wherever. */
	begin_record(data, RECORD_SAMPLE,
		     n_kernel || !registers->n_items ? MISC_KERNEL : MISC_USER);
	put_u64(data, number(record, "event") + 1);
	put_u64(data, n_kernel ? kernel->items[0].value : number(record, "pc"));
	put_u32(data, space->pid);
	put_u32(data, thread->tid);
	put_u64(data, number(record, "time"));
	put_u32(data, (uint32_t)number(record, "cpu"));
	put_u32(data, 0);
	put_u64(data, number(record, "weight"));
	put_u64(data, (n_kernel ? n_kernel + 1 : 0) + (n_user ? n_user + 1 : 0));
	put_chain(data, kernel, CONTEXT_KERNEL, n_kernel);
	put_chain(data, user, CONTEXT_USER, n_user);
	put_registers(data, registers, space);
	put_stack(data, record, space);
	end_record(data);
}

static bool take_record(void *context, const struct reel_record_view *record)
{
	static const struct {
		const char *name;
		void (*take)(struct perf_data *data, const struct reel_record_view *record);
	} takers[] = { { "SAMPLE", take_sample },    { "MAP", take_map },
		       { "MODULE", take_module },    { "SPACE", take_space },
		       { "THREAD", take_thread },    { "THREAD_COMM", take_comm },
		       { "THREAD_EXEC", take_exec }, { "THREAD_EXIT", take_exit } };
	struct perf_data *data = context;

	for (size_t i = 0; i < sizeof(takers) / sizeof(*takers); i++) {
		if (!strcmp(record->name, takers[i].name))
			takers[i].take(data, record);
	}
	return !ferror(data->file);
}

/* ---- the head -------------------------------------------------------------------------------- */

static void put_attr(struct perf_data *data, const struct reel_record_view *record)
{
	uint64_t frequency = number(record, "frequency");

	put_u32(data, (uint32_t)number(record, "perf_type"));
	put_u32(data, ATTR_SIZE);
	put_u64(data, number(record, "perf_config"));
	put_u64(data, frequency ? frequency : number(record, "period"));
	put_u64(data, SAMPLE_TYPE);
	put_u64(data, 0); /* read_format */
	put_u64(data, ATTR_FLAGS | (frequency ? ATTR_FLAG_FREQ : 0));
	put_u64(data, 0); /* wakeup_events, bp_type */
	put_u64(data, 0); /* config1 */
	put_u64(data, 0); /* config2 */
	put_u64(data, 0); /* branch_sample_type */
	put_u64(data, data->regs_mask);
	put_u32(data, MAX_RECORD - SAMPLE_ROOM); /* sample_stack_user */
	put_u32(data, CLOCK_IS_MONOTONIC);
}

/* What samples name the event by: 0 would be none. */
static uint64_t event_id(const struct reel_record_view *record)
{
	return number(record, "id") + 1;
}

static bool print_attr(void *context, const struct reel_record_view *record)
{
	struct perf_data *data = context;

	if (strcmp(record->name, "EVENT") != 0)
		return true;
	begin_record(data, RECORD_HEADER_ATTR, 0);
	put_attr(data, record);
	put_u64(data, event_id(record));
	end_record(data);
	data->n_events++;
	return true;
}

/* All that the CPU's samples can have. */
static uint64_t registers_of(const char *arch)
{
	static const struct {
		const char *name;
		uint16_t machine;
		uint32_t word_bits;
	} known[] = { { "x86_64", 62, 64 },
		      { "i386", 3, 32 },
		      { "aarch64", 183, 64 },
		      { "riscv64", 243, 64 },
		      { "s390x", 22, 64 } };
	uint64_t mask = 0;

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		for (uint16_t dwarf = 0; !strcmp(known[i].name, arch) && dwarf < 128; dwarf++) {
			int perf = reel_register_perf_number(known[i].machine, known[i].word_bits,
							     dwarf);

			mask |= perf >= 0 && perf < 64 ? 1ull << perf : 0;
		}
	}
	return mask;
}

static void put_feature_text(struct perf_data *data, const char *value)
{
	size_t length = strlen(value) < MAX_TEXT ? strlen(value) : MAX_TEXT - 1;

	put_u32(data, (uint32_t)(length / 8 * 8 + 8));
	put_text(data, value);
}

static void begin_feature(struct perf_data *data, uint64_t feature)
{
	begin_record(data, RECORD_HEADER_FEATURE, 0);
	put_u64(data, feature);
}

static void end_feature(struct perf_data *data)
{
	if (data->size % 8)
		put_u32(data, 0);
	end_record(data);
}

static void print_feature(struct perf_data *data, uint64_t feature, const char *value)
{
	if (!*value || strlen(value) >= MAX_TEXT)
		return;
	begin_feature(data, feature);
	/* A list of one. */
	if (feature == FEATURE_CMDLINE)
		put_u32(data, 1);
	put_feature_text(data, value);
	end_feature(data);
}

static bool put_event(void *context, const struct reel_record_view *record)
{
	_cleanup_free_ char *name = NULL;
	struct perf_data *data = context;

	if (strcmp(record->name, "EVENT") != 0)
		return true;
	name = text(record, "name");
	put_attr(data, record);
	put_u32(data, 1);
	put_feature_text(data, name);
	put_u64(data, event_id(record));
	return true;
}

/* More than fit into a record go without their names: perf makes some of the numbers. */
static bool print_events(struct perf_data *data, struct session *session)
{
	const size_t most = 12;

	if (data->n_events > most)
		return true;
	begin_feature(data, FEATURE_EVENT_DESC);
	put_u32(data, data->n_events);
	put_u32(data, ATTR_SIZE);
	if (!no_error(reel_capture_visit_side_records(session->capture, put_event, data)))
		return false;
	end_feature(data);
	return true;
}

static void print_kernel_build_id(struct perf_data *data, const char *digits)
{
	uint8_t id[24] = { 0 };
	size_t size = strlen(digits) / 2;

	size = size < 20 ? size : 20;
	for (size_t i = 0; i < size; i++) {
		char byte[3] = { digits[2 * i], digits[2 * i + 1] };

		id[i] = (uint8_t)strtoul(byte, NULL, 16);
	}
	if (!size)
		return;
	id[20] = (uint8_t)size;
	begin_record(data, RECORD_HEADER_BUILD_ID, MISC_KERNEL | MISC_BUILD_ID_SIZE);
	put_u32(data, NOBODY);
	put_bytes(data, id, sizeof(id));
	put_text(data, "[kernel.kallsyms]");
	/* perf reads the name behind its header, which is not a multiple of 8. */
	put_u32(data, 0);
	end_record(data);
}

static bool print_head(struct perf_data *data, struct session *session)
{
	const struct reel_capture_info *info = session->info;

	data->size = 0;
	put_u64(data, 0x32454c4946524550); /* "PERFILE2", which tells the byte order */
	put_u64(data, 16);
	fwrite(data->record, 1, data->size, data->file);
	if (!no_error(reel_capture_visit_side_records(session->capture, print_attr, data)))
		return false;
	print_feature(data, FEATURE_HOSTNAME, info->hostname);
	print_feature(data, FEATURE_OSRELEASE, info->kernel_release);
	print_feature(data, FEATURE_ARCH, strcmp(info->arch, "i386") != 0 ? info->arch : "i686");
	print_feature(data, FEATURE_CMDLINE, info->command_line);
	if (!print_events(data, session))
		return false;
	print_kernel_build_id(data, info->kernel_build_id);
	return true;
}

/* ---- the format ------------------------------------------------------------------------------ */

static void *perf_data_open(const struct export_target *target)
{
	struct perf_data *data = memory_get(sizeof(*data));

	data->file = target->file;
	data->record = memory_get(MAX_RECORD);
	return data;
}

static bool begin_capture(void *state, struct session *session, const char *path)
{
	struct perf_data *data = state;
	size_t n_hosts;

	reel_capture_hosts(session->capture, &n_hosts);
	if (data->n_captures++ || n_hosts) {
		complain("%s: perf.data is of one host and one recording: export each capture by "
			 "itself",
			 path);
		return false;
	}
	data->regs_mask = registers_of(session->info->arch);
	data->big_endian = session->info->big_endian;
	data->page_size = session->info->page_size;
	return true;
}

static bool perf_data_add(void *state, const struct reel_trace *trace,
			  const struct reel_event_info *event)
{
	struct perf_data *data = state;
	struct id_run *run = data->n_runs ? &data->runs[data->n_runs - 1] : NULL;

	(void)event;
	if (run && trace->id == run->first + run->count) {
		run->count++;
		return true;
	}
	if (data->n_runs == data->runs_capacity) {
		data->runs_capacity = data->runs_capacity * 2 + 64;
		data->runs = memory_resize(data->runs, data->runs_capacity, sizeof(*data->runs));
	}
	data->runs[data->n_runs++] = (struct id_run){ trace->id, 1 };
	return true;
}

static bool end_capture(void *state, struct session *session)
{
	struct perf_data *data = state;

	if (!no_error(reel_capture_modules(session->capture, &data->infos, &data->n_infos)) ||
	    !print_head(data, session) ||
	    !no_error(reel_capture_visit_records(session->capture, take_record, data)))
		return false;
	if (data->cut && !session->options->quiet)
		complain("%" PRIu64 " samples have more stack than a record of perf.data can hold "
			 "(64 kB): perf will not reach their roots",
			 data->cut);
	return true;
}

static bool perf_data_close(void *state, bool ok)
{
	struct perf_data *data = state;

	for (size_t i = 0; i < data->modules.n_slots; i++) {
		struct perf_module *module = data->modules.slots[i].value;

		if (module) {
			free(module->path);
			free(module->segments);
		}
	}
	free_items(&data->modules);
	free_items(&data->spaces);
	free_items(&data->threads);
	free(data->runs);
	free(data->record);
	free(data);
	return ok;
}

const struct export_format export_perf_data = {
	.name = "perf.data",
	.summary = "for perf: registers, stacks and mappings, as it records them",
	.open = perf_data_open,
	.begin_capture = begin_capture,
	.add = perf_data_add,
	.end_capture = end_capture,
	.close = perf_data_close,
};

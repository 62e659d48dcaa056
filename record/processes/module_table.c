/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "include/commands.h"
#include "record/processes/module_table.h"
#include "base/quantity.h"
#include "format/timeline/module_set.h"

/*
 * A mapped file's properties: a process may map a file thousands of times, and most processes map
 * the same few.  While the file is held open and was not changed, they are valid for all processes.
 * Otherwise for a moment and its process only, since inode numbers are not unique where stat(2) and
 * mappings have different devices (btrfs: in a volume, of several).
 */
struct answer {
	uint32_t pid, device_major, device_minor;
	uint64_t inode; /* 0: empty */
	uint64_t generation, until;
	int fd;		/* -1: not held */
	bool is_unique; /* no other file has these numbers */
	uint64_t used;
	uint64_t unchanged; /* the held file was not changed up to then */
	uint64_t module;    /* the last one of it; 0: none */
	struct reel_proc_file file;
};

/* A file's answer is in one of some slots, given by its number. */
#define ANSWERS	    256
#define WAYS	    8
#define ANSWER_TIME REEL_NS_PER_SECOND
/* A held file keeps its mount busy, and its space if it is deleted. */
#define HELD_TIME (10 * REEL_NS_PER_SECOND)

/* Size of modules at which unused ones are searched for. */
#define BYTES_MIN (4u << 20)

struct reel_module_table {
	struct reel_module_set *set;
	struct reel_inspector *inspector;
	size_t bytes, bytes_max;
	uint64_t news;
	void (*take_file)(void *context, uint64_t module, int fd); /* NULL: files are not wanted */
	void *take_context;
	struct answer answers[ANSWERS];
};

struct reel_error *reel_module_table_create(struct reel_inspector *inspector,
					    struct reel_module_table **ret)
{
	struct reel_module_table *table = calloc(1, sizeof(*table));
	struct reel_error *error;

	if (!table)
		return reel_error_no_memory();
	for (size_t i = 0; i < ANSWERS; i++)
		table->answers[i].fd = -1;
	table->inspector = inspector;
	table->bytes_max = BYTES_MIN;
	error = reel_module_set_create(&table->set);
	if (error)
		free(table);
	else
		*ret = table;
	return error;
}

void reel_module_table_destroy(struct reel_module_table *table)
{
	if (!table)
		return;
	reel_module_table_close_unused(table, UINT64_MAX);
	reel_module_set_destroy(table->set);
	free(table);
}

void reel_module_table_give_files(struct reel_module_table *table,
				  void (*take)(void *context, uint64_t module, int fd),
				  void *context)
{
	table->take_file = take;
	table->take_context = context;
	reel_module_set_keep_apart(table->set);
}

struct reel_error *reel_module_table_add(struct reel_module_table *table,
					 const struct reel_record_module *identity,
					 uint64_t *id_ret)
{
	struct reel_known_module *module;

	TRY(reel_module_set_add(table->set, identity, &module));
	if (!module->is_counted)
		table->bytes += module->size;
	module->is_counted = true;
	*id_ret = module->record.id;
	return NULL;
}

const struct reel_record_module *reel_module_table_find(const struct reel_module_table *table,
							uint64_t id)
{
	const struct reel_known_module *module = reel_module_set_find(table->set, id);

	return module ? &module->record : NULL;
}

uint64_t reel_module_table_jit_list(const struct reel_module_table *table, uint64_t id)
{
	const struct reel_known_module *module = reel_module_set_find(table->set, id);

	return module ? module->jit_list : 0;
}

uint64_t reel_module_table_news(const struct reel_module_table *table)
{
	return table->news;
}

/* ---- unused modules ------------------------------------------------------------------ */

size_t reel_module_table_bytes(const struct reel_module_table *table)
{
	return table->bytes;
}

bool reel_module_table_is_full(const struct reel_module_table *table)
{
	return table->bytes > table->bytes_max;
}

void reel_module_table_use(struct reel_module_table *table, uint64_t id)
{
	struct reel_known_module *module = reel_module_set_find(table->set, id);

	if (module)
		module->is_used = true;
}

/* The kernel and its modules are few, and never mapped. */
static void forget_unused(void *context, struct reel_known_module *module)
{
	struct reel_module_table *table = context;
	uint64_t kind = module->record.kind;

	if (module->is_used || kind == REEL_MODULE_KERNEL || kind == REEL_MODULE_KERNEL_MODULE) {
		module->is_used = false;
		return;
	}
	table->bytes -= module->size + module->image_size;
	reel_module_set_remove(table->set, module);
}

void reel_module_table_forget_unused(struct reel_module_table *table)
{
	reel_module_set_visit(table->set, forget_unused, table);
	table->bytes_max = 2 * table->bytes > BYTES_MIN ? 2 * table->bytes : BYTES_MIN;
}

/* ---- mapped files ------------------------------------------------------------------ */

static void close_answer(struct answer *answer)
{
	if (answer->fd >= 0)
		close(answer->fd);
	answer->fd = -1;
}

void reel_module_table_close_unused(struct reel_module_table *table, uint64_t now)
{
	for (size_t i = 0; i < ANSWERS; i++) {
		if (now > table->answers[i].used + HELD_TIME)
			close_answer(&table->answers[i]);
	}
}

/* Whether the file was not changed before it was mapped, at `time`.  Every change sets the compared
 * time.  Asks no server (FUSE, NFS). */
static bool is_unchanged(struct answer *answer, uint64_t time)
{
	uint64_t now = reel_now();
	struct statx status;

	if (answer->fd < 0 || !answer->is_unique)
		return false;
	if (time <= answer->unchanged)
		return true;
	if (statx(answer->fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_CTIME, &status) ||
	    status.stx_ctime.tv_sec != answer->file.changed.tv_sec ||
	    status.stx_ctime.tv_nsec != (uint32_t)answer->file.changed.tv_nsec)
		return false;
	answer->unchanged = now;
	return true;
}

static bool is_of(const struct answer *answer, const struct reel_proc_map *map)
{
	return map->inode && answer->inode == map->inode &&
	       answer->device_major == map->device_major &&
	       answer->device_minor == map->device_minor;
}

/* The file's answer, valid or not; else one to replace: the least recently used. */
static struct answer *find_slot(struct reel_module_table *table, const struct reel_proc_map *map)
{
	struct answer *set = &table->answers[map->inode % (ANSWERS / WAYS) * WAYS], *oldest = set;

	for (size_t i = 0; i < WAYS; i++) {
		if (is_of(&set[i], map))
			return &set[i];
		if (set[i].used < oldest->used)
			oldest = &set[i];
	}
	return oldest;
}

/* NULL if the file cannot be read. */
static struct answer *ask_file(struct reel_module_table *table, uint32_t pid,
			       const struct reel_proc_map *map, uint64_t generation, uint64_t time)
{
	struct answer *answer = find_slot(table, map);

	if (!is_of(answer, map) || answer->generation != generation ||
	    ((answer->pid != pid || reel_now() >= answer->until) && !is_unchanged(answer, time))) {
		close_answer(answer);
		*answer = (struct answer){ .fd = -1 };
		if (!reel_inspector_file(table->inspector, pid, map, &answer->file, &answer->fd))
			return NULL;
		answer->pid = pid;
		answer->device_major = map->device_major;
		answer->device_minor = map->device_minor;
		answer->inode = map->inode;
		answer->generation = generation;
		answer->until = reel_now() + ANSWER_TIME;
		answer->is_unique = answer->file.device_major == map->device_major &&
				    answer->file.device_minor == map->device_minor;
	}
	answer->used = reel_now();
	return answer;
}

bool reel_module_table_asks(const struct reel_module_table *table, const struct reel_proc_map *map,
			    const struct reel_build_id *build_id)
{
	enum reel_module_kind kind = reel_module_kind_of_name(map->path);

	if (kind == REEL_MODULE_SPECIAL || kind == REEL_MODULE_VDSO)
		return false;
	return table->inspector && ((build_id && build_id->size) || map->inode);
}

/* Adds properties missing in the kernel's event; false if the file is a different one. */
static bool complete(struct reel_record_module *identity, const struct reel_proc_file *file)
{
	if (!identity->build_id.size)
		identity->build_id = reel_build_id_bytes(&file->build_id);
	else if (identity->build_id.size != file->build_id.size ||
		 memcmp(identity->build_id.data, file->build_id.bytes, file->build_id.size) != 0)
		return false;
	/* A different file may have the same properties, at the same path in another mount
	 * namespace: so files are read for each process, and their numbers distinguish them. */
	if (!identity->inode) {
		identity->device_major = file->device_major;
		identity->device_minor = file->device_minor;
		identity->inode = file->inode;
	}
	if (!identity->inode_generation)
		identity->inode_generation = file->generation;
	if (file->has_digest) {
		identity->file_size = file->size;
		identity->file_time = file->time;
		identity->file_digest = (struct reel_bytes){ file->digest, sizeof(file->digest) };
	}
	return true;
}

/* Whether the file's last module is this one: the answer is of one file in one state, which may have
 * several paths. */
static bool is_known(const struct reel_module_table *table, const struct answer *answer,
		     const struct reel_record_module *identity)
{
	const struct reel_record_module *module =
		answer->module ? reel_module_table_find(table, answer->module) : NULL;

	return module && module->inode == identity->inode &&
	       module->path.size == identity->path.size &&
	       !memcmp(module->path.data, identity->path.data, identity->path.size);
}

struct reel_error *reel_module_table_add_mapped(struct reel_module_table *table, uint32_t pid,
						const struct reel_proc_map *map,
						const struct reel_build_id *build_id,
						uint64_t generation, uint64_t time,
						struct reel_file_hints *hints_ret, uint64_t *id_ret)
{
	struct reel_record_module identity = {
		.kind = reel_module_kind_of_name(map->path),
		.device_major = map->device_major,
		.device_minor = map->device_minor,
		.inode = map->inode,
		.inode_generation = generation,
		.path = reel_bytes_of_string(map->path),
	};
	bool is_file, is_asked = reel_module_table_asks(table, map, build_id);
	struct answer *answer = NULL;
	size_t bytes = table->bytes;

	if (build_id)
		identity.build_id = reel_build_id_bytes(build_id);
	if (is_asked)
		answer = ask_file(table, pid, map, generation, time);
	is_file = answer && complete(&identity, &answer->file);
	*hints_ret = is_file ? answer->file.hints : (struct reel_file_hints){ 0 };
	if (is_file && is_known(table, answer, &identity)) {
		*id_ret = answer->module;
	} else {
		TRY(reel_module_table_add(table, &identity, id_ret));
		if (is_asked && (!is_file || (table->bytes > bytes && !answer->file.stays)))
			table->news = reel_now();
		if (!is_file)
			return NULL;
		answer->module = *id_ret;
		reel_module_set_find(table->set, *id_ret)->jit_list = answer->file.hints.jit_list;
	}
	if (answer->fd >= 0 && table->take_file)
		table->take_file(table->take_context, *id_ret, answer->fd);
	return NULL;
}

/* ---- writing ------------------------------------------------------------------------ */

struct reel_error *reel_module_table_set_image(struct reel_module_table *table, uint64_t id,
					       const uint8_t *bytes, size_t size)
{
	struct reel_known_module *module = reel_module_set_find(table->set, id);

	if (!module || module->image || !size || size > REEL_IMAGE_MAX)
		return NULL;
	module->image = malloc(size);
	if (!module->image)
		return reel_error_no_memory();
	memcpy(module->image, bytes, size);
	module->image_size = size;
	table->bytes += size;
	return NULL;
}

struct reel_error *reel_module_table_write(struct reel_module_table *table, uint64_t id,
					   const struct reel_record_sink *sink)
{
	struct reel_known_module *module = reel_module_set_find(table->set, id);
	struct reel_record record = { .id = REEL_RECORD_MODULE };

	if (!module || module->is_written)
		return NULL;
	record.module = module->record;
	TRY(sink->put(sink->context, &record));
	if (module->image) {
		record = (struct reel_record){ .id = REEL_RECORD_IMAGE };
		record.image = (struct reel_record_image){
			.module = id,
			.total_size = module->image_size,
			.bytes = { module->image, module->image_size },
		};
		TRY(sink->put(sink->context, &record));
	}
	module->is_written = true;
	return NULL;
}

uint64_t reel_module_table_unwritten(const struct reel_module_table *table, uint64_t id)
{
	const struct reel_known_module *module = reel_module_set_find(table->set, id);

	return module && !module->is_written ? module->record.path.size : 0;
}

static void write_again(void *context, struct reel_known_module *module)
{
	(void)context;
	module->is_written = false;
}

void reel_module_table_restart(struct reel_module_table *table)
{
	reel_module_set_visit(table->set, write_again, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <linux/fs.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "include/stackreel.h"
#include "record/module_table.h"
#include "space/module_kind.h"
#include "space/id_table.h"

struct module {
	struct module *same_hash;
	uint64_t id;
	struct reel_module_identity identity; /* path is the module's own */
	uint8_t *image;
	size_t image_size;
	bool written;
};

/* All modules whose identities have one hash. */
struct hash_entry {
	struct reel_id_entry entry;
	struct module *first;
};

/* What a file said when it was read; another time of change makes it another file. */
struct file_entry {
	struct reel_id_entry entry; /* hash of device and inode */
	dev_t device;
	ino_t inode;
	struct timespec changed;
	off_t size;
	uint64_t generation;
	struct reel_build_id build_id;
};

struct reel_module_table {
	struct module **modules; /* by id - 1 */
	size_t count, capacity;
	struct reel_id_table by_hash;
	struct reel_id_table files;
};

struct reel_error *reel_module_table_create(struct reel_module_table **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? NULL : reel_error_no_memory();
}

static void free_entry(void *context, struct reel_id_entry *entry)
{
	(void)context;
	free(entry);
}

void reel_module_table_destroy(struct reel_module_table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->count; i++) {
		free((char *)table->modules[i]->identity.path);
		free(table->modules[i]->image);
		free(table->modules[i]);
	}
	free(table->modules);
	reel_id_table_visit(&table->by_hash, free_entry, NULL);
	reel_id_table_free(&table->by_hash);
	reel_id_table_visit(&table->files, free_entry, NULL);
	reel_id_table_free(&table->files);
	free(table);
}

/* ---- identities ------------------------------------------------------------------- */

/* FNV-1a */
static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ ((const uint8_t *)bytes)[i]) * UINT64_C(0x100000001b3);
	return hash;
}

static uint64_t hash_identity(const struct reel_module_identity *identity)
{
	uint64_t hash =
		hash_bytes(UINT64_C(0xcbf29ce484222325), &identity->kind, sizeof(identity->kind));

	if (identity->build_id.size)
		return hash_bytes(hash, identity->build_id.bytes, identity->build_id.size);
	hash = hash_bytes(hash, &identity->inode, sizeof(identity->inode));
	return hash_bytes(hash, identity->path, strlen(identity->path));
}

/* A build-id alone is an identity; without one the file and its name are. */
static bool is_same(const struct reel_module_identity *a, const struct reel_module_identity *b)
{
	if (a->kind != b->kind || a->build_id.size != b->build_id.size)
		return false;
	if (a->build_id.size)
		return !memcmp(a->build_id.bytes, b->build_id.bytes, a->build_id.size);
	return a->device_major == b->device_major && a->device_minor == b->device_minor &&
	       a->inode == b->inode && a->inode_generation == b->inode_generation &&
	       !strcmp(a->path, b->path);
}

static struct reel_error *module_create(struct reel_module_table *table,
					const struct reel_module_identity *identity,
					struct module **ret)
{
	struct module *module;

	if (table->count == table->capacity) {
		size_t capacity = table->capacity ? 2 * table->capacity : 64;
		struct module **grown =
			reallocarray(table->modules, capacity, sizeof(struct module *));

		if (!grown)
			return reel_error_no_memory();
		table->modules = grown;
		table->capacity = capacity;
	}
	module = calloc(1, sizeof(*module));
	if (!module)
		return reel_error_no_memory();
	module->identity = *identity;
	if (identity->build_id.size) {
		module->identity.device_major = module->identity.device_minor = 0;
		module->identity.inode = module->identity.inode_generation = 0;
	}
	module->identity.path = strdup(identity->path);
	if (!module->identity.path) {
		free(module);
		return reel_error_no_memory();
	}
	module->id = table->count + 1;
	table->modules[table->count++] = module;
	*ret = module;
	return NULL;
}

struct reel_error *reel_module_table_add(struct reel_module_table *table,
					 const struct reel_module_identity *identity,
					 uint64_t *id_ret)
{
	uint64_t hash = hash_identity(identity);
	struct hash_entry *entry = (struct hash_entry *)reel_id_table_find(&table->by_hash, hash);
	struct module *module = entry ? entry->first : NULL;
	struct reel_error *error;

	while (module && !is_same(&module->identity, identity))
		module = module->same_hash;
	if (module) {
		*id_ret = module->id;
		return NULL;
	}
	if (!entry) {
		entry = calloc(1, sizeof(*entry));
		if (!entry)
			return reel_error_no_memory();
		entry->entry.id = hash;
		if (!reel_id_table_insert(&table->by_hash, &entry->entry)) {
			free(entry);
			return reel_error_no_memory();
		}
	}
	error = module_create(table, identity, &module);
	if (error)
		return error;
	module->same_hash = entry->first;
	entry->first = module;
	*id_ret = module->id;
	return NULL;
}

/* ---- mapped files ------------------------------------------------------------------ */

/* Asks the file, or what it said before if it is unchanged; NULL without memory. */
static const struct file_entry *look_into(struct reel_module_table *table, int fd)
{
	struct file_entry *file;
	struct stat status;
	uint64_t key;
	long generation;

	if (fstat(fd, &status))
		return NULL;
	key = hash_bytes(status.st_ino, &status.st_dev, sizeof(status.st_dev));
	file = (struct file_entry *)reel_id_table_find(&table->files, key);
	if (file && file->device == status.st_dev && file->inode == status.st_ino &&
	    file->size == status.st_size && file->changed.tv_sec == status.st_mtim.tv_sec &&
	    file->changed.tv_nsec == status.st_mtim.tv_nsec)
		return file;
	if (!file) {
		file = calloc(1, sizeof(*file));
		if (!file)
			return NULL;
		file->entry.id = key;
		if (!reel_id_table_insert(&table->files, &file->entry)) {
			free(file);
			return NULL;
		}
	}
	file->device = status.st_dev;
	file->inode = status.st_ino;
	file->changed = status.st_mtim;
	file->size = status.st_size;
	/* What the kernel's mmap records call ino_generation; not every file system has it. */
	generation = 0;
	file->generation = ioctl(fd, FS_IOC_GETVERSION, &generation) ? 0 : (uint32_t)generation;
	reel_build_id_of_file(fd, &file->build_id);
	return file;
}

struct reel_error *reel_module_table_add_mapped(struct reel_module_table *table, uint32_t pid,
						const struct reel_proc_map *map,
						const struct reel_build_id *build_id,
						uint64_t generation, uint64_t *id_ret)
{
	struct reel_module_identity identity = {
		.kind = reel_module_kind_of_name(map->path),
		.device_major = map->device_major,
		.device_minor = map->device_minor,
		.inode = map->inode,
		.inode_generation = generation,
		.path = map->path,
	};
	bool is_special = identity.kind == REEL_MODULE_SPECIAL || identity.kind == REEL_MODULE_VDSO;

	if (build_id)
		identity.build_id = *build_id;
	if (!identity.build_id.size && map->inode && !is_special) {
		_cleanup_fd_ int fd = reel_proc_open_mapped(pid, map);
		const struct file_entry *file = fd >= 0 ? look_into(table, fd) : NULL;

		if (file) {
			identity.build_id = file->build_id;
			if (!generation)
				identity.inode_generation = file->generation;
		}
	}
	/* An ELF file in a memfd or in shared memory is as good as any. */
	if (identity.kind == REEL_MODULE_ANONYMOUS && identity.build_id.size)
		identity.kind = REEL_MODULE_FILE;
	return reel_module_table_add(table, &identity, id_ret);
}

/* ---- writing ------------------------------------------------------------------------ */

struct reel_error *reel_module_table_set_image(struct reel_module_table *table, uint64_t id,
					       const uint8_t *bytes, size_t size)
{
	struct module *module = table->modules[id - 1];

	if (module->image || !size || size > REEL_IMAGE_MAX)
		return NULL;
	module->image = malloc(size);
	if (!module->image)
		return reel_error_no_memory();
	memcpy(module->image, bytes, size);
	module->image_size = size;
	return NULL;
}

struct reel_error *reel_module_table_write(struct reel_module_table *table, uint64_t id,
					   const struct reel_record_sink *sink)
{
	struct module *module = id && id <= table->count ? table->modules[id - 1] : NULL;
	struct reel_record record = { .id = REEL_RECORD_MODULE };
	struct reel_error *error;

	if (!module || module->written)
		return NULL;
	record.module = (struct reel_record_module){
		.id = id,
		.kind = module->identity.kind,
		.device_major = module->identity.device_major,
		.device_minor = module->identity.device_minor,
		.inode = module->identity.inode,
		.inode_generation = module->identity.inode_generation,
		.build_id = { module->identity.build_id.bytes, module->identity.build_id.size },
		.path = reel_bytes_of_string(module->identity.path),
	};
	error = sink->put(sink->context, &record);
	if (!error && module->image) {
		record = (struct reel_record){ .id = REEL_RECORD_IMAGE };
		record.image = (struct reel_record_image){
			.module = id,
			.total_size = module->image_size,
			.bytes = { module->image, module->image_size },
		};
		error = sink->put(sink->context, &record);
	}
	module->written = !error;
	return error;
}

void reel_module_table_restart(struct reel_module_table *table)
{
	for (size_t i = 0; i < table->count; i++)
		table->modules[i]->written = false;
}

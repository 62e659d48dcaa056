/* SPDX-License-Identifier: Apache-2.0 */
#include <sodium.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "format/timeline/module_set.h"

struct reel_module_set {
	struct reel_id_table by_id;
	/* By name: the first of several modules that differ only in their files.  By file: each. */
	struct reel_id_table by_name, by_file;
	uint64_t last_id;
	bool keeps_apart;
	uint8_t key[crypto_shorthash_KEYBYTES];
};

struct reel_error *reel_module_set_create(struct reel_module_set **ret)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return reel_error_no_memory();
	crypto_shorthash_keygen((*ret)->key);
	return NULL;
}

static void free_module(void *context, struct reel_id_entry *entry)
{
	struct reel_known_module *module = (struct reel_known_module *)entry;

	(void)context;
	free(module->image);
	free(module);
}

void reel_module_set_destroy(struct reel_module_set *set)
{
	if (!set)
		return;
	reel_id_table_visit(&set->by_id, free_module, NULL);
	reel_id_table_free(&set->by_id);
	reel_id_table_free(&set->by_name);
	reel_id_table_free(&set->by_file);
	free(set);
}

void reel_module_set_keep_apart(struct reel_module_set *set)
{
	set->keeps_apart = true;
}

/* ---- identities ------------------------------------------------------------------------ */

static uint64_t hash_bytes(const struct reel_module_set *set, const void *bytes, size_t size)
{
	uint8_t hash[crypto_shorthash_BYTES];
	uint64_t ret;

	crypto_shorthash(hash, bytes, size, set->key);
	memcpy(&ret, hash, sizeof(ret));
	return ret;
}

static uint64_t hash_name(const struct reel_module_set *set,
			  const struct reel_record_module *identity)
{
	uint64_t parts[] = {
		identity->kind,
		hash_bytes(set, identity->build_id.data, identity->build_id.size),
		hash_bytes(set, identity->path.data, identity->path.size),
	};

	return hash_bytes(set, parts, sizeof(parts));
}

static uint64_t hash_file(const struct reel_module_set *set, uint64_t name,
			  const struct reel_record_module *identity)
{
	uint64_t parts[] = { name, identity->device_major, identity->device_minor,
			     identity->inode };

	return hash_bytes(set, parts, sizeof(parts));
}

static bool same_bytes(struct reel_bytes a, struct reel_bytes b)
{
	return a.size == b.size && (!a.size || !memcmp(a.data, b.data, a.size));
}

static bool same_name(const struct reel_record_module *a, const struct reel_record_module *b)
{
	return a->kind == b->kind && same_bytes(a->build_id, b->build_id) &&
	       same_bytes(a->path, b->path);
}

/* Not every file system has generations: 0 is unknown.  An overwritten file counts as a different
 * one, if the change is known. */
static bool same_file(const struct reel_record_module *a, const struct reel_record_module *b)
{
	return a->device_major == b->device_major && a->device_minor == b->device_minor &&
	       a->inode == b->inode &&
	       (a->inode_generation == b->inode_generation || !a->inode_generation ||
		!b->inode_generation) &&
	       (!a->file_digest.size || !b->file_digest.size ||
		same_bytes(a->file_digest, b->file_digest));
}

static void take_file(struct reel_record_module *to, const struct reel_record_module *from)
{
	to->device_major = from->device_major;
	to->device_minor = from->device_minor;
	to->inode = from->inode;
	if (from->inode_generation)
		to->inode_generation = from->inode_generation;
}

static struct reel_known_module *find_name(const struct reel_module_set *set, uint64_t key,
					   const struct reel_record_module *identity)
{
	struct reel_id_entry *entry = reel_id_table_find(&set->by_name, key);
	struct reel_known_module *module;

	if (!entry)
		return NULL;
	module = (void *)((char *)entry - offsetof(struct reel_known_module, by_name));
	return same_name(&module->record, identity) ? module : NULL;
}

static struct reel_known_module *find_file(const struct reel_module_set *set, uint64_t key,
					   const struct reel_record_module *identity)
{
	struct reel_id_entry *entry = reel_id_table_find(&set->by_file, key);
	struct reel_known_module *module;

	if (!entry)
		return NULL;
	module = (void *)((char *)entry - offsetof(struct reel_known_module, by_file));
	return same_name(&module->record, identity) ? module : NULL;
}

/* ---- modules --------------------------------------------------------------------------- */

static void forget_file(struct reel_module_set *set, struct reel_known_module *module)
{
	if (module->has_file)
		reel_id_table_remove(&set->by_file, module->by_file.id);
	module->has_file = false;
}

/* If another module has the key (64 bits, and secret), this one is not found again, but nothing
 * worse happens. */
static struct reel_error *put_file(struct reel_module_set *set, struct reel_known_module *module,
				   uint64_t key)
{
	if (reel_id_table_find(&set->by_file, key))
		return NULL;
	module->by_file.id = key;
	module->has_file = reel_id_table_insert(&set->by_file, &module->by_file);
	return module->has_file ? NULL : reel_error_no_memory();
}

static struct reel_error *put_name(struct reel_module_set *set, struct reel_known_module *module,
				   uint64_t key)
{
	if (reel_id_table_find(&set->by_name, key))
		return NULL;
	module->by_name.id = key;
	module->has_name = reel_id_table_insert(&set->by_name, &module->by_name);
	return module->has_name ? NULL : reel_error_no_memory();
}

static struct reel_known_module *module_create(const struct reel_record_module *identity)
{
	size_t size = sizeof(struct reel_known_module) + identity->build_id.size +
		      identity->path.size + identity->file_digest.size;
	struct reel_known_module *module = malloc(size);
	uint8_t *texts = (uint8_t *)(module + 1);

	if (!module)
		return NULL;
	*module = (struct reel_known_module){ .record = *identity, .size = size };
	module->record.build_id.data = texts;
	module->record.path.data = texts + identity->build_id.size;
	module->record.file_digest.data = module->record.path.data + identity->path.size;
	if (identity->build_id.size)
		memcpy(texts, identity->build_id.data, identity->build_id.size);
	if (identity->path.size)
		memcpy(texts + identity->build_id.size, identity->path.data, identity->path.size);
	if (identity->file_digest.size)
		memcpy(texts + identity->build_id.size + identity->path.size,
		       identity->file_digest.data, identity->file_digest.size);
	return module;
}

static struct reel_error *create(struct reel_module_set *set,
				 const struct reel_record_module *identity, uint64_t name,
				 uint64_t file, struct reel_known_module **ret)
{
	struct reel_known_module *module = module_create(identity);
	struct reel_error *error;

	if (!module)
		return reel_error_no_memory();
	module->by_id.id = module->record.id = set->last_id + 1;
	if (!reel_id_table_insert(&set->by_id, &module->by_id)) {
		free(module);
		return reel_error_no_memory();
	}
	set->last_id++;
	error = put_name(set, module, name);
	if (!error && (identity->inode || !identity->build_id.size || set->keeps_apart))
		error = put_file(set, module, file);
	if (error)
		reel_module_set_remove(set, module);
	else
		*ret = module;
	return error;
}

static struct reel_error *find_or_create(struct reel_module_set *set,
					 const struct reel_record_module *identity,
					 struct reel_known_module **ret)
{
	uint64_t name = hash_name(set, identity), file = hash_file(set, name, identity);
	struct reel_known_module *named = find_name(set, name, identity);
	struct reel_known_module *module = find_file(set, file, identity);
	bool may_be_named = identity->build_id.size && named && !set->keeps_apart;

	*ret = named;
	if (may_be_named && !identity->inode)
		return NULL;
	*ret = module;
	if (module && same_file(&module->record, identity)) {
		take_file(&module->record, identity);
		return NULL;
	}
	/* A deleted file's inode number was reused for another file. */
	if (module)
		forget_file(set, module);
	*ret = named;
	if (may_be_named && !named->record.inode) {
		take_file(&named->record, identity);
		return put_file(set, named, file);
	}
	return create(set, identity, name, file, ret);
}

struct reel_error *reel_module_set_add(struct reel_module_set *set,
				       const struct reel_record_module *identity,
				       struct reel_known_module **ret)
{
	struct reel_record_module module = *identity;

	/* ELF files in a memfd or in shared memory are as good as others; only ELF files have a
	 * digest. */
	if (module.kind == REEL_MODULE_ANONYMOUS &&
	    (module.build_id.size || module.file_digest.size))
		module.kind = REEL_MODULE_FILE;
	return find_or_create(set, &module, ret);
}

struct reel_known_module *reel_module_set_find(const struct reel_module_set *set, uint64_t id)
{
	return (struct reel_known_module *)reel_id_table_find(&set->by_id, id);
}

void reel_module_set_remove(struct reel_module_set *set, struct reel_known_module *module)
{
	forget_file(set, module);
	if (module->has_name)
		reel_id_table_remove(&set->by_name, module->by_name.id);
	reel_id_table_remove(&set->by_id, module->by_id.id);
	free_module(NULL, &module->by_id);
}

struct visit {
	void (*visit)(void *context, struct reel_known_module *module);
	void *context;
};

static void visit_module(void *context, struct reel_id_entry *entry)
{
	const struct visit *visit = context;

	visit->visit(visit->context, (struct reel_known_module *)entry);
}

void reel_module_set_visit(struct reel_module_set *set,
			   void (*visit)(void *context, struct reel_known_module *module),
			   void *context)
{
	struct visit both = { visit, context };

	reel_id_table_visit(&set->by_id, visit_module, &both);
}

static bool starts_with(const char *text, const char *start)
{
	return !strncmp(text, start, strlen(start));
}

enum reel_module_kind reel_module_kind_of_name(const char *name)
{
	static const char *const anonymous[] = {
		"//anon",  "[heap",	"[stack", "[anon:",	    "[anon_shmem:",
		"/memfd:", "/dev/zero", "/SYSV",  "/anon_hugepage", "/dev/shm/",
	};

	if (!strcmp(name, "[vdso]"))
		return REEL_MODULE_VDSO;
	for (size_t i = 0; i < sizeof(anonymous) / sizeof(*anonymous); i++) {
		if (starts_with(name, anonymous[i]))
			return REEL_MODULE_ANONYMOUS;
	}
	return name[0] == '/' ? REEL_MODULE_FILE : REEL_MODULE_SPECIAL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Which mappings share a module: a copied build-id must not name another module's frames. */
#include "include/commands.h"
#include "format/timeline/module_set.h"
#include "tests/support/test.h"

static struct reel_module_set *set;

static struct reel_record_module module_of(const char *path, const char *build_id, uint64_t inode,
					   uint64_t generation)
{
	return (struct reel_record_module){
		.kind = REEL_MODULE_FILE,
		.device_major = inode ? 8 : 0,
		.inode = inode,
		.inode_generation = generation,
		.build_id = reel_bytes_of_string(build_id),
		.path = reel_bytes_of_string(path),
	};
}

static struct reel_known_module *add(const char *path, const char *build_id, uint64_t inode,
				     uint64_t generation)
{
	struct reel_record_module identity = module_of(path, build_id, inode, generation);
	struct reel_known_module *module = NULL;

	assert_null(reel_module_set_add(set, &identity, &module));
	assert_ptr_equal(reel_module_set_find(set, module->record.id), module);
	assert_int_equal(module->record.path.size, identity.path.size);
	assert_memory_equal(module->record.path.data, path, identity.path.size);
	return module;
}

static int setup(void **state)
{
	return reel_module_set_create(&set) != NULL;
}

static int teardown(void **state)
{
	reel_module_set_destroy(set);
	return 0;
}

/* A memfd whose build-id is known is a file, however it is reported: one module. */
TEST_WITH(test_memory_with_build_id, setup, teardown)
{
	struct reel_record_module identity = module_of("/memfd:jit (deleted)", "0123", 7, 0);
	struct reel_known_module *file, *memory, *plain;

	assert_null(reel_module_set_add(set, &identity, &file));
	identity.kind = REEL_MODULE_ANONYMOUS;
	assert_null(reel_module_set_add(set, &identity, &memory));
	assert_ptr_equal(memory, file);
	assert_int_equal(memory->record.kind, REEL_MODULE_FILE);
	identity.build_id.size = 0;
	identity.path = reel_bytes_of_string("//anon");
	assert_null(reel_module_set_add(set, &identity, &plain));
	assert_int_equal(plain->record.kind, REEL_MODULE_ANONYMOUS);
	/* As written by a linker that makes no build-ids. */
	identity.path = reel_bytes_of_string("/memfd:program (deleted)");
	identity.inode = 9;
	identity.file_digest = reel_bytes_of_string("0123456789abcdef");
	assert_null(reel_module_set_add(set, &identity, &file));
	assert_int_equal(file->record.kind, REEL_MODULE_FILE);
}

/* A copy that an attacker maps first: other code, other names, the same build-id. */
TEST_WITH(test_copied_build_id, setup, teardown)
{
	const struct reel_known_module *copy = add("/home/mallory/libvictim.so", "0123", 0, 0);
	const struct reel_known_module *victim = add("/usr/lib/libvictim.so", "0123", 0, 0);

	assert_ptr_not_equal(copy, victim);
	assert_ptr_equal(add("/usr/lib/libvictim.so", "0123", 0, 0), victim);
	assert_ptr_equal(add("/home/mallory/libvictim.so", "0123", 0, 0), copy);
	/* The same path in another mount namespace. */
	assert_ptr_equal(add("/usr/lib/libvictim.so", "0123", 5, 1), victim);
	assert_ptr_not_equal(add("/usr/lib/libvictim.so", "0123", 6, 1), victim);
}

/* An event has the build-id, /proc the inode: they belong to one module. */
TEST_WITH(test_unknown_file, setup, teardown)
{
	struct reel_known_module *module = add("/lib/a.so", "0123", 0, 0);
	struct reel_known_module *other;

	assert_ptr_equal(add("/lib/a.so", "0123", 10, 0), module);
	assert_int_equal(module->record.inode, 10);
	assert_ptr_equal(add("/lib/a.so", "0123", 10, 77), module);
	assert_int_equal(module->record.inode_generation, 77);
	assert_ptr_equal(add("/lib/a.so", "0123", 10, 0), module);
	assert_ptr_equal(add("/lib/a.so", "0123", 0, 0), module);
	other = add("/lib/a.so", "0123", 11, 0);
	assert_ptr_not_equal(other, module);
	assert_ptr_equal(add("/lib/a.so", "0123", 11, 0), other);
	assert_ptr_equal(add("/lib/a.so", "0123", 0, 0), module);
}

/* With keep_apart, a build-id alone does not identify a file with another file. */
TEST_WITH(test_unknown_file_apart, setup, teardown)
{
	const struct reel_known_module *known, *unknown;

	reel_module_set_keep_apart(set);
	known = add("/lib/a.so", "0123", 10, 0);
	unknown = add("/lib/a.so", "0123", 0, 0);
	assert_ptr_not_equal(unknown, known);
	assert_ptr_equal(add("/lib/a.so", "0123", 0, 0), unknown);
	assert_ptr_equal(add("/lib/a.so", "0123", 10, 7), known);
	assert_ptr_not_equal(add("/lib/a.so", "0123", 11, 0), unknown);
	assert_int_equal(unknown->record.inode, 0);
}

TEST_WITH(test_upgrade_in_place, setup, teardown)
{
	const struct reel_known_module *old = add("/usr/bin/server", "0123", 0, 0);
	const struct reel_known_module *bare = add("/usr/bin/bare", "", 20, 1);

	assert_ptr_not_equal(add("/usr/bin/server", "4567", 0, 0), old);
	assert_ptr_equal(add("/usr/bin/server", "0123", 0, 0), old);
	/* Without a build-id: another inode, or a reused inode number. */
	assert_ptr_not_equal(add("/usr/bin/bare", "", 21, 1), bare);
	assert_ptr_equal(add("/usr/bin/bare", "", 20, 1), bare);
	assert_ptr_equal(add("/usr/bin/bare", "", 20, 0), bare);
	assert_ptr_not_equal(add("/usr/bin/bare", "", 20, 2), bare);
	/* A file without any identity differs from them all. */
	assert_ptr_not_equal(add("/usr/bin/bare", "", 0, 0), bare);
	assert_ptr_equal(add("/usr/bin/bare", "", 0, 0), add("/usr/bin/bare", "", 0, 0));
}

static void count(void *context, struct reel_known_module *module)
{
	size_t *n = context;

	++*n;
	if (module->record.id % 2)
		reel_module_set_remove(set, module);
}

TEST_WITH(test_removal, setup, teardown)
{
	char path[32];
	uint64_t last = 0;
	size_t n = 0;

	for (unsigned i = 0; i < 1000; i++) {
		snprintf(path, sizeof(path), "/memfd:%u", i / 2);
		last = add(path, i % 4 < 2 ? "" : "0123", 100 + i, 1)->record.id;
	}
	assert_int_equal(last, 1000);
	reel_module_set_visit(set, count, &n);
	assert_int_equal(n, 1000);
	n = 0;
	reel_module_set_visit(set, count, &n);
	assert_int_equal(n, 500);
	/* Mapped ones are found, returning ones have new ids. */
	for (unsigned i = 0; i < 1000; i++) {
		snprintf(path, sizeof(path), "/memfd:%u", i / 2);
		last = add(path, i % 4 < 2 ? "" : "0123", 100 + i, 1)->record.id;
		assert_true(i % 2 ? last == i + 1 : last > 1000);
	}
	assert_int_equal(last, 1000);
}

/* Files without a build-id: one that was overwritten in place is a different one. */
TEST(a_digest_tells_files_apart)
{
	struct reel_record_module identity = module_of("/bin/go", "", 7, 1);
	struct reel_module_set *set;
	struct reel_known_module *first, *other, *again, *unknown;

	assert_null(reel_module_set_create(&set));
	identity.file_digest = reel_bytes_of_string("0123456789abcdef");
	assert_null(reel_module_set_add(set, &identity, &first));
	/* If the digest could not be read, the inode decides. */
	identity.file_digest = (struct reel_bytes){ 0 };
	assert_null(reel_module_set_add(set, &identity, &unknown));
	assert_ptr_equal(unknown, first);
	identity.file_digest = reel_bytes_of_string("fedcba9876543210");
	assert_null(reel_module_set_add(set, &identity, &other));
	assert_ptr_not_equal(other, first);
	assert_memory_equal(first->record.file_digest.data, "0123456789abcdef", 16);
	assert_memory_equal(other->record.file_digest.data, "fedcba9876543210", 16);
	assert_null(reel_module_set_add(set, &identity, &again));
	assert_ptr_equal(again, other);
	reel_module_set_destroy(set);
}

RUN_TESTS()

/* SPDX-License-Identifier: Apache-2.0 */
/* When cgroups are written, and when the names of their containers are looked for. */
#include "record/processes/cgroup_table.h"
#include "tests/support/test.h"

#define ID "3f4e5d6c7b8a99887766554433221100ffeeddccbbaa00112233445566778899"

static char written[512];

static struct reel_error *put(void *context, const struct reel_record *record)
{
	size_t end = strlen(written);

	(void)context;
	assert_int_equal(record->id, REEL_RECORD_CGROUP);
	snprintf(written + end, sizeof(written) - end, "%d:%.*s:%.*s ", (int)record->cgroup.id,
		 (int)record->cgroup.path.size, (const char *)record->cgroup.path.data,
		 (int)record->cgroup.container_name.size,
		 record->cgroup.container_name.size
			 ? (const char *)record->cgroup.container_name.data
			 : "");
	return NULL;
}

static const struct reel_record_sink sink = { .put = put };

static void expect(const char *expected)
{
	assert_string_equal(written, expected);
	*written = '\0';
}

/* A report of the kernel's, of a cgroup below the root. */
static void add(struct reel_cgroup_table *table, uint64_t id, const char *name)
{
	struct {
		struct reel_bpf_cgroup head;
		char names[80];
	} report = { .head = { .id = id, .size = (uint32_t)strlen(name) + 1, .is_whole = 1 } };

	strcpy(report.names, name);
	assert_null(reel_cgroup_table_add(table, &report.head, &sink));
}

static void use(struct reel_cgroup_table *table, uint64_t id, uint64_t expected)
{
	uint64_t found;

	assert_null(reel_cgroup_table_write(table, id, &sink, &found));
	assert_int_equal(found, expected);
}

TEST(names_follow_paths)
{
	const struct reel_container_names web = { .container = "web" };
	struct reel_cgroup_table table = { 0 };

	/* Samples may come before the path. */
	use(&table, 70, 1);
	assert_null(reel_cgroup_table_unnamed(&table, 70));
	expect("");
	add(&table, 70, ID);
	expect("1:/" ID ": ");
	assert_string_equal(reel_cgroup_table_unnamed(&table, 70), ID);
	assert_null(reel_cgroup_table_name(&table, 70, NULL, &sink));
	/* Not at once again. */
	assert_null(reel_cgroup_table_unnamed(&table, 70));
	expect("");
	assert_null(reel_cgroup_table_name(&table, 70, &web, &sink));
	expect("1:/" ID ":web ");
	assert_int_equal(table.n_unnamed, 0);
	assert_null(reel_cgroup_table_unnamed(&table, 70));
	use(&table, 70, 1);
	expect("");
	/* Another file has it with its name, once it is used there. */
	reel_cgroup_table_restart(&table);
	expect("");
	use(&table, 70, 1);
	expect("1:/" ID ":web ");
	/* A name that is known before the first use */
	add(&table, 71, "libpod-" ID ".scope");
	assert_null(reel_cgroup_table_name(&table, 71, &web, &sink));
	expect("");
	use(&table, 71, 2);
	expect("2:/libpod-" ID ".scope:web ");
	reel_cgroup_table_free(&table);
}

TEST(unknown_names_are_given_up)
{
	struct reel_cgroup_table table = { 0 };

	add(&table, 70, "docker-" ID ".scope");
	add(&table, 71, "nginx.service");
	add(&table, 72, "lxc.payload.web");
	assert_int_equal(table.n_unnamed, 1);
	assert_null(reel_cgroup_table_unnamed(&table, 71));
	assert_null(reel_cgroup_table_unnamed(&table, 72));
	assert_null(reel_cgroup_table_unnamed(&table, 73));
	for (int i = 0; i < 8; i++) {
		assert_int_equal(table.n_unnamed, 1);
		assert_null(reel_cgroup_table_name(&table, 70, NULL, &sink));
	}
	assert_int_equal(table.n_unnamed, 0);
	assert_null(reel_cgroup_table_unnamed(&table, 70));
	expect("");
	reel_cgroup_table_free(&table);
}

RUN_TESTS()

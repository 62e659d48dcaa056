/* SPDX-License-Identifier: Apache-2.0 */
/* Labels of a sample and of its process's cgroup, in the order of reel_label_keys. */
#include "replay/capture/value_keys.h"
#include "replay/traces/trace_labels.h"
#include "tests/support/test.h"

static const struct reel_cgroup cgroup = {
	.id = 1,
	.path = "/kubepods/podX/Y",
	.container = "Y",
	.container_name = "web",
	.pod = "X",
	.pod_name = "shop-0",
	.namespace = "default",
	.unit = "",
};

/* A hostile or repeated name does not become a key, and one of other data is prefixed. */
TEST(values_have_names)
{
	static const char text[] = "prev_comm,,pid,\x1b[m,prev_comm,unit,more";
	const struct reel_sample_label own[] = {
		{ .key = REEL_LABEL_ARG1,
		  .kind = REEL_LABEL_TEXT,
		  .text = reel_bytes_of_string("sh") },
		{ .key = REEL_LABEL_ARG1 + 1, .kind = REEL_LABEL_UNSIGNED, .number = 2 },
		{ .key = REEL_LABEL_ARG1 + 2, .kind = REEL_LABEL_UNSIGNED, .number = 3 },
		{ .key = REEL_LABEL_ARG1 + 3, .kind = REEL_LABEL_UNSIGNED, .number = 4 },
		{ .key = REEL_LABEL_ARG1 + 4, .kind = REEL_LABEL_UNSIGNED, .number = 5 },
		{ .key = REEL_LABEL_ARG6, .kind = REEL_LABEL_UNSIGNED, .number = 6 },
		{ .key = REEL_LABEL_TRACE,
		  .kind = REEL_LABEL_TEXT,
		  .text = reel_bytes_of_string("a") },
	};
	static const char *const keys[] = { "prev_comm", "arg2",     "arg-pid", "arg4",
					    "arg5",	 "arg-unit", "trace" };
	const struct reel_sample sample = { .labels = own, .n_labels = 7 };
	struct reel_texts *texts = reel_texts_create();
	struct reel_value_keys values = { 0 };
	struct reel_trace_labels labels = { 0 };
	struct reel_trace trace = { 0 };

	assert_null(reel_value_keys_make(texts, reel_bytes_of_string(text), &values));
	assert_null(reel_trace_labels_make(&labels, &sample, values.keys, NULL, &trace));
	assert_int_equal(trace.n_labels, 7);
	for (size_t i = 0; i < 7; i++)
		assert_string_equal(trace.labels[i].key, keys[i]);
	assert_ptr_equal(reel_trace_label(&trace, "arg1"), &trace.labels[0]);
	assert_ptr_equal(reel_trace_label(&trace, "prev_comm"), &trace.labels[0]);
	assert_null(reel_trace_label(&trace, "pid"));
	reel_trace_labels_free(&labels);
	reel_texts_destroy(texts);
}

static void expect(const struct reel_sample *sample, const struct reel_cgroup *of,
		   const char *expected)
{
	struct reel_trace_labels labels = { 0 };
	struct reel_trace trace = { 0 };
	char found[512] = "";
	const char *const *key = reel_label_keys();

	/* The second time, memory is reused. */
	for (int i = 0; i < 2; i++)
		assert_null(reel_trace_labels_make(&labels, sample, NULL, of, &trace));
	for (size_t i = 0; i < trace.n_labels; i++) {
		const struct reel_label *label = &trace.labels[i];

		while (*key && strcmp(*key, label->key) != 0)
			key++;
		assert_non_null(*key);
		snprintf(found + strlen(found), sizeof(found) - strlen(found), "%s=%s ", label->key,
			 label->text);
	}
	assert_string_equal(found, expected);
	reel_trace_labels_free(&labels);
}

TEST(both_sources)
{
	const struct reel_sample_label own[] = {
		{ .key = REEL_LABEL_LOCK, .kind = REEL_LABEL_ADDRESS, .number = 0x7f10 },
		{ .key = REEL_LABEL_LOCK_OWNER, .kind = REEL_LABEL_UNSIGNED, .number = 7 },
		{ .key = REEL_LABEL_KEY_MAX, .kind = REEL_LABEL_UNSIGNED, .number = 7 },
	};
	struct reel_sample sample = { .labels = own };

	expect(&sample, NULL, "");
	expect(&sample, &cgroup,
	       "cgroup=/kubepods/podX/Y container=Y container-name=web pod=X pod-name=shop-0 "
	       "namespace=default ");
	sample.n_labels = 1;
	expect(&sample, NULL, "lock=0x7f10 ");
	sample.n_labels = 3;
	expect(&sample, &cgroup,
	       "lock=0x7f10 lock-owner=7 cgroup=/kubepods/podX/Y container=Y container-name=web "
	       "pod=X pod-name=shop-0 namespace=default ");
}

RUN_TESTS()

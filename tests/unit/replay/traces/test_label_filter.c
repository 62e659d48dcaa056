/* SPDX-License-Identifier: Apache-2.0 */
/* Which traces pass a filter of labels. */
#include "replay/traces/sample_filter.h"
#include "tests/support/test.h"

static const struct reel_label labels[] = {
	{ "cgroup", REEL_LABEL_TEXT, 0, "/system.slice/web.service" },
	{ "container", REEL_LABEL_TEXT, 0, "0123456789abcdef" },
	{ "arg1", REEL_LABEL_UNSIGNED, 4096, "4096" },
	{ "arg2", REEL_LABEL_SIGNED, (uint64_t)-5, "-5" },
	{ "lock", REEL_LABEL_ADDRESS, 0x7f10, "0x7f10" },
	{ "container-name", REEL_LABEL_TEXT, 0, "web" },
};
static const struct reel_trace trace = { .labels = labels, .n_labels = 6 };

static bool passes(const char *key, const char *value, enum reel_match_kind kind)
{
	const struct reel_label_match match = { key, value, kind };

	return reel_label_match_passes(&match, &trace);
}

TEST(values_are_texts_or_numbers)
{
	assert_true(passes("arg1", "4096", REEL_MATCH_VALUE));
	assert_true(passes("arg1", "0x1000", REEL_MATCH_VALUE));
	assert_false(passes("arg1", "4097", REEL_MATCH_VALUE));
	assert_false(passes("arg1", "4096 ", REEL_MATCH_VALUE));
	assert_false(passes("arg1", "18446744073709555712", REEL_MATCH_VALUE)); /* 2^64 + 4096 */
	assert_true(passes("arg2", "-5", REEL_MATCH_VALUE));
	assert_false(passes("arg2", "5", REEL_MATCH_VALUE));
	assert_false(passes("arg1", "-18446744073709547520", REEL_MATCH_VALUE)); /* 4096 mod 2^64 */
	assert_true(passes("lock", "32528", REEL_MATCH_VALUE));
	assert_true(passes("lock", "0x07F10", REEL_MATCH_VALUE));
	assert_false(passes("lock", "7f10", REEL_MATCH_VALUE));
	assert_false(passes("container", "01234567", REEL_MATCH_VALUE));
}

TEST(prefixes_and_paths)
{
	assert_true(passes("container", "01234567", REEL_MATCH_PREFIX));
	assert_false(passes("container", "0123456789abcdef0", REEL_MATCH_PREFIX));
	assert_true(passes("cgroup", "/system.slice", REEL_MATCH_BELOW));
	assert_true(passes("cgroup", "system.slice/", REEL_MATCH_BELOW));
	assert_true(passes("cgroup", "/system.slice/web.service", REEL_MATCH_BELOW));
	assert_true(passes("cgroup", "/", REEL_MATCH_BELOW));
	assert_false(passes("cgroup", "/system.slice/web", REEL_MATCH_BELOW));
	assert_false(passes("cgroup", "/system.slice/web.service/x", REEL_MATCH_BELOW));
}

TEST(ids_and_names)
{
	assert_true(passes("container", "web", REEL_MATCH_ID));
	assert_true(passes("container", "0123456789abcdef", REEL_MATCH_ID));
	assert_true(passes("container", "01234567", REEL_MATCH_ID));
	assert_false(passes("container", "0123456", REEL_MATCH_ID));
	assert_false(passes("container", "0123456789abcdef0", REEL_MATCH_ID));
	assert_false(passes("container", "we", REEL_MATCH_ID));
	/* Names have no abbreviation, and other labels no name. */
	assert_false(passes("cgroup", "/system.slice/we", REEL_MATCH_ID));
	assert_false(passes("pod", "web", REEL_MATCH_ID));
	assert_false(passes("lock", "web", REEL_MATCH_ID));
}

TEST(no_value_selects_what_has_no_label)
{
	assert_true(passes("pod", "", REEL_MATCH_VALUE));
	assert_false(passes("container", "", REEL_MATCH_VALUE));
	assert_false(passes("pod", "x", REEL_MATCH_VALUE));
}

TEST(keys_must_all_match)
{
	const struct reel_label_match given[] = {
		{ "container", "other", REEL_MATCH_VALUE },
		{ "arg1", "4096", REEL_MATCH_VALUE },
		{ "container", "0123", REEL_MATCH_PREFIX },
		{ "arg2", "6", REEL_MATCH_VALUE },
	};
	static const bool expected[] = { true, false, false, true, false };
	struct reel_walk_options from = { .filter = { .labels = given } };
	size_t *n = &from.filter.n_labels;
	struct reel_sample_filter filter;

	for (*n = 0; *n <= 4; ++*n) {
		assert_null(reel_sample_filter_copy(&from, &filter));
		assert_ptr_not_equal(filter.lists.filter.labels, given);
		if (*n)
			assert_ptr_not_equal(filter.lists.filter.labels[0].value, given[0].value);
		assert_int_equal(reel_sample_filter_passes(&filter, &trace), expected[*n]);
		reel_sample_filter_free(&filter);
	}
}

/* A label under any other name could not be selected. */
TEST(all_keys_are_listed)
{
	struct reel_trace_labels made = { 0 };
	size_t n = 0;

	for (uint64_t key = 0; key <= REEL_LABEL_KEY_MAX; key++) {
		const struct reel_sample_label label = { .key = key, .kind = REEL_LABEL_UNSIGNED };
		const struct reel_sample sample = { .labels = &label, .n_labels = 1 };
		const char *const *keys = reel_label_keys();
		struct reel_trace with = { 0 };

		assert_null(reel_trace_labels_make(&made, &sample, NULL, NULL, &with));
		if (!with.n_labels)
			continue;
		while (*keys && strcmp(*keys, with.labels[0].key) != 0)
			keys++;
		assert_non_null(*keys);
		n++;
	}
	assert_true(n >= 2);
	reel_trace_labels_free(&made);
}

RUN_TESTS()

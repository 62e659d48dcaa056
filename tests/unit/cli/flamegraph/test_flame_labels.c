/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of labels: each sample's labels stay, and limits count what they join. */
#include "cli/flamegraph/flame_labels.h"
#include "tests/support/test.h"

static uint32_t add(struct flame_labels *labels, const char *lock, const char *container,
		    const char *waker_sample)
{
	struct reel_label all[3];
	struct reel_trace trace = { .labels = all };

	if (lock)
		all[trace.n_labels++] = (struct reel_label){ .key = "lock", .text = lock };
	if (waker_sample)
		all[trace.n_labels++] =
			(struct reel_label){ .key = "waker-sample", .text = waker_sample };
	if (container)
		all[trace.n_labels++] =
			(struct reel_label){ .key = "container", .text = container };
	return flame_labels_add(labels, &trace);
}

/* "lock=a container=b" */
static const char *text_of(const struct flame_labels *labels, uint32_t set)
{
	static char text[200];
	size_t size = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < labels->sets[set].n; i++) {
		const struct flame_label_value *value =
			&labels->values[labels->members[labels->sets[set].first + i]];

		size += (size_t)snprintf(text + size, sizeof(text) - size, "%s%s=%s", i ? " " : "",
					 value->key, value->text);
	}
	return text;
}

TEST(test_equal_labels_share_a_set)
{
	struct flame_labels labels;
	uint32_t both;

	flame_labels_init(&labels);
	assert_int_equal(add(&labels, NULL, NULL, NULL), 0);
	both = add(&labels, "a", "b", "1");
	assert_string_equal(text_of(&labels, both), "lock=a container=b");
	assert_int_equal(add(&labels, "a", "b", "2"), both);
	assert_int_equal(labels.sets[both].samples, 2);
	assert_int_not_equal(add(&labels, "b", NULL, NULL), add(&labels, NULL, "b", NULL));
	assert_int_equal(add(&labels, NULL, NULL, "3"), 0);
	flame_labels_free(&labels);
}

TEST(test_limits_join_rare_values)
{
	struct flame_labels labels;
	uint32_t often, rare, also_rare, *mapped;

	flame_labels_init(&labels);
	rare = add(&labels, "a", "x", NULL);
	often = add(&labels, "b", "x", NULL);
	also_rare = add(&labels, "c", "x", NULL);
	add(&labels, "b", "x", NULL);
	assert_null(flame_labels_limit(&labels, 3));
	mapped = flame_labels_limit(&labels, 1);
	assert_non_null(mapped);
	assert_int_equal(mapped[0], 0);
	assert_string_equal(text_of(&labels, mapped[often]), "lock=b container=x");
	assert_string_equal(text_of(&labels, mapped[rare]), "lock=[more values] container=x");
	assert_int_equal(mapped[rare], mapped[also_rare]);
	assert_int_equal(labels.sets[mapped[rare]].samples, 2);
	free(mapped);
	/* The same limit has nothing to do. */
	assert_null(flame_labels_limit(&labels, 1));
	flame_labels_free(&labels);
}

/* Numbers keep their size; 0 and 1 have no range, and a range is not joined again. */
TEST(test_limits_keep_ranges_of_numbers)
{
	static const char *const numbers[][2] = {
		{ "1000", "1000" },
		{ "64", "64 .. 127" },
		{ "127", "64 .. 127" },
		{ "-5", "-7 .. -4" },
		{ "1", "[more values]" },
		{ "8 .. 9", "[more values]" },
		{ "2 .. 3", "2 .. 3" },
		{ "18446744073709551615", "9223372036854775808 .. 18446744073709551615" },
	};
	const size_t n = sizeof(numbers) / sizeof(*numbers);
	uint32_t sets[sizeof(numbers) / sizeof(*numbers)], *mapped;
	struct flame_labels labels;

	flame_labels_init(&labels);
	add(&labels, "1000", NULL, NULL);
	for (size_t i = 0; i < n; i++)
		sets[i] = add(&labels, numbers[i][0], NULL, NULL);
	mapped = flame_labels_limit(&labels, 1);
	assert_non_null(mapped);
	for (size_t i = 0; i < n; i++) {
		char expected[80];

		snprintf(expected, sizeof(expected), "lock=%s", numbers[i][1]);
		assert_string_equal(text_of(&labels, mapped[sets[i]]), expected);
	}
	free(mapped);
	assert_null(flame_labels_limit(&labels, 1));
	flame_labels_free(&labels);
}

TEST(test_memory_is_bounded)
{
	struct flame_labels labels;
	uint64_t samples = 0;

	flame_labels_init(&labels);
	for (int i = 0; i < 200000; i++) {
		char text[16], other[16];

		snprintf(text, sizeof(text), "%d", i % 1000);
		snprintf(other, sizeof(other), "%d", i);
		add(&labels, text, other, NULL);
	}
	assert_true(labels.n_values < 70000);
	assert_true(labels.n_sets < 70000);
	for (uint32_t i = 0; i < labels.n_sets; i++)
		samples += labels.sets[i].samples;
	assert_int_equal(samples, 200000);
	flame_labels_free(&labels);
}

RUN_TESTS()

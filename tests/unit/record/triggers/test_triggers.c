/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions of --trigger as they are written, and the limit of files. tests/record/test-triggers.sh makes them true. */
#include "record/triggers/triggers.h"
#include "tests/support/test.h"

static struct reel_trigger parse(const char *text)
{
	struct reel_trigger trigger;

	assert_null(reel_trigger_parse(text, &trigger));
	return trigger;
}

static void expect_event(const char *text, const char *event, uint64_t more_than, const char *comm)
{
	struct reel_trigger trigger = parse(text);

	assert_int_equal(trigger.kind, REEL_TRIGGER_EVENT);
	assert_string_equal(trigger.event, event);
	assert_int_equal(trigger.more_than, more_than);
	assert_string_equal(trigger.comm ? trigger.comm : "", comm);
	reel_trigger_free(&trigger);
}

TEST(events)
{
	expect_event("off-cpu>2s", "off-cpu", 2000000000, "");
	expect_event("latency:/a:f>100ms", "latency:/a:f", 100000000, "");
	expect_event("uprobe:/a:operator>", "uprobe:/a:operator>", 0, "");
	expect_event("uprobe:/a:f(vector<int>)", "uprobe:/a:f(vector<int>)", 0, "");
	expect_event("latency:/a:operator>>1s", "latency:/a:operator>", 1000000000, "");
	expect_event("off-cpu:a:b>2s", "off-cpu", 2000000000, "a:b");
	expect_event("off-cpu:work-*-of-the-pool>2s", "off-cpu", 2000000000, "work-*-of-the-pool");
	expect_event("oom", "oom:mark_victim", 0, "");
}

TEST(host)
{
	struct reel_trigger trigger = parse("cpu>90%");

	assert_int_equal(trigger.kind, REEL_TRIGGER_CPU);
	assert_int_equal(trigger.more_than, 90);
	assert_int_equal(trigger.time, UINT64_C(10000000000));
	trigger = parse("cpu>5%:1500ms");
	assert_int_equal(trigger.time, 1500000000);
	trigger = parse("psi:memory some 150ms/1s");
	assert_string_equal(trigger.path, "/proc/pressure/memory");
	assert_string_equal(trigger.request, "some 150000 1000000");
	reel_trigger_free(&trigger);
	trigger = parse("file:a b");
	assert_string_equal(trigger.path, "a b");
	reel_trigger_free(&trigger);
}

TEST(invalid)
{
	static const char *const texts[] = {
		"",
		"cpu>",
		"cpu>90",
		"cpu>100%",
		"cpu>90%x",
		"cpu>90%:",
		"cpu>90%:0s",
		"psi:",
		"psi:disk some 1s/2s",
		"psi:io most 1s/2s",
		"psi:io some 1s",
		"psi:io some 1s/2s x",
		"psi:io some 0/2s",
		"psi:memoryx some 1s/2s",
		">1s",
		"off-cpu:>1s",
		"off-cpu:sixteen-bytes-xx>1s",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct reel_trigger trigger;
		struct reel_error *error = reel_trigger_parse(texts[i], &trigger);

		if (!error)
			fail_msg("%s", texts[i]);
		reel_error_destroy(error);
		reel_trigger_free(&trigger);
	}
}

TEST(samples_and_limit)
{
	struct reel_trigger list[] = { parse("uprobe:/a:f"), parse("off-cpu>1s"),
				       parse("off-cpu:work[0-9]>1s") };
	struct reel_triggers *triggers;
	uint64_t time;

	list[0].index = 3;
	list[1].index = list[2].index = 5;
	assert_null(reel_triggers_create(list, 3, &triggers));
	reel_triggers_sample(triggers, 4, 0, 1, "work");
	reel_triggers_sample(triggers, 5, 1000000000, 2, "work");
	reel_triggers_look(triggers);
	assert_null(reel_triggers_next(triggers, &time));
	reel_triggers_sample(triggers, 5, 1000000001, 3, "work");
	reel_triggers_sample(triggers, 3, 0, 4, "work");
	reel_triggers_sample(triggers, 3, 0, 5, "work");
	assert_ptr_equal(reel_triggers_next(triggers, &time), &list[0]);
	assert_int_equal(time, 4);
	assert_ptr_equal(reel_triggers_next(triggers, &time), &list[1]);
	reel_triggers_sample(triggers, 3, 0, 6, "work");
	assert_null(reel_triggers_next(triggers, &time));
	reel_triggers_restart(triggers);
	assert_null(reel_triggers_next(triggers, &time));
	reel_triggers_sample(triggers, 5, 1000000001, 8, "work7");
	assert_ptr_equal(reel_triggers_next(triggers, &time), &list[1]);
	assert_ptr_equal(reel_triggers_next(triggers, &time), &list[2]);
	assert_int_equal(time, 8);
	reel_triggers_sample(triggers, 3, 0, 7, "work");
	assert_ptr_equal(reel_triggers_next(triggers, &time), &list[0]);
	for (unsigned int i = 0; i < REEL_TRIGGER_FILES; i++)
		assert_true(reel_triggers_allow(triggers));
	assert_false(reel_triggers_allow(triggers));
	reel_triggers_destroy(triggers);
	for (size_t i = 0; i < 3; i++)
		reel_trigger_free(&list[i]);
}

RUN_TESTS()

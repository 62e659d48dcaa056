/* SPDX-License-Identifier: Apache-2.0 */
/* Images of a module that replace or change each other. */
#include "format/image_patch.h"
#include "replay/names/module.h"
#include "tests/support/test.h"

struct images {
	struct reel_timeline *timeline;
	struct reel_modules *modules;
};

static int open_images(void **state)
{
	static const struct reel_capture_options options = { .no_host_files = true };
	struct images *images = calloc(1, sizeof(*images));
	const struct reel_record module = {
		.id = REEL_RECORD_MODULE,
		.module = { .id = 1,
			    .kind = REEL_MODULE_FILE,
			    .path = reel_bytes_of_string("/bin/file") },
	};

	assert_non_null(images);
	assert_null(reel_timeline_create(true, &images->timeline));
	assert_null(reel_timeline_add(images->timeline, &module));
	assert_null(reel_timeline_seal(images->timeline));
	assert_null(reel_modules_create(images->timeline, &options, "", NULL, &images->modules));
	*state = images;
	return 0;
}

static int close_images(void **state)
{
	struct images *images = *state;

	reel_modules_destroy(images->modules);
	reel_timeline_destroy(images->timeline);
	free(images);
	return 0;
}

static struct reel_error *add_bytes(struct images *images, struct reel_bytes bytes, uint64_t number,
				    uint64_t base)
{
	return reel_modules_add_image(images->modules,
				      &(struct reel_record_image){ .module = 1,
								   .total_size = bytes.size,
								   .bytes = bytes,
								   .number = number,
								   .base = base });
}

/* Adds `text` as an image, or as a change of `base_text`. */
static void add(struct images *images, const char *text, uint64_t number, const char *base_text,
		uint64_t base)
{
	const struct reel_bytes image = reel_bytes_of_string(text);
	struct reel_buffer patch = { 0 };

	if (!base_text) {
		assert_null(add_bytes(images, image, number, 0));
		return;
	}
	assert_null(reel_image_patch_make(reel_bytes_of_string(base_text), image, &patch));
	assert_null(
		add_bytes(images, (struct reel_bytes){ patch.bytes, patch.size }, number, base));
	reel_buffer_free(&patch);
}

static void compare(void *context, const struct reel_module *module)
{
	const char *text = context;

	assert_null(reel_module_image_need(module->image));
	assert_int_equal(module->image->size, strlen(text));
	assert_memory_equal(module->image->bytes, text, module->image->size);
}

static void expect(struct images *images, char *text)
{
	reel_modules_visit(images->modules, compare, text);
}

TEST_WITH(changes_follow_each_other, open_images, close_images)
{
	struct images *images = *fixture;

	add(images, "one", 0, NULL, 0);
	add(images, "one two", 1, "one", 1);
	expect(images, "one two");
	add(images, "one two three", 2, "one two", 2);
	expect(images, "one two three");
	/* A whole one replaces them. */
	add(images, "four", 3, NULL, 0);
	expect(images, "four");
}

/* Its block was damaged: the later change is of no use, but the first image is. */
TEST_WITH(a_lost_change_is_no_error, open_images, close_images)
{
	struct images *images = *fixture;

	add(images, "one", 0, NULL, 0);
	add(images, "one two three", 2, "one two", 2);
	expect(images, "one");
	/* The next change has an image that exists. */
	add(images, "one four", 3, "one", 1);
	expect(images, "one four");
}

TEST_WITH(a_change_without_an_image_is_ignored, open_images, close_images)
{
	struct images *images = *fixture;

	add(images, "one two", 1, "one", 1);
	add(images, "whole", 2, NULL, 0);
	expect(images, "whole");
}

TEST_WITH(a_wrong_change_is_damage, open_images, close_images)
{
	struct images *images = *fixture;

	add(images, "one", 0, NULL, 0);
	assert_error(add_bytes(images, reel_bytes_of_string("no zstd frame"), 1, 1),
		     REEL_ERROR_CORRUPT);
	expect(images, "one");
}

static void compare_damaged(void *context, const struct reel_module *module)
{
	assert_error(reel_module_image_need(module->image), REEL_ERROR_CORRUPT);
	compare(context, module);
}

/* Only when the image is needed. */
TEST_WITH(damage_within_a_change_leaves_the_image_before_it, open_images, close_images)
{
	struct images *images = *fixture;
	struct reel_buffer patch = { 0 };
	char text[301] = "";

	/* Longer than its change, which therefore waits. */
	for (size_t i = 0; i + 1 < sizeof(text); i++)
		text[i] = (char)('a' + i * i % 26);
	add(images, text, 0, NULL, 0);
	assert_null(reel_image_patch_make(reel_bytes_of_string(text), reel_bytes_of_string(text),
					  &patch));
	patch.bytes[patch.size - 1] ^= 1; /* of its checksum */
	assert_null(add_bytes(images, (struct reel_bytes){ patch.bytes, patch.size }, 1, 1));
	reel_modules_visit(images->modules, compare_damaged, text);
	reel_buffer_free(&patch);
}

static void compare_waiting(void *context, const struct reel_module *module)
{
	const struct reel_module_image *image = module->image;

	assert_true(image->changes_size <= image->newest_size);
	*(bool *)context |= image->changes_size != 0;
}

TEST_WITH(changes_that_wait_are_not_larger_than_the_image, open_images, close_images)
{
	struct images *images = *fixture;
	char text[301] = "";
	bool waited = false;

	for (size_t i = 0; i + 1 < sizeof(text); i++)
		text[i] = (char)('a' + i * i % 26);
	add(images, text, 0, NULL, 0);
	for (uint64_t i = 1; i < 10; i++) {
		char before[sizeof(text)];

		memcpy(before, text, sizeof(text));
		text[sizeof(text) - 2]++;
		add(images, text, i, before, i);
		reel_modules_visit(images->modules, compare_waiting, &waited);
	}
	assert_true(waited);
	expect(images, text);
}

RUN_TESTS()

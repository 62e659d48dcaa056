/* SPDX-License-Identifier: Apache-2.0 */
/* An image as its difference from the previous one. */
#include "format/image_patch.h"
#include "format/record.h"
#include "tests/support/test.h"

#define SIZE 300000

/* Bytes that do not compress. */
static void fill(uint8_t *bytes, size_t size, uint32_t seed)
{
	for (size_t i = 0; i < size; i++) {
		seed = seed * 1664525 + 1013904223;
		bytes[i] = (uint8_t)(seed >> 24);
	}
}

struct images {
	uint8_t base[SIZE], image[SIZE + 500], out[SIZE + 500];
	struct reel_buffer patch;
};

/* The image has 500 bytes more, in the middle of the base's. */
static struct images *images_create(void)
{
	struct images *images = calloc(1, sizeof(*images));

	assert_non_null(images);
	fill(images->base, SIZE, 1);
	memcpy(images->image, images->base, SIZE / 2);
	fill(images->image + SIZE / 2, 500, 2);
	memcpy(images->image + SIZE / 2 + 500, images->base + SIZE / 2, SIZE / 2);
	assert_null(reel_image_patch_make((struct reel_bytes){ images->base, SIZE },
					  (struct reel_bytes){ images->image, SIZE + 500 },
					  &images->patch));
	return images;
}

static void images_free(struct images *images)
{
	reel_buffer_free(&images->patch);
	free(images);
}

TEST(patch_has_only_new_bytes)
{
	struct images *images = images_create();
	const struct reel_bytes patch = { images->patch.bytes, images->patch.size };
	size_t size;

	assert_in_range(patch.size, 500, 1500);
	assert_null(reel_image_patch_size(patch, &size));
	assert_int_equal(size, SIZE + 500);
	assert_null(reel_image_patch_apply((struct reel_bytes){ images->base, SIZE }, patch,
					   images->out, size));
	assert_memory_equal(images->out, images->image, size);
	images_free(images);
}

static void refused(struct reel_error *error)
{
	assert_error(error, REEL_ERROR_CORRUPT);
}

TEST(wrong_patches_are_refused)
{
	struct images *images = images_create();
	const struct reel_bytes patch = { images->patch.bytes, images->patch.size };
	size_t size = SIZE + 500;

	/* Another base of the same size. */
	images->base[SIZE / 4] ^= 1;
	refused(reel_image_patch_apply((struct reel_bytes){ images->base, SIZE }, patch,
				       images->out, size));
	refused(reel_image_patch_apply((struct reel_bytes){ NULL, 0 }, patch, images->out, size));
	refused(reel_image_patch_size((struct reel_bytes){ patch.data, patch.size - 1 }, &size));
	refused(reel_image_patch_size((struct reel_bytes){ (const uint8_t *)"no frame", 8 },
				      &size));
	images_free(images);
}

TEST(size_is_limited)
{
	struct reel_buffer patch = { 0 };
	uint8_t *zeros = calloc(1, REEL_IMAGE_MAX + 1);
	size_t size;

	assert_non_null(zeros);
	assert_null(reel_image_patch_make((struct reel_bytes){ zeros, 100 },
					  (struct reel_bytes){ zeros, REEL_IMAGE_MAX + 1 },
					  &patch));
	refused(reel_image_patch_size((struct reel_bytes){ patch.bytes, patch.size }, &size));
	reel_buffer_free(&patch);
	free(zeros);
}

RUN_TESTS()

/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "format/image_patch.h"
#include "replay/names/module_image.h"

struct reel_module_image *reel_module_image_create(uint8_t *bytes, size_t size, uint64_t number)
{
	struct reel_module_image *image = calloc(1, sizeof(*image));

	if (!image)
		return NULL;
	*image = (struct reel_module_image){
		.bytes = bytes,
		.size = size,
		.number = number,
		.end = &image->changes,
		.newest = number,
		.newest_size = size,
	};
	return image;
}

static void drop_changes(struct reel_module_image *image)
{
	while (image->changes) {
		struct reel_image_change *change = image->changes;

		image->changes = change->next;
		free(change->patch);
		free(change);
	}
	image->end = &image->changes;
	image->changes_size = 0;
}

void reel_module_image_destroy(struct reel_module_image *image)
{
	if (!image)
		return;
	drop_changes(image);
	free(image->bytes);
	free(image);
}

static struct reel_error *apply(struct reel_module_image *image,
				const struct reel_image_change *change)
{
	const struct reel_bytes base = { image->bytes, image->size },
				patch = { change->patch, change->size };
	struct reel_error *error;
	uint8_t *bytes;
	size_t size;

	TRY(reel_image_patch_size(patch, &size));
	bytes = malloc(size + 1);
	if (!bytes)
		return reel_error_no_memory();
	error = reel_image_patch_apply(base, patch, bytes, size);
	if (error) {
		free(bytes);
		return error;
	}
	bytes[size] = 0;
	free(image->bytes);
	image->bytes = bytes;
	image->size = size;
	image->number = change->number;
	return NULL;
}

struct reel_error *reel_module_image_need(struct reel_module_image *image)
{
	struct reel_error *error = NULL;

	/* After a damaged one, later ones change another image. */
	for (const struct reel_image_change *it = image->changes;
	     it && !error && it->base == image->number + 1; it = it->next)
		error = apply(image, it);
	drop_changes(image);
	return error;
}

struct reel_error *reel_module_image_add(struct reel_module_image *image,
					 const struct reel_image_change *change, size_t size)
{
	struct reel_image_change *copy = malloc(sizeof(*copy));

	if (!copy)
		return reel_error_no_memory();
	*copy = *change;
	copy->next = NULL;
	*image->end = copy;
	image->end = &copy->next;
	image->changes_size += sizeof(*copy) + copy->size;
	image->newest = copy->number;
	image->newest_size = size;
	return NULL;
}

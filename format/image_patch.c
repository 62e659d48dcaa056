/* SPDX-License-Identifier: Apache-2.0 */
#include <zstd.h>

#include "format/image_patch.h"
#include "format/record.h"

#define LEVEL 3
/* Without a base, in memory only. */
#define LEVEL_ALONE 1
/* Covers an image and its base, of REEL_IMAGE_MAX each. */
#define WINDOW_LOG_MAX 25

static struct reel_error *unusable(const char *why)
{
	return reel_error_create(REEL_ERROR_CORRUPT, "image as a difference: %s", why);
}

/* The prefix must be within the window of the last byte. */
static int window_log(size_t size)
{
	int log = 17;

	while (log < WINDOW_LOG_MAX && (size_t)1 << log < size)
		log++;
	return log;
}

struct reel_error *reel_image_patch_make(struct reel_bytes base, struct reel_bytes image,
					 struct reel_buffer *ret)
{
	size_t bound = ZSTD_compressBound(image.size), size;
	uint8_t *room = reel_buffer_reserve(ret, bound);
	ZSTD_CCtx *zstd = room ? ZSTD_createCCtx() : NULL;

	if (!zstd)
		return reel_error_no_memory();
	ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, base.size ? LEVEL : LEVEL_ALONE);
	if (base.size) {
		ZSTD_CCtx_setParameter(zstd, ZSTD_c_windowLog, window_log(base.size + image.size));
		ZSTD_CCtx_setParameter(zstd, ZSTD_c_enableLongDistanceMatching, 1);
	}
	ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
	size = ZSTD_CCtx_refPrefix(zstd, base.data, base.size);
	if (!ZSTD_isError(size))
		size = ZSTD_compress2(zstd, room, bound, image.data, image.size);
	ZSTD_freeCCtx(zstd);
	if (ZSTD_isError(size))
		return reel_error_create(REEL_ERROR_NO_MEMORY, "zstd: %s", ZSTD_getErrorName(size));
	ret->size += size;
	return NULL;
}

struct reel_error *reel_image_patch_size(struct reel_bytes patch, size_t *ret)
{
	unsigned long long size = ZSTD_getFrameContentSize(patch.data, patch.size);

	if (size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR ||
	    ZSTD_findFrameCompressedSize(patch.data, patch.size) != patch.size)
		return unusable("not a single zstd frame with its size");
	if (size > REEL_IMAGE_MAX)
		return unusable("larger than 16 MiB");
	*ret = (size_t)size;
	return NULL;
}

struct reel_error *reel_image_patch_apply(struct reel_bytes base, struct reel_bytes patch,
					  uint8_t *ret, size_t size)
{
	ZSTD_DCtx *zstd = ZSTD_createDCtx();
	size_t done;

	if (!zstd)
		return reel_error_no_memory();
	ZSTD_DCtx_setParameter(zstd, ZSTD_d_windowLogMax, WINDOW_LOG_MAX);
	done = ZSTD_DCtx_refPrefix(zstd, base.data, base.size);
	if (!ZSTD_isError(done))
		done = ZSTD_decompressDCtx(zstd, ret, size, patch.data, patch.size);
	ZSTD_freeDCtx(zstd);
	if (ZSTD_isError(done))
		return unusable(ZSTD_getErrorName(done));
	return done == size ? NULL : unusable("shorter than its frame states");
}

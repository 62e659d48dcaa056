/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A capture that is still being written.  Each block can be read separately (SPEC.md, section 2):
 * of sample blocks, only the newest are kept, so that the repeatedly read data stays small.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/quantity.h"
#include "format/block.h"
#include "format/source.h"
#include "include/commands.h"
#include "replay/capture/live_side.h"

#define READ_SIZE (256u << 10)
#define COPY_SIZE (256u << 10)
/* Limit of sample bytes: enough to see what happens. */
#define SAMPLES_MAX (64u << 20)

/* Side records of processes that have ended are removed at this size, and whenever the others have
 * grown by as much again. */
#define SIDE_SIZE (1u << 20)
/* Samples may arrive this late: they wait until a thread that slept runs again. */
#define LATE (2000 * REEL_NS_PER_MS)

typedef unsigned long long ull;

/* A block of samples. */
struct live_block {
	uint8_t *bytes;
	size_t size;
	uint64_t number;
	uint64_t came; /* ns, CLOCK_MONOTONIC */
	struct live_block *next;
};

struct reel_live {
	int fd;
	struct reel_file_header header;
	bool has_header;
	uint64_t offset;	    /* in the stream, of the next bytes */
	struct reel_buffer pending; /* bytes read; `used` bytes are done */
	size_t used;
	/* The file header, and all blocks without samples. */
	struct reel_source kept;
	uint32_t n_kept;
	uint64_t compact_size; /* compact `kept` when it has this size */
	struct live_block *first, *last;
	size_t samples_size;
	uint64_t n_samples; /* blocks that arrived */
	bool ended;
};

struct reel_error *reel_live_create(int fd, struct reel_live **ret)
{
	struct reel_live *live = calloc(1, sizeof(*live));
	struct reel_error *error;

	if (!live)
		return reel_error_no_memory();
	live->fd = fd;
	live->compact_size = SIDE_SIZE;
	error = reel_source_create(&live->kept);
	if (error) {
		free(live);
		return error;
	}
	*ret = live;
	return NULL;
}

static void drop_first(struct reel_live *live)
{
	struct live_block *block = live->first;

	live->first = block->next;
	if (!live->first)
		live->last = NULL;
	live->samples_size -= block->size;
	free(block->bytes);
	free(block);
}

void reel_live_destroy(struct reel_live *live)
{
	if (!live)
		return;
	while (live->first)
		drop_first(live);
	reel_buffer_free(&live->pending);
	reel_source_close(&live->kept);
	free(live);
}

/* ---- reading ------------------------------------------------------------------------------ */

static struct reel_error *keep_samples(struct reel_live *live, const uint8_t *bytes, size_t size)
{
	struct live_block *block = calloc(1, sizeof(*block));

	if (!block)
		return reel_error_no_memory();
	block->bytes = malloc(size);
	if (!block->bytes) {
		free(block);
		return reel_error_no_memory();
	}
	memcpy(block->bytes, bytes, size);
	block->size = size;
	block->number = live->n_samples++;
	block->came = reel_now();
	if (live->last)
		live->last->next = block;
	else
		live->first = block;
	live->last = block;
	live->samples_size += size;
	while (live->samples_size > SAMPLES_MAX && live->first != live->last)
		drop_first(live);
	return NULL;
}

/* Renumbers blocks, since some will be omitted; encrypted blocks depend on their number. */
static void number(const struct reel_live *live, uint8_t *bytes, uint32_t sequence)
{
	struct reel_block_header header;

	if (live->header.features & REEL_FEATURE_ENCRYPTED ||
	    !reel_block_header_load(bytes, live->header.id, &header))
		return;
	header.sequence = sequence;
	reel_block_header_store(&header, live->header.id, bytes);
}

static struct reel_error *read_header(struct reel_live *live, const uint8_t *bytes, size_t left,
				      size_t *size_ret)
{
	if (left < REEL_FILE_HEADER_SIZE)
		return NULL;
	*size_ret = REEL_FILE_HEADER_SIZE;
	TRY(reel_file_header_load(bytes, left, &live->header));
	TRY(reel_source_append(&live->kept, bytes, REEL_FILE_HEADER_SIZE));
	live->has_header = true;
	return NULL;
}

static bool is_trailer(const struct reel_live *live, const uint8_t *bytes, size_t left)
{
	uint64_t index_offset;

	return left >= REEL_TRAILER_SIZE &&
	       reel_trailer_load(bytes, live->header.id, &index_offset);
}

/* The size of a block if it is complete; else 0. */
static struct reel_error *read_block(struct reel_live *live, uint8_t *bytes, size_t left,
				     size_t *size_ret)
{
	struct reel_block_header header;
	size_t size;

	if (is_trailer(live, bytes, left)) {
		live->ended = true;
		return NULL;
	}
	if (left < REEL_BLOCK_HEADER_SIZE)
		return NULL;
	if (!reel_block_header_load(bytes, live->header.id, &header))
		return reel_error_create(REEL_ERROR_CORRUPT,
					 "damaged stream: no block at offset %llu",
					 (ull)live->offset);
	size = REEL_BLOCK_HEADER_SIZE + header.stored_size;
	if (left < size)
		return NULL;
	*size_ret = size;
	if (header.type == REEL_BLOCK_SAMPLES)
		return keep_samples(live, bytes, size);
	if (header.type == REEL_BLOCK_INDEX)
		return NULL;
	number(live, bytes, live->n_kept++);
	return reel_source_append(&live->kept, bytes, size);
}

static struct reel_error *read_frames(struct reel_live *live)
{
	while (!live->ended) {
		uint8_t *bytes = live->pending.bytes + live->used;
		size_t left = live->pending.size - live->used, size = 0;
		struct reel_error *error = live->has_header ? read_block(live, bytes, left, &size)
							    : read_header(live, bytes, left, &size);

		if (error || !size)
			return error;
		live->used += size;
		live->offset += size;
	}
	return NULL;
}

/* Called once for all frames read, not for each. */
static void drop_used(struct reel_live *live)
{
	struct reel_buffer *pending = &live->pending;

	memmove(pending->bytes, pending->bytes + live->used, pending->size - live->used);
	pending->size -= live->used;
	live->used = 0;
}

struct reel_error *reel_live_read(struct reel_live *live, bool *ended_ret)
{
	uint8_t *room = reel_buffer_reserve(&live->pending, READ_SIZE);
	struct reel_error *error;
	ssize_t size;

	*ended_ret = false;
	if (!room)
		return reel_error_no_memory();
	do {
		size = read(live->fd, room, READ_SIZE);
	} while (size < 0 && errno == EINTR);
	if (size < 0 && errno == EAGAIN)
		return NULL;
	if (size < 0)
		return reel_error_create(REEL_ERROR_OS, "reading the stream: %s", strerror(errno));
	live->pending.size += (size_t)size;
	error = read_frames(live);
	drop_used(live);
	if (!error && !size && !live->has_header)
		error = reel_error_create(REEL_ERROR_TRUNCATED,
					  "the stream ended before a capture had begun");
	else if (!error && !size && !live->ended && live->pending.size)
		error = reel_error_create(REEL_ERROR_TRUNCATED,
					  "the stream ends within the block at offset %llu",
					  (ull)live->offset);
	*ended_ret = live->ended || !size;
	return error;
}

/* ---- the capture so far ------------------------------------------------------------------- */

static struct reel_error *copy(const struct reel_source *from, struct reel_source *to)
{
	_cleanup_buffer_ struct reel_buffer buffer = { 0 };
	uint8_t *bytes = reel_buffer_reserve(&buffer, COPY_SIZE);

	if (!bytes)
		return reel_error_no_memory();
	for (uint64_t at = 0; at < from->size;) {
		size_t size = from->size - at < COPY_SIZE ? (size_t)(from->size - at) : COPY_SIZE;

		TRY(reel_source_read(from, at, bytes, size));
		TRY(reel_source_append(to, bytes, size));
		at += size;
	}
	return NULL;
}

/* The first of the blocks from that number on. */
static struct live_block *first_from(const struct reel_live *live, uint64_t number)
{
	struct live_block *block = live->first;

	while (block && block->number < number)
		block = block->next;
	return block;
}

/* Skips the oldest blocks until the others fit max_size, or one remains. */
static struct live_block *fit_blocks(struct live_block *block, uint64_t max_size,
				     struct reel_live_part *part)
{
	for (struct live_block *each = block; each; each = each->next)
		part->size += each->size;
	for (; block && block->next && part->size > max_size; block = block->next) {
		part->size -= block->size;
		part->skipped_size += block->size;
	}
	return block;
}

static void drop_older(struct reel_live *live, uint64_t window)
{
	uint64_t now = reel_now(), from = now > window ? now - window : 0;

	while (live->first && live->first->came < from)
		drop_first(live);
}

/* Ended processes are many on a host that compiles, and each capture has all side records. */
static struct reel_error *compact(struct reel_live *live)
{
	uint64_t from = UINT64_MAX;
	uint32_t n;

	if (live->kept.size < live->compact_size || !live->first)
		return NULL;
	for (const struct live_block *block = live->first; block; block = block->next) {
		struct reel_block_header header;

		if (reel_block_header_load(block->bytes, live->header.id, &header) &&
		    header.time_first < from)
			from = header.time_first;
	}
	TRY(reel_live_side_compact(&live->kept, from > LATE ? from - LATE : 0, &n));
	live->n_kept = n ? n : live->n_kept;
	live->compact_size = 2 * live->kept.size + SIDE_SIZE;
	return NULL;
}

bool reel_live_has_begun(const struct reel_live *live)
{
	/* The first block of an encrypted capture has its keys. */
	return live->n_kept > !!(live->header.features & REEL_FEATURE_ENCRYPTED);
}

uint64_t reel_live_next_block(const struct reel_live *live)
{
	return live->n_samples;
}

struct reel_error *reel_live_capture(struct reel_live *live, uint64_t window, uint64_t from,
				     uint64_t max_size, struct reel_live_part *ret)
{
	struct live_block *block;
	struct reel_source capture;
	struct reel_error *error;
	uint32_t sequence;

	drop_older(live, window);
	TRY(compact(live));
	sequence = live->n_kept;
	*ret = (struct reel_live_part){ .fd = -1, .next_block = live->n_samples };
	block = fit_blocks(first_from(live, from), max_size, ret);
	TRY(reel_source_create(&capture));
	error = copy(&live->kept, &capture);
	for (; !error && block; block = block->next) {
		number(live, block->bytes, sequence++);
		error = reel_source_append(&capture, block->bytes, block->size);
	}
	if (!error) {
		ret->fd = fcntl(capture.fd, F_DUPFD_CLOEXEC, 0);
		if (ret->fd < 0)
			error = reel_error_create(REEL_ERROR_OS, "dup: %s", strerror(errno));
	}
	reel_source_close(&capture);
	return error;
}

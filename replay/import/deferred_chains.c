/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/array.h"
#include "replay/import/deferred_chains.h"

/* Long system calls are sampled often, and all their samples share a chain.  But each sample also
 * takes words in the file. */
#define WORDS_A_BYTE 4
#define WORDS_FREE   (1u << 20)

void reel_deferred_chains_free(struct deferred_chains *chains)
{
	free(chains->list);
	free(chains->buffer);
}

/* cookie, nr, ips[nr] */
static bool read_words(struct perf_cursor *cursor, uint64_t *cookie_ret, struct perf_words *ret)
{
	*cookie_ret = perf_cursor_u64(cursor);
	ret->count = perf_cursor_u64(cursor);
	ret->bytes =
		perf_cursor_take(cursor, ret->count > UINT64_MAX / 8 ? UINT64_MAX : 8 * ret->count);
	return !cursor->bytes.failed;
}

struct reel_error *reel_deferred_chains_add(struct deferred_chains *chains,
					    const struct perf_event *event,
					    struct perf_cursor payload, uint64_t time,
					    struct perf_position position, bool *ok_ret)
{
	struct perf_sample_id id = { .tid = UINT32_MAX };
	struct perf_words words;
	uint64_t cookie;

	if (event)
		reel_perf_sample_id_decode(event, payload, &id);
	*ok_ret = read_words(&payload, &cookie, &words);
	if (!*ok_ret)
		return NULL;
	return REEL_APPEND(chains->list, chains->n, chains->capacity,
			   (struct deferred_chain){ cookie, time, id.tid, position });
}

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_chains(const void *a, const void *b)
{
	const struct deferred_chain *x = a, *y = b;
	int order = compare(x->tid, y->tid);

	if (!order)
		order = compare(x->cookie, y->cookie);
	if (!order)
		order = compare(x->time, y->time);
	return order ? order : compare(x->position.order, y->position.order);
}

void reel_deferred_chains_seal(struct deferred_chains *chains, uint64_t file_size)
{
	chains->words_left = WORDS_FREE + WORDS_A_BYTE * file_size;
	if (chains->n)
		qsort(chains->list, chains->n, sizeof(*chains->list), compare_chains);
}

/* The thread's first chain with that cookie from `time` on: cookies are reused in the long run. */
static const struct deferred_chain *find(const struct deferred_chains *chains, uint32_t tid,
					 uint64_t cookie, uint64_t time)
{
	const struct deferred_chain key = { .tid = tid, .cookie = cookie, .time = time };
	size_t low = REEL_PARTITION_POINT(chains->n, i, compare_chains(&chains->list[i], &key) < 0);

	return low < chains->n && chains->list[low].tid == tid && chains->list[low].cookie == cookie
		       ? &chains->list[low]
		       : NULL;
}

static struct reel_error *load(struct deferred_chains *chains, const struct perf_stream *stream,
			       const struct deferred_chain *chain)
{
	struct perf_record record;
	struct perf_cursor cursor;
	uint64_t cookie;

	if (!chains->buffer)
		chains->buffer = malloc(PERF_RECORD_SIZE_MAX);
	if (!chains->buffer)
		return reel_error_no_memory();
	TRY(reel_perf_stream_read(stream, chain->position, chains->buffer, &record));
	cursor = reel_perf_record_payload(stream, &record);
	if (!read_words(&cursor, &cookie, &chains->words))
		chains->words.count = 0; /* the file has changed since the first pass */
	chains->given = chain;
	return NULL;
}

struct reel_error *reel_deferred_chains_find(struct deferred_chains *chains,
					     const struct perf_stream *stream, uint32_t tid,
					     uint64_t cookie, uint64_t time, struct perf_words *ret)
{
	const struct deferred_chain *chain = find(chains, tid, cookie, time);

	if (!chain)
		chain = find(chains, UINT32_MAX, cookie, time);
	*ret = (struct perf_words){ 0 };
	if (chain && chain != chains->given)
		TRY(load(chains, stream, chain));
	if (!chain)
		return NULL;
	if (chains->words.count > chains->words_left)
		return reel_error_create(REEL_ERROR_CORRUPT,
					 "%s: samples share deferred user chains with far too many "
					 "addresses for a file of this size",
					 stream->file.name);
	chains->words_left -= chains->words.count;
	*ret = chains->words;
	return NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "cfi/cfi_hits.h"
#include "cfi/cfi_index.h"
#include "cfi/cfi_program.h"
#include "cfi/sframe.h"

struct frames {
	struct cfi_data data;
	struct cfi_index index;
};

/* In the order in which they are asked for an address. */
enum {
	SOURCE_EH,
	SOURCE_DEBUG,
	SOURCE_SFRAME, /* translated to a .debug_frame when the indices are built */
	SOURCES,
};

struct reel_cfi {
	uint64_t text_begin, text_end;
	struct cfi_header header;
	struct frames sources[SOURCES];
	struct reel_loaded_bytes sframe; /* as in the file */
	uint64_t entry;
	uint8_t *owned, *translated;
	struct reel_cfi_range *switches;
	size_t n_switches;
	struct cfi_hits hits;
	/* The indices are built when the header does not find an address; `indexed` is set once
	 * they exist. */
	pthread_mutex_t lock;
	atomic_bool indexed, is_short_of_memory;
	struct cfi_walk *walk; /* of reel_cfi_next_row, under the lock; NULL before the first */
};

static struct cfi_data data_of(const struct reel_cfi_input *input,
			       const struct reel_loaded_bytes *section, bool is_eh)
{
	return (struct cfi_data){
		.arch = input->arch,
		.section = *section,
		.big_endian = input->big_endian,
		.is_eh = is_eh,
		.text_base = input->text_base,
		.data_base = input->data_base,
	};
}

struct reel_error *reel_cfi_create(const struct reel_cfi_input *input, struct reel_cfi **ret)
{
	struct reel_cfi *cfi = calloc(1, sizeof(*cfi));
	struct cfi_data header = data_of(input, &input->eh_frame_hdr, true);

	if (!cfi) {
		free(input->owned);
		return reel_error_no_memory();
	}
	cfi->owned = input->owned;
	cfi->text_begin = input->text_begin;
	cfi->text_end = input->text_end;
	cfi->sources[SOURCE_EH].data = data_of(input, &input->eh_frame, true);
	cfi->sources[SOURCE_DEBUG].data = data_of(input, &input->debug_frame, false);
	cfi->sources[SOURCE_SFRAME].data = data_of(input, &(struct reel_loaded_bytes){ 0 }, false);
	cfi->sframe = input->sframe;
	cfi->entry = input->entry;
	reel_cfi_header_parse(&header, &cfi->header);
	pthread_mutex_init(&cfi->lock, NULL);
	atomic_init(&cfi->indexed, false);
	atomic_init(&cfi->is_short_of_memory, false);
	*ret = cfi;
	return NULL;
}

static void free_indices(struct reel_cfi *cfi)
{
	for (size_t i = 0; i < SOURCES; i++)
		reel_cfi_index_free(&cfi->sources[i].index);
}

void reel_cfi_destroy(struct reel_cfi *cfi)
{
	if (!cfi)
		return;
	free_indices(cfi);
	reel_cfi_walk_destroy(cfi->walk);
	pthread_mutex_destroy(&cfi->lock);
	reel_cfi_hits_free(&cfi->hits);
	free(cfi->switches);
	free(cfi->owned);
	free(cfi->translated);
	free(cfi);
}

/* ---- functions that change stacks --------------------------------------------------- */

struct reel_error *reel_cfi_set_switches(struct reel_cfi *cfi, const struct reel_cfi_range *ranges,
					 size_t n)
{
	cfi->switches = reallocarray(NULL, n + 1, sizeof(*ranges));
	if (!cfi->switches)
		return reel_error_no_memory();
	memcpy(cfi->switches, ranges, n * sizeof(*ranges));
	cfi->n_switches = n;
	return NULL;
}

static int compare_range(const void *key, const void *range)
{
	const struct reel_cfi_range *switches = range;
	uint64_t address = *(const uint64_t *)key;

	return address < switches->begin ? -1 : address >= switches->end;
}

const struct reel_cfi_range *reel_cfi_switch_at(const struct reel_cfi *cfi, uint64_t address)
{
	return cfi->n_switches ? bsearch(&address, cfi->switches, cfi->n_switches,
					 sizeof(*cfi->switches), compare_range)
			       : NULL;
}

const struct reel_cfi_range *reel_cfi_switches(const struct reel_cfi *cfi, size_t *n_ret)
{
	*n_ret = cfi->n_switches;
	return cfi->switches;
}

/* ---- recorded answers ---------------------------------------------------------------- */

void reel_cfi_keep_hits(struct reel_cfi *cfi)
{
	cfi->hits.wanted = true;
}

struct reel_error *reel_cfi_write_hits(struct reel_cfi *cfi, size_t limit, struct reel_buffer *ret)
{
	return reel_cfi_hits_write(&cfi->hits, limit, ret);
}

/* ---- the indices ------------------------------------------------------------------- */

static struct reel_error *translate_sframe(struct reel_cfi *cfi)
{
	struct cfi_data *data = &cfi->sources[SOURCE_SFRAME].data, from = *data;
	_cleanup_buffer_ struct reel_buffer frames = { 0 };

	if (cfi->translated || !cfi->sframe.size)
		return NULL;
	from.section = cfi->sframe;
	TRY(reel_sframe_translate(&from, cfi->entry, &frames));
	data->section = (struct reel_loaded_bytes){ .bytes = frames.bytes, .size = frames.size };
	cfi->translated = frames.bytes;
	frames = (struct reel_buffer){ 0 };
	return NULL;
}

static struct reel_error *build_indices(struct reel_cfi *cfi)
{
	struct reel_error *error = translate_sframe(cfi);

	for (size_t i = 0; i < SOURCES && !error; i++)
		error = reel_cfi_index_build(&cfi->sources[i].data, cfi->text_begin, cfi->text_end,
					     i == SOURCE_EH ? cfi->header.n : 0,
					     &cfi->sources[i].index);
	if (error)
		free_indices(cfi);
	return error;
}

/* False if memory is short: the next call tries again. */
static bool need_indices(struct reel_cfi *cfi)
{
	if (atomic_load_explicit(&cfi->indexed, memory_order_acquire))
		return true;
	pthread_mutex_lock(&cfi->lock);
	if (!atomic_load_explicit(&cfi->indexed, memory_order_relaxed)) {
		struct reel_error *error = build_indices(cfi);

		if (error)
			atomic_store(&cfi->is_short_of_memory, true);
		reel_error_destroy(error);
		atomic_store_explicit(&cfi->indexed, !error, memory_order_release);
	}
	pthread_mutex_unlock(&cfi->lock);
	return atomic_load_explicit(&cfi->indexed, memory_order_acquire);
}

uint64_t reel_cfi_size(const struct reel_cfi *cfi)
{
	return cfi->sources[SOURCE_EH].data.section.size +
	       cfi->sources[SOURCE_DEBUG].data.section.size + cfi->sframe.size;
}

bool reel_cfi_is_short_of_memory(const struct reel_cfi *cfi)
{
	return atomic_load(&cfi->is_short_of_memory);
}

/* The segment that holds the address, or NULL. */
static const struct cfi_segment *find_segment(const struct frames *frames, uint64_t address)
{
	size_t i = reel_cfi_index_search(&frames->index, address);

	if (i == frames->index.n || frames->index.segments[i].begin > address)
		return NULL;
	return &frames->index.segments[i];
}

/* The same, recorded as an answer. */
static const struct cfi_segment *segment_at(struct reel_cfi *cfi, const struct frames *frames,
					    uint64_t address)
{
	const struct cfi_segment *segment = find_segment(frames, address);

	if (segment)
		reel_cfi_hits_add(&cfi->hits, &frames->data, segment->offset);
	return segment;
}

/* The begin of the next segment after `address`; UINT64_MAX if it is the last. */
static uint64_t next_begin(const struct frames *frames, uint64_t address)
{
	size_t i = reel_cfi_index_search(&frames->index, address);

	if (i < frames->index.n && frames->index.segments[i].begin <= address)
		i++;
	return i < frames->index.n ? frames->index.segments[i].begin : UINT64_MAX;
}

/* ---- rows -------------------------------------------------------------------------- */

static enum reel_cfi_found bad(const char *problem, const char **problem_ret)
{
	if (problem_ret)
		*problem_ret = problem;
	return REEL_CFI_BAD;
}

/* The row of the segment's FDE, clipped to the segment.  `walk` may be NULL. */
static enum reel_cfi_found row_of(const struct cfi_data *data, const struct cfi_segment *segment,
				  uint64_t address, struct cfi_walk *walk, struct reel_cfi_row *ret,
				  const char **problem_ret)
{
	struct cfi_fde fde;
	const char *problem = reel_cfi_fde_at(data, segment->offset, &fde);

	ret->work = 0;
	if (!problem)
		problem = walk ? reel_cfi_walk_row(walk, data, &fde, address, ret)
			       : reel_cfi_program_row(data, &fde, address, ret);
	if (problem) {
		*ret = (struct reel_cfi_row){
			.work = ret->work,
			.begin = segment->begin,
			.end = segment->end,
			.fde_begin = fde.begin,
			.fde_end = fde.begin + fde.size,
		};
		return bad(problem, problem_ret);
	}
	if (ret->begin < segment->begin)
		ret->begin = segment->begin;
	if (ret->end > segment->end)
		ret->end = segment->end;
	return REEL_CFI_FOUND;
}

static bool in_text(const struct reel_cfi *cfi, uint64_t address)
{
	return cfi->text_begin == cfi->text_end ||
	       (address >= cfi->text_begin && address < cfi->text_end);
}

/* The FDE by .eh_frame_hdr, if the named FDE does hold the address. */
static bool header_fde(struct reel_cfi *cfi, uint64_t address, struct cfi_header_entry *entry_ret,
		       struct cfi_fde *ret)
{
	const struct cfi_data *data = &cfi->sources[SOURCE_EH].data;
	uint64_t offset;

	if (!cfi->header.n || !reel_cfi_header_search(&cfi->header, address, entry_ret))
		return false;
	offset = entry_ret->fde - data->section.address;
	if (offset >= data->section.size || reel_cfi_fde_at(data, offset, ret))
		return false;
	/* GCC's empty cold parts make FDEs of no bytes, which displace the real one (mold #1648).
	 * The index ignores an FDE that goes beyond the last address as well. */
	if (address - ret->begin >= ret->size || ret->size > UINT64_MAX - ret->begin ||
	    !in_text(cfi, ret->begin))
		return false;
	reel_cfi_hits_add(&cfi->hits, data, offset);
	return true;
}

/* The row of that FDE. */
static enum reel_cfi_found header_row(struct reel_cfi *cfi, uint64_t address,
				      struct reel_cfi_row *ret)
{
	struct cfi_header_entry entry;
	struct cfi_fde fde;

	if (!header_fde(cfi, address, &entry, &fde) ||
	    reel_cfi_program_row(&cfi->sources[SOURCE_EH].data, &fde, address, ret))
		return REEL_CFI_NONE;
	/* From the next entry on the table names a different FDE. */
	ret->same_begin = ret->begin > entry.begin ? ret->begin : entry.begin;
	ret->same_end = ret->end < entry.next ? ret->end : entry.next;
	return REEL_CFI_FOUND;
}

/* The row by a scan of the sections, which may have no sorted table. */
static enum reel_cfi_found indexed_row(struct reel_cfi *cfi, uint64_t address,
				       struct reel_cfi_row *ret, const char **problem_ret)
{
	enum reel_cfi_found found = REEL_CFI_NONE;

	if (!need_indices(cfi))
		return REEL_CFI_NONE;
	for (size_t i = 0; i < SOURCES && found != REEL_CFI_FOUND; i++) {
		const struct frames *frames = &cfi->sources[i];
		const struct cfi_segment *segment = segment_at(cfi, frames, address);

		if (segment)
			found = row_of(&frames->data, segment, address, NULL, ret, problem_ret);
	}
	return found;
}

enum reel_cfi_found reel_cfi_row_at(struct reel_cfi *cfi, uint64_t address,
				    struct reel_cfi_row *ret, const char **problem_ret)
{
	enum reel_cfi_found found;

	if (!in_text(cfi, address))
		return REEL_CFI_NONE;
	if (reel_cfi_switch_at(cfi, address)) {
		*ret = (struct reel_cfi_row){ 0 };
		indexed_row(cfi, address, ret, NULL);
		return REEL_CFI_SWITCHES;
	}
	/* A row is valid for a range of addresses, so no function in it may change stacks. */
	if (!cfi->n_switches && header_row(cfi, address, ret) == REEL_CFI_FOUND)
		return REEL_CFI_FOUND;
	found = indexed_row(cfi, address, ret, problem_ret);
	ret->same_begin = address;
	ret->same_end = address + 1;
	return found;
}

bool reel_cfi_function_at(struct reel_cfi *cfi, uint64_t address, uint64_t *begin_ret,
			  uint64_t *end_ret)
{
	const struct cfi_segment *segment = NULL;
	struct cfi_header_entry entry;
	struct cfi_fde fde;
	bool found;

	if (!in_text(cfi, address))
		return false;
	found = header_fde(cfi, address, &entry, &fde);
	for (size_t i = 0; i < SOURCES && !found && need_indices(cfi); i++) {
		segment = segment_at(cfi, &cfi->sources[i], address);
		found = segment && !reel_cfi_fde_at(&cfi->sources[i].data, segment->offset, &fde);
	}
	if (!found)
		return false;
	*begin_ret = fde.begin;
	*end_ret = fde.begin + fde.size;
	return true;
}

bool reel_cfi_hit_all(struct reel_cfi *cfi)
{
	if (!need_indices(cfi))
		return false;
	for (size_t i = 0; i < SOURCES; i++) {
		const struct frames *frames = &cfi->sources[i];

		for (size_t j = 0; j < frames->index.n; j++)
			reel_cfi_hits_add(&cfi->hits, &frames->data,
					  frames->index.segments[j].offset);
	}
	return true;
}

bool reel_cfi_gap_at(struct reel_cfi *cfi, uint64_t address, uint64_t *begin_ret, uint64_t *end_ret)
{
	*begin_ret = 0;
	*end_ret = UINT64_MAX;
	if (!need_indices(cfi))
		return false;
	for (size_t i = 0; i < SOURCES; i++) {
		const struct cfi_index *index = &cfi->sources[i].index;
		size_t next = reel_cfi_index_search(index, address);

		if (next < index->n && index->segments[next].begin <= address)
			return false;
		if (next < index->n && index->segments[next].begin < *end_ret)
			*end_ret = index->segments[next].begin;
		if (next && index->segments[next - 1].end > *begin_ret)
			*begin_ret = index->segments[next - 1].end;
	}
	return true;
}

bool reel_cfi_same_gap(struct reel_cfi *cfi, uint64_t address, uint64_t other)
{
	uint64_t low = address < other ? address : other;
	uint64_t high = address < other ? other : address;

	if (!need_indices(cfi))
		return false;
	for (size_t i = 0; i < SOURCES; i++) {
		const struct frames *frames = &cfi->sources[i];
		uint64_t next = next_begin(frames, low);

		if (segment_at(cfi, frames, low) || (next <= high && segment_at(cfi, frames, next)))
			return false;
	}
	return true;
}

/* The rows of .eh_frame, .debug_frame's rows between its FDEs, and .sframe's between both. */
static enum reel_cfi_found next_row(struct reel_cfi *cfi, struct reel_cfi_iterator *iterator,
				    struct reel_cfi_row *ret, const char **problem_ret)
{
	for (;;) {
		uint64_t address = iterator->address, next = UINT64_MAX;

		for (size_t i = 0; i < SOURCES; i++) {
			const struct frames *frames = &cfi->sources[i];
			const struct cfi_segment *segment = find_segment(frames, address);
			uint64_t begin = next_begin(frames, address);
			enum reel_cfi_found found;

			if (segment) {
				found = row_of(&frames->data, segment, address, cfi->walk, ret,
					       problem_ret);
				if (ret->begin < address)
					ret->begin = address;
				/* Up to the next FDE of a source before this one. */
				if (ret->end > next)
					ret->end = next;
				iterator->address = ret->end;
				return found;
			}
			if (begin < next)
				next = begin;
		}
		if (next == UINT64_MAX)
			return REEL_CFI_NONE;
		iterator->address = next;
	}
}

enum reel_cfi_found reel_cfi_next_row(struct reel_cfi *cfi, struct reel_cfi_iterator *iterator,
				      struct reel_cfi_row *ret, const char **problem_ret)
{
	enum reel_cfi_found found;

	if (!need_indices(cfi))
		return REEL_CFI_NONE;
	pthread_mutex_lock(&cfi->lock);
	/* Without memory for a walk each row is computed from the start of its FDE. */
	if (!cfi->walk)
		cfi->walk = reel_cfi_walk_create();
	found = next_row(cfi, iterator, ret, problem_ret);
	pthread_mutex_unlock(&cfi->lock);
	return found;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the functions that samples lead to, and writes their records. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "record/jit/jit_names_internal.h"

struct writing {
	struct reel_jit_names *names;
	struct space *space;
	struct reel_id_entry **hits; /* ascending */
	size_t n_hits;
	/* For each hit, times of the latest name and of the latest unwind information that existed
	 * at its first sample; earlier ones are not wanted. */
	struct {
		uint64_t name, frames;
	} * settled;
};

static struct reel_error *write_record(struct writing *writing, const struct reel_record *record)
{
	const struct reel_record_sink *sink = &writing->names->options.sink;

	return sink->put(sink->context, record);
}

static struct reel_error *write_lines(struct writing *writing, const struct function *function,
				      const uint8_t *at)
{
	struct reel_bytes file = { 0 };
	struct reel_error *error = NULL;

	for (uint32_t i = 0; i < function->n_lines && !error; i++) {
		struct line line;

		memcpy(&line, at, sizeof(line));
		at += sizeof(line);
		if (line.file_size != SAME_FILE) {
			file = (struct reel_bytes){ at, line.file_size };
			at += line.file_size;
		}
		error = write_record(
			writing, &(struct reel_record){ .id = REEL_RECORD_JIT_LINE,
							.jit_line = {
								.time = function->time,
								.space = writing->space->entry.id,
								.function = function->address,
								.address = line.address,
								.line = line.line,
								.file = file,
							} });
	}
	return error;
}

/* An ELF file's sections have none; other files' sections may be empty. */
static bool has_name(const struct function *function)
{
	return function->name_size || function->file != REEL_JIT_LIST;
}

static struct reel_error *write_name(struct writing *writing, const struct function *function,
				     const uint8_t *at)
{
	static const enum reel_jit_source sources[] = {
		[REEL_JIT_FILE_MAP] = REEL_JIT_PERF_MAP,
		[REEL_JIT_FILE_DUMP] = REEL_JIT_JITDUMP,
		[REEL_JIT_LIST] = REEL_JIT_ELF,
	};
	struct reel_record record = { .id = REEL_RECORD_JIT_SYMBOL };

	record.jit_symbol = (struct reel_record_jit_symbol){
		.time = function->time,
		.space = writing->space->entry.id,
		.address = function->address,
		.size = function->size,
		.source = sources[function->file],
		.name = { at, function->name_size },
	};
	return write_record(writing, &record);
}

static struct reel_error *write_function(struct writing *writing, const struct book *book,
					 const struct function *function)
{
	const uint8_t *at = book->bytes.bytes + function->at;
	struct reel_error *error = NULL;

	if (has_name(function) || function->is_end)
		error = write_name(writing, function, at);
	at += function->name_size;
	if (!error && function->frames_size)
		error = write_record(
			writing,
			&(struct reel_record){ .id = REEL_RECORD_JIT_UNWIND,
					       .jit_unwind = {
						       .time = function->time,
						       .space = writing->space->entry.id,
						       .address = function->address,
						       .size = function->size,
						       .frame_address = function->frame_address,
						       .eh_frame = { at, function->frames_size },
						       .section = function->is_debug_frame
									  ? REEL_JIT_DEBUG_FRAME
									  : REEL_JIT_EH_FRAME,
					       } });
	return error ? error : write_lines(writing, function, at + function->frames_size);
}

static size_t first_hit(const struct writing *writing, uint64_t address)
{
	size_t low = REEL_PARTITION_POINT(writing->n_hits, i, writing->hits[i]->id < address);

	return low;
}

/* Whether a sample may have led to the function. Later functions must be checked first. */
static bool is_hit(struct writing *writing, const struct function *function)
{
	uint64_t last = function->address + (function->size - 1);
	bool names = has_name(function) || function->is_end;
	bool unwinds = function->frames_size || function->is_end;
	bool wanted = false;

	for (size_t i = first_hit(writing, function->address);
	     i < writing->n_hits && writing->hits[i]->id <= last; i++) {
		const struct hit *hit = (const struct hit *)writing->hits[i];

		wanted |= (names && function->time >= writing->settled[i].name) ||
			  (unwinds && function->time >= writing->settled[i].frames);
		if (function->time > hit->time)
			continue;
		if (names && function->time > writing->settled[i].name)
			writing->settled[i].name = function->time;
		if (unwinds && function->time > writing->settled[i].frames)
			writing->settled[i].frames = function->time;
	}
	return wanted;
}

/* Approximate size in a file. */
static uint64_t size_of(const struct function *function)
{
	return 32 + function->name_size + function->frames_size + 24 * (uint64_t)function->n_lines;
}

static struct reel_error *write_shelf(struct writing *writing, struct shelf *shelf)
{
	struct reel_jit_names *names = writing->names;
	const struct book *book = shelf->book;
	struct reel_error *error = NULL;

	if (!book || !book->count)
		return NULL;
	if (shelf->capacity < book->count) {
		uint8_t *written = realloc(shelf->written, book->capacity);

		if (!written)
			return reel_error_no_memory();
		memset(written + shelf->capacity, 0, book->capacity - shelf->capacity);
		shelf->written = written;
		shelf->capacity = book->capacity;
	}
	shelf->count = book->count;
	for (size_t i = book->count; i-- > 0 && !error;) {
		const struct function *function = &book->functions[i];

		if (function->time > shelf->until || !is_hit(writing, function) ||
		    shelf->written[i])
			continue;
		shelf->written[i] = 1;
		if (names->bytes_left < size_of(function) ||
		    !reel_budget_charge_bytes(names->options.budget, REEL_BUDGET_NAME_BYTES,
					      (uint32_t)writing->space->pid, size_of(function))) {
			names->left_out++;
			continue;
		}
		names->bytes_left -= size_of(function);
		error = write_function(writing, book, function);
	}
	return error;
}

static struct reel_error *write_space(struct reel_jit_names *names, struct space *space)
{
	struct writing writing = { .names = names, .space = space };
	struct reel_error *error = NULL;

	writing.n_hits = space->hits.count;
	if (!writing.n_hits)
		return NULL;
	writing.hits = reel_id_table_sorted(&space->hits);
	writing.settled = calloc(writing.n_hits, sizeof(*writing.settled));
	if (!writing.hits || !writing.settled)
		error = reel_error_no_memory();
	if (!error)
		error = write_shelf(&writing, &space->own);
	if (!error)
		error = write_shelf(&writing, &space->inherited);
	free(writing.hits);
	free(writing.settled);
	return error;
}

static bool has_grown(const struct shelf *shelf)
{
	return shelf->book && shelf->count < shelf->book->count;
}

struct reel_error *reel_jit_names_write(struct reel_jit_names *names)
{
	uint64_t start = reel_now();
	struct reel_id_entry **entries;
	struct reel_error *error = NULL;

	if (start < names->put_after && !names->deadline)
		return NULL;
	names->put_after = start + READ_INTERVAL;
	entries = reel_id_table_sorted(&names->spaces);
	for (size_t i = 0, n = names->spaces.count; entries && i < n && !error; i++) {
		struct space *space = (struct space *)entries[i];

		bool has_news = space->has_changed || has_grown(&space->own) ||
				has_grown(&space->inherited);

		if (has_news && reel_jit_names_may(names, space)) {
			error = write_space(names, space);
			space->has_changed = has_news = false;
			reel_budget_charge(names->options.budget, REEL_BUDGET_NAMES,
					   (uint32_t)space->pid, reel_now() - start);
			start = reel_now();
		}
		/* No more samples can lead to the space. */
		if (!has_news && (space->was_read_last || !space->hits.count) &&
		    !reel_timeline_space(names->timeline, space->entry.id)) {
			reel_id_table_remove(&names->spaces, space->entry.id);
			reel_jit_names_free_space(names, space);
		}
	}
	free(entries);
	return error;
}

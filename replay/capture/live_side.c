/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>

#include "base/id_table.h"
#include "format/reader.h"
#include "format/schema.h"
#include "format/writer.h"
#include "replay/capture/live_side.h"

/* Fast, since it is written again soon. */
#define LEVEL 1

struct space {
	struct reel_id_entry entry;
	uint64_t parent; /* if forked, it has the parent's mappings; else 0 */
	uint64_t end;
	bool has_threads;
	bool is_needed;
};

struct thread {
	struct reel_id_entry entry;
	uint64_t space;
	uint64_t end;
};

struct compaction {
	uint64_t from;
	struct reel_id_table spaces, threads;
};

static struct reel_error *get_space(struct compaction *compaction, uint64_t id, struct space **ret)
{
	*ret = (struct space *)reel_id_table_find(&compaction->spaces, id);
	if (*ret)
		return NULL;
	*ret = reel_id_table_add(&compaction->spaces, id, sizeof(**ret));
	if (*ret)
		(*ret)->end = UINT64_MAX;
	return *ret ? NULL : reel_error_no_memory();
}

static struct reel_error *get_thread(struct compaction *compaction, uint64_t id,
				     struct thread **ret)
{
	*ret = (struct thread *)reel_id_table_find(&compaction->threads, id);
	if (*ret)
		return NULL;
	*ret = reel_id_table_add(&compaction->threads, id, sizeof(**ret));
	if (*ret)
		(*ret)->end = UINT64_MAX;
	return *ret ? NULL : reel_error_no_memory();
}

/* ---- who still lives ------------------------------------------------------------------------ */

static struct reel_error *enter_space(struct compaction *compaction, struct thread *thread,
				      uint64_t id)
{
	struct space *space;

	TRY(get_space(compaction, id, &space));
	space->has_threads = true;
	thread->space = id;
	return NULL;
}

/* Earlier samples of the thread need the space that it leaves. */
static struct reel_error *leave_space(struct compaction *compaction, const struct thread *thread,
				      uint64_t time)
{
	struct space *space;

	if (time < compaction->from)
		return NULL;
	TRY(get_space(compaction, thread->space, &space));
	space->is_needed = true;
	return NULL;
}

static struct reel_error *see(struct compaction *compaction, const struct reel_record *record)
{
	struct thread *thread;
	struct space *space;

	switch (record->id) {
	case REEL_RECORD_SPACE:
		TRY(get_space(compaction, record->space.id, &space));
		space->parent = record->space.origin == REEL_ORIGIN_FORK ? record->space.parent : 0;
		return NULL;
	case REEL_RECORD_SPACE_EXIT:
		TRY(get_space(compaction, record->space_exit.space, &space));
		space->end = record->space_exit.time;
		return NULL;
	case REEL_RECORD_THREAD:
		TRY(get_thread(compaction, record->thread.id, &thread));
		return enter_space(compaction, thread, record->thread.space);
	case REEL_RECORD_THREAD_EXEC:
		TRY(get_thread(compaction, record->thread_exec.thread, &thread));
		TRY(leave_space(compaction, thread, record->thread_exec.time));
		return enter_space(compaction, thread, record->thread_exec.space);
	case REEL_RECORD_THREAD_EXIT:
		TRY(get_thread(compaction, record->thread_exit.thread, &thread));
		thread->end = record->thread_exit.time;
		return NULL;
	default:
		return NULL;
	}
}

static void need_space_of(void *context, struct reel_id_entry *entry)
{
	const struct compaction *compaction = context;
	const struct thread *thread = (const void *)entry;
	struct space *space = (void *)reel_id_table_find(&compaction->spaces, thread->space);

	if (space && thread->end >= compaction->from)
		space->is_needed = true;
}

static void need_space(void *context, struct reel_id_entry *entry)
{
	const struct compaction *compaction = context;
	struct space *space = (void *)entry;

	space->is_needed |= !space->has_threads && space->end >= compaction->from;
}

/* Mappings come from the ancestors that it was forked from. */
static void need_ancestors(void *context, struct reel_id_entry *entry)
{
	const struct compaction *compaction = context;
	struct space *space = (void *)entry;

	if (!space->is_needed)
		return;
	while ((space = (void *)reel_id_table_find(&compaction->spaces, space->parent)) &&
	       !space->is_needed)
		space->is_needed = true;
}

static void find_needed(struct compaction *compaction)
{
	reel_id_table_visit(&compaction->threads, need_space_of, compaction);
	reel_id_table_visit(&compaction->spaces, need_space, compaction);
	reel_id_table_visit(&compaction->spaces, need_ancestors, compaction);
}

/* ---- records -------------------------------------------------------------------------------- */

static bool needs(const struct compaction *compaction, const struct reel_record *record)
{
	const struct thread *thread;
	const struct space *space;
	uint64_t id;

	switch (reel_record_subject(record, &id)) {
	case REEL_ID_SPACE:
		space = (const void *)reel_id_table_find(&compaction->spaces, id);
		return !space || space->is_needed;
	case REEL_ID_THREAD:
		thread = (const void *)reel_id_table_find(&compaction->threads, id);
		return !thread || thread->end >= compaction->from;
	default:
		return true;
	}
}

/* Without `writer`, looks at the records; with it, copies the needed ones. */
static struct reel_error *walk(struct compaction *compaction, const struct reel_reader *reader,
			       struct reel_writer *writer)
{
	_cleanup_block_reader_ struct reel_block_reader *block_reader = NULL;
	size_t n;
	const struct reel_block *blocks = reel_reader_blocks(reader, &n);
	struct reel_block_item item;

	TRY(reel_block_reader_create(reader, &block_reader));
	for (size_t i = 0; i < n; i++) {
		TRY(reel_block_reader_load(block_reader, &blocks[i]));
		for (;;) {
			const struct reel_record *record;

			TRY(reel_block_reader_next(block_reader, &item));
			if (item.kind == REEL_ITEM_END)
				break;
			record = item.kind == REEL_ITEM_RECORD ? &item.record : NULL;
			if (!writer && record)
				TRY(see(compaction, record));
			if (writer && (!record || needs(compaction, record)))
				TRY(reel_writer_copy(writer, REEL_BLOCK_SIDE, &item.frame, record));
		}
	}
	return NULL;
}

static bool has_side_blocks_only(const struct reel_reader *reader)
{
	size_t n;
	const struct reel_block *blocks = reel_reader_blocks(reader, &n);

	for (size_t i = 0; i < n; i++) {
		if (blocks[i].header.type != REEL_BLOCK_SIDE)
			return false;
	}
	return n && !reel_reader_was_encrypted(reader);
}

static struct reel_error *rewrite(struct compaction *compaction, const struct reel_reader *reader,
				  int fd)
{
	const struct reel_writer_options options = { .level = LEVEL };
	struct reel_writer *writer;
	struct reel_error *error;

	TRY(reel_writer_create(fd, reel_reader_name(reader), &options,
			       reel_reader_header(reader)->id, &writer));
	error = walk(compaction, reader, NULL);
	if (!error) {
		find_needed(compaction);
		error = walk(compaction, reader, writer);
	}
	if (!error)
		error = reel_writer_flush(writer);
	/* Unfinished, as the stream. */
	reel_writer_destroy(writer);
	return error;
}

/* The source stays open. */
static struct reel_error *open_source(const struct reel_source *source, struct reel_reader **ret)
{
	int fd = fcntl(source->fd, F_DUPFD_CLOEXEC, 0);

	return fd < 0 ? reel_error_os(errno, "dup")
		      : reel_reader_open_fd(fd, source->name, NULL, ret);
}

static struct reel_error *compact(struct reel_source *side, uint64_t from, struct reel_source *to,
				  uint32_t *n_blocks_ret)
{
	_cleanup_reader_ struct reel_reader *before = NULL, *after = NULL;
	struct compaction compaction = { .from = from };
	struct reel_error *error;
	size_t n;

	TRY(open_source(side, &before));
	if (!has_side_blocks_only(before))
		return NULL;
	error = rewrite(&compaction, before, to->fd);
	reel_id_table_free_all(&compaction.spaces);
	reel_id_table_free_all(&compaction.threads);
	if (error)
		return error;
	TRY(open_source(to, &after));
	to->size = reel_reader_file_size(after);
	(void)reel_reader_blocks(after, &n);
	*n_blocks_ret = (uint32_t)n;
	return NULL;
}

struct reel_error *reel_live_side_compact(struct reel_source *side, uint64_t from,
					  uint32_t *n_blocks_ret)
{
	struct reel_source to, before = *side;
	struct reel_error *error;

	*n_blocks_ret = 0;
	TRY(reel_source_create(&to));
	error = compact(side, from, &to, n_blocks_ret);
	/* Damage is reported by the reader of the samples, which can tell more about it. */
	if (error && (reel_error_code(error) == REEL_ERROR_CORRUPT ||
		      reel_error_code(error) == REEL_ERROR_UNSUPPORTED)) {
		reel_error_destroy(error);
		error = NULL;
		*n_blocks_ret = 0;
	}
	if (*n_blocks_ret)
		*side = to;
	reel_source_close(*n_blocks_ret ? &before : &to);
	return error;
}

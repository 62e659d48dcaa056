/* SPDX-License-Identifier: Apache-2.0 */
/* Reads JITs' files in turns, and keeps their entries. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/array.h"
#include "base/range_map.h"
#include "record/jit/jit_names_internal.h"
#include "record/processes/code_spaces.h"

/* Lists in memory last as long as their code, and cost little to look at. */
#define LIST_INTERVAL (100 * REEL_NS_PER_MS)
/* A missing file is looked for less and less often. */
#define LOOK_INTERVAL_MAX (8 * REEL_NS_PER_SECOND)
/* How long reading may take when a file ends. */
#define LAST_READS_TIME (2 * REEL_NS_PER_SECOND)
/* Functions searched for moved ones, in one answer. */
#define MOVE_STEPS_MAX (1u << 20)
/* Missing answers before giving up. */
#define FAILURES_MAX 3

/* Search for lists, and a jitdump's mapping. perf's rule: "/jit-PID.dump", executable. */
struct search {
	const struct reel_jit_names *names;
	struct space *space;
	size_t n_lists;
	struct reel_proc_map map;
	bool is_own; /* the number in its name is the process's */
	char path[4096];
};

/* The number in "…/jit-NUMBER.dump"; 0 for other names. */
static uint64_t number_of_dump(const char *path)
{
	const char *name = strrchr(path, '/');
	uint64_t number;
	char *end;

	if (!name || strncmp(name, "/jit-", 5) != 0 || name[5] < '0' || name[5] > '9')
		return 0;
	number = strtoull(name + 5, &end, 10);
	return strcmp(end, ".dump") ? 0 : number;
}

static void look_for_list(struct search *search, const struct reel_mapping *mapping)
{
	uint64_t *all = search->space->list.descriptors;
	uint64_t at = reel_module_table_jit_list(search->names->options.modules, mapping->module);

	if (!at || search->n_lists == REEL_JIT_LISTS_MAX)
		return;
	at += mapping->address - mapping->offset;
	/* A segment can have several mappings. */
	if (!search->n_lists || all[search->n_lists - 1] != at)
		all[search->n_lists++] = at;
}

static void look(void *context, const struct reel_mapping *mapping)
{
	struct search *search = context;
	const struct reel_record_module *module;
	char path[sizeof(search->path)];
	bool is_own;

	if (!(mapping->protection & PROT_EXEC))
		return;
	look_for_list(search, mapping);
	if (search->is_own)
		return;
	module = reel_module_table_find(search->names->options.modules, mapping->module);
	if (!module || module->kind != REEL_MODULE_FILE || module->path.size >= sizeof(path))
		return;
	memcpy(path, module->path.data, module->path.size);
	path[module->path.size] = '\0';
	if (!number_of_dump(path))
		return;
	is_own = !search->space->namespace_pid ||
		 number_of_dump(path) == search->space->namespace_pid;
	/* A child has its parent's dump mapped, which is already read. */
	if (!is_own && search->space->inherited.book)
		return;
	search->is_own = is_own;
	strcpy(search->path, path);
	search->map = (struct reel_proc_map){
		.address = mapping->address,
		.size = mapping->size,
		.offset = mapping->offset,
		.device_major = (uint32_t)module->device_major,
		.device_minor = (uint32_t)module->device_minor,
		.inode = module->inode,
		.path = search->path,
	};
}

/* Keeps a struct and the bytes after it; false, and counted, without room. */
static bool keep(struct reel_jit_names *names, struct reel_bytes bytes, const void *head,
		 size_t head_size)
{
	struct reel_buffer *buffer = &names->asked->own.book->bytes;
	size_t size = head_size + bytes.size;

	if (names->said_bytes + size > names->said_max || !reel_buffer_reserve(buffer, size)) {
		buffer->failed = false;
		names->left_out++;
		return false;
	}
	reel_buffer_append(buffer, head, head_size);
	reel_buffer_append(buffer, bytes.data, bytes.size);
	names->said_bytes += size;
	return true;
}

/* An entry without a time counts from the previous read of its file, each a bit later than the line
 * above it. */
static uint64_t time_of(struct space *space, uint64_t file, uint64_t said)
{
	return said ? said : space->files[file].base + ++space->files[file].count;
}

static void append_function(struct reel_jit_names *names, const struct reel_jit_said_function *said,
			    struct reel_bytes name)
{
	bool is_listed = said->file == REEL_JIT_LIST;
	struct listed *listed = names->asked->list.reading;
	struct book *book = names->asked->own.book;
	struct function function = {
		.address = said->address,
		.size = said->size,
		.index = said->index,
		.frame_address = said->frame_address,
		.file = said->file,
		.is_debug_frame = said->is_debug_frame,
		.at = book->bytes.size,
		.name_size = (uint32_t)name.size,
	};

	names->latest = NULL;
	if (is_listed && !listed) {
		names->left_out++;
		return;
	}
	function.time = is_listed ? reel_jit_names_list_time(names, said, name.size)
				  : time_of(names->asked, said->file, said->time);
	names->latest = reel_jit_names_append(names, &function);
	if (names->latest && !keep(names, name, NULL, 0)) {
		names->latest = NULL;
		names->said_bytes -= sizeof(function);
		book->count--;
	}
	if (is_listed)
		listed->count = book->count - listed->first;
}

static void append_frames(struct reel_jit_names *names, struct reel_bytes frames)
{
	struct function *function = names->latest;

	if (function->n_lines || function->frames_size > REEL_JIT_FRAMES_MAX)
		return;
	/* All or none. */
	if (keep(names, frames, NULL, 0)) {
		function->frames_size += (uint32_t)frames.size;
	} else {
		function->frames_size = 0;
		names->latest = NULL;
	}
}

static void append_line(struct reel_jit_names *names, const struct reel_jit_said_line *said,
			struct reel_bytes file)
{
	const struct reel_buffer *bytes = &names->asked->own.book->bytes;
	struct function *function = names->latest;
	struct line line = { said->address, (uint32_t)said->line, (uint32_t)file.size };
	size_t at = bytes->size + sizeof(line);

	if (function->n_lines && names->latest_file_size == file.size &&
	    (!file.size || !memcmp(bytes->bytes + names->latest_file, file.data, file.size))) {
		line.file_size = SAME_FILE;
		file.size = 0;
	}
	if (!keep(names, file, &line, sizeof(line)))
		return;
	function->n_lines++;
	if (line.file_size == SAME_FILE)
		return;
	names->latest_file = at;
	names->latest_file_size = line.file_size;
}

/* The same function at a new address, with everything that belongs to it. */
static void append_move(struct reel_jit_names *names, const struct reel_jit_said_move *said)
{
	const struct book *book = names->asked->own.book;
	size_t i = book->count;

	names->latest = NULL;
	while (i-- > 0 && names->move_steps++ < MOVE_STEPS_MAX) {
		struct function moved = book->functions[i];

		if (moved.file != REEL_JIT_FILE_DUMP || moved.index != said->index ||
		    moved.address != said->from)
			continue;
		moved.time = time_of(names->asked, REEL_JIT_FILE_DUMP, said->time);
		moved.address = said->to;
		moved.frame_address += said->to - said->from;
		reel_jit_names_append(names, &moved);
		return;
	}
	names->left_out++;
}

static void append_entry(void *context, enum reel_jit_said what, const void *bytes, size_t size,
			 struct reel_bytes more)
{
	struct reel_jit_names *names = context;
	struct reel_jit_said_function function;
	struct reel_jit_said_line line;
	struct reel_jit_said_move move;
	struct reel_jit_entry entry;

	if (what == REEL_JIT_SAID_FUNCTION) {
		memcpy(&function, bytes, size);
		append_function(names, &function, more);
	} else if (what == REEL_JIT_SAID_MOVE) {
		memcpy(&move, bytes, size);
		append_move(names, &move);
	} else if (what == REEL_JIT_SAID_ENTRY || what == REEL_JIT_SAID_WANTED) {
		memcpy(&entry, bytes, size);
		reel_jit_names_apply_entry(names, what, &entry);
	} else if (!names->latest) {
		names->left_out++; /* its function was left out */
	} else if (what == REEL_JIT_SAID_FRAMES) {
		append_frames(names, more);
	} else {
		memcpy(&line, bytes, size);
		append_line(names, &line, more);
	}
}

/* Drops this answer's entries: they will be read again, or belong to another process. */
static void discard_answer(struct reel_jit_names *names)
{
	struct book *book = names->asked->own.book;

	book->count = names->count_before;
	book->bytes.size = names->bytes_before;
	names->said_bytes = names->said_before;
	names->left_out = names->left_out_before;
}

static bool is_living(const struct reel_jit_names *names, const struct space *space)
{
	return reel_living_space(names->timeline, space->entry.id);
}

static bool is_due(const struct reel_jit_names *names, struct space *space)
{
	if (space->was_read_last || (!space->hits.count && !space->is_inherited))
		return false;
	space->ended = space->ended || !is_living(names, space);
	if (names->deadline && !space->was_read)
		return true;
	if (space->files[0].has_more || space->files[1].has_more || space->list.unread ||
	    space->ended)
		return true;
	return names->now >= space->read_after && (space->is_new || space->is_inherited);
}

struct choice {
	struct reel_jit_names *names;
	struct space *space;
};

/* Picks the next process: ended ones first, as their files may not be kept open for long. */
static void choose(void *context, struct reel_id_entry *entry)
{
	struct choice *choice = context;
	struct space *space = (struct space *)entry, *best = choice->space;

	if (is_due(choice->names, space) && reel_jit_names_may(choice->names, space) &&
	    (!best || space->ended > best->ended ||
	     (space->ended == best->ended && space->read_after < best->read_after)))
		choice->space = space;
}

static void ask(struct reel_jit_names *names, struct space *space)
{
	const struct reel_jit_listener listener = { append_entry, names };
	struct reel_jit_question question = {
		.space = space->entry.id,
		.is_last = space->ended,
	};
	struct search search = { .names = names, .space = space };
	const struct book *book = space->own.book;

	for (size_t i = 0; i < REEL_JIT_FILES; i++) {
		question.positions[i] = space->files[i].position;
		question.is_given_up[i] = space->files[i].is_given_up;
	}
	if (!space->ended) {
		reel_timeline_visit(names->timeline, space->entry.id, REEL_TIME_NOW, 0, UINT64_MAX,
				    look, &search);
		reel_jit_names_ask_list(names, &space->list, &question.list);
	}
	names->asked = space;
	names->count_before = book->count;
	names->bytes_before = book->bytes.size;
	names->said_before = names->said_bytes;
	names->left_out_before = names->left_out;
	names->latest = NULL;
	names->move_steps = 0;
	space->is_new = false;
	names->answered = reel_inspector_jit(names->options.inspector, (uint32_t)space->pid,
					     &question, &search.map, &listener, &names->state);
}

static void begin_round(void *context, struct reel_id_entry *entry)
{
	(void)context;
	((struct space *)entry)->was_read = false;
}

static void count_unread(void *context, struct reel_id_entry *entry)
{
	struct reel_jit_names *names = context;

	if (is_due(names, (struct space *)entry))
		names->left_out++;
}

bool reel_jit_names_read(struct reel_jit_names *names, bool all)
{
	struct choice choice = { .names = names };

	names->now = reel_now();
	if (all && !names->deadline) {
		names->deadline = names->now + LAST_READS_TIME;
		reel_id_table_visit(&names->spaces, begin_round, NULL);
	}
	if (all && names->now > names->deadline) {
		reel_id_table_visit(&names->spaces, count_unread, names);
		return false;
	}
	reel_id_table_visit(&names->spaces, choose, &choice);
	if (!choice.space)
		return false;
	ask(names, choice.space);
	return true;
}

/* ---- files that are written anew ----------------------------------------------------------- */

/* The maximum number of functions searched. */
#define PLACES_MAX (64u << 10)

/* The places of the functions that were read before. */
static bool find_places(const struct book *book, size_t n, struct reel_range_map *ret)
{
	struct reel_error *error;

	for (size_t i = 0; i < n; i++) {
		const struct function *function = &book->functions[i];
		uint64_t end = function->address + function->size;

		/* The highest byte of all has no code. */
		if (!reel_range_map_add(ret, function->address, end ? end : UINT64_MAX, 0, 0))
			return false;
	}
	error = reel_range_map_build(ret);
	reel_error_destroy(error);
	return !error;
}

/*
 * HotSpot's Compiler.perfmap rewrites the whole file each time: a new function may have been made
 * at any time since the previous rewrite.  In a place without a name, it counts from that rewrite
 * on; in other places the previous name stays valid until now.
 */
static void date_back(struct reel_jit_names *names, struct file *file)
{
	const struct book *book = names->asked->own.book;
	struct reel_range_map places = { 0 };
	uint64_t start = reel_now();
	bool is_known =
		file->anew_from <= PLACES_MAX && find_places(book, file->anew_from, &places);

	for (size_t i = file->anew_from; i < book->count && is_known; i++) {
		struct function *function = &book->functions[i];
		uint64_t last = function->address + (function->size - 1);

		if (function->file == REEL_JIT_FILE_MAP && function->time > file->base &&
		    !reel_range_map_find(&places, function->address) &&
		    !reel_range_map_find(&places, last))
			function->time -= file->base - file->news;
	}
	reel_range_map_free(&places);
	reel_budget_charge(names->options.budget, REEL_BUDGET_NAMES, (uint32_t)names->asked->pid,
			   reel_now() - start);
}

static void give_up(struct reel_jit_names *names, struct file *file)
{
	file->is_given_up = true;
	file->has_more = false;
	names->left_out++;
}

static void apply_state(struct reel_jit_names *names, struct file *file,
			const struct reel_jit_file_state *state)
{
	if (file->is_given_up)
		return;
	file->position = state->position;
	file->has_more = state->has_more;
	names->left_out += state->n_bad;
	/* It was open, and cannot be reached any more. */
	if (state->is_refused || (file->was_open && !state->is_open)) {
		give_up(names, file);
		return;
	}
	file->was_open |= state->is_open != 0;
	if (state->is_anew) {
		file->is_anew = true;
		file->anew_from = names->count_before;
	}
	/* A jitdump is preferred: a perf map next to it only adds missing functions. */
	if (!state->is_open || state->has_more ||
	    (file == &names->asked->files[REEL_JIT_FILE_MAP] &&
	     names->state.files[REEL_JIT_FILE_DUMP].is_open))
		return;
	if (file->is_anew && file->count)
		date_back(names, file);
	if (file->count)
		file->news = names->now;
	file->is_anew = false;
	file->base = names->now;
	file->count = 0;
}

static void apply_failure(struct reel_jit_names *names, struct space *space)
{
	discard_answer(names);
	space->is_new = true;
	if (++space->failures < FAILURES_MAX && !space->ended)
		return;
	for (size_t i = 0; i < REEL_JIT_FILES; i++) {
		if (!space->files[i].is_given_up)
			give_up(names, &space->files[i]);
	}
	space->was_read_last = true;
}

void reel_jit_names_apply(struct reel_jit_names *names)
{
	struct space *space = names->asked;
	bool is_open = false, has_more = false;

	space->was_read = true;
	space->read_after = names->now + READ_INTERVAL;
	/* If the process has ended, these may be another process's files. */
	if (!names->answered || (names->state.is_new && !is_living(names, space))) {
		space->ended = space->ended || !is_living(names, space);
		apply_failure(names, space);
		return;
	}
	/* Nor is this memory certainly its own: now read its files only. */
	if (space->list.descriptors[0] && !space->ended && !is_living(names, space)) {
		discard_answer(names);
		space->ended = true;
		return;
	}
	space->failures = 0;
	reel_jit_names_apply_list(names);
	for (size_t i = 0; i < REEL_JIT_FILES; i++) {
		apply_state(names, &space->files[i], &names->state.files[i]);
		is_open |= names->state.files[i].is_open != 0;
		has_more |= space->files[i].has_more;
	}
	space->was_read_last = space->ended && !has_more;
	if (space->list.entries.count)
		space->read_after = names->now + LIST_INTERVAL;
	if (is_open || space->list.descriptors[0]) {
		space->look_interval = READ_INTERVAL;
		return;
	}
	space->read_after = names->now + space->look_interval;
	space->look_interval = space->look_interval < LOOK_INTERVAL_MAX ? 2 * space->look_interval
									: LOOK_INTERVAL_MAX;
}

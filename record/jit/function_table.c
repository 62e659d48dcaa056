/* SPDX-License-Identifier: Apache-2.0 */
#include "record/jit/function_table.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/hash_index.h"
#include "base/quantity.h"
#include "record/processes/code_spaces.h"

#define FUNCTIONS_MAX (1u << 18)
/* Names read at once, and in a second: a program can make functions as fast as it likes. */
#define READ_MAX       REEL_RUNTIME_CODES_MAX
#define READS_A_SECOND 16384
#define READ_TIME      (20 * REEL_NS_PER_MS)
/* A function that could not be read is tried again; one whose turn did not come is not counted. */
#define ATTEMPTS_MAX 3
/* Ancestors whose functions a fork has, too. */
#define ANCESTORS_MAX 8

struct function {
	uint64_t space, code;
	uint64_t id, noted; /* when it was first seen */
	uint32_t identity;
};

/* A function whose name is to be read. */
struct want {
	uint64_t space, id;
	struct reel_runtime_code code;
	uint32_t attempts;
};

struct reel_function_table {
	struct reel_function_table_options options;
	const struct reel_timeline *timeline; /* of the last sample */
	struct function *functions;
	size_t n_functions, functions_capacity;
	struct reel_hash_index index; /* of functions */
	uint64_t last_id, left_out;
	struct want *wants;
	size_t n_wants, wants_capacity;
	/* Those being asked, all of one space, and an error of writing their answers. */
	struct want asked[READ_MAX];
	size_t n_asked, n_answered;
	uint64_t last_space;
	uint64_t runtime; /* of these: enum reel_runtime_kind */
	struct reel_error *error;
	uint64_t second;
	uint32_t reads_left;
	struct reel_runtime_frame frames[REEL_RUNTIME_FRAMES_MAX];
};

struct reel_error *reel_function_table_create(const struct reel_function_table_options *options,
					      struct reel_function_table **ret)
{
	struct reel_function_table *table = calloc(1, sizeof(*table));

	if (!table)
		return reel_error_no_memory();
	table->options = *options;
	*ret = table;
	return NULL;
}

void reel_function_table_destroy(struct reel_function_table *table)
{
	if (!table)
		return;
	free(table->functions);
	free(table->wants);
	reel_hash_index_free(&table->index);
	free(table);
}

uint64_t reel_function_table_left_out(const struct reel_function_table *table)
{
	return table->left_out;
}

void reel_function_table_restart(struct reel_function_table *table)
{
	table->n_functions = table->n_wants = 0;
	reel_hash_index_free(&table->index);
}

/* ---- numbers ------------------------------------------------------------------------ */

static uint64_t hash_of(const struct function *function)
{
	return (function->space * 31 + function->code) * 31 + function->identity;
}

static bool is_same(const struct function *a, const struct function *b)
{
	return a->code == b->code && a->space == b->space && a->identity == b->identity;
}

static const struct function *function_find(const struct reel_function_table *table,
					    const struct function *key)
{
	uint32_t found =
		REEL_HASH_FIND(&table->index, hash_of(key), i, is_same(&table->functions[i], key));

	return found == REEL_HASH_NONE ? NULL : &table->functions[found];
}

/* The number of what an ancestor had there when it forked; 0: nothing. */
static uint64_t inherited_id(const struct reel_function_table *table, const struct function *key)
{
	struct function of_parent = *key;

	for (size_t i = 0; i < ANCESTORS_MAX; i++) {
		const struct reel_space_state *state =
			reel_timeline_space(table->timeline, of_parent.space);
		const struct function *found;

		if (!state || !state->forked)
			return 0;
		of_parent.space = state->parent;
		found = function_find(table, &of_parent);
		if (found && found->noted < state->start)
			return found->id;
	}
	return 0;
}

/* Drops functions of processes that have ended; those of the others get places from 0 on. */
static bool drop_ended(struct reel_function_table *table)
{
	size_t n = 0;

	reel_hash_index_free(&table->index);
	for (size_t i = 0; i < table->n_functions; i++) {
		if (!reel_living_space(table->timeline, table->functions[i].space))
			continue;
		table->functions[n] = table->functions[i];
		if (!reel_hash_index_add(&table->index, hash_of(&table->functions[n]), (uint32_t)n))
			break;
		n++;
	}
	table->n_functions = n;
	return n < FUNCTIONS_MAX / 2;
}

static struct reel_error *function_add(struct reel_function_table *table,
				       const struct function *function)
{
	if (!reel_array_reserve(&table->functions, table->n_functions, &table->functions_capacity,
				sizeof(*function)) ||
	    !reel_array_reserve(&table->wants, table->n_wants, &table->wants_capacity,
				sizeof(*table->wants)) ||
	    !reel_hash_index_add(&table->index, hash_of(function), (uint32_t)table->n_functions))
		return reel_error_no_memory();
	table->functions[table->n_functions++] = *function;
	return NULL;
}

/* The number of a frame's function; 0 if it is unknown. */
static struct reel_error *number_of(struct reel_function_table *table, uint64_t space,
				    const struct reel_bpf_frame *frame, uint64_t time,
				    uint64_t *ret)
{
	struct function function = {
		.space = space,
		.code = frame->code,
		.identity = frame->identity & ~(uint32_t)REEL_BPF_FRAME_ENTRY,
		.noted = time,
	};
	const struct function *found;

	*ret = 0;
	if (!function.identity)
		return NULL;
	found = function_find(table, &function);
	if (found) {
		*ret = found->id;
		return NULL;
	}
	if (table->n_functions == FUNCTIONS_MAX && !drop_ended(table)) {
		table->left_out++;
		return NULL;
	}
	function.id = inherited_id(table, &function);
	if (function.id) {
		*ret = function.id;
		return function_add(table, &function);
	}
	function.id = *ret = ++table->last_id;
	TRY(function_add(table, &function));
	table->wants[table->n_wants++] = (struct want){
		.space = space,
		.id = function.id,
		.code = { .address = function.code, .identity = function.identity },
	};
	return NULL;
}

/*
 * Gives entries the addresses that follow all frames, the outermost entry's last.  The innermost call
 * may have its frame before it has its address, or its address longer.
 */
static void pair_natives(struct reel_runtime_frame *frames, size_t n,
			 const struct reel_bpf_frame *found, size_t n_found)
{
	size_t entries = 0, natives = 0;

	for (size_t i = 0; i < n; i++)
		entries += frames[i].is_entry;
	while (natives < n_found && found[n_found - 1 - natives].position == REEL_BPF_FRAME_NATIVE)
		natives++;
	if (natives + 1 < entries || natives > entries + 1)
		return;
	for (size_t i = n; i-- > 0 && natives;) {
		if (!frames[i].is_entry)
			continue;
		frames[i].native = found[--n_found].code;
		natives--;
	}
}

struct reel_error *reel_function_table_note(struct reel_function_table *table,
					    const struct reel_space_view *view,
					    uint32_t interpreter,
					    const struct reel_bpf_frame *found, size_t n_found,
					    bool is_cut, struct reel_sample *sample)
{
	const struct reel_runtime *runtime = reel_runtime_of(interpreter);
	struct reel_runtime_frame *frames = table->frames;
	size_t n = 0;

	if (!runtime)
		return NULL;
	table->timeline = view->timeline;
	for (size_t i = 0; i < n_found; i++) {
		const struct reel_bpf_frame *frame = &found[i];

		if (frame->position != REEL_BPF_FRAME_NATIVE) {
			frames[n] = (struct reel_runtime_frame){
				.position = frame->position,
				.is_entry = frame->identity & REEL_BPF_FRAME_ENTRY,
			};
			TRY(number_of(table, view->space, frame, sample->time,
				      &frames[n].function));
			n++;
		} else if (runtime->natives_follow) {
			pair_natives(frames, n, found, n_found);
			break;
		} else if (n && !frames[n - 1].native) {
			/* Without frames of its own, a call of the interpreter has just begun. */
			frames[n - 1].is_entry = true;
			frames[n - 1].native = frame->code;
		}
	}
	if (!n)
		return NULL;
	sample->runtime = runtime->id;
	sample->runtime_frames = frames;
	sample->n_runtime_frames = n;
	sample->runtime_cut = is_cut;
	return NULL;
}

/* ---- names -------------------------------------------------------------------------- */

/* Another process than the last one, if one waits: a process with many functions does not keep
 * others waiting. */
static uint64_t next_space(const struct reel_function_table *table)
{
	for (size_t i = 0; i < table->n_wants; i++) {
		if (table->wants[i].space != table->last_space)
			return table->wants[i].space;
	}
	return table->wants[0].space;
}

/* Moves wants of a space from the list to `asked`. */
static void gather(struct reel_function_table *table)
{
	size_t left = 0;

	table->last_space = next_space(table);
	table->n_asked = 0;
	for (size_t i = 0; i < table->n_wants; i++) {
		if (table->wants[i].space == table->last_space && table->n_asked < READ_MAX &&
		    table->n_asked < table->reads_left)
			table->asked[table->n_asked++] = table->wants[i];
		else
			table->wants[left++] = table->wants[i];
	}
	table->n_wants = left;
	table->reads_left -= (uint32_t)table->n_asked;
}

/* NULL if nothing is, any more. */
static struct want *asked_for(struct reel_function_table *table,
			      const struct reel_runtime_function *answer)
{
	for (size_t i = 0; i < table->n_asked; i++) {
		struct want *want = &table->asked[i];

		if (want->id && want->code.address == answer->code.address &&
		    want->code.identity == answer->code.identity)
			return want;
	}
	return NULL;
}

/* For reel_inspector_functions. */
static void put_answer(void *context, const struct reel_runtime_function *answer)
{
	struct reel_function_table *table = context;
	struct reel_record record = { .id = REEL_RECORD_FUNCTION };
	struct want *want = asked_for(table, answer);

	if (!want || table->error)
		return;
	record.function = (struct reel_record_function){
		.id = want->id,
		.runtime = table->runtime,
		.line = answer->line,
		.name = answer->name,
		.file = answer->file,
		.lines = answer->lines,
	};
	want->id = 0;
	table->n_answered++;
	table->error = table->options.sink.put(table->options.sink.context, &record);
}

/* Whether all had their turn: the time may end before. */
static bool ask(struct reel_function_table *table, uint32_t pid,
		const struct reel_runtime_place *interpreter)
{
	const struct reel_runtime *runtime = reel_runtime_of(interpreter->kind);
	struct reel_runtime_code codes[READ_MAX];

	if (!runtime)
		return true;
	table->runtime = runtime->id;
	for (size_t i = 0; i < table->n_asked; i++)
		codes[i] = table->asked[i].code;
	table->n_answered = 0;
	return reel_inspector_functions(table->options.inspector, pid, interpreter, codes,
					table->n_asked, reel_now() + READ_TIME, put_answer,
					table) != REEL_ANSWER_PART ||
	       !table->n_answered;
}

struct reel_error *reel_function_table_read(struct reel_function_table *table,
					    reel_interpreter_of *interpreter_of, void *context,
					    bool *ret)
{
	struct reel_runtime_place interpreter = { 0 };
	const struct reel_space_state *state;
	uint64_t now = reel_now();
	struct reel_error *error;
	bool all = true;

	if (now - table->second >= REEL_NS_PER_SECOND) {
		table->second = now;
		table->reads_left = READS_A_SECOND;
	}
	*ret = table->n_wants && table->reads_left;
	if (!*ret)
		return NULL;
	gather(table);
	state = reel_living_space(table->timeline, table->last_space);
	if (state)
		interpreter = interpreter_of(context, (uint32_t)state->pid);
	if (interpreter.kind)
		all = ask(table, (uint32_t)state->pid, &interpreter);
	for (size_t i = 0; i < table->n_asked; i++) {
		struct want *want = &table->asked[i];

		if (!want->id)
			continue;
		/* There is room: it was in the list. */
		want->attempts += all;
		if (interpreter.kind && want->attempts < ATTEMPTS_MAX)
			table->wants[table->n_wants++] = *want;
		else
			table->left_out++;
	}
	error = table->error;
	table->error = NULL;
	return error;
}

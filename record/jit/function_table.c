/* SPDX-License-Identifier: Apache-2.0 */
#include "record/jit/function_table.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/hash_index.h"
#include "base/id_table.h"
#include "base/quantity.h"
#include "record/processes/code_spaces.h"

/* Of all processes, and of one. */
#define FUNCTIONS_MAX	    (1u << 18)
#define SPACE_FUNCTIONS_MAX (1u << 16)
/* Functions of processes that have ended make room once in this time. */
#define DROP_INTERVAL REEL_NS_PER_SECOND
/* Names waiting to be read: of all processes, and of one. */
#define WANTS_MAX	8192
#define SPACE_WANTS_MAX 2048
/* Names read at once. */
#define READ_MAX  REEL_RUNTIME_CODES_MAX
#define READ_TIME (20 * REEL_NS_PER_MS)
/* A function that could not be read is tried again; one whose turn did not come is not counted. */
#define ATTEMPTS_MAX 3
/* Ancestors whose functions a fork also has. */
#define ANCESTORS_MAX 8

/* Of its name. */
enum state {
	UNNAMED, /* no name has been asked for, or there was no room */
	WANTED,
	DONE, /* it is in the file, or counted as left out */
};

struct function {
	uint64_t space, code;
	uint64_t id, noted; /* when it was first seen */
	uint32_t identity;
	uint32_t state;
};

/* Counts of a space. */
struct space {
	struct reel_id_entry entry;
	uint32_t n_functions, n_wants;
	uint64_t refused; /* the last choice in which it could not be asked */
};

/* A function whose name is unread. */
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
	struct reel_id_table spaces;  /* those with functions */
	uint64_t last_id, left_out, drop_after;
	struct want wants[WANTS_MAX];
	size_t n_wants;
	/* Those being asked, all of one space, and an error of writing their answers. */
	struct want asked[READ_MAX];
	size_t n_asked, n_answered;
	uint64_t last_space, n_choices;
	uint64_t runtime; /* of these: enum reel_runtime_kind */
	uint32_t pid;	  /* of these */
	struct reel_error *error;
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
	reel_id_table_free_all(&table->spaces);
	free(table->functions);
	reel_hash_index_free(&table->index);
	free(table);
}

uint64_t reel_function_table_left_out(const struct reel_function_table *table)
{
	return table->left_out;
}

void reel_function_table_end(struct reel_function_table *table)
{
	for (size_t i = 0; i < table->n_functions; i++) {
		table->left_out += table->functions[i].state != DONE;
		table->functions[i].state = DONE;
	}
	table->n_wants = 0;
}

void reel_function_table_restart(struct reel_function_table *table)
{
	table->n_functions = table->n_wants = table->functions_capacity = 0;
	free(table->functions);
	table->functions = NULL;
	reel_hash_index_free(&table->index);
	reel_id_table_free_all(&table->spaces);
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

static struct function *function_find(const struct reel_function_table *table,
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

/* NULL without memory. */
static struct space *space_of(struct reel_function_table *table, uint64_t id)
{
	struct space *space = (struct space *)reel_id_table_find(&table->spaces, id);

	return space ? space : reel_id_table_add(&table->spaces, id, sizeof(*space));
}

/* Drops functions of processes that have ended; the others get places from 0 on. */
static void drop_ended(struct reel_function_table *table)
{
	size_t n = 0;

	reel_hash_index_free(&table->index);
	for (size_t i = 0; i < table->n_functions; i++) {
		struct function *function = &table->functions[i];

		if (!reel_living_space(table->timeline, function->space)) {
			/* Of the wanted ones, when it is their turn. */
			table->left_out += function->state == UNNAMED;
			free(reel_id_table_remove(&table->spaces, function->space));
			continue;
		}
		table->functions[n] = *function;
		if (!reel_hash_index_add(&table->index, hash_of(&table->functions[n]), (uint32_t)n))
			break;
		n++;
	}
	table->n_functions = n;
}

/* Whether there is room for one more of the space's functions. */
static bool has_room(struct reel_function_table *table, uint64_t space, uint64_t time)
{
	const struct space *counts = space_of(table, space);

	if (!counts || counts->n_functions >= SPACE_FUNCTIONS_MAX)
		return false;
	if (table->n_functions == FUNCTIONS_MAX && time >= table->drop_after) {
		drop_ended(table);
		table->drop_after = time + DROP_INTERVAL;
	}
	return table->n_functions < FUNCTIONS_MAX;
}

static struct reel_error *function_add(struct reel_function_table *table,
				       const struct function *function)
{
	struct space *space = space_of(table, function->space);

	if (!space ||
	    !reel_array_reserve(&table->functions, table->n_functions, &table->functions_capacity,
				sizeof(*function)) ||
	    !reel_hash_index_add(&table->index, hash_of(function), (uint32_t)table->n_functions))
		return reel_error_no_memory();
	table->functions[table->n_functions++] = *function;
	space->n_functions++;
	return NULL;
}

/* Wants the function's name, if there is room; otherwise its next sample may. */
static void want_name(struct reel_function_table *table, struct function *function)
{
	struct space *space = space_of(table, function->space);

	if (!space || table->n_wants >= WANTS_MAX || space->n_wants >= SPACE_WANTS_MAX)
		return;
	table->wants[table->n_wants++] = (struct want){
		.space = function->space,
		.id = function->id,
		.code = { .address = function->code, .identity = function->identity },
	};
	space->n_wants++;
	function->state = WANTED;
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
	struct function *found;

	*ret = 0;
	if (!function.identity)
		return NULL;
	found = function_find(table, &function);
	if (!found && !has_room(table, space, time)) {
		table->left_out++;
		return NULL;
	}
	if (!found) {
		function.id = inherited_id(table, &function);
		function.state = function.id ? DONE : UNNAMED;
		if (!function.id)
			function.id = ++table->last_id;
		TRY(function_add(table, &function));
		found = &table->functions[table->n_functions - 1];
	}
	if (found->state == UNNAMED)
		want_name(table, found);
	*ret = found->id;
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

struct reel_error *reel_function_table_set_frames(
	struct reel_function_table *table, const struct reel_space_view *view, uint32_t interpreter,
	const struct reel_bpf_frame *found, size_t n_found, bool is_cut, struct reel_sample *sample)
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

/* The nearest living process from which it was forked: it mostly has the same functions.  NULL: none. */
static const struct reel_space_state *living_ancestor(const struct reel_function_table *table,
						      uint64_t space)
{
	const struct reel_space_state *state, *living = NULL;

	for (size_t i = 0; i < ANCESTORS_MAX && !living; i++) {
		state = reel_timeline_space(table->timeline, space);
		if (!state || !state->forked)
			return NULL;
		space = state->parent;
		living = reel_living_space(table->timeline, space);
	}
	return living;
}

/* Whether a process may be asked about the space's functions now; its pid, 0 if it has ended: then
 * they make room for others, unless an ancestor may be asked. */
static bool may_ask(const struct reel_function_table *table, uint64_t space, uint32_t *pid_ret)
{
	const struct reel_space_state *living = reel_living_space(table->timeline, space);
	const struct reel_space_state *asked = living ? living : living_ancestor(table, space);
	bool allowed = asked && reel_budget_allows(table->options.budget, REEL_BUDGET_NAMES,
						   (uint32_t)asked->pid);

	*pid_ret = allowed ? (uint32_t)asked->pid : 0;
	return allowed || !living;
}

/* Another process than the last one, if one waits: a process with many functions does not keep
 * others waiting.  False if none may be asked. */
static bool choose(struct reel_function_table *table)
{
	uint64_t last = table->last_space;
	bool found = false;

	table->n_choices++;
	for (size_t i = 0; i < table->n_wants && (!found || table->last_space == last); i++) {
		uint64_t id = table->wants[i].space;
		struct space *space = (struct space *)reel_id_table_find(&table->spaces, id);
		uint32_t pid;

		if ((found && id == last) || (space && space->refused == table->n_choices))
			continue;
		if (may_ask(table, id, &pid)) {
			found = true;
			table->last_space = id;
			table->pid = pid;
		} else if (space) {
			space->refused = table->n_choices;
		}
	}
	return found;
}

/* Moves wants of the chosen space from the list to `asked`. */
static void gather(struct reel_function_table *table)
{
	size_t left = 0;

	table->n_asked = 0;
	for (size_t i = 0; i < table->n_wants; i++) {
		if (table->wants[i].space == table->last_space && table->n_asked < READ_MAX)
			table->asked[table->n_asked++] = table->wants[i];
		else
			table->wants[left++] = table->wants[i];
	}
	table->n_wants = left;
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

/* Its name has been read, or cannot be. */
static void settle(struct reel_function_table *table, struct want *want)
{
	struct function *function =
		function_find(table, &(struct function){ .space = want->space,
							 .code = want->code.address,
							 .identity = want->code.identity });
	struct space *space = (struct space *)reel_id_table_find(&table->spaces, want->space);

	if (function)
		function->state = DONE;
	if (space)
		space->n_wants--;
	want->id = 0;
}

static bool may_write(struct reel_function_table *table, const struct reel_runtime_function *answer)
{
	return reel_budget_charge_bytes(table->options.budget, REEL_BUDGET_NAME_BYTES, table->pid,
					REEL_BUDGET_RECORD + answer->name.size + answer->file.size +
						answer->lines.size);
}

/* For reel_inspector_functions. */
static void write_answer(void *context, const struct reel_runtime_function *answer)
{
	struct reel_function_table *table = context;
	struct reel_record record = { .id = REEL_RECORD_FUNCTION };
	struct want *want = asked_for(table, answer);

	if (!want || table->error)
		return;
	table->n_answered++;
	record.function = (struct reel_record_function){
		.id = want->id,
		.runtime = table->runtime,
		.line = answer->line,
		.name = answer->name,
		.file = answer->file,
		.lines = answer->lines,
	};
	settle(table, want);
	if (may_write(table, answer))
		table->error = table->options.sink.put(table->options.sink.context, &record);
	else
		table->left_out++;
}

/* Whether all had their turn: the time may end before. */
static bool ask(struct reel_function_table *table, const struct reel_runtime_place *interpreter)
{
	const struct reel_runtime *runtime = reel_runtime_of(interpreter->kind);
	struct reel_runtime_code codes[READ_MAX];

	if (!runtime)
		return true;
	table->runtime = runtime->id;
	for (size_t i = 0; i < table->n_asked; i++)
		codes[i] = table->asked[i].code;
	table->n_answered = 0;
	return reel_inspector_functions(table->options.inspector, table->pid, interpreter, codes,
					table->n_asked, reel_now() + READ_TIME, write_answer,
					table) != REEL_ANSWER_PART ||
	       !table->n_answered;
}

struct reel_error *reel_function_table_read(struct reel_function_table *table,
					    reel_interpreter_of *interpreter_of, void *context,
					    bool *ret)
{
	struct reel_runtime_place interpreter = { 0 };
	struct reel_error *error;
	bool all = true;

	*ret = table->n_wants && choose(table);
	if (!*ret)
		return NULL;
	gather(table);
	if (table->pid)
		interpreter = interpreter_of(context, table->pid);
	if (interpreter.kind)
		all = ask(table, &interpreter);
	for (size_t i = 0; i < table->n_asked; i++) {
		struct want *want = &table->asked[i];

		if (!want->id)
			continue;
		/* There is room: it was in the list. */
		want->attempts += all;
		if (interpreter.kind && want->attempts < ATTEMPTS_MAX) {
			table->wants[table->n_wants++] = *want;
			continue;
		}
		settle(table, want);
		table->left_out++;
	}
	error = table->error;
	table->error = NULL;
	return error;
}

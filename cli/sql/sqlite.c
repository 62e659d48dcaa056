/* SPDX-License-Identifier: Apache-2.0 */
/* An SQLite database: docs/sql.md. */
#include <stdlib.h>
#include <string.h>

#include "cli/export/formats.h"
#include "cli/sql/query.h"
#include "cli/sql/sqlite.h"
#include "cli/export/trace_facts.h"
#include "cli/print/text.h"
#include "cli/profile/profile.h"

/* Of frame_values: a row without its texts, and all of it. */
#define VALUE_BYTES 40
#define VALUES_MAX  (UINT64_C(4) << 30)

/* The table that a statement adds a row to; or its text.  Values to find are those to add, by the
 * numbers of the table's columns. */
static const char *const texts[STATEMENTS] = {
	[ADD_META] = "meta",
	[ADD_CAPTURE] = "base_captures",
	[ADD_PROBLEM] = "problems",
	[ADD_EVENT] = "events",
	[ADD_LOSS] = "losses",
	[ADD_MARK] = "marks",
	[ADD_MODULE] = "modules",
	[ADD_PROCESS] = "processes",
	[ADD_THREAD] = "threads",
	[ADD_COMM] = "comms",
	[ADD_FUNCTION] = "functions",
	[ADD_LINE] = "lines",
	[ADD_FRAME] = "frames",
	[ADD_STOP] = "stops",
	[ADD_STACK] = "base_stacks",
	[ADD_SAMPLE] = "base_samples",
	[ADD_LABEL] = "sample_labels",
	[ADD_VALUE] = "frame_values",
	[FIND_COMM] = "SELECT id FROM comms WHERE name = ?2",
	[FIND_FUNCTION] = "SELECT id FROM functions WHERE name = ?2 AND module = ?3 AND"
			  " is_inlined = ?4 AND is_kernel = ?5",
	[FIND_LINE] = "SELECT id FROM lines WHERE file = ?2 AND line = ?3 AND column = ?4",
	[SET_QUALITY] = "UPDATE base_captures SET exported = ?2, unwound = ?3, whole = ?4"
			" WHERE id = ?1",
};

/* The id of the row that a FIND_ statement, with its values bound, finds; 0: none, or an error,
 * which was reported. */
static uint32_t find_row(struct sqlite_export *export, enum statement statement)
{
	sqlite3_stmt *query = export->statements[statement];
	int result = sqlite3_step(query);
	uint32_t id = result == SQLITE_ROW ? (uint32_t)sqlite3_column_int64(query, 0) : 0;

	if (result != SQLITE_ROW && result != SQLITE_DONE)
		database_fail(&export->database);
	sqlite3_reset(query);
	return id;
}

/* The id of the row just added, which SQLite chose; 0 after an error. */
static uint32_t add_row(struct sqlite_export *export, enum statement statement)
{
	if (export->database.failed || !sqlite_step(export, statement))
		return 0;
	return (uint32_t)sqlite3_last_insert_rowid(export->database.connection);
}

/* ---- functions, lines, frames ------------------------------------------------------------ */

static uint32_t function_of(struct sqlite_export *export, const struct reel_frame *frame)
{
	const struct symbol *symbol = symbol_of_frame(&export->symbols, frame);
	uint32_t id = (uint32_t)(uintptr_t)pointer_map_get(&export->functions, symbol);

	if (id)
		return id;
	for (int i = 0; i < 2 && !id; i++) {
		enum statement statement = i ? ADD_FUNCTION : FIND_FUNCTION;
		sqlite3_stmt *query = export->statements[statement];

		bind_literal(query, 2, symbol->name);
		bind_literal(query, 3, symbol->module);
		sqlite3_bind_int(query, 4, symbol->inlined);
		sqlite3_bind_int(query, 5, symbol->kernel);
		if (i)
			sqlite3_bind_int(query, 6, symbol->function);
		id = i ? add_row(export, statement) : find_row(export, statement);
	}
	if (id)
		pointer_map_put(&export->functions, symbol, (void *)(uintptr_t)id);
	return id;
}

/* 0: no line, or an error. */
static uint32_t line_of(struct sqlite_export *export, const struct reel_frame *frame)
{
	uint32_t id = 0;

	for (int i = 0; i < 2 && !id && (*frame->file || frame->line); i++) {
		enum statement statement = i ? ADD_LINE : FIND_LINE;
		sqlite3_stmt *query = export->statements[statement];

		bind_text(query, 2, frame->file);
		sqlite3_bind_int64(query, 3, frame->line);
		sqlite3_bind_int64(query, 4, frame->column);
		id = i ? add_row(export, statement) : find_row(export, statement);
	}
	return id;
}

static bool add_frame(void *context, const struct reel_frame *frame, enum reel_step how,
		      uint32_t id, uint32_t *function_ret)
{
	struct sqlite_export *export = context;
	sqlite3_stmt *query = export->statements[ADD_FRAME];
	uint32_t line = line_of(export, frame);

	*function_ret = function_of(export, frame);
	bind_or_null(query, 1, id);
	bind_or_null(query, 2, *function_ret);
	bind_or_null(query, 3, sqlite_module_row(export, frame->module_id));
	bind_bits(query, 4, frame->module_address);
	bind_number(query, 5, frame->function_offset);
	bind_or_null(query, 6, line);
	sqlite3_bind_int(query, 7, frame->inlined);
	sqlite3_bind_int(query, 8, frame->kernel);
	sqlite3_bind_int(query, 9, frame->exact);
	sqlite3_bind_int(query, 10, step_is_guess(how));
	bind_literal(query, 11, step_name(how));
	return !export->database.failed && sqlite_step(export, ADD_FRAME);
}

static bool add_stack(void *context, const struct stack_node *node, const struct reel_trace *trace)
{
	struct sqlite_export *export = context;
	sqlite3_stmt *query = export->statements[ADD_STACK];

	bind_or_null(query, 1, node->id);
	bind_or_null(query, 2, node->parent);
	bind_or_null(query, 3, node->frame);
	sqlite3_bind_int64(query, 4, node->depth);
	sqlite3_bind_int(query, 5, (int)stack_stop(trace));
	sqlite3_bind_int(query, 6, trace_is_cut(trace));
	sqlite3_bind_int(query, 7, node->is_recursive);
	return sqlite_step(export, ADD_STACK);
}

/* ---- threads and processes ------------------------------------------------------------------- */

/* From row `first` on. */
static void members_begin(struct members *members, struct group_key key, uint32_t first)
{
	groups_free(&members->groups);
	groups_init(&members->groups, key);
	pointer_map_free(&members->ids);
	members->first = first;
	members->count = 0;
	members->last_symbol = NULL;
}

static void members_free(struct members *members)
{
	groups_free(&members->groups);
	pointer_map_free(&members->ids);
	free(members->items);
}

/* The row of the trace's thread or process. */
static uint32_t member_of(struct members *members, struct symbol_table *symbols,
			  const struct reel_trace *trace, struct member member)
{
	const struct symbol *symbol = groups_find(&members->groups, symbols, trace, NULL);
	uint32_t id;

	if (symbol == members->last_symbol)
		return members->last_id;
	id = (uint32_t)(uintptr_t)pointer_map_get(&members->ids, symbol);
	if (!id) {
		members->items = memory_reserve(members->items, &members->capacity, members->count,
						sizeof(*members->items));
		members->items[members->count] = member;
		id = members->first + members->count++;
		pointer_map_put(&members->ids, symbol, (void *)(uintptr_t)id);
	}
	members->last_symbol = symbol;
	members->last_id = id;
	return id;
}

static bool write_members(struct sqlite_export *export, const struct members *members,
			  bool are_threads)
{
	enum statement statement = are_threads ? ADD_THREAD : ADD_PROCESS;
	sqlite3_stmt *query = export->statements[statement];

	for (size_t i = 0; i < members->groups.n_tasks; i++) {
		const struct group *group = &members->groups.tasks[i];
		uint32_t id = (uint32_t)(uintptr_t)pointer_map_get(&members->ids, group->symbol);
		const struct member *member = &members->items[id - members->first];
		int column = 3;

		bind_or_null(query, 1, id);
		bind_or_null(query, 2, export->n_captures);
		if (are_threads) {
			bind_or_null(query, column++, member->process);
			bind_bits(query, column++, member->thread);
		}
		sqlite3_bind_int64(query, column++, group->number);
		bind_or_null(query, column++, member->namespace_id);
		bind_text(query, column++, group->comm);
		if (are_threads)
			bind_text_or_null(query, column, member->merged_host);
		if (!sqlite_step(export, statement))
			return false;
	}
	return true;
}

static bool begin_capture(void *state, struct session *session, const char *path)
{
	struct sqlite_export *export = state;

	export->session = session;
	export->n_captures++;
	export->unknown_event = 0;
	export->last_comm = NULL;
	stack_tree_begin_capture(&export->tree);
	symbol_table_free(&export->symbols);
	symbol_table_init(&export->symbols, SYMBOLS_BY_FUNCTION);
	symbol_table_free(&export->group_symbols);
	symbol_table_init(&export->group_symbols, SYMBOLS_BY_FUNCTION);
	pointer_map_free(&export->functions);
	pointer_map_free(&export->comms);
	pointer_map_free(&export->events);
	members_begin(&export->threads, (struct group_key){ GROUP_THREAD, "thread", 0 },
		      export->threads.first + export->threads.count);
	members_begin(&export->processes, (struct group_key){ GROUP_PROCESS, "process", 0 },
		      export->processes.first + export->processes.count);
	return sqlite_begin_rows(export, path) &&
	       process_records_load(&export->database, session->capture);
}

static bool end_capture(void *state, struct session *session)
{
	struct sqlite_export *export = state;

	(void)session;
	if (export->n_without_values)
		complain(
			"frame_values is full (4 GB): values of %s are missing; select samples, or "
			"variables by --values",
			format_plural(export->n_without_values, "sample").text);
	return sqlite_end_rows(export) && write_members(export, &export->processes, false) &&
	       write_members(export, &export->threads, true);
}

/* ---- samples ------------------------------------------------------------------------------- */

static uint32_t comm_of(struct sqlite_export *export, const char *comm)
{
	uint32_t id = (uint32_t)(uintptr_t)pointer_map_get(&export->comms, comm);

	if (comm == export->last_comm)
		return export->last_comm_id;
	for (int i = 0; i < 2 && !id; i++) {
		enum statement statement = i ? ADD_COMM : FIND_COMM;

		bind_text(export->statements[statement], 2, comm);
		id = i ? add_row(export, statement) : find_row(export, statement);
		if (id)
			pointer_map_put(&export->comms, comm, (void *)(uintptr_t)id);
	}
	export->last_comm = comm;
	export->last_comm_id = id;
	return id;
}

static bool add_labels(struct sqlite_export *export, const struct reel_trace *trace)
{
	sqlite3_stmt *query = export->statements[ADD_LABEL];
	bool ok = true;

	for (size_t i = 0; i < trace->n_labels && ok; i++) {
		const struct reel_label *label = &trace->labels[i];

		sqlite3_bind_int64(query, 1, (sqlite3_int64) export->n_samples);
		bind_literal(query, 2, label->key);
		sqlite3_bind_null(query, 3);
		if (label->kind != REEL_LABEL_TEXT)
			bind_bits(query, 3, label->number);
		bind_text(query, 4, label->text);
		ok = sqlite_step(export, ADD_LABEL);
	}
	return ok;
}

static bool add_value(struct sqlite_export *export, const struct reel_trace *trace,
		      const struct reel_frame_value *value)
{
	sqlite3_stmt *query = export->statements[ADD_VALUE];
	uint32_t function = function_of(export, trace->frames[value->frame]);
	bool is_known = value->state == REEL_VALUE_KNOWN;

	sqlite3_bind_int64(query, 1, (sqlite3_int64) export->n_samples);
	sqlite3_bind_int64(query, 2, (sqlite3_int64)value->frame);
	bind_or_null(query, 3, function);
	bind_text(query, 4, value->name);
	bind_literal(query, 5, value->is_parameter ? "argument" : value->is_local ? "local" : NULL);
	bind_literal(query, 6, reel_value_state_name(value->state));
	sqlite3_bind_null(query, 7);
	if (is_known && value->is_number)
		bind_bits(query, 7, value->number);
	sqlite3_bind_null(query, 8);
	if (is_known)
		bind_text(query, 8, value->text);
	return function && sqlite_step(export, ADD_VALUE);
}

/* All values of a sample, or none. */
static bool add_values(struct sqlite_export *export, const struct reel_trace *trace)
{
	uint64_t bytes = 0;
	bool ok = true;

	for (size_t i = 0; i < trace->n_values; i++)
		bytes +=
			VALUE_BYTES + strlen(trace->values[i].name) + strlen(trace->values[i].text);
	if (export->value_bytes + bytes > VALUES_MAX) {
		export->n_without_values++;
		return true;
	}
	export->value_bytes += bytes;
	for (size_t i = 0; i < trace->n_values && ok; i++)
		ok = add_value(export, trace, &trace->values[i]);
	return ok;
}

static bool add_sample(void *state, const struct reel_trace *trace,
		       const struct reel_event_info *event)
{
	struct sqlite_export *export = state;
	sqlite3_stmt *query = export->statements[ADD_SAMPLE];
	uint32_t process = member_of(&export->processes, &export->group_symbols, trace,
				     (struct member){ .namespace_id = trace->namespace_pid });
	uint32_t thread =
		member_of(&export->threads, &export->group_symbols, trace,
			  (struct member){ .thread = trace->thread,
					   .merged_host = trace->host_id ? trace->host : "",
					   .namespace_id = trace->namespace_tid,
					   .process = process });
	uint32_t event_id = sqlite_event_of(export, event), comm = comm_of(export, trace->comm),
		 stack;

	if (!event_id || !comm || !stack_tree_add(&export->tree, trace, &stack))
		return false;
	sqlite3_bind_int64(query, 1, (sqlite3_int64)++ export->n_samples);
	bind_or_null(query, 2, export->n_captures);
	bind_number(query, 3, trace->id);
	bind_number(query, 4, trace->time);
	bind_wall_time(query, 5, export->session->info, trace->time);
	bind_or_null(query, 6, event_id);
	bind_number(query, 7, trace->weight);
	sqlite3_bind_int64(query, 8, trace->cpu);
	bind_or_null(query, 9, thread);
	bind_or_null(query, 10, comm);
	bind_literal(query, 11, where_name(trace->where));
	bind_literal(query, 12, reel_state_name(trace->state));
	sqlite3_bind_null(query, 13);
	if (trace->n_frames)
		bind_bits(query, 13, trace->addresses[0]);
	bind_or_null(query, 14, stack);
	bind_or_null(query, 15, trace->stack_size);
	sqlite3_bind_int(query, 16, trace->stack_size_is_minimum);
	bind_or_null(query, 17, trace->process_comm ? comm_of(export, trace->process_comm) : 0);
	return sqlite_step(export, ADD_SAMPLE) && add_labels(export, trace) &&
	       add_values(export, trace);
}

/* ---- the whole ------------------------------------------------------------------------------ */

static bool add_meta(struct sqlite_export *export, const char *key, const char *value)
{
	bind_literal(export->statements[ADD_META], 1, key);
	bind_literal(export->statements[ADD_META], 2, value);
	return sqlite_step(export, ADD_META);
}

static bool add_constants(struct sqlite_export *export)
{
	bool ok = true;

	for (int stop = 0; stop < REEL_STOP_COUNT && ok; stop++) {
		sqlite3_bind_int(export->statements[ADD_STOP], 1, stop);
		bind_literal(export->statements[ADD_STOP], 2, reel_stop_name(stop));
		ok = sqlite_step(export, ADD_STOP);
	}
	return ok && add_meta(export, "generator", "stackreel " REEL_VERSION_STRING) &&
	       add_meta(export, "schema_version", SCHEMA_VERSION_TEXT) &&
	       add_meta(export, "documentation", "docs/sql.md");
}

static void finalize(struct sqlite_export *export)
{
	for (size_t i = 0; i < STATEMENTS; i++) {
		sqlite3_finalize(export->statements[i]);
		export->statements[i] = NULL;
	}
}

bool sqlite_export_check(struct sqlite_export *export, const char *query, bool *reads_values_ret)
{
	bool ok;

	query_forbid_rest(&export->database);
	ok = query_check(&export->database, query);
	query_allow_all(&export->database);
	*reads_values_ret = export->database.reads_values;
	return ok;
}

bool sqlite_export_finish(struct sqlite_export *export)
{
	struct database *database = &export->database;

	if (export->is_finished)
		return true;
	finalize(export);
	export->is_finished =
		database_run(database, "COMMIT") && database_run(database, schema_indexes);
	query_forbid_rest(database);
	return export->is_finished;
}

static bool export_close(void *state, bool ok)
{
	struct sqlite_export *export = state;

	ok = ok && sqlite_export_finish(export);
	finalize(export);
	ok = database_close(&export->database) && ok;
	stack_tree_free(&export->tree);
	symbol_table_free(&export->symbols);
	symbol_table_free(&export->group_symbols);
	pointer_map_free(&export->functions);
	pointer_map_free(&export->comms);
	pointer_map_free(&export->events);
	members_free(&export->threads);
	members_free(&export->processes);
	free(export->module_numbers);
	free(export);
	return ok;
}

static void *export_open(const struct export_target *target)
{
	struct sqlite_export *export = memory_get(sizeof(*export));
	bool ok = database_open(&export->database, target->fd, target->sandboxed) &&
		  database_run(&export->database, schema_tables) &&
		  database_run(&export->database, schema_views) &&
		  database_run(&export->database, "BEGIN");

	for (size_t i = 0; i < STATEMENTS && ok; i++) {
		export->statements[i] =
			i < FIND_COMM ? database_prepare_insert(&export->database, texts[i])
				      : database_prepare(&export->database, texts[i]);
		ok = export->statements[i];
	}
	stack_tree_init(&export->tree, (struct stack_visitor){ add_frame, add_stack, export });
	export->threads.first = export->processes.first = 1;
	if (ok && add_constants(export))
		return export;
	export_close(export, false);
	return NULL;
}

const struct export_format export_sqlite = {
	.name = "sqlite",
	.summary = "a database for SQLite",
	.needs_file = true,
	.has_frame_values = true,
	.open = export_open,
	.begin_capture = begin_capture,
	.add = add_sample,
	.end_capture = end_capture,
	.close = export_close,
};

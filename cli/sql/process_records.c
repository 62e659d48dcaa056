/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records name a thread by its number and a process by that of its address space (SPEC.md, section
 * 5), so all are loaded first and then joined.
 */
#include <string.h>

#include "cli/print/text.h"
#include "cli/sql/sqlite.h"

static const char prepare_tables[] =
	"CREATE TEMP TABLE record_spaces (number INTEGER PRIMARY KEY, pid);"
	"CREATE TEMP TABLE record_threads (number INTEGER PRIMARY KEY, space, tid, parent);"
	"CREATE TEMP TABLE records (time, wall_time, kind, thread, space, name);";

static const char join_tables[] =
	"INSERT INTO process_events (capture_id, time, wall_time, kind, pid, tid, thread_number,"
	"  parent_number, name)"
	"  SELECT (SELECT max(id) FROM base_captures), r.time, r.wall_time, r.kind, s.pid, t.tid,"
	"  r.thread, iif(r.kind = 'start', t.parent, NULL), r.name"
	"  FROM records r LEFT JOIN record_threads t ON t.number = r.thread"
	"  LEFT JOIN record_spaces s ON s.number = ifnull(r.space, t.space)"
	"  ORDER BY r.time, r.rowid;"
	"DROP TABLE records; DROP TABLE record_threads; DROP TABLE record_spaces;";

enum record_statement {
	RECORD_SPACE,
	RECORD_THREAD,
	RECORD_EVENT,
	RECORD_STATEMENTS,
};

static const char *const texts[RECORD_STATEMENTS] = {
	[RECORD_SPACE] = "INSERT OR IGNORE INTO record_spaces VALUES (?, ?)",
	[RECORD_THREAD] = "INSERT OR IGNORE INTO record_threads VALUES (?, ?, ?, nullif(?, 0))",
	[RECORD_EVENT] = "INSERT INTO records VALUES (?, ?, ?, ?, ?, ?)",
};

struct loader {
	struct database *database;
	const struct reel_capture_info *info;
	sqlite3_stmt *statements[RECORD_STATEMENTS];
	bool ok;
};

/* ---- records ------------------------------------------------------------------------------ */

static const struct reel_field *field_of(const struct reel_record_view *record, const char *name)
{
	for (size_t i = 0; i < record->n_fields; i++) {
		if (!strcmp(record->fields[i].name, name))
			return &record->fields[i];
	}
	return NULL;
}

static uint64_t number_of(const struct reel_record_view *record, const char *name)
{
	const struct reel_field *field = field_of(record, name);

	return field ? field->value : 0;
}

static void bind_field(sqlite3_stmt *statement, int column, const struct reel_record_view *record,
		       const char *name)
{
	if (field_of(record, name))
		bind_bits(statement, column, number_of(record, name));
	else
		sqlite3_bind_null(statement, column);
}

static bool add_space(struct loader *loader, const struct reel_record_view *record)
{
	sqlite3_stmt *statement = loader->statements[RECORD_SPACE];

	bind_field(statement, 1, record, "id");
	bind_field(statement, 2, record, "pid");
	return database_step(loader->database, statement);
}

static bool add_thread(struct loader *loader, const struct reel_record_view *record)
{
	sqlite3_stmt *statement = loader->statements[RECORD_THREAD];

	bind_field(statement, 1, record, "id");
	bind_field(statement, 2, record, "space");
	bind_field(statement, 3, record, "tid");
	bind_field(statement, 4, record, "parent");
	return database_step(loader->database, statement);
}

static bool add_record(struct loader *loader, const struct reel_record_view *record,
		       const char *kind, const char *thread)
{
	sqlite3_stmt *statement = loader->statements[RECORD_EVENT];
	const struct reel_field *comm = field_of(record, "comm");
	_cleanup_free_ char *name = NULL;
	uint64_t time = number_of(record, "time");

	bind_number(statement, 1, time);
	bind_wall_time(statement, 2, loader->info, time);
	bind_literal(statement, 3, kind);
	bind_field(statement, 4, record, thread);
	/* A thread's first space, whose process remains its own. */
	bind_field(statement, 5, record, *thread ? "" : "space");
	if (comm)
		name = text_escape_bytes(comm->bytes, comm->n_bytes, "");
	sqlite3_bind_text(statement, 6, name, -1, SQLITE_TRANSIENT);
	return database_step(loader->database, statement);
}

static bool load_record(void *context, const struct reel_record_view *record)
{
	/* By THREAD.origin. */
	static const char *const origins[] = { "found", "start", "found", "carried over" };
	struct loader *loader = context;
	uint64_t origin = number_of(record, "origin");

	if (!strcmp(record->name, "SPACE"))
		loader->ok = add_space(loader, record);
	else if (!strcmp(record->name, "THREAD"))
		loader->ok = add_thread(loader, record) &&
			     add_record(loader, record, origins[origin & 3], "id");
	else if (!strcmp(record->name, "THREAD_COMM"))
		loader->ok = add_record(loader, record, "rename", "thread");
	else if (!strcmp(record->name, "THREAD_EXEC"))
		loader->ok = add_record(loader, record, "exec", "thread");
	else if (!strcmp(record->name, "THREAD_EXIT"))
		loader->ok = add_record(loader, record, "exit", "thread");
	else if (!strcmp(record->name, "SPACE_EXIT"))
		loader->ok = add_record(loader, record, "process exit", "");
	return loader->ok;
}

bool process_records_load(struct database *database, struct reel_capture *capture)
{
	struct loader loader = { .database = database, .info = reel_capture_info(capture) };

	loader.ok = database_run(database, prepare_tables);
	for (size_t i = 0; i < RECORD_STATEMENTS && loader.ok; i++) {
		loader.statements[i] = database_prepare(database, texts[i]);
		loader.ok = loader.statements[i];
	}
	if (loader.ok && !no_error(reel_capture_visit_side_records(capture, load_record, &loader)))
		loader.ok = false;
	for (size_t i = 0; i < RECORD_STATEMENTS; i++)
		sqlite3_finalize(loader.statements[i]);
	return loader.ok && database_run(database, join_tables);
}

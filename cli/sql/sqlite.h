/* SPDX-License-Identifier: Apache-2.0 */
/* The format `sqlite': its parts, and queries. */
#ifndef CLI_SQL_SQLITE_H
#define CLI_SQL_SQLITE_H

#include "cli/export/stack_tree.h"
#include "cli/profile/groups.h"
#include "cli/session/session.h"
#include "cli/sql/database.h"

enum statement {
	ADD_META,
	ADD_CAPTURE,
	ADD_PROBLEM,
	ADD_EVENT,
	ADD_LOSS,
	ADD_MARK,
	ADD_MODULE,
	ADD_PROCESS,
	ADD_THREAD,
	ADD_COMM,
	ADD_FUNCTION,
	ADD_LINE,
	ADD_FRAME,
	ADD_STOP,
	ADD_STACK,
	ADD_SAMPLE,
	ADD_LABEL,
	ADD_VALUE,
	FIND_COMM, /* the first that is not an INSERT */
	FIND_FUNCTION,
	FIND_LINE,
	SET_QUALITY,
	STATEMENTS,
};

/* Rows of threads and processes are written when complete. */
struct member {
	uint64_t thread;
	const char *merged_host; /* empty: the capture's own; lives as long as the capture */
	uint32_t namespace_id, process;
};

struct members {
	struct groups groups;
	struct pointer_map ids; /* by the group's symbol */
	struct member *items;	/* by id - first */
	uint32_t first, count;
	size_t capacity;
	const struct symbol *last_symbol;
	uint32_t last_id;
};

struct sqlite_export {
	struct database database;
	sqlite3_stmt *statements[STATEMENTS];
	struct stack_tree tree;
	uint64_t n_samples;
	uint32_t n_captures, n_events, n_modules;
	bool is_finished;
	/* Bytes of frame_values, about; and samples whose values exceed the limit. */
	uint64_t value_bytes, n_without_values;
	/* Of this capture. */
	struct session *session;
	struct symbol_table symbols;
	/* To ids: symbols, the library's comms, and events. */
	struct pointer_map functions, comms, events;
	uint32_t unknown_event;
	const char *last_comm;
	uint32_t last_comm_id;
	struct symbol_table group_symbols;
	struct members threads, processes;
	/* Sorted; the first is row first_module. */
	uint64_t *module_numbers;
	size_t n_module_numbers;
	uint32_t first_module;
};

/* Runs a statement without rows. */
static inline bool sqlite_step(struct sqlite_export *export, enum statement statement)
{
	return database_step(&export->database, export->statements[statement]);
}

/* Begins a capture: its own row, and the rows known before its traces. */
bool sqlite_begin_rows(struct sqlite_export *export, const char *path);
/* Adds the rows known after all traces. */
bool sqlite_end_rows(struct sqlite_export *export);
/* The row of a module, by its number in the capture; 0: none. */
uint32_t sqlite_module_row(const struct sqlite_export *export, uint64_t number);
/* The row of a sample's event, NULL if the capture does not define it; 0 after an error. */
uint32_t sqlite_event_of(struct sqlite_export *export, const struct reel_event_info *info);

/* The starts and ends of processes and threads, as rows of process_events, for the capture whose row
 * was added last; false after an error, which was reported. */
bool process_records_load(struct database *database, struct reel_capture *capture);

/* ---- queries -------------------------------------------------------------------------------- */

/* Before samples are added: whether the query can run later, otherwise reports why not; and whether
 * it reads the table frame_values. */
bool sqlite_export_check(struct sqlite_export *export, const char *query, bool *reads_values_ret);
/* All captures are added: from now on the database is read-only. */
bool sqlite_export_finish(struct sqlite_export *export);

/* ---- the tables of the database, which docs/sql.md describes --------------------------------- */

/* Increased for every change that a query can notice; also PRAGMA user_version. */
#define SCHEMA_VERSION_TEXT "1"

extern const char schema_tables[], schema_views[];
/* Made after all rows are added: this takes less time and room. */
extern const char schema_indexes[];

#endif

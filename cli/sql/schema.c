/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sql/sqlite.h"

/* application_id: "REEL", which file(1) shows. */
const char schema_tables[] =
	"PRAGMA application_id = 0x5245454c;"
	"PRAGMA user_version = " SCHEMA_VERSION_TEXT ";"
	"CREATE TABLE meta ("
	"  key TEXT PRIMARY KEY, value) WITHOUT ROWID;"
	"CREATE TABLE captures ("
	"  id INTEGER PRIMARY KEY, path TEXT, file_id TEXT, recorded_by TEXT, command_line TEXT,"
	"  hostname TEXT, kernel_release TEXT, kernel_build_id TEXT, arch TEXT, cpus INTEGER,"
	"  start_time INTEGER, start_wall_time INTEGER, samples INTEGER, is_complete INTEGER);"
	"CREATE TABLE problems ("
	"  capture_id INTEGER REFERENCES captures, message TEXT);"
	"CREATE TABLE events ("
	"  id INTEGER PRIMARY KEY, capture_id INTEGER REFERENCES captures, number INTEGER,"
	"  name TEXT, unit TEXT, frequency INTEGER, period INTEGER);"
	"CREATE TABLE losses ("
	"  capture_id INTEGER REFERENCES captures, cpu INTEGER, cause TEXT, count INTEGER);"
	"CREATE TABLE marks ("
	"  capture_id INTEGER REFERENCES captures, time INTEGER, wall_time INTEGER, kind TEXT,"
	"  text TEXT);"
	"CREATE TABLE modules ("
	"  id INTEGER PRIMARY KEY, capture_id INTEGER REFERENCES captures, number INTEGER,"
	"  kind TEXT, path TEXT, build_id TEXT, state TEXT, problem TEXT, local_path TEXT,"
	"  debug_path TEXT, has_debug_info INTEGER, is_unchecked INTEGER);"
	"CREATE TABLE processes ("
	"  id INTEGER PRIMARY KEY, capture_id INTEGER REFERENCES captures, pid INTEGER,"
	"  namespace_pid INTEGER, name TEXT);"
	"CREATE TABLE threads ("
	"  id INTEGER PRIMARY KEY, capture_id INTEGER REFERENCES captures,"
	"  process_id INTEGER REFERENCES processes, number INTEGER, tid INTEGER,"
	"  namespace_tid INTEGER, name TEXT);"
	"CREATE TABLE process_events ("
	"  id INTEGER PRIMARY KEY, capture_id INTEGER REFERENCES captures, time INTEGER,"
	"  wall_time INTEGER, kind TEXT, pid INTEGER, tid INTEGER, thread_number INTEGER,"
	"  parent_number INTEGER, name TEXT);"
	"CREATE TABLE comms ("
	"  id INTEGER PRIMARY KEY, name TEXT UNIQUE);"
	"CREATE TABLE functions ("
	"  id INTEGER PRIMARY KEY, name TEXT, module TEXT, is_inlined INTEGER,"
	"  is_kernel INTEGER, is_named INTEGER, UNIQUE (name, module, is_inlined, is_kernel));"
	"CREATE TABLE lines ("
	"  id INTEGER PRIMARY KEY, file TEXT, line INTEGER, column INTEGER,"
	"  UNIQUE (file, line, column));"
	"CREATE TABLE frames ("
	"  id INTEGER PRIMARY KEY, function_id INTEGER REFERENCES functions,"
	"  module_id INTEGER REFERENCES modules, module_address INTEGER,"
	"  function_offset INTEGER, line_id INTEGER REFERENCES lines, is_inlined INTEGER,"
	"  is_kernel INTEGER, is_exact INTEGER, is_guessed INTEGER, found_by TEXT);"
	"CREATE TABLE stops ("
	"  id INTEGER PRIMARY KEY, name TEXT);"
	"CREATE TABLE stacks ("
	"  id INTEGER PRIMARY KEY, parent_id INTEGER REFERENCES stacks,"
	"  frame_id INTEGER REFERENCES frames, depth INTEGER,"
	"  stop_id INTEGER REFERENCES stops, is_cut INTEGER, is_recursive INTEGER);"
	"CREATE TABLE samples ("
	"  id INTEGER PRIMARY KEY, capture_id INTEGER REFERENCES captures, number INTEGER,"
	"  time INTEGER, wall_time INTEGER, event_id INTEGER REFERENCES events, weight INTEGER,"
	"  cpu INTEGER, thread_id INTEGER REFERENCES threads, comm_id INTEGER REFERENCES comms,"
	"  ran_in TEXT, state TEXT, ip INTEGER, stack_id INTEGER REFERENCES stacks,"
	"  stack_bytes INTEGER, is_stack_minimum INTEGER);"
	"CREATE TABLE sample_labels ("
	"  sample_id INTEGER REFERENCES samples, key TEXT, number INTEGER, text TEXT,"
	"  PRIMARY KEY (sample_id, key)) WITHOUT ROWID;"
	"CREATE TABLE frame_values ("
	"  sample_id INTEGER REFERENCES samples, frame INTEGER,"
	"  function_id INTEGER REFERENCES functions, variable TEXT, kind TEXT, state TEXT,"
	"  number INTEGER, text TEXT);";

const char schema_indexes[] =
	/* All columns of samples that the views' sums need. */
	"CREATE INDEX samples_by_stack ON samples (event_id, stack_id, weight);"
	"CREATE INDEX samples_by_thread ON samples (thread_id, event_id, weight);"
	"CREATE INDEX labels_by_value ON sample_labels (key, text);"
	"CREATE INDEX frame_values_by_variable ON frame_values (function_id, variable);"
	"CREATE INDEX samples_by_time ON samples (time);"
	"CREATE INDEX stacks_by_parent ON stacks (parent_id);"
	"CREATE INDEX stacks_by_frame ON stacks (frame_id);"
	"CREATE INDEX frames_by_function ON frames (function_id);"
	"CREATE INDEX threads_by_process ON threads (process_id);"
	"CREATE INDEX process_events_by_time ON process_events (time);"
	"PRAGMA analysis_limit = 400;"
	"ANALYZE;";

#define STACK_SUMS                                                                                 \
	"sums (event_id, stack_id, samples, weight) AS ("                                          \
	"  SELECT event_id, stack_id, count(*), sum(weight) FROM samples"                          \
	"  GROUP BY event_id, stack_id)"
/* The frames that samples end at.  CROSS JOIN keeps the order: views of views have no statistics
 * for choosing one. */
#define OF_LEAVES                                                                                  \
	"FROM sums s CROSS JOIN stacks k ON k.id = s.stack_id"                                     \
	" CROSS JOIN frames r ON r.id = k.frame_id"                                                \
	" CROSS JOIN functions f ON f.id = r.function_id"                                          \
	" CROSS JOIN events e ON e.id = s.event_id "
#define OF_FUNCTION "f.name AS function, f.module AS module, f.is_inlined, f.is_kernel,"
#define OF_EVENT    "e.capture_id AS capture_id, e.name AS event,"
#define SUMS	    "sum(s.samples) AS samples, sum(s.weight) AS weight "

const char schema_views[] =
	"CREATE VIEW self_time AS WITH " STACK_SUMS "  SELECT " OF_EVENT OF_FUNCTION SUMS OF_LEAVES
	"GROUP BY e.id, f.id;"

	"CREATE VIEW by_line AS WITH " STACK_SUMS "  SELECT " OF_EVENT OF_FUNCTION
	"l.file AS file, l.line AS line," SUMS OF_LEAVES
	"  LEFT JOIN lines l ON l.id = r.line_id GROUP BY e.id, f.id, l.file, l.line;"

	"CREATE VIEW by_module AS WITH " STACK_SUMS "  SELECT " OF_EVENT
	"f.module AS module," SUMS OF_LEAVES "GROUP BY e.id, f.module;"

	/* From each stack up to its root. */
	"CREATE VIEW stack_totals AS WITH RECURSIVE " STACK_SUMS ","
	"up (event_id, stack_id, samples, weight) AS ("
	"  SELECT * FROM sums UNION ALL"
	"  SELECT u.event_id, k.parent_id, u.samples, u.weight"
	"  FROM up u CROSS JOIN stacks k ON k.id = u.stack_id WHERE k.parent_id IS NOT NULL)"
	"  SELECT event_id, stack_id, sum(samples) AS samples, sum(weight) AS weight"
	"  FROM up GROUP BY event_id, stack_id;"

	/* If a function is in a stack more than once, the one nearest to the root counts. */
	"CREATE VIEW total_time AS"
	"  SELECT " OF_EVENT OF_FUNCTION SUMS
	"  FROM stack_totals s CROSS JOIN stacks k ON k.id = s.stack_id"
	"  CROSS JOIN frames r ON r.id = k.frame_id CROSS JOIN functions f ON f.id = r.function_id"
	"  CROSS JOIN events e ON e.id = s.event_id"
	"  WHERE NOT k.is_recursive GROUP BY e.id, f.id;"

	"CREATE VIEW by_thread AS"
	"  SELECT " OF_EVENT "p.pid AS pid, t.tid AS tid, t.name AS name,"
	"  count(*) AS samples, sum(s.weight) AS weight"
	"  FROM samples s JOIN threads t ON t.id = s.thread_id"
	"  JOIN processes p ON p.id = t.process_id JOIN events e ON e.id = s.event_id"
	"  GROUP BY s.thread_id, e.id;"

	"CREATE VIEW by_process AS WITH"
	"  sums (thread_id, event_id, samples, weight) AS ("
	"  SELECT thread_id, event_id, count(*), sum(weight) FROM samples"
	"  GROUP BY thread_id, event_id)"
	"  SELECT " OF_EVENT "p.pid AS pid, p.name AS name," SUMS
	"  FROM sums s JOIN threads t ON t.id = s.thread_id"
	"  JOIN processes p ON p.id = t.process_id JOIN events e ON e.id = s.event_id"
	"  GROUP BY p.id, e.id;"

	/* As `stackreel folded' prints them. */
	"CREATE VIEW folded AS WITH RECURSIVE " STACK_SUMS ","
	"texts (stack_id, text) AS ("
	"  SELECT k.id, iif(k.is_cut, '[incomplete: ' || t.name || ']' || iif(f.id, ';', ''),"
	"    iif(f.id, '', '[no frames]')) || ifnull(replace(f.name, ';', ':'), '')"
	"  FROM stacks k JOIN stops t ON t.id = k.stop_id LEFT JOIN frames r ON r.id = k.frame_id"
	"  LEFT JOIN functions f ON f.id = r.function_id WHERE k.parent_id IS NULL UNION ALL"
	"  SELECT k.id, x.text || ';' || replace(f.name, ';', ':')"
	"  FROM texts x CROSS JOIN stacks k ON k.parent_id = x.stack_id"
	"  CROSS JOIN frames r ON r.id = k.frame_id CROSS JOIN functions f ON f.id = r.function_id)"
	"  SELECT " OF_EVENT "x.text AS stack," SUMS
	"  FROM texts x JOIN sums s ON s.stack_id = x.stack_id CROSS JOIN events e"
	"  ON e.id = s.event_id"
	"  GROUP BY e.id, x.text;"

	"CREATE VIEW value_list AS"
	"  SELECT s.capture_id AS capture_id, s.id AS sample_id, s.time AS time, e.name AS event,"
	"  s.weight AS weight, v.frame AS frame, f.name AS function, f.module AS module,"
	"  v.variable AS variable, v.kind AS kind, v.state AS state, v.number AS number,"
	"  v.text AS text"
	"  FROM frame_values v JOIN samples s ON s.id = v.sample_id JOIN events e"
	"  ON e.id = s.event_id JOIN functions f ON f.id = v.function_id;"

	"CREATE VIEW sample_list AS"
	"  SELECT s.id AS id, s.capture_id AS capture_id, s.number AS number, s.time AS time,"
	"  strftime('%Y-%m-%d %H:%M:%f', s.wall_time / 1e9, 'unixepoch') AS wall_time,"
	"  e.name AS event, s.weight AS weight, s.cpu AS cpu, p.pid AS pid, t.tid AS tid,"
	"  c.name AS comm, s.ran_in AS ran_in, s.state AS state, f.name AS function, f.module AS "
	"module,"
	"  l.file AS file, l.line AS line, k.depth + (k.frame_id IS NOT NULL) AS frames,"
	"  o.name AS stop, NOT k.is_cut AS is_whole, s.stack_id AS stack_id"
	"  FROM samples s JOIN events e ON e.id = s.event_id JOIN threads t ON t.id = s.thread_id"
	"  JOIN processes p ON p.id = t.process_id JOIN comms c ON c.id = s.comm_id"
	"  JOIN stacks k ON k.id = s.stack_id JOIN stops o ON o.id = k.stop_id"
	"  LEFT JOIN frames r ON r.id = k.frame_id LEFT JOIN functions f ON f.id = r.function_id"
	"  LEFT JOIN lines l ON l.id = r.line_id;";

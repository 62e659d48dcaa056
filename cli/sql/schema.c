/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sql/sqlite.h"

/* application_id: "REEL", which file(1) shows. */
const char schema_tables[] =
	"PRAGMA application_id = 0x5245454c;"
	"PRAGMA user_version = " SCHEMA_VERSION_TEXT ";"
	"CREATE TABLE meta ("
	"  key TEXT PRIMARY KEY, value) WITHOUT ROWID;"
	"CREATE TABLE base_captures ("
	"  id INTEGER PRIMARY KEY, path TEXT, file_id TEXT, recorded_by TEXT, command_line TEXT,"
	"  hostname TEXT, kernel_release TEXT, kernel_build_id TEXT, arch TEXT, cpus INTEGER,"
	"  start_time INTEGER, start_wall_time INTEGER, samples INTEGER, is_complete INTEGER,"
	"  is_truncated INTEGER, exported INTEGER, unwound INTEGER, whole INTEGER);"
	"CREATE TABLE problems ("
	"  capture_id INTEGER REFERENCES base_captures, message TEXT);"
	"CREATE TABLE events ("
	"  id INTEGER PRIMARY KEY, capture_id INTEGER REFERENCES base_captures, number INTEGER,"
	"  name TEXT, unit TEXT, frequency INTEGER, period INTEGER);"
	"CREATE TABLE losses ("
	"  capture_id INTEGER REFERENCES base_captures, cpu INTEGER, cause TEXT, count INTEGER);"
	"CREATE TABLE marks ("
	"  capture_id INTEGER REFERENCES base_captures, time INTEGER, wall_time INTEGER, kind TEXT,"
	"  text TEXT);"
	"CREATE TABLE modules ("
	"  id INTEGER PRIMARY KEY, capture_id INTEGER REFERENCES base_captures, number INTEGER,"
	"  kind TEXT, path TEXT, build_id TEXT, state TEXT, problem TEXT, local_path TEXT,"
	"  debug_path TEXT, has_debug_info INTEGER, is_unchecked INTEGER, file_id TEXT);"
	"CREATE TABLE processes ("
	"  id INTEGER PRIMARY KEY, capture_id INTEGER REFERENCES base_captures, pid INTEGER,"
	"  namespace_pid INTEGER, name TEXT);"
	"CREATE TABLE threads ("
	"  id INTEGER PRIMARY KEY, capture_id INTEGER REFERENCES base_captures,"
	"  process_id INTEGER REFERENCES processes, number INTEGER, tid INTEGER,"
	"  namespace_tid INTEGER, name TEXT, merged_host TEXT);"
	"CREATE TABLE process_events ("
	"  id INTEGER PRIMARY KEY, capture_id INTEGER REFERENCES base_captures, time INTEGER,"
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
	"CREATE TABLE base_stacks ("
	"  id INTEGER PRIMARY KEY, parent_id INTEGER REFERENCES base_stacks,"
	"  frame_id INTEGER REFERENCES frames, depth INTEGER,"
	"  stop_id INTEGER REFERENCES stops, is_cut INTEGER, is_recursive INTEGER);"
	"CREATE TABLE base_samples ("
	"  id INTEGER PRIMARY KEY, capture_id INTEGER REFERENCES base_captures, number INTEGER,"
	"  time INTEGER, wall_time INTEGER, event_id INTEGER REFERENCES events, weight INTEGER,"
	"  cpu INTEGER, thread_id INTEGER REFERENCES threads, comm_id INTEGER REFERENCES comms,"
	"  ran_in TEXT, state TEXT, ip INTEGER, stack_id INTEGER REFERENCES base_stacks,"
	"  stack_bytes INTEGER, is_stack_minimum INTEGER,"
	"  process_comm_id INTEGER REFERENCES comms);"
	"CREATE TABLE sample_labels ("
	"  sample_id INTEGER REFERENCES base_samples, key TEXT, number INTEGER, text TEXT,"
	"  PRIMARY KEY (sample_id, key)) WITHOUT ROWID;"
	"CREATE TABLE frame_values ("
	"  sample_id INTEGER REFERENCES base_samples, frame INTEGER,"
	"  function_id INTEGER REFERENCES functions, variable TEXT, kind TEXT, state TEXT,"
	"  number INTEGER, text TEXT);";

const char schema_indexes[] =
	/* All columns of samples that the views' sums need. */
	"CREATE INDEX samples_by_stack ON base_samples (event_id, stack_id, weight);"
	"CREATE INDEX samples_by_thread ON base_samples (thread_id, event_id, weight);"
	"CREATE INDEX labels_by_value ON sample_labels (key, text);"
	"CREATE INDEX frame_values_by_variable ON frame_values (function_id, variable);"
	"CREATE INDEX samples_by_time ON base_samples (time);"
	"CREATE INDEX stacks_by_parent ON base_stacks (parent_id);"
	"CREATE INDEX stacks_by_frame ON base_stacks (frame_id);"
	"CREATE INDEX frames_by_function ON frames (function_id);"
	"CREATE INDEX threads_by_process ON threads (process_id);"
	"CREATE INDEX process_events_by_time ON process_events (time);"
	"PRAGMA analysis_limit = 400;"
	"ANALYZE;";

#define STACK_SUMS                                                                                 \
	"sums (event_id, stack_id, samples, weight) AS ("                                          \
	"  SELECT event_id, stack_id, count(*), sum(weight) FROM base_samples"                     \
	"  GROUP BY event_id, stack_id)"
/* The frames that samples end at.  CROSS JOIN keeps the order: views of views have no statistics
 * for choosing one. */
#define OF_LEAVES                                                                                  \
	"FROM sums s CROSS JOIN base_stacks k ON k.id = s.stack_id"                                \
	" CROSS JOIN frames r ON r.id = k.frame_id"                                                \
	" CROSS JOIN functions f ON f.id = r.function_id"                                          \
	" CROSS JOIN events e ON e.id = s.event_id "
#define OF_FUNCTION "f.name AS function, f.module AS module, f.is_inlined, f.is_kernel,"
#define OF_EVENT    "e.capture_id AS capture_id, e.name AS event,"
#define SUMS	    "sum(s.samples) AS samples, sum(s.weight) AS weight "

/* Of the sample s. Subqueries, unlike joins, cost nothing where a query does not need the column.
 * In a merged capture, names of threads begin with their host. */
#define OF_LABELS  "FROM sample_labels WHERE sample_id = s.id"
#define OF_THREAD  "FROM threads WHERE id = s.thread_id"
#define OF_PROCESS "FROM threads t JOIN processes p ON p.id = t.process_id WHERE t.id = s.thread_id"
#define OF_LEAF                                                                                    \
	"FROM base_stacks k JOIN frames r ON r.id = k.frame_id"                                    \
	" JOIN functions f ON f.id = r.function_id WHERE k.id = s.stack_id"

const char schema_views[] =
	/* Tables and columns of docs/parquet.md. */
	"CREATE VIEW captures AS SELECT c.*, c.hostname AS host, c.start_wall_time AS start,"
	"  (SELECT json_group_array(json_object('name', name, 'unit', unit, 'frequency', frequency,"
	"  'period', period)) FROM events WHERE capture_id = c.id) AS events,"
	"  (SELECT json_group_object(cause, n) FROM (SELECT cause, sum(count) AS n FROM losses"
	"  WHERE capture_id = c.id GROUP BY cause)) AS losses,"
	"  (SELECT json_group_array(message) FROM problems WHERE capture_id = c.id) AS problems"
	"  FROM base_captures c;"

	"CREATE VIEW samples AS SELECT s.*, s.number AS sample, 1 AS samples,"
	"  (SELECT file_id FROM base_captures WHERE id = s.capture_id) AS file_id,"
	"  ifnull((SELECT merged_host " OF_THREAD "),"
	"  (SELECT hostname FROM base_captures WHERE id = s.capture_id)) AS host,"
	"  strftime('%Y-%m-%d %H:00', s.wall_time / 1000000000, 'unixepoch') AS hour,"
	"  strftime('%Y-%m-%d %H:%M', s.wall_time / 1000000000, 'unixepoch') AS minute,"
	"  (SELECT name FROM events WHERE id = s.event_id) AS event,"
	"  ifnull((SELECT unit FROM events WHERE id = s.event_id), '') AS unit,"
	"  (SELECT pid " OF_PROCESS ") AS pid, (SELECT tid " OF_THREAD ") AS tid,"
	"  (SELECT substr(c.name, ifnull(length(merged_host) + 2, 1)) FROM comms c, threads t"
	"  WHERE c.id = s.comm_id AND t.id = s.thread_id) AS comm,"
	"  (SELECT substr(c.name, ifnull(length(merged_host) + 2, 1)) FROM comms c, threads t"
	"  WHERE c.id = s.process_comm_id AND t.id = s.thread_id) AS process,"
	"  (SELECT name FROM base_stacks k JOIN stops o ON o.id = k.stop_id"
	"  WHERE k.id = s.stack_id) AS stop,"
	"  (SELECT NOT is_cut FROM base_stacks WHERE id = s.stack_id) AS is_whole,"
	"  (SELECT f.name " OF_LEAF ") AS function, (SELECT nullif(f.module, '') " OF_LEAF
	") AS module,"
	"  (SELECT number " OF_LABELS " AND key = 'waker-sample') AS waker_sample,"
	"  (SELECT text " OF_LABELS " AND key = 'service') AS service,"
	"  (SELECT text " OF_LABELS " AND key = 'container') AS container,"
	"  (SELECT text " OF_LABELS " AND key = 'pod') AS pod,"
	"  (SELECT text " OF_LABELS " AND key = 'unit') AS systemd_unit,"
	"  (SELECT text " OF_LABELS " AND key = 'trace') AS trace,"
	"  (SELECT json_group_object(key, text) " OF_LABELS ") AS labels FROM base_samples s;"

	"CREATE VIEW stacks AS SELECT k.*, k.id AS stack_id,"
	"  (WITH RECURSIVE up (parent_id, text) AS ("
	"  SELECT k.parent_id, replace(f.name, ';', ':') FROM frames r JOIN functions f"
	"  ON f.id = r.function_id WHERE r.id = k.frame_id UNION ALL"
	"  SELECT n.parent_id, replace(f.name, ';', ':') || ';' || u.text FROM up u"
	"  CROSS JOIN base_stacks n ON n.id = u.parent_id CROSS JOIN frames r ON r.id = n.frame_id"
	"  CROSS JOIN functions f ON f.id = r.function_id)"
	"  SELECT text FROM up WHERE parent_id IS NULL) AS folded FROM base_stacks k;"

	/* Of stacks with samples. */
	"CREATE VIEW stack_frames AS WITH RECURSIVE up (stack_id, id) AS ("
	"  SELECT DISTINCT stack_id, stack_id FROM base_samples UNION ALL"
	"  SELECT u.stack_id, k.parent_id FROM up u CROSS JOIN base_stacks k ON k.id = u.id"
	"  WHERE k.parent_id IS NOT NULL)"
	"  SELECT u.stack_id AS stack_id, k.depth + 1 AS position, g.name AS caller,"
	"  f.name AS function, nullif(f.module, '') AS module, m.build_id AS build_id,"
	"  r.module_address AS address, nullif(l.file, '') AS file, ifnull(l.line, 0) AS line,"
	"  r.is_inlined AS inlined, r.is_guessed AS guessed"
	"  FROM up u CROSS JOIN base_stacks k ON k.id = u.id CROSS JOIN frames r"
	"  ON r.id = k.frame_id CROSS JOIN functions f ON f.id = r.function_id"
	"  LEFT JOIN modules m ON m.id = r.module_id LEFT JOIN lines l ON l.id = r.line_id"
	"  LEFT JOIN base_stacks n ON n.id = k.parent_id LEFT JOIN frames q ON q.id = n.frame_id"
	"  LEFT JOIN functions g ON g.id = q.function_id;"

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
	"  FROM up u CROSS JOIN base_stacks k ON k.id = u.stack_id WHERE k.parent_id IS NOT NULL)"
	"  SELECT event_id, stack_id, sum(samples) AS samples, sum(weight) AS weight"
	"  FROM up GROUP BY event_id, stack_id;"

	/* If a function is in a stack more than once, the one nearest to the root counts. */
	"CREATE VIEW total_time AS"
	"  SELECT " OF_EVENT OF_FUNCTION SUMS
	"  FROM stack_totals s CROSS JOIN base_stacks k ON k.id = s.stack_id"
	"  CROSS JOIN frames r ON r.id = k.frame_id CROSS JOIN functions f ON f.id = r.function_id"
	"  CROSS JOIN events e ON e.id = s.event_id"
	"  WHERE NOT k.is_recursive GROUP BY e.id, f.id;"

	"CREATE VIEW by_thread AS"
	"  SELECT " OF_EVENT "p.pid AS pid, t.tid AS tid, t.name AS name,"
	"  count(*) AS samples, sum(s.weight) AS weight"
	"  FROM base_samples s JOIN threads t ON t.id = s.thread_id"
	"  JOIN processes p ON p.id = t.process_id JOIN events e ON e.id = s.event_id"
	"  GROUP BY s.thread_id, e.id;"

	"CREATE VIEW by_process AS WITH"
	"  sums (thread_id, event_id, samples, weight) AS ("
	"  SELECT thread_id, event_id, count(*), sum(weight) FROM base_samples"
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
	"  FROM base_stacks k JOIN stops t ON t.id = k.stop_id LEFT JOIN frames r ON r.id = "
	"k.frame_id"
	"  LEFT JOIN functions f ON f.id = r.function_id WHERE k.parent_id IS NULL UNION ALL"
	"  SELECT k.id, x.text || ';' || replace(f.name, ';', ':')"
	"  FROM texts x CROSS JOIN base_stacks k ON k.parent_id = x.stack_id"
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
	"  FROM frame_values v JOIN base_samples s ON s.id = v.sample_id JOIN events e"
	"  ON e.id = s.event_id JOIN functions f ON f.id = v.function_id;"

	"CREATE VIEW sample_list AS"
	"  SELECT s.id AS id, s.capture_id AS capture_id, s.number AS number, s.time AS time,"
	"  strftime('%Y-%m-%d %H:%M:%f', s.wall_time / 1e9, 'unixepoch') AS wall_time,"
	"  e.name AS event, s.weight AS weight, s.cpu AS cpu, p.pid AS pid, t.tid AS tid,"
	"  c.name AS comm, s.ran_in AS ran_in, s.state AS state, f.name AS function, f.module AS "
	"module,"
	"  l.file AS file, l.line AS line, k.depth + (k.frame_id IS NOT NULL) AS frames,"
	"  o.name AS stop, NOT k.is_cut AS is_whole, s.stack_id AS stack_id"
	"  FROM base_samples s JOIN events e ON e.id = s.event_id JOIN threads t ON t.id = "
	"s.thread_id"
	"  JOIN processes p ON p.id = t.process_id JOIN comms c ON c.id = s.comm_id"
	"  JOIN base_stacks k ON k.id = s.stack_id JOIN stops o ON o.id = k.stop_id"
	"  LEFT JOIN frames r ON r.id = k.frame_id LEFT JOIN functions f ON f.id = r.function_id"
	"  LEFT JOIN lines l ON l.id = r.line_id;";

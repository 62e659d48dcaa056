-- The tables of the other files here, for ClickHouse: those of the folder `fleet' in the current folder.
SET join_use_nulls = 1;
CREATE VIEW captures AS SELECT * FROM file('fleet/**/captures*.parquet');
CREATE VIEW modules AS SELECT * FROM file('fleet/**/modules*.parquet');
CREATE VIEW samples AS
SELECT *, formatDateTime(wall_time, '%Y-%m-%d %H:00', 'UTC') AS hour, formatDateTime(wall_time, '%Y-%m-%d %H:%i', 'UTC') AS minute
FROM file('fleet/**/samples*.parquet');
CREATE VIEW stacks AS
SELECT stack_id, any(s.functions) AS functions, any(s.frames) AS frames,
  nullIf(arrayStringConcat(arrayMap(f -> replaceAll(f, ';', ':'), any(s.functions)), ';'), '') AS folded
FROM file('fleet/**/stacks*.parquet') AS s GROUP BY stack_id;
CREATE VIEW stack_frames AS
SELECT stack_id, position, caller, frame.function AS function, frame.linkage_name AS linkage_name, frame.module AS module,
  frame.build_id AS build_id, frame.address AS address, frame.file AS file, frame.line AS line, frame.inlined AS inlined, frame.kind AS kind,
  frame.guessed AS guessed
FROM stacks ARRAY JOIN frames AS frame, arrayEnumerate(frames) AS position, arrayPushFront(arrayPopBack(functions), NULL) AS caller;

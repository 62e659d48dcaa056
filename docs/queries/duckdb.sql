-- The tables of the other files here, for DuckDB: those of the folder `fleet' in the current folder.
CREATE VIEW captures AS FROM read_parquet('fleet/**/captures*.parquet', hive_types_autocast = false);
CREATE VIEW modules AS FROM 'fleet/**/modules*.parquet';
CREATE VIEW samples AS
SELECT *, strftime(make_timestamp(epoch_us(wall_time)), '%Y-%m-%d %H:00') AS hour,
  strftime(make_timestamp(epoch_us(wall_time)), '%Y-%m-%d %H:%M') AS minute FROM read_parquet('fleet/**/samples*.parquet', hive_types_autocast = false);
-- Captures share stacks.
CREATE VIEW stacks AS
SELECT stack_id, any_value(functions) AS functions, any_value(frames) AS frames,
  nullif(array_to_string([replace(f, ';', ':') FOR f IN any_value(functions)], ';'), '') AS folded
FROM 'fleet/**/stacks*.parquet' GROUP BY stack_id;
-- Position 1 is the outermost frame.
CREATE VIEW stack_frames AS
SELECT stack_id, position, caller, unnest(frame) FROM (
  SELECT stack_id, generate_subscripts(frames, 1) AS position, unnest(list_concat([NULL], functions[:-2])) AS caller,
    unnest(frames) AS frame
  FROM stacks WHERE len(frames) > 0);

-- Where do traces end too early, and why? Files and debug symbols of these modules would complete them.
WITH stacks AS (
  SELECT stack_id, any_value(frames)[1] AS outermost FROM 'fleet/**/stacks.parquet' GROUP BY stack_id),
counts AS (
  SELECT stop, outermost.module AS module, outermost.build_id AS build_id, sum(samples) AS samples
  FROM 'fleet/**/samples.parquet' JOIN stacks USING (stack_id)
  WHERE NOT is_whole GROUP BY ALL)
SELECT *, round(100.0 * samples / (SELECT sum(samples) FROM 'fleet/**/samples.parquet'), 2) AS percent
FROM counts ORDER BY samples DESC, stop, module, build_id;

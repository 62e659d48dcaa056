-- Which functions take the time, including everything they call? A function counts once for each sample, also if it is recursive.
WITH sums AS (
  SELECT event, stack_id, sum(samples) AS samples, sum(weight) AS weight
  FROM 'fleet/**/samples.parquet' GROUP BY ALL),
stacks AS (
  SELECT stack_id, any_value(frames) AS frames FROM 'fleet/**/stacks.parquet' GROUP BY stack_id),
called AS (
  SELECT event, samples, weight, unnest(list_distinct(
    [{'function': f.function, 'module': f.module, 'build_id': f.build_id, 'inlined': f.inlined} FOR f IN frames])) AS f
  FROM sums JOIN stacks USING (stack_id))
SELECT event, f.function AS function, f.module AS module, f.build_id AS build_id, f.inlined AS inlined,
  sum(samples) AS samples, sum(weight) AS weight
FROM called GROUP BY ALL ORDER BY weight DESC, samples DESC, function, module, build_id, inlined;

-- Stacks for flame graphs, as `stackreel folded' prints them. In one pipe:
-- duckdb -noheader -list -f folded.sql | flamegraph.pl > a.svg
WITH sums AS (
  SELECT stack_id, CASE WHEN NOT is_whole THEN '[incomplete: ' || stop || ']' END AS cut, sum(samples) AS samples
  FROM 'fleet/**/samples.parquet' WHERE event = 'cpu-clock' GROUP BY ALL),
stacks AS (
  SELECT stack_id, any_value(functions) AS functions FROM 'fleet/**/stacks.parquet' GROUP BY stack_id)
SELECT concat_ws(';', cut, CASE WHEN cut IS NULL AND len(functions) = 0 THEN '[no frames]' END,
    nullif(array_to_string([replace(f, ';', ':') FOR f IN functions], ';'), '')) || ' ' || sum(samples) AS line
FROM sums JOIN stacks USING (stack_id)
GROUP BY cut, functions ORDER BY line;
